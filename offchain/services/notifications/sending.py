"""Delivery of notices: signed webhooks to public addresses, and e-mail by the operator's SMTP server."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import smtplib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from ipaddress import ip_address
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver

from offchain.adapters.public_addresses import PublicResolver, is_caused_by_rules, public_socket
from offchain.clock import unix_ms
from offchain.schema.public_address import is_public

MOST_URL: Final = 500
SIGNATURE: Final = "Gantry-Signature"
NOTICE_ID: Final = "Gantry-Notice-Id"
TIMEOUT_S: Final = 10.0
_AT_ONCE: Final = 16


class BadWebhook(ValueError):  # noqa: N818
    """A URL that no webhook may have."""


class NotDelivered(Exception):  # noqa: N818
    """An attempt that failed: it is repeated later."""


def checked_url(text: str) -> str:
    """Return the URL of a webhook. Raises BadWebhook. Names are resolved, and checked again, at each delivery."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise BadWebhook("it is not a URL") from None
    if len(text) > MOST_URL or not text.isascii() or not text.isprintable() or " " in text:
        raise BadWebhook(f"it must have at most {MOST_URL} printable ASCII characters, and no space")
    if parts.scheme != "https" or not parts.hostname:
        raise BadWebhook("it must begin with https:// and a host")
    if parts.username is not None or parts.password is not None or parts.fragment or port == 0:
        raise BadWebhook("it must have no user, password or fragment, and a port above 0")
    if not _may_name(parts.hostname):
        raise BadWebhook("its host is not a public address")
    return text


def signature(secret: str, body: bytes, time_s: int) -> str:
    """Return the header with which a receiver checks a body: HMAC-SHA256 of the time, a full stop and the body."""
    mac = hmac.new(secret.encode(), f"{time_s}.".encode() + body, hashlib.sha256)
    return f"t={time_s},v1={mac.hexdigest()}"


class WebhookSender:
    """Sends webhooks, `_AT_ONCE` at a time. `public_only` is False in tests only, whose receivers are on loopback."""

    def __init__(
        self,
        *,
        public_only: bool = True,
        resolver: Callable[[], AbstractResolver] = aiohttp.DefaultResolver,
        timeout_s: float = TIMEOUT_S,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._public_only = public_only
        self._resolver = resolver
        self._timeout_s = timeout_s
        self._ssl = ssl_context
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        resolver = self._resolver()
        connector = aiohttp.TCPConnector(
            resolver=PublicResolver(resolver) if self._public_only else resolver,
            socket_factory=public_socket if self._public_only else None,
            use_dns_cache=False,
            force_close=True,
            ssl=self._ssl or True,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=self._timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "gantry-notifier"},
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, url: str, secret: str, notice: str, text: str) -> None:
        """Post a notice. Raises NotDelivered unless the answer has a status from 200 to 299; its body is not read."""
        assert self._session is not None  # noqa: S101  (within `async with`)
        body = text.encode()
        headers = {
            "Content-Type": "application/json",
            NOTICE_ID: notice,
            SIGNATURE: signature(secret, body, unix_ms() // 1000),
        }
        try:
            async with (
                self._turn,
                self._session.post(url, data=body, headers=headers, allow_redirects=False) as answer,
            ):
                status = answer.status
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NotDelivered(self._cause(error)) from None
        if not 200 <= status < 300:
            raise NotDelivered(f"the receiver answered with status {status}")

    def _cause(self, error: Exception) -> str:
        if is_caused_by_rules(error):
            return "the host has no public address"
        if isinstance(error, TimeoutError):
            return f"the receiver did not answer within {self._timeout_s:g} s"
        if isinstance(error, aiohttp.ClientSSLError):
            return "the receiver's certificate is not valid, or TLS failed"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return "the host's name cannot be resolved"
        if isinstance(error, aiohttp.ClientConnectorError):
            return "the receiver cannot be connected to"
        return f"the connection failed ({type(error).__name__})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpSettings:
    """The operator's mail server. STARTTLS is required unless the server is on this machine."""

    host: str
    port: int
    sender: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def is_local(self) -> bool:
        with contextlib.suppress(ValueError):
            return ip_address(self.host).is_loopback
        return self.host == "localhost"


class MailSender:
    """Sends notices as e-mail, one connection each, in a thread."""

    def __init__(self, settings: SmtpSettings, timeout_s: float = TIMEOUT_S) -> None:
        self._settings = settings
        self._timeout_s = timeout_s

    async def send(self, address: str, notice: str, text: str) -> None:
        """Send a notice to an address. Raises NotDelivered."""
        try:
            await asyncio.to_thread(self._send, address, notice, text)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise NotDelivered(type(error).__name__) from None

    def _send(self, address: str, notice: str, text: str) -> None:
        found, settings = json.loads(text), self._settings
        message = EmailMessage()
        message["From"], message["To"] = settings.sender, address
        message["Subject"] = f"Gantry: {found['topic'].replace('_', ' ')}"
        message["Message-ID"] = f"<{notice}@{settings.sender.rpartition('@')[2]}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(f"{found['text']}\n\nAccount: {found['account']}\nNotice: {notice}\n")
        with smtplib.SMTP(settings.host, settings.port, timeout=self._timeout_s) as server:
            if not settings.is_local:
                server.starttls(context=ssl.create_default_context())
            if settings.user is not None:
                server.login(settings.user, settings.password or "")
            server.send_message(message)


def _may_name(host: str) -> bool:
    """Return whether a host is a name with a dot, or a public address."""
    try:
        return is_public(ip_address(host))
    except ValueError:
        return "." in host.rstrip(".") and not host.endswith((".localhost", ".local", ".internal"))
