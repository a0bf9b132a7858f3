"""The OpenAPI 3.1 document of the API, made from the endpoints and their pydantic models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from offchain.gateway.api.action import ApiAction, FileAnswer
from offchain.gateway.api.actions import ACTIONS
from offchain.gateway.api.endpoints import ENDPOINTS, STREAM_PATH, ApiEndpoint, in_path
from offchain.gateway.api.models import EventResource, ProblemDocument
from offchain.gateway.api.parameters import EventStreamChoice, Parameters
from offchain.gateway.api.problems import PROBLEM_JSON

VERSION: Final = "1.0.0"
_REF: Final = "#/components/schemas/{model}"
_PROBLEMS: Final = {
    "400": "A parameter is not valid, or the read takes too long.",
    "404": "There is no such resource.",
    "410": "Retention has removed what was asked for.",
    "429": "Too many requests from this address.",
    "503": "The index cannot be read now.",
}
_PROBLEMS_OF_ACTIONS: Final = {
    "401": "There is no valid token.",
    "403": "The sign-in is refused, or the token may not do this.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
}
_PROBLEMS_OF_WALLETS: Final = {
    "403": "The signature is not by the account, or not of this payload.",
    "409": "The chain refuses it, or would refuse it, in its present state.",
}
_BEARER: Final = "bearer"


@cache
def document_text() -> str:
    """Return the document as JSON. It is made once: that takes longer than an answer to a stranger may."""
    return json.dumps(document())


def document() -> dict[str, Any]:
    """Return the document as JSON values."""
    answers: list[type[BaseModel]] = [
        *(one.answer for one in ENDPOINTS),
        *(one.answer for one in ACTIONS if issubclass(one.answer, BaseModel)),
        EventResource,
        ProblemDocument,
    ]
    inputs: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = [
        (one.asked, "validation") for one in ACTIONS if one.has_body
    ]
    _, made = models_json_schema([*((model, "serialization") for model in answers), *inputs], ref_template=_REF)
    paths = {endpoint.path: {"get": _operation(endpoint)} for endpoint in ENDPOINTS}
    paths[STREAM_PATH] = {"get": _stream_operation()}
    for action in ACTIONS:
        paths.setdefault(action.path, {})[action.method.lower()] = _action_operation(action)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gantry",
            "version": VERSION,
            "description": "History of a Gantry chain, and calls for wallets to sign. "
            "Every answer about the chain names the final block that it is of.",
        },
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": _by_title(made["$defs"]),
            "securitySchemes": {_BEARER: {"type": "http", "scheme": "bearer"}},
        },
    }


def _by_title(schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas under their titles (TaskPage), not under pydantic's names of generic models (Page_Task_)."""
    text = json.dumps(schemas)
    for name, schema in schemas.items():
        text = text.replace(f'"{_REF.format(model=name)}"', f'"{_REF.format(model=schema["title"])}"')
    return {schema["title"]: schema for schema in json.loads(text).values()}


def _operation(endpoint: ApiEndpoint) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _reference(endpoint.answer)}}
    if endpoint.export is not None:
        content["text/csv"] = {"schema": {"type": "string", "description": ", ".join(endpoint.export.header)}}
    if endpoint.as_text is not None:
        content |= {kind: {"schema": {"type": "string"}} for kind in ("text/csv", "text/html")}
    return {
        "operationId": endpoint.name,
        "summary": endpoint.about,
        "parameters": _parameters(endpoint.parameters, endpoint.in_path),
        "responses": {
            "200": {"description": "The answer.", "content": content},
            "304": {"description": "It is what the request's If-None-Match names."},
            **_problems(),
        },
    }


def _action_operation(action: ApiAction) -> dict[str, Any]:
    content: dict[str, Any]
    if issubclass(action.answer, FileAnswer):
        kind = "application/pdf" if action.path.endswith(".pdf") else "application/octet-stream"
        content = {kind: {"schema": {"type": "string", "format": "binary"}}}
    else:
        content = {"application/json": {"schema": _reference(action.answer)}}
    more = _PROBLEMS_OF_ACTIONS if action.budget == "sign_in" else _PROBLEMS_OF_ACTIONS | _PROBLEMS_OF_WALLETS
    operation: dict[str, Any] = {
        "operationId": action.name,
        "summary": action.about,
        "parameters": [] if action.has_body else _parameters(action.asked, in_path(action.path)),
        "responses": {str(action.status.value): {"description": "The answer.", "content": content}, **_problems(more)},
    }
    if action.has_body:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(action.asked)}},
        }
    if action.needs_token:
        operation["security"] = [{_BEARER: []}]
    return operation


def _stream_operation() -> dict[str, Any]:
    resume = {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "description": "As `after`, which has precedence; browsers send it when they connect again.",
        "schema": {"type": "string"},
    }
    about = "Server-sent events; `id` is that of the event, `data` an Event as JSON."
    return {
        "operationId": "event_stream",
        "summary": "Events as their blocks become final.",
        "parameters": [*_parameters(EventStreamChoice, ()), resume],
        "responses": {
            "200": {"description": about, "content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **_problems(),
        },
    }


def _problems(more: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    content = {PROBLEM_JSON: {"schema": _reference(ProblemDocument)}}
    return {status: {"description": about, "content": content} for status, about in {**_PROBLEMS, **more}.items()}


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.model_json_schema()["title"])}


def _parameters(model: type[Parameters], in_path: tuple[str, ...]) -> list[dict[str, Any]]:
    schema = model.model_json_schema(ref_template=_REF)
    required = schema.get("required", ())
    found = []
    for name, field in schema.get("properties", {}).items():
        field.pop("title", None)
        about = field.pop("description", "")
        place = "path" if name in in_path else "query"
        found.append({"name": name, "in": place, "required": name in required, "description": about, "schema": field})
    return found
