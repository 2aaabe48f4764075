"""Signing and checking requests between workers; the texts are those of Kafka Connect 4.2.0 on Java 17."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError
from seamark.runtime.herder import InternalRequest, RestError
from seamark.runtime.internal_requests import SIGNATURE_ALGORITHM_HEADER, SIGNATURE_HEADER, InternalRequests
from seamark.storage.config_records import SessionKey

KEY = SessionKey(b"k" * 32, "HmacSHA256", 1_000)
BODY = b'[{"a":"b"}]'


def refusal(request: InternalRequest, key: SessionKey | None = KEY, **settings: object) -> tuple[int, str]:
    with pytest.raises(RestError) as refused:
        InternalRequests(**settings).verify(request, key)  # type: ignore[arg-type]
    return refused.value.status, refused.value.message


def signed(body: bytes = BODY, key: SessionKey = KEY, **settings: object) -> InternalRequest:
    headers = InternalRequests(**settings).sign(body, key)  # type: ignore[arg-type]
    return InternalRequest(body, headers[SIGNATURE_HEADER], headers[SIGNATURE_ALGORITHM_HEADER])


def test_the_signature_is_the_mac_of_the_body_in_base64() -> None:
    expected = base64.b64encode(hmac.new(KEY.key, BODY, hashlib.sha256).digest()).decode()
    assert InternalRequests().sign(BODY, KEY) == {
        "X-Connect-Authorization": expected,
        "X-Connect-Request-Signature-Algorithm": "HmacSHA256",
    }


def test_no_body_is_signed_like_an_empty_one() -> None:
    assert InternalRequests().sign(None, KEY) == InternalRequests().sign(b"", KEY)


@given(st.binary(max_size=200), st.binary(min_size=1, max_size=64))
def test_what_was_signed_is_accepted(body: bytes, key: bytes) -> None:
    session_key = SessionKey(key, "HmacSHA256", 0)
    InternalRequests().verify(signed(body, session_key), session_key)


@pytest.mark.parametrize(
    "algorithm",
    ["HmacMD5", "HmacSHA1", "HmacSHA224", "HmacSHA384", "HmacSHA512", "HmacSHA512/256", "HmacSHA3-256", "hmacsha256"],
)
def test_every_algorithm_signs_and_verifies(algorithm: str) -> None:
    settings = {"signature_algorithm": algorithm, "verification_algorithms": ["HmacSHA256", algorithm]}
    request = signed(**settings)
    InternalRequests(**settings).verify(request, KEY)  # type: ignore[arg-type]
    assert refusal(InternalRequest(b"other", request.signature, algorithm), **settings)[0] == 403


@pytest.mark.parametrize(("signature", "algorithm"), [(None, "HmacSHA256"), ("YWJj", None), (None, None)])
def test_an_unsigned_request_is_refused(signature: str | None, algorithm: str | None) -> None:
    expected = (400, "Internal request missing required signature")
    assert refusal(InternalRequest(BODY, signature, algorithm)) == expected


def test_an_algorithm_that_is_not_permitted_is_refused() -> None:
    request = signed(signature_algorithm="HmacMD5", verification_algorithms=["HmacMD5"])
    assert refusal(request) == (
        400,
        "This worker does not support the 'HmacMD5' key signing algorithm used by other workers. "
        "This worker is currently configured to use: [HmacSHA256]. "
        "Check that all workers' configuration files permit the same set of signature algorithms, "
        "and correct any misconfigured worker and restart it.",
    )
    several = refusal(request, verification_algorithms=["HmacSHA256", "HmacSHA512"])
    assert "[HmacSHA256, HmacSHA512]" in several[1]


def test_names_of_permitted_algorithms_are_compared_exactly() -> None:
    assert refusal(InternalRequest(BODY, "YWJj", "hmacsha256"))[1].startswith("This worker does not support the")


def test_an_unknown_algorithm_is_refused() -> None:
    assert refusal(InternalRequest(BODY, "!", "nope")) == (400, "Algorithm nope not available")


# As Java's decoder answers, seen on Java 17.
@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("!!!!", "Illegal base64 character 21"),
        ("YWJj\n", "Illegal base64 character a"),
        ("YW Jj", "Illegal base64 character 20"),
        ("YWJj\xe9", "Illegal base64 character -17"),
        ("a", "Input byte[] should at least have 2 bytes for base64 bytes"),
        ("=", "Input byte[] should at least have 2 bytes for base64 bytes"),
        ("ab=", "Input byte array has wrong 4-byte ending unit"),
        ("ab=c", "Input byte array has wrong 4-byte ending unit"),
        ("abcd=", "Input byte array has wrong 4-byte ending unit"),
        ("====", "Input byte array has wrong 4-byte ending unit"),
        ("abcdab=x", "Input byte array has wrong 4-byte ending unit"),
        ("abcde", "Last unit does not have enough valid bits"),
        ("a=", "Last unit does not have enough valid bits"),
        ("ab===", "Input byte array has incorrect ending byte at 4"),
        ("abcdab==x", "Input byte array has incorrect ending byte at 8"),
    ],
)
def test_a_signature_that_is_no_base64_is_refused_in_javas_words(signature: str, message: str) -> None:
    assert refusal(InternalRequest(BODY, signature, "HmacSHA256")) == (400, message)


@pytest.mark.parametrize("signature", ["", "ab", "abc", "abc=", "ab==", "YWJj"])
def test_a_wrong_signature_is_refused(signature: str) -> None:
    expected = (403, "Internal request contained invalid signature.")
    assert refusal(InternalRequest(BODY, signature, "HmacSHA256")) == expected


def test_padding_may_be_missing() -> None:
    request = signed()
    assert request.signature is not None
    InternalRequests().verify(InternalRequest(BODY, request.signature.rstrip("="), "HmacSHA256"), KEY)


def test_another_body_or_key_is_refused() -> None:
    request = signed()
    assert refusal(InternalRequest(BODY + b" ", request.signature, request.algorithm))[0] == 403
    assert refusal(request, SessionKey(b"x" * 32, "HmacSHA256", 0))[0] == 403


def test_without_a_key_nothing_can_be_checked() -> None:
    assert refusal(signed(), None) == (
        503,
        "This worker is still starting up and has not been able to read a session key from the config topic yet",
    )


@pytest.mark.parametrize(
    ("algorithm", "size", "length"),
    [("HmacSHA256", None, 32), ("HmacSHA512", None, 64), ("HmacMD5", None, 64), ("HmacSHA256", 100, 13)],
)
def test_keys_are_as_long_as_javas(algorithm: str, size: int | None, length: int) -> None:
    settings = InternalRequests(key_algorithm=algorithm, key_size=size)
    key = settings.new_key(5)
    assert (len(key.key), key.algorithm, key.creation_timestamp) == (length, algorithm, 5)
    assert settings.new_key(5).key != key.key
    assert not settings.must_replace(key, 5)


def test_the_leader_replaces_a_key_that_is_missing_old_or_of_another_kind() -> None:
    settings = InternalRequests(key_ttl_ms=100)
    assert settings.must_replace(None, 0)
    assert not settings.must_replace(KEY, 1_099)
    assert settings.must_replace(KEY, 1_100)
    assert InternalRequests(key_size=512).must_replace(KEY, 1_000)
    assert InternalRequests(key_algorithm="HmacSHA1", key_size=256).must_replace(KEY, 1_000)
    assert not InternalRequests(key_ttl_ms=0).must_replace(KEY, 10**15), "0 stands for never"


def test_the_workers_settings_decide() -> None:
    assert InternalRequests.of(WorkerConfig({})) == InternalRequests()
    config = {
        "inter.worker.key.generation.algorithm": "HmacSHA512",
        "inter.worker.key.size": "256",
        "inter.worker.key.ttl.ms": "7",
        "inter.worker.signature.algorithm": "HmacSHA1",
        "inter.worker.verification.algorithms": "HmacSHA256, HmacSHA1",
    }
    expected = InternalRequests("HmacSHA512", 256, 7, "HmacSHA1", ("HmacSHA256", "HmacSHA1"))
    assert InternalRequests.of(WorkerConfig(config)) == expected


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("inter.worker.key.generation.algorithm", "nope"),
        ("inter.worker.signature.algorithm", "nope"),
        ("inter.worker.signature.algorithm", "HmacSHA1"),
        ("inter.worker.verification.algorithms", "HmacSHA256,nope"),
        ("inter.worker.key.size", "39"),
    ],
)
def test_settings_that_cannot_work_are_refused(setting: str, value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        InternalRequests.of(WorkerConfig({setting: value}))
    assert refused.value.key == setting
