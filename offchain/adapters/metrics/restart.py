"""Restart of a process at the request of an operator, who signs a text that is valid for one run of one program.

The process itself checks the signature, so that a gateway or proxy that carries the request has no right
of its own. After the restart the process has another run, so a request cannot be used twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offchain.adapters.keys.wallet_signature import is_signed_by
from offchain.clock import unix_ms
from offchain.errors import BadKey, GantryError
from offchain.schema.value_text import parse_utc_text, utc_text

log = logging.getLogger("gantry.restart")

RESTART_PATH: Final = "/restart"
LIFETIME_MS: Final = 120_000
"""How long a request can be used."""
MOST_BODY: Final = 4_096
"""Bytes of a request, and of an answer."""
RUN_DIGITS: Final = 32
_ANSWERED_S: Final = 0.2
"""Time for the answer to reach the client before the process begins to end."""
_TEXT: Final = re.compile(
    r"(?P<domain>[^\s]{1,253}) asks you to restart a process of Gantry with the account:\n"
    r"(?P<account>[1-9A-HJ-NP-Za-km-z]{46,49})\n\n"
    r"The process ends, and its supervisor starts it again\. This costs nothing and sends nothing to the chain\.\n\n"
    rf"Process: (?P<program>[ -~]{{1,100}})\nRun: (?P<run>[0-9a-f]{{{RUN_DIGITS}}})\n"
    r"Expiration Time: (?P<expires>[0-9TZ:.-]{24})"
)


class RestartRefused(GantryError):  # noqa: N818
    """A restart that the process does not accept."""

    code = "restart_refused"


@dataclass(frozen=True, slots=True)
class RestartMessage:
    """What an operator signs. `domain`: of the gateway that shows it; `program`, `run`: of the process."""

    domain: str
    account: str
    program: str
    run: str
    expires_ms: int

    def text(self) -> str:
        """Return the text to be signed."""
        return (
            f"{self.domain} asks you to restart a process of Gantry with the account:\n{self.account}\n\n"
            "The process ends, and its supervisor starts it again. This costs nothing and sends nothing to the chain."
            f"\n\nProcess: {self.program}\nRun: {self.run}\nExpiration Time: {utc_text(self.expires_ms)}"
        )


def read_restart(text: str) -> RestartMessage:
    """Return the message in a text. Raises RestartRefused."""
    found = _TEXT.fullmatch(text)
    try:
        if found is not None:
            expires_ms = parse_utc_text(found["expires"])
            message = RestartMessage(found["domain"], found["account"], found["program"], found["run"], expires_ms)
            if message.text() == text:
                return message
    except ValueError:
        pass
    raise RestartRefused("The text is not that of a restart.", "Sign the text as it was given.")


class ProcessIdentity(BaseModel):
    """What a process answers about itself."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    program: str = Field(pattern="^[ -~]{1,100}$")
    run: str = Field(pattern=f"^[0-9a-f]{{{RUN_DIGITS}}}$")


class RestartBody(BaseModel):
    """A text and the signature of it, in hex."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    message: str = Field(max_length=1_000)
    signature: str = Field(pattern="^(0x)?([0-9a-fA-F]{128}|[0-9a-fA-F]{130}|[0-9a-fA-F]{132})$")


def _end_this_process() -> None:
    signal.raise_signal(signal.SIGTERM)


class RestartGuard:
    """Decides who restarts this process. `operators`: the accounts that may; `end`: ends the process in order."""

    def __init__(
        self,
        operators: frozenset[str],
        program: str,
        *,
        now_ms: Callable[[], int] = unix_ms,
        end: Callable[[], None] = _end_this_process,
    ) -> None:
        self._operators = operators
        self._now_ms = now_ms
        self._end = end
        self.identity = ProcessIdentity(program=program, run=secrets.token_hex(RUN_DIGITS // 2))
        self._is_ending = False

    def check(self, body: RestartBody) -> RestartMessage:
        """Return the message of a request that is to be obeyed. Raises RestartRefused."""
        message = read_restart(body.message)
        if message.run != self.identity.run or message.program != self.identity.program or self._is_ending:
            raise RestartRefused(
                f"The request is for another run of {message.program}, or another process.", "Ask for a new text."
            )
        now_ms = self._now_ms()
        if not now_ms < message.expires_ms <= now_ms + LIFETIME_MS:
            raise RestartRefused(
                f"The request is not valid now: it ends at {utc_text(message.expires_ms)}, and lasts for "
                f"{LIFETIME_MS // 1000} s.",
                "Sign a new text; else compare the clocks of the machines.",
            )
        if message.account not in self._operators:
            raise RestartRefused(
                f"{message.account} may not restart this process.", "Its operator names accounts with --restart-by."
            )
        try:
            is_signed = is_signed_by(message.account, body.message, bytes.fromhex(body.signature.removeprefix("0x")))
        except BadKey:
            is_signed = False
        if not is_signed:
            raise RestartRefused(f"The signature is not by {message.account}.", "Sign the text as it was given.")
        return message

    def add_routes(self, app: web.Application) -> None:
        """Serve the identity of the process, and take requests."""
        app.router.add_get(RESTART_PATH, self._present)
        app.router.add_post(RESTART_PATH, self._restart)

    async def _present(self, _: web.Request) -> web.Response:
        return web.json_response(text=self.identity.model_dump_json(), headers={"Cache-Control": "no-store"})

    async def _restart(self, request: web.Request) -> web.Response:
        try:
            message = self.check(RestartBody.model_validate_json(await request.read()))
        except ValidationError:
            return web.json_response({"message": "The request is not one of a restart."}, status=400)
        except RestartRefused as error:
            log.warning("a restart was refused: %s", error.message)
            return web.json_response({"message": error.message, "hint": error.hint}, status=403)
        self._is_ending = True
        log.warning("restart program=%r account=%s domain=%s", message.program, message.account, message.domain)
        asyncio.get_running_loop().call_later(_ANSWERED_S, self._end)
        return web.json_response(text=self.identity.model_dump_json(), status=202)
