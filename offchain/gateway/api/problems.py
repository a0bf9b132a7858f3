"""Errors of the API as problem documents (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web
from pydantic import ValidationError

from offchain.errors import GantryError
from offchain.gateway.api.models import ProblemDocument
from offchain.gateway.api.parameters import BadParameter

PROBLEM_JSON: Final = "application/problem+json"
_MOST_SHOWN: Final = 80
_STATUSES: Final = {
    "not_found": HTTPStatus.NOT_FOUND,
    "invalid_parameter": HTTPStatus.BAD_REQUEST,
    "read_too_long": HTTPStatus.BAD_REQUEST,
    "events_pruned": HTTPStatus.GONE,
    "not_signed_in": HTTPStatus.UNAUTHORIZED,
    "sign_in_refused": HTTPStatus.FORBIDDEN,
    "not_allowed": HTTPStatus.FORBIDDEN,
    "too_many_requests": HTTPStatus.TOO_MANY_REQUESTS,
}
"""All other errors are of this side, and pass: the index is away, halted or not ready."""
_RETRY_S: Final = {HTTPStatus.TOO_MANY_REQUESTS: 1, HTTPStatus.SERVICE_UNAVAILABLE: 5}


def problem(status: HTTPStatus, code: str, detail: str, hint: str = "", field: str | None = None) -> web.Response:
    """Return an error as a response."""
    body = ProblemDocument(
        type=f"urn:gantry:problem:{code}",
        title=status.phrase,
        status=status,
        detail=detail,
        code=code,
        hint=hint,
        field=field,
    )
    headers = {"Retry-After": str(_RETRY_S[status])} if status in _RETRY_S else {}
    if status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(
        status=status, text=body.model_dump_json(), content_type=PROBLEM_JSON, charset="utf-8", headers=headers
    )


def of_error(error: GantryError) -> web.Response:
    """Return the response to an error of a read."""
    status = _STATUSES.get(error.code, HTTPStatus.SERVICE_UNAVAILABLE)
    return problem(
        status, error.code, error.message, error.hint, error.field if isinstance(error, BadParameter) else None
    )


def of_invalid(error: ValidationError) -> web.Response:
    """Return the response to parameters that are not valid: the first one, with its value and what is allowed."""
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(map(str, first["loc"])) or None
    if first["type"] == "extra_forbidden":
        detail, hint = f"There is no parameter {field}.", "GET /v1/openapi.json lists those of each resource."
    else:
        given = str(first["input"])
        shown = given if len(given) <= _MOST_SHOWN else f"{given[:_MOST_SHOWN]}…"
        said = first["msg"].removeprefix("Value error, ")
        detail, hint = (f"{field}: {said} (given: {shown})." if field else f"{said}."), "Correct it, or leave it out."
    return problem(HTTPStatus.BAD_REQUEST, "invalid_parameter", detail, hint, field)
