"""Handlers of the resources that need a token, change something or ask a node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from aiohttp import web

from offchain.gateway.api import problems
from offchain.gateway.api.action import ApiAction, ApiParts, Budget, FileAnswer
from offchain.gateway.api.client_limits import ClientLimits
from offchain.gateway.api.monitoring import MONITORING_ACTIONS
from offchain.gateway.api.notifications import NOTIFICATION_ACTIONS
from offchain.gateway.api.sign_in_actions import SIGN_IN_ACTIONS
from offchain.gateway.api.statements import STATEMENT_ACTIONS
from offchain.gateway.api.wallet_actions import WALLET_ACTIONS

ACTIONS: Final = (*SIGN_IN_ACTIONS, *NOTIFICATION_ACTIONS, *MONITORING_ACTIONS, *STATEMENT_ACTIONS, *WALLET_ACTIONS)
MOST_BODY: Final = max(action.most_body for action in ACTIONS)
"""Bytes of the body of any request."""
_COMPRESSED_FROM: Final = 1_024
_WRITES_PER_S: Final = 2.0
"""Requests with a budget from one address; four times as many at once."""
_AT_ONCE: Final = 4
"""Requests of a budget of one address in progress: so others wait for few of them."""
_BODY_S: Final = 20.0
"""How long the body of a request may take to arrive."""
_JSON: Final = "application/json"


class ActionHandlers:
    """The handlers of actions."""

    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._budgets: dict[Budget, ClientLimits] = {
            action.budget: ClientLimits(requests_per_s=_WRITES_PER_S, streams=_AT_ONCE) for action in ACTIONS
        }

    def handler(self, action: ApiAction) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Return the handler of an action for a router."""

        async def handle(request: web.Request) -> web.StreamResponse:
            if not action.has_body and not action.is_costly:
                return await self._answer(action, request, b"")
            if not self._budgets[action.budget].admit(request):
                return _too_many(f"This address asks this more than {_WRITES_PER_S:g} times a second.")
            if action.has_body and (refused := self._refusal(action, request)) is not None:
                return refused
            with self._budgets[action.budget].stream(request) as allowed:
                if not allowed:
                    return _too_many(f"This address has {_AT_ONCE} of these requests in progress.")
                try:
                    async with asyncio.timeout(_BODY_S):
                        body = await request.read() if action.has_body else b""
                except TimeoutError:
                    return problems.problem(
                        HTTPStatus.REQUEST_TIMEOUT,
                        "too_slow",
                        f"The body did not arrive within {_BODY_S:g} s, which is the limit.",
                        "Send it again, by a faster connection.",
                    )
                if len(body) > action.most_body:
                    raise web.HTTPRequestEntityTooLarge(action.most_body, len(body))
                return await self._answer(action, request, body)

        return handle

    async def _answer(self, action: ApiAction, request: web.Request, body: bytes) -> web.StreamResponse:
        who = None
        if action.needs_token:
            who = await self._parts.sign_in.identity(request.headers.get("Authorization"))
        if action.has_body:
            asked = action.asked.model_validate_json(body)
        else:
            asked = action.asked.model_validate({**request.match_info, **request.query})
        found = await action.act(self._parts, who, asked)
        if isinstance(found, FileAnswer):
            return _as_file(found)
        text = found.model_dump_json()
        made = web.json_response(text=text, status=action.status, headers={"Cache-Control": "no-store"})
        if len(text) >= _COMPRESSED_FROM and not action.needs_token:
            made.enable_compression()
        return made

    def _refusal(self, action: ApiAction, request: web.Request) -> web.Response | None:
        """Return the refusal of a request with a body before it is read; None if there is none."""
        if request.content_type != _JSON:
            # A page of another origin can send other types without asking first.
            return problems.problem(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                f"The body is {request.content_type[:80]}, and has to be {_JSON}.",
                f"Send the header Content-Type: {_JSON}.",
            )
        if (request.content_length or 0) > action.most_body:
            raise web.HTTPRequestEntityTooLarge(action.most_body, request.content_length or 0)
        return None


def _as_file(answer: FileAnswer) -> web.Response:
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{answer.name}"'}
    made = web.Response(body=answer.data, content_type=answer.content_type, headers=headers)
    made.enable_compression()
    return made


def _too_many(detail: str) -> web.Response:
    return problems.problem(HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", detail, "Ask slower.")
