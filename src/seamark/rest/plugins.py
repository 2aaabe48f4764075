"""`/connector-plugins`: which plugins there are, their configuration keys, and validation."""

from __future__ import annotations

from seamark.errors import BadRequestError
from seamark.rest import bodies, schemas
from seamark.rest.answers import Answer, Call, json_answer
from seamark.rest.endpoints import Endpoint, Parameter
from seamark.rest.identity import Role
from seamark.rest.masking import sees_secrets
from seamark.runtime.herder import RestError

PLUGINS = "/connector-plugins"
_SUFFIX = "Connector"
# Java does not look into what its herder throws here, and shows it with its class.
_NOT_UNWRAPPED = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: "


def _plugins(call: Call) -> Answer:
    rows = call.herder.connector_plugins(connectors_only=call.flag("connectorsOnly", True))
    shown = []
    for row in rows:
        plugin = {"class": row.class_name, "type": row.type}
        shown.append(plugin if row.version is None else {**plugin, "version": row.version})
    return json_answer(shown)


def _plugin_config(call: Call) -> Answer:
    version = call.parameter("version")
    return json_answer(call.herder.plugin_config(call.path["plugin"], None if version == "latest" else version))


def _validate(call: Call) -> Answer:
    plugin, config = call.path["plugin"], bodies.parse_config(call.body)
    included = config.get("connector.class")
    if included is not None and not _without_suffix(included).endswith(_without_suffix(plugin)):
        raise BadRequestError(f"Included connector type {included} does not match request type {plugin}")
    try:
        # What references stand for comes out in many places of an answer; who may not see it does not have it resolved.
        found = call.herder.validate_config(config, resolves=sees_secrets(call))
    except BadRequestError as error:
        raise RestError(500, _NOT_UNWRAPPED + error.message) from error
    return json_answer(
        {
            "name": found.name,
            "error_count": found.error_count,
            "groups": list(found.groups),
            "configs": [dict(config) for config in found.configs],
        }
    )


def _without_suffix(name: str) -> str:
    return name.removesuffix(_SUFFIX) if len(name) > len(_SUFFIX) else name


def endpoints() -> list[Endpoint]:
    """All endpoints of this module."""
    error = schemas.ErrorMessage
    only = Parameter("connectorsOnly", {"type": "string"}, "`false` to list transforms, predicates and converters too")
    return [
        Endpoint(
            "GET", PLUGINS, _plugins, "Installed plugins", {200: schemas.PluginInfos}, parameters=(only,), tag="plugins"
        ),
        Endpoint(
            "GET",
            f"{PLUGINS}/{{plugin}}/config",
            _plugin_config,
            "Configuration keys of a plugin",
            {200: schemas.ConfigKeyInfos, 404: error},
            parameters=(Parameter("version", {"type": "string"}, "of the plugin; `latest` if not given"),),
            tag="plugins",
        ),
        Endpoint(
            "PUT",
            f"{PLUGINS}/{{plugin}}/config/validate",
            _validate,
            "Validate a connector's configuration",
            {200: schemas.ConfigInfos},
            body=schemas.Config,
            tag="plugins",
            role=Role.VIEWER,
        ),
    ]
