"""The HTTP server of the API: limits, errors as problem documents, ETags, and the stream of events."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from aiohttp import web
from pydantic import BaseModel, ValidationError

from offchain.adapters.chain.proof_chain import ProofChain
from offchain.adapters.keys import ss58
from offchain.adapters.local_http import HEAD_BYTES, http_url
from offchain.adapters.metrics.prometheus_api import PrometheusApi
from offchain.errors import GantryError, OurError
from offchain.gateway.api import problems
from offchain.gateway.api.action import ApiParts
from offchain.gateway.api.actions import ACTIONS, MOST_BODY, ActionHandlers
from offchain.gateway.api.chain_access import SigningChain
from offchain.gateway.api.client_limits import ClientLimits
from offchain.gateway.api.console import FOLDER as CONSOLE_FOLDER
from offchain.gateway.api.console import ConsoleFiles
from offchain.gateway.api.cors import CorsPolicy
from offchain.gateway.api.csv_export import CsvExports
from offchain.gateway.api.endpoints import ENDPOINTS, OPENAPI_PATH, STREAM_PATH, ApiEndpoint
from offchain.gateway.api.event_stream import EventStream
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.models import NetworkResource, ResourceAnswer
from offchain.gateway.api.monitoring import MonitoringApi
from offchain.gateway.api.node_connections import NodeConnections
from offchain.gateway.api.notifications import NotificationsApi
from offchain.gateway.api.openapi import document_text
from offchain.gateway.api.parameters import BadParameter, CsvListParameters, EventStreamChoice, Parameters
from offchain.gateway.api.reference import page as reference_page
from offchain.gateway.api.relay_socket import RELAY_PATH, RelaySockets
from offchain.gateway.api.report_models import ReportOf
from offchain.gateway.api.reports import report_answer
from offchain.gateway.api.sign_in import SignIn
from offchain.gateway.api.sign_in_store import SignInStore
from offchain.gateway.api.statements import StatementsApi
from offchain.indexer.queries import unsettled_leases
from offchain.schema.manifest.types import ManifestError
from offchain.services.log import EventLog

REFERENCE_PATH: Final = "/reference"
_COMPRESSED_FROM: Final = 1_024
_IDLE_S: Final = 30.0
"""How long a connection may stay open between two requests."""
_KEEP_ALIVE_S: Final = 15.0
_STREAM_S: Final = 3_600.0
"""How long a stream lasts; clients go on with a new one."""
_WRITE_S: Final = 30.0
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
OTHER: Final = "other"
"""The name of all paths that are no endpoint."""
_STREAM: Final = "events_stream"
_RELAY: Final = "relay"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """`index`: path or address of the index; `requests_per_s` and `streams`: the limits of one client address."""

    host: str
    port: int
    index: str
    requests_per_s: float = 50.0
    streams: int = 32
    domain: str | None = None
    """The domain at which people reach the gateway, with its port if it is not 443; None: no sign-in."""
    operators: frozenset[str] = frozenset()
    """The accounts that have the role of an operator."""
    prometheus: str | None = None
    """URL of the Prometheus whose alerts operators see; None: none."""
    schedulers: tuple[str, ...] = ()
    """URLs of schedulers that are asked for their decisions about tasks."""
    origins: frozenset[str] = frozenset()
    """The origins whose pages may read answers, beside the gateway's own."""
    development: bool = False
    """Whether the network is one for development, with accounts whose keys everybody has."""
    template_values: Callable[[], Mapping[str, str]] = dict
    """Returns the values of variables in templates that the network sets."""
    console: Path = CONSOLE_FOLDER
    """Folder of the web console's files; it need not exist."""


class ApiServer:
    """Serves an index, and calls for wallets to sign.

    `open_chain`: returns a connection to a node; None: no node. `relay`: of the gateway, for pages; None: no relay.
    `open_proofs`: returns a connection for the states of blocks and their proofs; None: there are none.
    """

    def __init__(
        self,
        settings: ApiSettings,
        open_chain: Callable[[], SigningChain] | None = None,
        relay: RelaySockets | None = None,
        open_proofs: Callable[[], ProofChain] | None = None,
    ) -> None:
        self._settings = settings
        self.answers: Counter[tuple[str, str]] = Counter()
        """[name of the endpoint, class of the status]: answers since the start."""
        self.on_duration: Callable[[float], object] = lambda _: None
        """Receives the duration of each answer but streams, in seconds."""
        self._readers = IndexReaders(settings.index)
        self._stream = EventStream(self._readers)
        self._limits = ClientLimits(requests_per_s=settings.requests_per_s, streams=settings.streams)
        self._exports = CsvExports(self._readers, self._limits.admit)
        self._sign_ins = None if settings.domain is None else SignInStore(settings.index)
        sign_in = notifications = monitoring = None
        if self._sign_ins is not None and settings.domain is not None:
            sign_in = SignIn(self._readers, self._sign_ins, settings.domain, settings.operators)
            notifications = NotificationsApi(self._readers, self._sign_ins)
            if settings.prometheus is not None:
                monitoring = MonitoringApi(self._readers, sign_in, PrometheusApi(settings.prometheus))
        self._monitoring = monitoring
        self._node = (
            None
            if open_chain is None
            else NodeConnections(open_chain, self._unsettled, settings.schedulers, open_proofs)
        )
        node = None if self._node is None else self._node.parts
        statements = StatementsApi(self._readers)
        self._actions = ActionHandlers(
            ApiParts(sign_in, node, settings.template_values, notifications, monitoring, statements)
        )
        self._relay = relay
        self._cors = CorsPolicy(settings.origins)
        self._console = ConsoleFiles(settings.console)
        self._log = EventLog("api")

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Listen, and yield the URL. Raises OurError if the address cannot be used."""
        app = web.Application(client_max_size=MOST_BODY, middlewares=[self._middleware])
        for endpoint in ENDPOINTS:
            app.router.add_get(endpoint.path, self._handler(endpoint), name=endpoint.name)
        for action in ACTIONS:
            app.router.add_route(action.method, action.path, self._actions.handler(action), name=action.name)
        app.router.add_get(STREAM_PATH, self._events, allow_head=False, name=_STREAM)
        if self._relay is not None:
            app.router.add_get(RELAY_PATH, self._relay_socket, allow_head=False, name=_RELAY)
        app.router.add_get(OPENAPI_PATH, self._openapi, name="openapi")
        app.router.add_get(REFERENCE_PATH, self._reference, name="reference")
        app.router.add_get("/", self._root, name="console")
        app.on_response_prepare.append(self._cors.add_headers)
        runner = web.AppRunner(
            app,
            access_log=None,
            max_line_size=HEAD_BYTES,
            max_field_size=HEAD_BYTES,
            keepalive_timeout=_IDLE_S,
            shutdown_timeout=1,
        )
        await runner.setup()
        follower = asyncio.create_task(self._stream.follow())
        try:
            host, port = self._settings.host, self._settings.port
            try:
                server = await asyncio.get_running_loop().create_server(self._limits.protocols(runner), host, port)
            except OSError as error:
                raise OurError(
                    f"The API cannot listen at {host}:{port}: {error.strerror or error}.",
                    "Choose another address: --http IP:PORT.",
                    code="gateway",
                ) from None
            taken = server.sockets[0].getsockname()
            url = http_url(taken[0], taken[1])
            self._log.info("api", url=url, index=self._settings.index.rpartition("@")[2])
            try:
                yield url
            finally:
                server.close()
        finally:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)
            await runner.cleanup()
            if self._node is not None:
                await self._node.close()
            if self._monitoring is not None:
                await self._monitoring.close()
            await asyncio.to_thread(self._readers.close)
            if self._sign_ins is not None:
                await asyncio.to_thread(self._sign_ins.close)

    async def _unsettled(self, host: str) -> list[int]:
        return await self._readers.read(lambda db: unsettled_leases(db, host))

    @property
    def stream_clients(self) -> int:
        """How many clients receive events now."""
        return self._stream.clients

    @property
    def refused(self) -> Mapping[str, int]:
        """What the limits of clients have refused since the start, by limit."""
        return self._limits.refused

    @web.middleware
    async def _middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        began_s = asyncio.get_running_loop().time()
        endpoint = request.match_info.route.name or OTHER
        status = HTTPStatus.INTERNAL_SERVER_ERROR.value
        try:
            answer = await self._limited(request, handler)
            status = answer.status
        finally:
            self.answers[endpoint, f"{status // 100}xx"] += 1
            if endpoint not in (_STREAM, _RELAY):
                self.on_duration(asyncio.get_running_loop().time() - began_s)
        return answer

    async def _limited(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self._limits.admit(request):
            rate = f"{self._settings.requests_per_s:g} requests a second"
            answer: web.StreamResponse = problems.problem(
                HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", f"This address asks more than {rate}.", "Ask slower."
            )
        else:
            answer = await self._answered(request, handler)
        if not answer.prepared:
            for name, value in _HEADERS.items():
                answer.headers.setdefault(name, value)
        return answer

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if (preflight := self._cors.preflight(request)) is not None:
            return preflight
        try:
            return await handler(request)
        except (ValidationError, ManifestError, GantryError) as error:
            return problems.of_exception(error)
        except web.HTTPNotFound as error:
            file = None if _is_api(request.path) else self._console.answer(request)
            return problems.of_http(error, request) if file is None else file
        except (web.HTTPRequestEntityTooLarge, web.HTTPMethodNotAllowed) as error:
            return problems.of_http(error, request)

    def _handler(self, endpoint: ApiEndpoint) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            asked = _asked(endpoint, request)
            if endpoint.export is not None and isinstance(asked, CsvListParameters) and asked.format == "csv":
                return await self._exports.send(request, endpoint.export, asked, _HEADERS)

            if (as_text := endpoint.as_text) is not None and isinstance(asked, ReportOf) and asked.format != "json":
                return report_answer(request, asked, await self._readers.read(lambda db: as_text(db, asked)))

            def read(db: object) -> str:
                found: BaseModel = endpoint.read(db, asked)  # type: ignore[arg-type]
                return self._with_settings(found).model_dump_json()

            return _json(request, await self._readers.read(read))

        return handle

    def _with_settings(self, found: BaseModel) -> BaseModel:
        """Add what this gateway, not the index, knows of the network."""
        if not isinstance(found, ResourceAnswer) or not isinstance(found.data, NetworkResource):
            return found
        own = {
            "development": self._settings.development,
            "sign_in": self._sign_ins is not None,
            "signing": self._node is not None,
            "relay": None if self._relay is None else ss58.encode(self._relay.key),
        }
        return found.model_copy(update={"data": found.data.model_copy(update=own)})

    async def _openapi(self, request: web.Request) -> web.StreamResponse:
        return _json(request, document_text())

    async def _reference(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text=reference_page(), content_type="text/html")

    async def _root(self, request: web.Request) -> web.StreamResponse:
        found = self._console.answer(request)
        return web.Response(status=HTTPStatus.FOUND, headers={"Location": REFERENCE_PATH}) if found is None else found

    async def _relay_socket(self, request: web.Request) -> web.StreamResponse:
        assert self._relay is not None  # noqa: S101  (its route is there)
        with self._limits.stream(request) as allowed:
            return await self._relay.serve(request) if allowed else self._too_many_streams()

    def _too_many_streams(self) -> web.Response:
        return problems.problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            "too_many_requests",
            f"This address has {self._settings.streams} streams, or the gateway is full.",
            "Close one first.",
        )

    async def _events(self, request: web.Request) -> web.StreamResponse:
        given = dict(request.query)
        if "after" not in given and "Last-Event-ID" in request.headers:
            given["after"] = request.headers["Last-Event-ID"]
        choice = EventStreamChoice.model_validate(given)
        with self._limits.stream(request) as allowed:
            if not allowed:
                return self._too_many_streams()
            position = await self._stream.position(choice)
            answer = web.StreamResponse(headers={**_HEADERS, "Cache-Control": "no-store"})
            answer.content_type = "text/event-stream"
            await answer.prepare(request)
            with contextlib.suppress(TimeoutError, ConnectionError, GantryError):
                async with asyncio.timeout(_STREAM_S):
                    await _send(answer, self._stream.events(choice, position))
            return answer


async def _send(answer: web.StreamResponse, events: AsyncIterator[bytes]) -> None:
    """Send events as they come, and a comment while there are none, so that proxies keep the connection."""
    async with contextlib.aclosing(events):  # type: ignore[type-var]
        await answer.write(b": connected\n\n")
        coming = asyncio.ensure_future(anext(events))
        try:
            while True:
                done, _ = await asyncio.wait({coming}, timeout=_KEEP_ALIVE_S)
                piece = coming.result() if done else b": still here\n\n"
                async with asyncio.timeout(_WRITE_S):
                    await answer.write(piece)
                if done:
                    coming = asyncio.ensure_future(anext(events))
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


def _is_api(path: str) -> bool:
    return path == "/v1" or path.startswith("/v1/")


def _asked(endpoint: ApiEndpoint, request: web.Request) -> Parameters:
    """Return the parameters of a request. Raises ValidationError, and BadParameter for one that is given twice."""
    given: dict[str, str] = dict(request.match_info)
    for name, value in request.query.items():
        if name in given:
            raise BadParameter(name[:80], "this parameter is given twice.", "Give it once.")
        given[name] = value
    if endpoint.export is not None and "text/csv" in request.headers.get("Accept", ""):
        given.setdefault("format", "csv")
    return endpoint.parameters.model_validate(given)


def _json(request: web.Request, text: str) -> web.Response:
    """Return JSON with an ETag, or 304 if the client has the same."""
    tag = hashlib.sha256(text.encode()).hexdigest()[:32]
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
    if any(one.value in (tag, "*") for one in request.if_none_match or ()):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    answer = web.Response(text=text, content_type="application/json", headers=headers)
    if len(text) >= _COMPRESSED_FROM:
        answer.enable_compression()
    return answer
