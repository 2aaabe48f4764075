"""Plugins by name: connectors, converters, header converters, transformations and predicates.

A class is found by, in this order: a reference ``module:Class``; the Java class name of one of Connect's own plugins;
its full Python name; its simple name, Java's (``Cast$Value``) or Python's; its short alias (the simple name without
``Connector``, or the name of its entry point). Sources of classes are what Seamark brings, the entry point groups
``seamark.connectors``, ``seamark.converters``, ``seamark.transforms`` and ``seamark.predicates``, and the modules on
`plugin.path`, which is scanned only when it is needed.

A class travels to executors as a reference, never as a pickle: see `Plugins.load`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar, cast

from seamark.config.configdef import ConfigDef, Type
from seamark.connector.connector import Connector
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.sink import SinkConnector
from seamark.connector.source import SourceConnector
from seamark.connector.transform import Predicate, Transformation
from seamark.engine.plugin_path import PluginProblem, extend_import_path, scan
from seamark.engine.transforms.registry import JAVA_PREDICATES, TRANSFORMS
from seamark.errors import PluginError

CONNECTOR_ENTRY_POINTS = "seamark.connectors"
CONVERTER_ENTRY_POINTS = "seamark.converters"
TRANSFORM_ENTRY_POINTS = "seamark.transforms"
PREDICATE_ENTRY_POINTS = "seamark.predicates"
_ENTRY_POINTS = (CONNECTOR_ENTRY_POINTS, CONVERTER_ENTRY_POINTS, TRANSFORM_ENTRY_POINTS, PREDICATE_ENTRY_POINTS)

_FILE = "org.apache.kafka.connect.file"
_MIRROR = "org.apache.kafka.connect.mirror"
_CONVERTERS = "org.apache.kafka.connect.converters"
_STORAGE = "org.apache.kafka.connect.storage"
_OURS = "seamark.engine.converters"
_JAVA_CONNECTORS = {
    f"{_FILE}.FileStreamSourceConnector": "seamark.connectors.file_source:FileStreamSourceConnector",
    f"{_FILE}.FileStreamSinkConnector": "seamark.connectors.file_sink:FileStreamSinkConnector",
    f"{_MIRROR}.MirrorSourceConnector": "seamark.mirror.source:MirrorSourceConnector",
    f"{_MIRROR}.MirrorCheckpointConnector": "seamark.mirror.checkpoint:MirrorCheckpointConnector",
    f"{_MIRROR}.MirrorHeartbeatConnector": "seamark.mirror.heartbeat:MirrorHeartbeatConnector",
}
_JAVA_CONVERTERS = {
    "org.apache.kafka.connect.json.JsonConverter": f"{_OURS}.json:JsonConverter",
    f"{_STORAGE}.StringConverter": f"{_OURS}.string:StringConverter",
    f"{_CONVERTERS}.ByteArrayConverter": f"{_OURS}.bytes_:ByteArrayConverter",
    f"{_STORAGE}.SimpleHeaderConverter": f"{_OURS}.simple_header:SimpleHeaderConverter",
    f"{_CONVERTERS}.BooleanConverter": f"{_OURS}.boolean:BooleanConverter",
    **{
        f"{_CONVERTERS}.{kind}Converter": f"{_OURS}.numbers:{kind}Converter"
        for kind in ("Short", "Integer", "Long", "Float", "Double")
    },
    "io.confluent.connect.avro.AvroConverter": f"{_OURS}.avro.converter:AvroConverter",
    "io.confluent.connect.json.JsonSchemaConverter": f"{_OURS}.jsonschema.converter:JsonSchemaConverter",
    "seamark.converters.PlainAvroConverter": f"{_OURS}.avro.plain:PlainAvroConverter",
}
_JAVA_PLUGINS = {**_JAVA_CONNECTORS, **_JAVA_CONVERTERS, **TRANSFORMS, **JAVA_PREDICATES}
_JAVA_NAMES = {reference: name for name, reference in _JAVA_PLUGINS.items()}

Plugin = TypeVar("Plugin", Connector, Converter, HeaderConverter, Transformation, Predicate)


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """A plugin that can be used."""

    class_name: str
    """The Java name if Connect has the same plugin, else the full Python name."""
    kind: str
    """``source``, ``sink``, ``converter``, ``header_converter``, ``transformation`` or ``predicate``, as in Connect's
    list of plugins."""
    version: str
    reference: str
    location: str = "seamark"


@dataclass(slots=True)
class _Candidate:
    """A plugin that is known but perhaps not imported yet."""

    reference: str
    aliases: set[str] = field(default_factory=set)
    location: str = "seamark"

    @property
    def java_name(self) -> str | None:
        return _JAVA_NAMES.get(self.reference)

    @property
    def display_name(self) -> str:
        return self.java_name or self.reference.replace(":", ".")

    def answers_to(self, name: str) -> bool:
        simple = self.reference.rpartition(":")[2]
        shorts = {simple.removesuffix(suffix) for suffix in ("Connector", "Converter")}
        return name in {
            self.java_name,
            self.reference,
            self.reference.replace(":", "."),
            simple,
            (self.java_name or simple).rpartition(".")[2],
            *shorts,
            *self.aliases,
        }


class Plugins:
    """The plugins of one worker."""

    def __init__(self, plugin_path: str | None = None, allowed: Sequence[str] = ()) -> None:
        """`allowed` has patterns of full names, Java's or Python's, with ``*``; none allow everything."""
        self.plugin_path, self._allowed = plugin_path, tuple(allowed)

    # look-ups

    def connector_class(self, name: str) -> type[Connector]:
        """The connector class of that name or alias.

        Raises:
            PluginError: there is none, there are several, or it cannot be imported.
        """
        return self._find(name, Connector, _JAVA_CONNECTORS, CONNECTOR_ENTRY_POINTS)  # type: ignore[type-abstract]

    def converter_class(self, name: str) -> type[Converter]:
        """The converter class of that name or alias."""
        return self._find(name, Converter, _JAVA_CONVERTERS, CONVERTER_ENTRY_POINTS)  # type: ignore[type-abstract]

    def header_converter_class(self, name: str) -> type[HeaderConverter]:
        """The header converter class of that name or alias."""
        return self._find(name, HeaderConverter, _JAVA_CONVERTERS, CONVERTER_ENTRY_POINTS)  # type: ignore[type-abstract]

    def transformation_class(self, name: str) -> type[Transformation]:
        """The transformation class of that name or alias."""
        return self._find(name, Transformation, TRANSFORMS, TRANSFORM_ENTRY_POINTS)  # type: ignore[type-abstract]

    def predicate_class(self, name: str) -> type[Predicate]:
        """The predicate class of that name or alias."""
        return self._find(name, Predicate, JAVA_PREDICATES, PREDICATE_ENTRY_POINTS)  # type: ignore[type-abstract]

    def converter(self, class_name: str, config: Mapping[str, str], is_key: bool) -> Converter:
        """A converter, configured with its own settings (those after ``key.converter.`` or ``value.converter.``)."""
        converter = self.converter_class(class_name)()
        converter.configure(config, is_key)
        return converter

    def header_converter(self, class_name: str, config: Mapping[str, str]) -> HeaderConverter:
        """A header converter, configured with its own settings."""
        converter = self.header_converter_class(class_name)()
        converter.configure(config)
        return converter

    def transformation(self, class_name: str, config: Mapping[str, Any]) -> Transformation:
        """A transformation, configured with its own settings (those after ``transforms.<alias>.``)."""
        transformation = self.transformation_class(class_name)()
        transformation.configure(config)
        return transformation

    def predicate(self, class_name: str, config: Mapping[str, Any]) -> Predicate:
        """A predicate, configured with its own settings (those after ``predicates.<alias>.``)."""
        predicate = self.predicate_class(class_name)()
        predicate.configure(config)
        return predicate

    def connectors(self) -> list[PluginInfo]:
        """All connectors that can be imported, by name."""
        return self._infos(self._candidates(_JAVA_CONNECTORS, CONNECTOR_ENTRY_POINTS, Connector))

    def converters(self) -> list[PluginInfo]:
        """All converters and header converters that can be imported, by name."""
        return self._infos(self._candidates(_JAVA_CONVERTERS, CONVERTER_ENTRY_POINTS, (Converter, HeaderConverter)))

    def transformations(self) -> list[PluginInfo]:
        """All transformations that can be imported, by name."""
        return self._infos(self._candidates(TRANSFORMS, TRANSFORM_ENTRY_POINTS, Transformation))

    def predicates(self) -> list[PluginInfo]:
        """All predicates that can be imported, by name."""
        return self._infos(self._candidates(JAVA_PREDICATES, PREDICATE_ENTRY_POINTS, Predicate))

    def problems(self) -> list[PluginProblem]:
        """The plugins that could not be imported, and why."""
        broken = [
            PluginProblem(candidate.location, f"{candidate.reference}: {error}")
            for group in _ENTRY_POINTS
            for candidate in self._installed(group)
            if isinstance(error := _try_load(candidate.reference), PluginError)
        ]
        return [*self._scan[1], *broken]

    # references

    @staticmethod
    def java_name(plugin: type) -> str:
        """The name that Connect shows: the Java class name if Connect has the same plugin, else the Python one."""
        reference = Plugins.reference(plugin)
        return _JAVA_NAMES.get(reference, reference.replace(":", "."))

    def is_known(self, name: str) -> bool:
        """Whether there is a class of this full name, of whatever kind, that may be used."""
        if not self._allows(name):
            return False
        return name in _JAVA_PLUGINS or (":" in name and isinstance(_try_load(name), type))

    def refused_classes(self, definition: ConfigDef, config: Mapping[str, str | None]) -> dict[str, str]:
        """Keys of a connector's own that name classes which may not be used here, each with what to say.

        To be asked before values are judged: validators import classes. A key's default is the connector's own choice.
        """
        named = {
            key.name: value.strip()
            for key in definition.keys()
            if key.type is Type.CLASS and (value := config.get(key.name)) is not None and value != key.default
        }
        return {key: self._refusal(value) for key, value in named.items() if not self._allows(value)}

    @staticmethod
    def reference(plugin: type) -> str:
        """The text by which `load` finds the class again in another process."""
        return f"{plugin.__module__}:{plugin.__qualname__}"

    @staticmethod
    def load(reference: str, plugin_path: str | None = None) -> type[Any]:
        """The class of a reference; for executors, where nothing needs to be searched.

        Raises:
            PluginError: it cannot be imported here.
        """
        extend_import_path(plugin_path)
        return _load(reference)

    # internals

    def _find(self, name: str, base: type[Plugin], java: Mapping[str, str], group: str) -> type[Plugin]:
        wanted = name.strip()
        # Before it is imported: what a module does when it is, is what the list keeps out.
        if ":" in wanted or wanted in java:
            self._check_allowed(wanted)
        if ":" in wanted:
            return _checked(self.load(wanted, self.plugin_path), base, wanted)
        if wanted in java and issubclass(found := _load(java[wanted]), base):
            return found
        matches = [candidate for candidate in self._candidates(java, group, base) if candidate.answers_to(wanted)]
        classes: dict[str, type[Any]] = {candidate.display_name: _load(candidate.reference) for candidate in matches}
        classes = {display_name: cls for display_name, cls in classes.items() if issubclass(cls, base)}
        kind = base.__name__.removeprefix("Header").lower()
        if len(classes) > 1:
            raise PluginError(
                f"More than one {kind} matches alias {wanted}. Please use full package and class name instead. "
                f"Classes found: {', '.join(sorted(classes))}",
                known=sorted(classes),
            )
        if classes:
            return cast("type[Plugin]", next(iter(classes.values())))
        if "." in wanted:
            self._check_allowed(wanted)
        if "." in wanted and (direct := self._by_dotted_name(wanted)) is not None:
            return _checked(direct, base, wanted)
        known = sorted(candidate.display_name for candidate in self._candidates(java, group, base))
        raise PluginError(
            f"Failed to find any class that implements {base.__name__} and which name matches {wanted}, "
            f"available {kind}s are: {', '.join(known)}",
            known=known,
        )

    def _by_dotted_name(self, name: str) -> type[Any] | None:
        """A class that is importable but not registered anywhere."""
        module, _, simple = name.rpartition(".")
        extend_import_path(self.plugin_path)
        try:
            found = getattr(importlib.import_module(module), simple, None)
        except ImportError:
            return None
        except (Exception, SystemExit) as error:  # a module may be a program
            raise PluginError(f"Failed to import {name}: {type(error).__name__}: {error}") from error
        return found if isinstance(found, type) else None

    def _candidates(
        self, java: Mapping[str, str], group: str, bases: type[Any] | tuple[type[Any], ...]
    ) -> list[_Candidate]:
        """Everything known, each class once; built-in ones first, then entry points, then `plugin.path`."""
        by_reference = {reference: _Candidate(reference) for reference in java.values()}
        for candidate in [*self._installed(group), *self._on_path(bases)]:
            existing = by_reference.setdefault(candidate.reference, candidate)
            existing.aliases |= candidate.aliases
        return [each for each in by_reference.values() if self._allows(each.reference)]

    def _allows(self, name: str) -> bool:
        """Whether a full name, or the name that Connect has for the same plugin, is on the list."""
        if not self._allowed:
            return True
        reference = _JAVA_PLUGINS.get(name, name)
        names = {name.replace(":", "."), reference.replace(":", "."), _JAVA_NAMES.get(reference, "")}
        return any(fnmatchcase(each, pattern) for each in names if each for pattern in self._allowed)

    def _check_allowed(self, name: str) -> None:
        if not self._allows(name):
            raise PluginError(self._refusal(name))

    def _refusal(self, name: str) -> str:
        return f"{name} may not be used on this worker: its seamark.plugins.allow is {', '.join(self._allowed)}"

    @staticmethod
    def _installed(group: str) -> list[_Candidate]:
        return [
            _Candidate(reference, {alias}, origin) for reference, alias, origin in _entry_points(group, tuple(sys.path))
        ]

    def _on_path(self, bases: type[Any] | tuple[type[Any], ...]) -> list[_Candidate]:
        return [
            _Candidate(self.reference(cls), location=found.location)
            for found in self._scan[0]
            for cls in vars(found.module).values()
            if isinstance(cls, type)
            and issubclass(cls, bases)
            and not inspect.isabstract(cls)
            # a class that is merely imported by the module belongs to another one
            and cls.__module__ == found.module.__name__
        ]

    @functools.cached_property
    def _scan(self) -> tuple[list[Any], list[PluginProblem]]:
        return scan(self.plugin_path)

    @staticmethod
    def _infos(candidates: Iterable[_Candidate]) -> list[PluginInfo]:
        infos = []
        for candidate in candidates:
            cls = _try_load(candidate.reference)
            if isinstance(cls, type):
                version = str(getattr(cls, "version", "unknown"))
                infos += [
                    PluginInfo(candidate.display_name, kind, version, candidate.reference, candidate.location)
                    for kind in _kinds(cls)
                ]
        return sorted(infos, key=lambda info: (info.kind, info.class_name))


def _kinds(cls: type) -> list[str]:
    bases = {
        "source": SourceConnector,
        "sink": SinkConnector,
        "converter": Converter,
        "header_converter": HeaderConverter,
        "transformation": Transformation,
        "predicate": Predicate,
    }
    return [kind for kind, base in bases.items() if issubclass(cls, base)]


@functools.cache
def _entry_points(group: str, _import_path: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """References, aliases and origins. Finding them reads a file of every installed package, so it is done once."""
    return [(point.value, point.name, _origin(point)) for point in entry_points(group=group)]


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "entry point"


def _load(reference: str) -> type[Any]:
    module_name, _, qualified_name = reference.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in qualified_name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise PluginError(f"Failed to import {reference}: {error}. Is it installed here, or on plugin.path?") from error
    except AttributeError as error:
        raise PluginError(f"Failed to find {qualified_name} in module {module_name}") from error
    except (Exception, SystemExit) as error:  # a module may be a program
        raise PluginError(f"Failed to import {reference}: {type(error).__name__}: {error}") from error
    if not isinstance(found, type):
        raise PluginError(f"{reference} is not a class but a {type(found).__name__}")
    return found


def _try_load(reference: str) -> type[Any] | PluginError:
    try:
        return _load(reference)
    except PluginError as error:
        return error


def _checked(cls: type[Any], base: type[Plugin], name: str) -> type[Plugin]:
    if not issubclass(cls, base):
        raise PluginError(f"Requested class: {name} does not extend {base.__name__}")
    return cls
