"""YAML that people have written."""

from __future__ import annotations

from typing import Any


class YamlTextError(Exception):
    """A text is not the YAML that is expected; says why."""


def documents(text: str, loader: type[Any]) -> list[Any]:
    """The documents of a text.

    Raises:
        YamlTextError: there is something else in it.
    """
    import yaml

    try:
        return list(yaml.load_all(text, loader))
    except RecursionError as error:
        raise YamlTextError("its values are nested too deeply") from error
    except yaml.YAMLError as error:
        raise YamlTextError(str(error)) from error
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        # What PyYAML's constructors raise for tags that do not fit their values, such as `!!bool x`.
        raise YamlTextError(f"a value does not fit its type: {error}") from error
