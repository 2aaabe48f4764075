"""References to config providers: what they resolve to, and what nobody ever sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamark.config.providers import ConfigProvider, EnvVarConfigProvider, Providers, Secrets, restore
from seamark.errors import ConfigError

JAVA = "org.apache.kafka.common.config.provider"


@pytest.fixture(autouse=True)
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> Secrets:
    """What these tests resolve is not hidden from the logs of others."""
    fresh = Secrets()
    monkeypatch.setattr("seamark.config.providers.secrets", fresh)
    return fresh


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "db.properties"
    file.write_text("user=scott\npassword=t\\u0069ger:1}2\nempty=\n")
    return file


def file_providers(**params: str) -> Providers:
    own = {f"config.providers.file.param.{key.replace('_', '.')}": value for key, value in params.items()}
    return Providers.of(
        {"config.providers": "file", "config.providers.file.class": f"{JAVA}.FileConfigProvider", **own}
    )


def env_providers(monkeypatch: pytest.MonkeyPatch, pattern: str = "") -> Providers:
    monkeypatch.setenv("SEAMARK_TEST_USER", "scott")
    return Providers.of(
        {
            "config.providers": "env",
            "config.providers.env.class": f"{JAVA}.EnvVarConfigProvider",
            "config.providers.env.param.allowlist.pattern": pattern,
        }
    )


def test_values_of_properties_files_are_found(secret_file: Path) -> None:
    config = {
        "password": f"${{file:{secret_file}:password}}",
        "url": f"db://${{file:{secret_file}:user}}@host/${{file:{secret_file}:empty}}",
        "plain": "x",
        "null": None,
    }
    assert file_providers().resolve(config) == {
        "password": "tiger:1}2",
        "url": "db://scott@host/",
        "plain": "x",
        "null": None,
    }


@pytest.mark.parametrize("text", ["${vault:path:key}", "${x:y}", "${}", "$file:a:b", "${file}", "{file:a:b}", "a:b"])
def test_what_refers_to_no_provider_of_the_worker_stays(text: str) -> None:
    assert file_providers().resolve({"a": text}) == {"a": text}


def test_without_providers_nothing_is_resolved(secret_file: Path) -> None:
    text = f"${{file:{secret_file}:password}}"
    providers = Providers.of({"bootstrap.servers": "x"})
    assert not providers
    assert providers.resolve({"a": text}) == {"a": text}


def test_the_path_ends_at_the_first_colon_as_in_kafka(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("b\\:c=found\n")
    assert file_providers().resolve({"a": f"${{file:{tmp_path / 'f'}:b:c}}"}) == {"a": "found"}


def test_a_missing_key_is_an_error_that_shows_no_value(secret_file: Path) -> None:
    with pytest.raises(ConfigError) as error:
        file_providers().resolve({"ok": f"${{file:{secret_file}:password}}", "bad": f"${{file:{secret_file}:pass}}"})
    assert error.value.key == "bad"
    assert "there is no 'pass'" in error.value.message
    assert "tiger" not in error.value.message


@pytest.mark.parametrize("reference", ["${file:/no/such/file:key}", "${file:key}", "${file::key}"])
def test_a_file_that_cannot_be_read_is_an_error(reference: str) -> None:
    with pytest.raises(ConfigError, match=r"Could not resolve the value of db\.password \(config provider file"):
        file_providers().resolve({"db.password": reference})


def test_only_allowed_files_are_read(secret_file: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "a").write_text("k=v\n")
    (allowed / "link").symlink_to(secret_file)
    providers = file_providers(allowed_paths=f"{allowed}")
    assert providers.resolve({"a": f"${{file:{allowed}/a:k}}"}) == {"a": "v"}
    for path in (secret_file, f"{allowed}/../db.properties", f"{allowed}/link"):
        with pytest.raises(ConfigError, match="not allowed to be accessed"):
            providers.resolve({"a": f"${{file:{path}:user}}"})


@pytest.mark.parametrize(("paths", "problem"), [("relative", "is not absolute"), ("/no/such/dir", "does not exist")])
def test_allowed_paths_are_checked(paths: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        file_providers(allowed_paths=paths)


def test_files_of_a_directory_are_values(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "password").write_text("tiger\n")
    (tmp_path / "outside").write_text("no")
    providers = Providers.of(
        {"config.providers": "dir", "config.providers.dir.class": f"{JAVA}.DirectoryConfigProvider"}
    )
    assert providers.resolve({"a": f"${{dir:{tmp_path}/in:password}}"}) == {"a": "tiger\n"}
    for key in ("../outside", "none", "."):
        with pytest.raises(ConfigError, match="there is no"):
            providers.resolve({"a": f"${{dir:{tmp_path}/in:{key}}}"})
    with pytest.raises(ConfigError, match="is not a directory"):
        providers.resolve({"a": f"${{dir:{tmp_path}/outside:x}}"})


def test_environment_variables_are_values(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env_providers(monkeypatch).resolve({"a": "${env:SEAMARK_TEST_USER}!"}) == {"a": "scott!"}
    allowed = env_providers(monkeypatch, "SEAMARK_.*")
    assert allowed.resolve({"a": "${env:SEAMARK_TEST_USER}"}) == {"a": "scott"}
    with pytest.raises(ConfigError, match="there is no 'SEAMARK_TEST_USER', or it may not be read"):
        env_providers(monkeypatch, "OTHER_.*").resolve({"a": "${env:SEAMARK_TEST_USER}"})
    with pytest.raises(ConfigError, match="Path is not supported"):
        allowed.resolve({"a": "${env:path:SEAMARK_TEST_USER}"})


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, 'Missing required configuration "config.providers.p.class"'),
        ({"config.providers.p.class": "no.Such"}, "use org.apache.kafka.common.config.provider.FileConfigProvider"),
        ({"config.providers.p.class": "no_such_module:X"}, "No module named"),
        ({"config.providers.p.class": "pathlib:Path"}, "seamark.config.providers.ConfigProvider"),
        (
            {"config.providers.p.class": "EnvVarConfigProvider", "config.providers.p.param.allowlist.pattern": "("},
            "allowlist.pattern",
        ),
    ],
)
def test_a_provider_that_cannot_be_made_is_an_error(properties: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Providers.of({"config.providers": "p", **properties})
    assert message in error.value.message


class Leaky(ConfigProvider):
    """Shows what it should not when it fails."""

    def get(self, path: str, keys: frozenset[str]) -> dict[str, str]:
        raise RuntimeError("the token hunter2 was refused")


def test_errors_of_a_provider_of_ones_own_do_not_get_out() -> None:
    providers = Providers.of({"config.providers": "p", "config.providers.p.class": f"{__name__}:Leaky"})
    with pytest.raises(ConfigError) as error:
        providers.resolve({"a": "${p:x:y}"})
    assert error.value.message == "Could not resolve the value of a (config provider p, path x): RuntimeError"
    assert error.value.__cause__ is None


def test_the_workers_own_settings_are_resolved_but_not_those_of_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = {
        "config.providers": "env",
        "config.providers.env.class": "EnvVarConfigProvider",
        "config.providers.env.param.x": "${env:SEAMARK_TEST_USER}",
        "sasl.jaas.config": 'Login username="${env:SEAMARK_TEST_USER}";',
    }
    monkeypatch.setenv("SEAMARK_TEST_USER", "scott")
    resolved = Providers.of(worker).resolve(worker)
    assert resolved["sasl.jaas.config"] == 'Login username="scott";'
    assert resolved["config.providers.env.param.x"] == "${env:SEAMARK_TEST_USER}"


def test_an_environment_of_ones_own_can_be_given() -> None:
    provider = EnvVarConfigProvider({"A": "1"})
    provider.configure({})
    assert provider.get("", frozenset({"A", "B"})) == {"A": "1"}


def test_task_configs_get_their_references_back() -> None:
    connector = {
        "password": "${file:/x:p}",
        "url": "db://${env:USER}@h",
        "plain": "x",
        "gone": "${env:X}",
        "null": None,
    }
    task = {"password": "tiger", "url": "db://scott@h", "plain": "y", "task.id": "0"}
    assert restore(task, connector) == {
        "password": "${file:/x:p}",
        "url": "db://${env:USER}@h",
        "plain": "y",
        "task.id": "0",
    }


def test_secrets_are_hidden_the_longest_first() -> None:
    secrets = Secrets()
    assert secrets.hide("nothing to hide") == "nothing to hide"
    secrets.add(["tigers", "tigers-and-more", "true", "", "line-end\n"])
    assert secrets.hide("tigers-and-more, tigers, true, line-end") == "[hidden], [hidden], true, [hidden]"


def test_resolved_values_are_hidden_from_then_on(secret_file: Path, own_secrets: Secrets) -> None:
    file_providers().resolve({"password": f"${{file:{secret_file}:password}}"})
    assert own_secrets.hide("login with tiger:1}2 failed") == "login with [hidden] failed"
