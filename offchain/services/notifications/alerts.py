"""Alerts of Alertmanager about hosts, received by the notifier, as notices for the providers of the hosts."""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offchain.adapters.local_http import http_url, listening
from offchain.errors import OurError

PATH: Final = "/alerts"
MOST_BYTES: Final = 1 << 20
MOST_ALERTS: Final = 1_000
"""Of one request; Alertmanager groups alerts."""
LEAST_TOKEN: Final = 16
_MOST_CONNECTIONS: Final = 8
_MOST_TEXT: Final = 500


@dataclass(frozen=True, slots=True)
class HostAlert:
    """An alert with the label `host`: it fires, or is resolved. `about`: the same for repetitions of one message."""

    host: str
    name: str
    status: Literal["firing", "resolved"]
    severity: str
    text: str
    about: str


class _Alert(BaseModel):
    """An alert of Alertmanager's webhook, version 4; further fields are left out."""

    model_config = ConfigDict(extra="ignore")
    status: Literal["firing", "resolved"]
    labels: dict[str, str]
    annotations: dict[str, str] = Field(default_factory=dict)
    fingerprint: Annotated[str, Field(max_length=64)] = ""
    starts_at: Annotated[str, Field(alias="startsAt", max_length=64)] = ""


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    version: Literal["4"]
    alerts: Annotated[list[_Alert], Field(max_length=MOST_ALERTS)]


def host_alerts(body: bytes) -> list[HostAlert]:
    """Return the alerts about hosts in a request of Alertmanager. Raises ValidationError."""
    return [_of(alert) for alert in _Message.model_validate_json(body).alerts if alert.labels.get("host")]


def _of(alert: _Alert) -> HostAlert:
    labels = {name: value[:_MOST_TEXT] for name, value in alert.labels.items()}
    name, host = labels.get("alertname", "alert"), labels["host"]
    what = alert.annotations.get("summary", name)[:_MOST_TEXT]
    begin = "Alert about host" if alert.status == "firing" else "No longer an alert about host"
    about = f"{alert.fingerprint or name}@{alert.starts_at}/{alert.status}"
    return HostAlert(host, name, alert.status, labels.get("severity", ""), f"{begin} {host}: {what}.", about)


def checked_token(token: str) -> str:
    """Return the token with which Alertmanager identifies itself. Raises OurError."""
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise OurError(
            f"The token of alerts has fewer than {LEAST_TOKEN} printable ASCII characters, or a space.",
            "Make one with: openssl rand -hex 32",
            code="usage",
        )
    return token


class AlertReceiver:
    """Receives webhooks of Alertmanager. `take` stores alerts durably before the request is answered with 200."""

    def __init__(self, token: str, take: Callable[[Sequence[HostAlert]], Awaitable[None]]) -> None:
        self._wanted = f"Bearer {checked_token(token)}".encode()
        self._take = take

    @contextlib.asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[str]:
        """Listen at this address, and yield the URL for Alertmanager. Raises ListenError."""
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_post(PATH, self._receive)
        async with listening(app, host, port, "alerts", most_connections=_MOST_CONNECTIONS) as bound:
            yield http_url(*bound) + PATH

    async def _receive(self, request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "").encode(errors="replace")
        if not hmac.compare_digest(given, self._wanted):
            return web.Response(status=401, text="The token is not that of this notifier.\n")
        try:
            alerts = host_alerts(await request.read())
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            return web.Response(status=400, text=f"No message of Alertmanager: {where}: {first['msg']}\n")
        await self._take(alerts)
        return web.Response(text="taken\n")
