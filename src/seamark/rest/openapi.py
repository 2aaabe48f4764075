"""The OpenAPI document, and a page that shows it without anything from other hosts."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from seamark.rest import schemas
from seamark.rest.endpoints import Endpoint

# What a path can have: see `seamark.rest.uris`.
_NAME: Final = {"type": "string", "minLength": 1, "pattern": r"^[^/\\%\x00-\x1f\x7f]+$", "not": {"enum": [".", ".."]}}
_PATH_PARAMETERS: Final = {
    "connector": ("The connector's name", _NAME),
    "task": ("The task's number", {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}),
    "plugin": ("Class, simple class name or alias", _NAME),
    "logger": ("The logger's name, or `root`", _NAME),
    "operation": ("The id of an operation", _NAME),
}
_WORDS: Final = {
    200: "Done",
    201: "Created",
    202: "Accepted",
    204: "Done",
    400: "The request is wrong: its target, its body, or what it asks for",
    403: "Not allowed by this worker's configuration, or wrongly signed",
    404: "There is none of that name",
    406: "The client does not accept JSON",
    408: "The body did not arrive in time",
    409: "It exists already, or the workers are rebalancing: try again",
    413: "The body is too long",
    415: "The body is not JSON",
    500: "The worker or a plugin failed",
    503: "The worker is still starting",
}


class EndpointRoute(APIRoute):
    """A route whose endpoint takes the request and gives the response, with nothing for FastAPI to parse or check."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.endpoint


def add_route(app: FastAPI, endpoint: Endpoint, handler: Callable[[Request], Coroutine[Any, Any, Response]]) -> None:
    """Add an endpoint to an application and to its document."""
    success = min(endpoint.responses)
    app.add_api_route(
        endpoint.path,
        handler,
        methods=[endpoint.method],
        summary=endpoint.summary,
        tags=[endpoint.tag],
        operation_id=_operation_id(endpoint),
        status_code=success,
        response_model=None,
        response_class=Response if endpoint.responses[success] is None else JSONResponse,
        response_description=_WORDS[success],
        responses=_responses(endpoint),
        openapi_extra=_extra(endpoint),
    )


def _operation_id(endpoint: Endpoint) -> str:
    words = re.findall(r"[a-z]+", endpoint.path)
    return "_".join([endpoint.method.lower(), *words]) if words else "get_root"


def _responses(endpoint: Endpoint) -> dict[int | str, dict[str, Any]]:
    models = {400: schemas.ErrorMessage, 500: schemas.ErrorMessage, **endpoint.responses}
    if endpoint.body is not None:
        models |= {408: schemas.ErrorMessage, 413: schemas.ErrorMessage}
    if endpoint.checks_accept:
        models[406] = None
    if endpoint.checks_content_type:
        models[415] = None
    found: dict[int | str, dict[str, Any]] = {}
    for status, model in sorted(models.items()):
        found[status] = {"description": _WORDS[status]}
        if model is not None:
            found[status]["model"] = model
    # A target that is refused is answered with a page.
    found[400]["content"] = {"text/html": {"schema": {"type": "string"}}}
    return found


def _extra(endpoint: Endpoint) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = []
    for name in re.findall(r"{(\w+)}", endpoint.path):
        description, schema = _PATH_PARAMETERS[name]
        parameters.append({"name": name, "in": "path", "required": True, "description": description, "schema": schema})
    for parameter in endpoint.parameters:
        parameters.append(
            {
                "name": parameter.name,
                "in": "query",
                "required": False,
                "description": parameter.description,
                "schema": dict(parameter.schema),
            }
        )
    extra: dict[str, Any] = {"parameters": parameters} if parameters else {}
    if endpoint.body is not None:
        schema = endpoint.body.model_json_schema()
        definitions = schema.pop("$defs", {})
        extra["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _inlined(schema, definitions)}},
        }
    return extra


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
        return {name: _inlined(value, definitions) for name, value in schema.items()}
    return [_inlined(value, definitions) for value in schema] if isinstance(schema, list) else schema


_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b2733; }}
h2 {{ margin-top: 2rem; text-transform: capitalize; }}
details {{ border: 1px solid #d5dde5; border-radius: 4px; margin: .4rem 0; padding: .4rem .8rem; }}
summary {{ cursor: pointer; }}
code {{ font: 14px ui-monospace, monospace; }}
.method {{ display: inline-block; width: 4.5rem; font-weight: bold; }}
table {{ border-collapse: collapse; }}
td {{ padding: .1rem 1rem .1rem 0; vertical-align: top; }}
</style>
</head>
<body>
<h1>{title} <small>{version}</small></h1>
<p>{summary}. The document for programs is <a href="openapi.json">openapi.json</a>.</p>
{sections}
</body>
</html>
"""


def page(document: Mapping[str, Any]) -> str:
    """All endpoints of an OpenAPI document as one HTML page."""
    sections: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            sections.setdefault(operation["tags"][0], []).append(_operation(path, method, operation))
    info = document["info"]
    return _PAGE.format(
        title=html.escape(info["title"]),
        version=html.escape(info["version"]),
        summary=html.escape(info["summary"]),
        sections="\n".join(f"<h2>{html.escape(tag)}</h2>\n" + "\n".join(rows) for tag, rows in sections.items()),
    )


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    rows = [
        (
            f"<code>{html.escape(parameter['name'])}</code>",
            f"{parameter['in']}: {html.escape(parameter['description'])}",
        )
        for parameter in operation.get("parameters", ())
    ]
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        rows.append(("body", html.escape(schema.get("description", "JSON"))))
    rows += [(status, html.escape(found["description"])) for status, found in operation["responses"].items()]
    cells = "".join(f"<tr><td>{name}</td><td>{text}</td></tr>" for name, text in rows)
    return (
        f'<details><summary><span class="method">{method.upper()}</span> <code>{html.escape(path)}</code> '
        f"{html.escape(operation['summary'])}</summary><table>{cells}</table></details>"
    )
