"""The resources of the API that need a token or change something: method, path, body, answer, and what they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal

from aiohttp import web
from pydantic import BaseModel

from offchain.gateway.api import problems
from offchain.gateway.api import sign_in_models as made
from offchain.gateway.api.client_limits import ClientLimits
from offchain.gateway.api.endpoints import one_answer_of
from offchain.gateway.api.parameters import NoParameters, Parameters
from offchain.gateway.api.sign_in import SignIn

MOST_BODY: Final = 4_096
"""Bytes of the body of a request."""
_WRITES_PER_S: Final = 2.0
"""Requests with a body from one address, four times as many at once."""


@dataclass(frozen=True, slots=True)
class ApiAction:
    """A resource with another method than GET, or one that needs a token.

    `asked`: its body, or the parameters of its path.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    name: str
    about: str
    asked: type[Parameters]
    answer: type[BaseModel]
    needs_token: bool
    act: Callable[[SignIn, Any, Any], Awaitable[BaseModel]]

    @property
    def has_body(self) -> bool:
        return self.method == "POST"


ACTIONS: Final = (
    ApiAction(
        "POST",
        "/v1/sign-in/message",
        "sign_in_message",
        "A text for the account's wallet to sign.",
        made.SignInMessageBody,
        one_answer_of(made.SignInMessageResource),
        needs_token=False,
        act=lambda sign_in, _, asked: sign_in.message(asked),
    ),
    ApiAction(
        "POST",
        "/v1/sign-in",
        "sign_in",
        "Sign in with a signed text: sr25519, ed25519 or ecdsa, with or without <Bytes> around it.",
        made.SignInBody,
        one_answer_of(made.NewSessionResource),
        needs_token=False,
        act=lambda sign_in, _, asked: sign_in.begin(asked),
    ),
    ApiAction(
        "GET",
        "/v1/session",
        "session",
        "Whom the token stands for.",
        NoParameters,
        one_answer_of(made.SessionResource),
        needs_token=True,
        act=lambda sign_in, who, _: sign_in.present(who),
    ),
    ApiAction(
        "DELETE",
        "/v1/session",
        "sign_out",
        "Revoke the token.",
        NoParameters,
        one_answer_of(made.RevokedResource),
        needs_token=True,
        act=lambda sign_in, who, _: sign_in.end(who),
    ),
    ApiAction(
        "GET",
        "/v1/api-keys",
        "api_keys",
        "The keys of programs of the account.",
        NoParameters,
        one_answer_of(made.ApiKeyList),
        needs_token=True,
        act=lambda sign_in, who, _: sign_in.keys(who),
    ),
    ApiAction(
        "POST",
        "/v1/api-keys",
        "add_api_key",
        "Make a key for programs, for some of the account's roles.",
        made.ApiKeyBody,
        one_answer_of(made.NewApiKeyResource),
        needs_token=True,
        act=lambda sign_in, who, asked: sign_in.add_key(who, asked),
    ),
    ApiAction(
        "DELETE",
        "/v1/api-keys/{id}",
        "revoke_api_key",
        "Revoke a key.",
        made.OneApiKey,
        one_answer_of(made.RevokedResource),
        needs_token=True,
        act=lambda sign_in, who, asked: sign_in.revoke_key(who, asked),
    ),
)


class ActionHandlers:
    """The handlers of actions. `sign_in`: None where the gateway has no domain."""

    def __init__(self, sign_in: SignIn | None) -> None:
        self._sign_in = sign_in
        self._writes = ClientLimits(requests_per_s=_WRITES_PER_S, streams=1)

    def handler(self, action: ApiAction) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Return the handler of an action for a router."""

        async def handle(request: web.Request) -> web.StreamResponse:
            if self._sign_in is None:
                return problems.problem(
                    HTTPStatus.NOT_FOUND,
                    "sign_in_off",
                    "This gateway has no sign-in.",
                    "Start it with the domain at which people reach it (--http-domain).",
                )
            if action.has_body and not self._writes.admit(request):
                return problems.problem(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    "too_many_requests",
                    f"This address signs in, or makes keys, more than {_WRITES_PER_S:g} times a second.",
                    "Ask slower.",
                )
            who = await self._sign_in.identity(request.headers.get("Authorization")) if action.needs_token else None
            if action.has_body:
                asked = action.asked.model_validate_json(await request.read())
            else:
                asked = action.asked.model_validate({**request.match_info, **request.query})
            answer = await action.act(self._sign_in, who, asked)
            return web.json_response(text=answer.model_dump_json(), headers={"Cache-Control": "no-store"})

        return handle
