"""HTTP client for registries: checks the address of each connection when it is made, and limits each response."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urljoin

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from node_agent.images.logins import Login
from node_agent.images.manifests import ACCEPTED, MAX_MANIFEST_BYTES, ImageManifest, parse_manifest
from node_agent.images.policy import PullFault
from node_agent.images.ports import PullRefused
from node_agent.images.registries import (
    RegistryRefusedError,
    RegistryRules,
    Repository,
    check_login,
    repository,
    split_name,
)
from offchain.adapters.public_addresses import PublicResolver, is_caused_by_rules, public_socket

MAX_REDIRECTS = 5
MAX_TOKEN_BYTES = 64 << 10
MAX_RESUMES = 3
"""Most continuations of one blob's download after broken connections."""
CHUNK_BYTES = 128 << 10
_CHALLENGE = re.compile(r'\b(realm|service)="([^"\\]{0,2048})"', re.ASCII | re.IGNORECASE)
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}", re.ASCII)
_PASSING = frozenset({408, 425, 429})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class RegistryLimits:
    """Time limits in seconds; `slowest` in bytes per second, over each `stall_s` of waiting for a registry."""

    connect_s: float = 10.0
    answer_s: float = 30.0
    """For name resolution, connection and headers together."""
    stall_s: float = 30.0
    slowest: int = 32 << 10
    total_s: float = 7200.0
    """For one pull."""


@dataclass(frozen=True, slots=True)
class RegistryResponse:
    """A response. `is_first`: it is from the first server, without a redirect to another."""

    response: aiohttp.ClientResponse
    is_first: bool


class RegistryClient:
    """Fetches manifests and blobs. Used in one event loop. `resolver`: creates the name resolver."""

    def __init__(
        self,
        rules: RegistryRules,
        *,
        resolver: Callable[[], AbstractResolver] | None = None,
        limits: RegistryLimits | None = None,
    ) -> None:
        self._rules = rules
        self._make_resolver = resolver or aiohttp.ThreadedResolver
        self.limits = limits or RegistryLimits()
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()

    def source(self, reference: str, login: Login | None = None) -> ImageSource:
        """Return the source of this image. Raises PullRefused if the rules do not allow its registry.

        A login for another registry is not used.
        """
        try:
            where = repository(reference, self._rules)
            if login is not None and login.registry != split_name(reference.partition("@")[0])[0]:
                login = None
            if login is not None:
                check_login(where.registry)
        except RegistryRefusedError as error:
            raise forbidden(error) from None
        return ImageSource(self, where, self._rules.led_by(where.registry), login)

    def _session(self, *, allowed: bool) -> aiohttp.ClientSession:
        # Two sessions, each with its own connections: a connection that was made without a check serves no other name.
        if allowed not in self._sessions:
            resolver = self._make_resolver()
            connector = aiohttp.TCPConnector(
                resolver=resolver if allowed else PublicResolver(resolver),
                use_dns_cache=False,
                limit=0,
                limit_per_host=8,
                socket_factory=None if allowed else public_socket,
            )
            self._sessions[allowed] = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.limits.connect_s),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "gantry-agent", "Accept-Encoding": "identity"},
                trust_env=False,
            )
        return self._sessions[allowed]

    @contextlib.asynccontextmanager
    async def get(self, rules: RegistryRules, url: str, headers: dict[str, str]) -> AsyncIterator[RegistryResponse]:
        """Send a GET request and follow redirects by these rules.

        `Authorization` is sent to the first server only, and a login only with the first request.
        """
        first, is_first = rules.follow(url).endpoint, True
        for left in range(MAX_REDIRECTS, -1, -1):
            address = rules.follow(url)
            is_first = is_first and address.endpoint == first
            has_login = headers.get("Authorization", "").startswith("Basic ")
            if not is_first or (has_login and left < MAX_REDIRECTS):
                headers = {name: value for name, value in headers.items() if name != "Authorization"}
            async with asyncio.timeout(self.limits.answer_s):
                response = await self._session(allowed=rules.allows(address.endpoint)).get(
                    URL(address.url, encoded=True), headers=headers, allow_redirects=False
                )
            try:
                location = response.headers.get("Location")
                if response.status not in _REDIRECTS or location is None:
                    yield RegistryResponse(response, is_first)
                    return
                if not left:
                    raise RegistryRefusedError(f"the registry redirects more than {MAX_REDIRECTS} times")
                url = urljoin(address.url, location)
            finally:
                response.close()


class ImageSource:
    """One image at one registry, for one pull, whose time limit begins with this object.

    `rules`: for redirects and realms. `login`: sent to this registry and the token server that it names.
    """

    def __init__(self, client: RegistryClient, where: Repository, rules: RegistryRules, login: Login | None) -> None:
        self._client = client
        self._where = where
        self._rules = rules
        self._login = login
        self._authorization: str | None = None
        self._deadline_s = asyncio.get_running_loop().time() + client.limits.total_s

    async def manifest(self, digest: str) -> ImageManifest:
        with _explained():
            async with self._get(f"manifests/{digest}", {"Accept": ACCEPTED}) as response:
                if response.status != 200:
                    raise _status(response.status, "the manifest")
                kind = response.headers.get("Content-Type", "")
                body = await self._small(response, MAX_MANIFEST_BYTES, "the manifest")
        if not _matches(hashlib.sha256(body), digest):
            raise PullRefused("the manifest did not match its digest", PullFault.CORRUPT)
        try:
            return parse_manifest(body, kind)
        except ValueError as error:
            raise PullRefused(str(error), PullFault.UNFIT) from None

    async def blob(self, digest: str, size: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a blob in pieces. The last piece follows only after all of them match the digest.

        After a broken connection the download is continued. Raises PullRefused.
        """
        hasher, pending, count, tries = hashlib.sha256(), b"", 0, 0
        while count < size:
            before, tries = count, tries + 1
            try:
                async with contextlib.aclosing(self._from(digest, count, size)) as pieces:
                    async for piece in pieces:
                        if pending:
                            yield pending
                        hasher.update(piece)
                        pending, count = piece, count + len(piece)
                if count < size:
                    raise PullRefused(f"a blob ended after {count} of {size} bytes", PullFault.PASSING)  # noqa: TRY301
            except PullRefused as error:
                # Temporary faults are retried as long as each attempt makes progress.
                if error.fault is not PullFault.PASSING or tries > MAX_RESUMES or count == before:
                    raise
        if not _matches(hasher, digest):
            raise PullRefused("a blob did not match its digest", PullFault.CORRUPT)
        yield pending

    async def _from(self, digest: str, start: int, size: int) -> AsyncGenerator[bytes, None]:
        headers = {"Range": f"bytes={start}-"} if start else {}
        with _explained():
            async with self._get(f"blobs/{digest}", headers) as response:
                if response.status not in (200, 206):
                    raise _status(response.status, "a blob")
                if (response.status == 206) != bool(start):
                    raise PullRefused("the registry cannot continue a download that was interrupted", PullFault.ABSENT)
                if start and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                    raise PullRefused("the registry continues a download at another place", PullFault.CORRUPT)
                async for piece in self._pieces(response):
                    start += len(piece)
                    if start > size:
                        raise PullRefused(f"a blob has more than the {size} bytes of its manifest", PullFault.CORRUPT)
                    yield piece

    async def _pieces(self, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        """Yield the body while it arrives at the minimum rate. Time that the reader takes is not counted."""
        limits, loop = self._client.limits, asyncio.get_running_loop()
        waited, came = 0.0, 0
        while True:
            begun = loop.time()
            if begun >= self._deadline_s:
                raise PullRefused(f"the pull took longer than {limits.total_s:g} s", PullFault.SLOW)
            try:
                async with asyncio.timeout(limits.stall_s):
                    piece = await response.content.read(CHUNK_BYTES)
            except TimeoutError:
                raise _too_slow(came, limits) from None
            if not piece:
                return
            waited, came = waited + loop.time() - begun, came + len(piece)
            if waited >= limits.stall_s:
                if came < limits.slowest * waited:
                    raise _too_slow(came, limits)
                waited, came = 0.0, 0
            yield piece

    async def _small(self, response: aiohttp.ClientResponse, most: int, what: str) -> bytes:
        body = bytearray()
        async for piece in self._pieces(response):
            body += piece
            if len(body) > most:
                raise PullRefused(f"{what} has more than {most} bytes", PullFault.UNFIT)
        return bytes(body)

    @contextlib.asynccontextmanager
    async def _get(self, what: str, headers: dict[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        url = f"{self._where.registry.url}/v2/{self._where.path}/{what}"
        async with self._client.get(self._rules, url, self._with_token(headers)) as answer:
            if answer.response.status != 401 or not answer.is_first:
                yield answer.response
                return
            challenges = answer.response.headers.getall("WWW-Authenticate", [])
        self._authorization = await self._authorize(challenges)
        async with self._client.get(self._rules, url, self._with_token(headers)) as answer:
            yield answer.response

    def _with_token(self, headers: dict[str, str]) -> dict[str, str]:
        return headers if self._authorization is None else {**headers, "Authorization": self._authorization}

    async def _authorize(self, challenges: list[str]) -> str:
        """Return the Authorization header for the registry: a token of the server that it names, or the login."""
        kinds = set()
        for challenge in challenges:
            kind, _, rest = challenge.strip().partition(" ")
            values = {name.lower(): value for name, value in _CHALLENGE.findall(rest)}
            if kind.lower() == "bearer" and values.get("realm"):
                return await self._token(values)
            kinds.add(kind.lower())
        if self._login is None:
            raise PullRefused("the registry denies access without a password (401)", PullFault.DENIED)
        if "basic" not in kinds:
            raise PullRefused("the registry takes neither a password nor a token (401)", PullFault.DENIED)
        return self._login.header

    async def _token(self, values: dict[str, str]) -> str:
        """Return a token of the server that the registry names, for reading this image only."""
        query = {"scope": f"repository:{self._where.path}:pull"}
        if "service" in values:
            query["service"] = values["service"]
        url = f"{values['realm']}{'&' if '?' in values['realm'] else '?'}{urlencode(query)}"
        headers = {}
        if self._login is not None:
            check_login(self._rules.follow(url).endpoint)
            headers["Authorization"] = self._login.header
        async with self._client.get(self._rules, url, headers) as answer:
            if answer.response.status != 200:
                raise _status(answer.response.status, "a token")
            body = await self._small(answer.response, MAX_TOKEN_BYTES, "the token")
        return f"Bearer {_token_in(body)}"


def _token_in(body: bytes) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    found = document if isinstance(document, dict) else {}
    token = found.get("token") or found.get("access_token")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise PullRefused("the token server of the registry gave no token", PullFault.DENIED)
    return token


def _matches(hasher: Any, digest: str) -> bool:
    return f"sha256:{hasher.hexdigest()}" == digest


def forbidden(error: RegistryRefusedError) -> PullRefused:
    """Translate a refusal by the rules for the tenant."""
    return PullRefused(str(error), PullFault.FORBIDDEN)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Translate errors of a request to PullRefused. Its text names no resolved address."""
    try:
        yield
    except RegistryRefusedError as error:
        raise forbidden(error) from None
    except TimeoutError:
        raise PullRefused("the registry does not answer in time", PullFault.PASSING) from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if is_caused_by_rules(error):
            name = f"{error.host} has" if isinstance(error, aiohttp.ClientConnectorError) else "the registry has"
            raise PullRefused(f"{name} no public address", PullFault.FORBIDDEN) from None
        raise PullRefused(f"the registry cannot be reached ({_said(error)})", PullFault.PASSING) from None


def _said(error: Exception) -> str:
    """Return the kind of an error without addresses, because a tenant reads it."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not valid"
    cause = getattr(error, "os_error", None) or error
    if isinstance(cause, socket.gaierror):
        return "its name cannot be resolved"
    number = cause.errno if isinstance(cause, OSError) else None
    return os.strerror(number) if number else type(cause).__name__


def _status(status: int, what: str) -> PullRefused:
    if status in (401, 403):
        return PullRefused(f"the registry denies {what} ({status})", PullFault.DENIED)
    if status in (404, 410):
        return PullRefused(f"the registry does not have {what} ({status})", PullFault.ABSENT)
    if status in _PASSING or status >= 500:
        return PullRefused(f"the registry answers {status} for {what}", PullFault.PASSING)
    return PullRefused(f"the registry answers {status} for {what}", PullFault.UNFIT)


def _too_slow(came: int, limits: RegistryLimits) -> PullRefused:
    return PullRefused(
        f"the registry sent {came} bytes in {limits.stall_s:g} s, less than {limits.slowest} bytes a second",
        PullFault.PASSING,
    )
