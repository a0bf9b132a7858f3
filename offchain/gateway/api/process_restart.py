"""Restart of processes by operators: the gateway shows the text to sign, and carries the signed request.

It reaches only addresses that its own Prometheus scrapes, and has no right of its own: the process checks the account
and the signature (:mod:`offchain.adapters.metrics.restart`).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Final

import aiohttp
from pydantic import Field, ValidationError

from offchain.adapters.metrics.restart import (
    LIFETIME_MS,
    MOST_BODY,
    RESTART_PATH,
    ProcessIdentity,
    RestartBody,
    RestartMessage,
    RestartRefused,
)
from offchain.clock import unix_ms
from offchain.errors import OurError, TheirError
from offchain.gateway.api.answers import as_of
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.models import AnsweredModel, ResourceAnswer
from offchain.gateway.api.parameters import Parameters
from offchain.gateway.api.sign_in import SignIn
from offchain.gateway.api.sign_in_models import SignedText, WalletSignature
from offchain.gateway.api.sign_in_store import Identity
from offchain.schema import terminal_escaping

_TIMEOUT_S: Final = 5.0
_MARGIN_MS: Final = 10_000
"""How far the clock of the process may be behind that of the gateway."""
_INSTANCE: Final = re.compile(r"([A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\]):[0-9]{1,5}")
_MOST_TEXT: Final = 300

Instance = Annotated[str, Field(max_length=300, description="Its address, as `/v1/monitoring` has it.")]


class RestartOff(OurError):  # noqa: N818
    """A process that cannot be restarted here."""

    code = "restart_off"


class ProcessAway(TheirError):  # noqa: N818
    """A process that does not answer."""

    code = "process_away"


class RestartProcessBody(Parameters):
    """Which process."""

    instance: Instance


class RestartRequestBody(Parameters):
    """Which process, and the text that its operator has signed."""

    instance: Instance
    message: SignedText
    signature: WalletSignature


class RestartMessageResource(AnsweredModel):
    """The text to sign. `program`: the name that the process has for itself."""

    message: str
    program: str
    expires_ms: int


class RestartedResource(AnsweredModel):
    """The process has accepted the request, and ends."""

    program: str


class ProcessRestartApi:
    """Restarts processes. `instances`: returns the addresses that Prometheus scrapes."""

    def __init__(
        self, readers: IndexReaders, sign_in: SignIn, instances: Callable[[], Awaitable[frozenset[str]]]
    ) -> None:
        self._readers = readers
        self._sign_in = sign_in
        self._instances = instances

    async def message(self, who: Identity, asked: RestartProcessBody) -> ResourceAnswer[RestartMessageResource]:
        """Return the text for a process as it runs now. Raises NotAllowed, RestartOff and ProcessAway."""
        await self._sign_in.require_role(who, "operator")
        status, body = await self._ask("GET", await self._url(asked.instance))
        if status != 200:
            raise RestartOff(
                f"The process at {asked.instance} takes no restarts.",
                "Start it with --metrics and --restart-by ACCOUNT (docs/operations.md).",
            )
        found = _identity(asked.instance, body)
        expires_ms = unix_ms() + LIFETIME_MS - _MARGIN_MS
        message = RestartMessage(self._sign_in.domain, who.account, found.program, found.run, expires_ms)
        data = RestartMessageResource(message=message.text(), program=found.program, expires_ms=expires_ms)
        return ResourceAnswer[RestartMessageResource](as_of=await self._readers.read(as_of), data=data)

    async def restart(self, who: Identity, asked: RestartRequestBody) -> ResourceAnswer[RestartedResource]:
        """Give a request to its process. Raises NotAllowed, RestartRefused, RestartOff and ProcessAway."""
        await self._sign_in.require_role(who, "operator")
        body = RestartBody(message=asked.message, signature=asked.signature)
        status, answer = await self._ask("POST", await self._url(asked.instance), body)
        if status != 202:
            text = terminal_escaping.line(answer.decode("utf-8", "replace"))[:_MOST_TEXT]
            raise RestartRefused(f"The process at {asked.instance} refuses: {text}", "Ask for a new text, and sign it.")
        data = RestartedResource(program=_identity(asked.instance, answer).program)
        return ResourceAnswer[RestartedResource](as_of=await self._readers.read(as_of), data=data)

    async def _url(self, instance: str) -> str:
        if instance not in await self._instances() or _INSTANCE.fullmatch(instance) is None:
            raise RestartOff(
                f"The gateway's Prometheus scrapes nothing at {instance}.", "GET /v1/monitoring lists the processes."
            )
        return f"http://{instance}{RESTART_PATH}"

    async def _ask(self, method: str, url: str, body: RestartBody | None = None) -> tuple[int, bytes]:
        data = None if body is None else body.model_dump_json().encode()
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
                session.request(method, url, data=data, allow_redirects=False) as answer,
            ):
                return answer.status, await answer.content.read(MOST_BODY)
        except (aiohttp.ClientError, OSError) as error:
            raise ProcessAway(
                f"The process does not answer: {type(error).__name__}.", "Does it run? GET /v1/monitoring shows it."
            ) from None


def _identity(instance: str, body: bytes) -> ProcessIdentity:
    try:
        return ProcessIdentity.model_validate_json(body)
    except ValidationError:
        raise ProcessAway(f"What answers at {instance} is not a process of Gantry.", "Check its address.") from None
