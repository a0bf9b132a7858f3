"""Errors of the API as problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from aiohttp import web
from pydantic import ValidationError

from offchain.errors import BadKey, CheckFailed, GantryError, RefusedError
from offchain.gateway.api.call_parameters import ACTION_TAG
from offchain.gateway.api.models import ManifestErrorResource, ProblemDocument
from offchain.schema.manifest.types import ManifestError

PROBLEM_JSON: Final = "application/problem+json"
_MOST_SHOWN: Final = 80
_STATUSES: Final = {
    "not_found": HTTPStatus.NOT_FOUND,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "invalid_parameter": HTTPStatus.BAD_REQUEST,
    "read_too_long": HTTPStatus.BAD_REQUEST,
    "events_pruned": HTTPStatus.GONE,
    "not_signed_in": HTTPStatus.UNAUTHORIZED,
    "sign_in_refused": HTTPStatus.FORBIDDEN,
    "not_allowed": HTTPStatus.FORBIDDEN,
    "too_many_requests": HTTPStatus.TOO_MANY_REQUESTS,
    "bad_value": HTTPStatus.BAD_REQUEST,
    "wrong_payload": HTTPStatus.BAD_REQUEST,
    "wrong_signature": HTTPStatus.FORBIDDEN,
    "sign_in_off": HTTPStatus.NOT_FOUND,
    "no_node": HTTPStatus.NOT_FOUND,
    "monitoring_off": HTTPStatus.NOT_FOUND,
    "no_pdf": HTTPStatus.NOT_FOUND,
    "state_pruned": HTTPStatus.GONE,
    "proof_refused": HTTPStatus.CONFLICT,
    "restart_off": HTTPStatus.NOT_FOUND,
    "restart_refused": HTTPStatus.FORBIDDEN,
}
"""Other refusals are conflicts; all other errors are of this side, and pass (the index is away, halted, not ready)."""
_RETRY_S: Final = {HTTPStatus.TOO_MANY_REQUESTS: 1, HTTPStatus.SERVICE_UNAVAILABLE: 5}


def problem(
    status: HTTPStatus,
    code: str,
    detail: str,
    hint: str = "",
    field: str | None = None,
    errors: Sequence[ManifestErrorResource] = (),
) -> web.Response:
    """Return an error as a response."""
    body = ProblemDocument(
        type=f"urn:gantry:problem:{code}",
        title=status.phrase,
        status=status,
        detail=detail,
        code=code,
        hint=hint,
        field=field,
        errors=list(errors) or None,
    )
    headers = {"Retry-After": str(_RETRY_S[status])} if status in _RETRY_S else {}
    if status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return web.Response(
        status=status,
        text=body.model_dump_json(exclude={"errors"} if body.errors is None else None),
        content_type=PROBLEM_JSON,
        charset="utf-8",
        headers=headers,
    )


def of_exception(error: ValidationError | ManifestError | GantryError) -> web.Response:
    """Return the response to a request that failed."""
    if isinstance(error, ValidationError):
        return of_invalid(error)
    return of_manifest(error) if isinstance(error, ManifestError) else of_error(error)


def of_http(error: web.HTTPException, request: web.Request) -> web.Response:
    """Return the response to a request for what there is not, or that is too large."""
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", f"The body is too large: {error.text}", "Send less."
        )
    if isinstance(error, web.HTTPMethodNotAllowed):
        answer = problem(
            HTTPStatus.METHOD_NOT_ALLOWED,
            "method_not_allowed",
            f"{request.method} is not allowed here.",
            f"Use {' or '.join(sorted(set(error.allowed_methods) - {'HEAD'}))}.",
        )
        answer.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
        return answer
    return problem(
        HTTPStatus.NOT_FOUND,
        "not_found",
        f"There is no resource {request.path[:200]}.",
        "GET /v1/openapi.json lists all.",
    )


def of_error(error: GantryError) -> web.Response:
    """Return the response to an error of a read."""
    other = HTTPStatus.SERVICE_UNAVAILABLE
    if isinstance(error, (CheckFailed, RefusedError)):
        other = HTTPStatus.CONFLICT
    elif isinstance(error, BadKey):
        other = HTTPStatus.BAD_REQUEST
    field = getattr(error, "field", None)
    return problem(_STATUSES.get(error.code, other), error.code, error.message, error.hint, field)


def of_manifest(error: ManifestError) -> web.Response:
    """Return the response to a call whose manifest is not valid."""
    first = error.problems[0]
    return problem(
        HTTPStatus.BAD_REQUEST,
        "bad_manifest",
        f"line {first.line}: {first.path}{': ' if first.path else ''}{first.message}.",
        first.hint,
        f"call.manifest:{first.line}{':' + first.path if first.path else ''}",
        errors_of(error),
    )


def errors_of(error: ManifestError) -> list[ManifestErrorResource]:
    """Return the errors of a manifest."""
    return [
        ManifestErrorResource(line=one.line, key=one.path, message=one.message, hint=one.hint) for one in error.problems
    ]


def of_invalid(error: ValidationError) -> web.Response:
    """Return the response to parameters that are not valid: the first one, with its value and what is allowed."""
    first = error.errors(include_url=False, include_context=False)[0]
    parts = (str(part) for part in first["loc"])
    field = ".".join(part for part in parts if not part.startswith(ACTION_TAG)) or None
    if first["type"] == "extra_forbidden":
        detail, hint = f"There is no parameter {field}.", "GET /v1/openapi.json lists those of each resource."
    else:
        given = str(first["input"])
        shown = given if len(given) <= _MOST_SHOWN else f"{given[:_MOST_SHOWN]}…"
        said = first["msg"].removeprefix("Value error, ")
        detail, hint = (f"{field}: {said} (given: {shown})." if field else f"{said}."), "Correct it, or leave it out."
    return problem(HTTPStatus.BAD_REQUEST, "invalid_parameter", detail, hint, field)
