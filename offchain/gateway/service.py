"""Run a gateway until it is stopped, for `gantry worker gateway`. It needs no account, but a key."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offchain.adapters.chain.chain_identity import require_continued
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import Ed25519Signer, load_host_key, new_host_key
from offchain.adapters.metrics.serving import MetricsAddress
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.adapters.transport.host_server import HostServer, signature_is_genuine
from offchain.adapters.transport.linux_network import raise_fd_limit
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.adapters.transport.port import Transport
from offchain.clock import unix_ms
from offchain.errors import BadReply, ChainBehind, ChainUnreachable, OurError, TheirError
from offchain.files import replace_file
from offchain.gateway.admission import GatewayAdmission
from offchain.gateway.limits import RelayLimits
from offchain.gateway.metrics import serve_gateway_metrics
from offchain.gateway.relay import Authorise, Relay
from offchain.ports import BlockRef, ChainPort
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.gateway import GatewayAddress, parse_gateway
from offchain.schema.protocol.messages import WEBSOCKET, Code, Refusal
from offchain.services import log
from offchain.services.runner import RECONNECT_S, run_until_stopped

if TYPE_CHECKING:
    from offchain.gateway.api.server import ApiSettings

KEY: Final = "gateway.key"
STATUS: Final = "gateway.json"
"""File in the gateway's folder with its address and load, rewritten while it runs."""
ADDRESS: Final = "address"
"""File with the address alone, for scripts and for the gantry command of a local network."""
API_URL: Final = "api-url"
"""File with the URL of the HTTP API, if there is one."""
STATUS_EVERY_S: Final = 10.0
MOST_CONNECTIONS: Final = 8192
MOST_STRANGERS: Final = 2048
"""High, because after a restart all hosts connect at once."""
FAREWELL: Final = Refusal(
    Code.GONE, "The gateway is being stopped or restarted.", "Try again in a minute, or use another."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """The settings of a gateway. `public`: HOST:PORT where it is reached from outside; None: where it listens.

    `api`: the HTTP API; None: no API. `metrics`: where metrics are served; None: nowhere.
    """

    url: str
    state_dir: Path
    bind: str
    public: str | None = None
    genesis: bytes | None = None
    api: ApiSettings | None = None
    metrics: MetricsAddress | None = None


class GatewayServer:
    """One gateway on one transport."""

    def __init__(
        self,
        transport: Transport,
        *,
        genesis_hash: bytes,
        authorise: Authorise,
        limits: RelayLimits | None = None,
        relay: Relay | None = None,
    ) -> None:
        out = log.EventLog("gateway")
        self._closed = False
        self.relay = relay or Relay(authorise, limits=limits, report=lambda what, host: out.info(what, host=host))
        self._server = HostServer(
            transport,
            genesis_hash=genesis_hash,
            authorise=authorise,
            handlers=self.relay.handlers(),
            verify=signature_is_genuine,
            now_ms=unix_ms,
            most=(MOST_CONNECTIONS, MOST_STRANGERS),
            farewell=FAREWELL,
        )

    async def serve(self) -> None:
        await self._server.serve()

    async def close(self) -> None:
        """Notify connected hosts and callers, and stop listening. A second call does nothing."""
        if not self._closed:
            self._closed = True
            await self._server.close()


async def run_gateway(settings: GatewaySettings) -> None:
    """Run until SIGTERM or SIGINT.

    Raises GantryError if it cannot start: no node at `url`, another chain, a port in use, a key that others may read.
    If the node becomes unavailable later, the gateway waits for it, and goes on relaying.
    """
    from offchain.adapters.chain.client import SubstrateChain  # noqa: PLC0415  (tests bring a chain of their own)

    log.set_up()
    out = log.EventLog("gateway")
    raise_fd_limit(2 * MOST_CONNECTIONS)
    key = own_key(settings.state_dir)
    async with contextlib.AsyncExitStack() as stack:
        chain = SubstrateChain(settings.url, expected_genesis=settings.genesis)
        stack.push_async_callback(chain.close)
        await chain.connect()
        genesis = await chain.genesis_hash()
        base = await listen(key, settings.bind)
        transport: Transport = base
        relay = None
        if settings.api is not None:
            # Slow to load, and not always wanted.
            from offchain.adapters.chain.proof_chain import ProofChain  # noqa: PLC0415
            from offchain.gateway.api.chain_access import NODE_TIMEOUT_S  # noqa: PLC0415
            from offchain.gateway.api.relay_socket import JoinedTransport, RelaySockets  # noqa: PLC0415
            from offchain.gateway.api.server import ApiServer  # noqa: PLC0415

            relay = RelaySockets(key.seed(), settings.api.origins)
            transport = JoinedTransport(base, relay)
        watch = ChainWatch(chain)
        gateway = GatewayServer(
            transport, genesis_hash=genesis, authorise=GatewayAdmission(GantryChain(chain), lambda: watch.is_behind)
        )
        stack.push_async_callback(gateway.close)
        address = public_address(key, transport.addresses, settings.public)
        api = None
        if settings.api is not None:
            api = ApiServer(
                settings.api,
                # Connections of their own: strangers' requests neither delay nor end those of the relay.
                lambda: SubstrateChain(settings.url, expected_genesis=genesis, timeout=NODE_TIMEOUT_S),
                relay,
                lambda: ProofChain(settings.url, expected_genesis=genesis, timeout=NODE_TIMEOUT_S),
            )
            url = await stack.enter_async_context(api.listening())
            # Before the API: pages are told the reason.
            stack.push_async_callback(gateway.close)
            replace_file(settings.state_dir / API_URL, url + "\n", mode=0o644)
        await stack.enter_async_context(serve_gateway_metrics(settings.metrics, chain, gateway.relay, api))
        replace_file(settings.state_dir / ADDRESS, address.text + "\n", mode=0o644)
        out.info("started", address=address.text, listens=",".join(transport.addresses), pid=os.getpid())
        jobs = await stack.enter_async_context(PeriodicJobs())
        started_ms = unix_ms()
        jobs.add(
            "status",
            lambda: _write_status(settings.state_dir / STATUS, address, gateway.relay, started_ms),
            STATUS_EVERY_S,
        )
        await run_until_stopped(lambda: _serve(gateway, watch, out), out)


async def _serve(gateway: GatewayServer, watch: ChainWatch, out: log.EventLog) -> None:
    """Serve until the gateway is closed, or its node serves another chain."""
    async with asyncio.TaskGroup() as group:
        group.create_task(gateway.serve())
        group.create_task(watch.run(lambda error: out.warning("waiting", reason=error.message, hint=error.hint)))


class ChainWatch:
    """Detects that the node serves another chain than before, or has lost its database."""

    def __init__(self, chain: ChainPort) -> None:
        self._chain = chain
        self._last: BlockRef | None = None
        self.is_behind = False
        """Whether the node has fewer final blocks than this gateway has seen."""

    async def run(self, report: Callable[[TheirError], None]) -> None:
        """Compare each final block with the last, without end. Raises Reorganised and WrongChain.

        `report` receives the errors of a node that is unavailable or behind.
        """
        while True:
            try:
                await require_continued(self._chain, self._last, "")
                self.is_behind = False
                async with aclosing(self._chain.finalized()) as heads:
                    async for head in heads:
                        await require_continued(self._chain, self._last, "")
                        self._last = head
            except (ChainUnreachable, BadReply) as error:
                self.is_behind = isinstance(error, ChainBehind)
                report(error)
            await asyncio.sleep(RECONNECT_S)


def own_key(state_dir: Path) -> Ed25519Signer:
    """Return the gateway's key, created on the first start, readable by its owner only."""
    path = state_dir / KEY
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    return load_host_key(path) if path.exists() else new_host_key(path)


async def listen(key: Ed25519Signer, bind: str) -> MultiTransport:
    """Listen with UDP and TCP on one port. Raises OurError if that is not possible."""
    try:
        transport = await MultiTransport.bind(key.seed(), bind)
    except OSError as error:
        raise OurError(str(error), code="gateway") from None
    if len({address.rpartition(":")[2] for address in transport.addresses}) > 1:
        await transport.close()
        raise OurError(
            f"A gateway needs one port for UDP and TCP, and {bind} gave two.",
            "Name a port that is free for both: --bind 0.0.0.0:4435.",
            code="gateway",
        )
    return transport


def gateway_address(state_dir: Path, bind: str, public: str | None) -> GatewayAddress:
    """Return the address of a gateway with this folder without starting it. Creates its key if there is none."""
    if public is None and (bind.startswith(("0.0.0.0:", "[::]:")) or bind.endswith(":0")):
        raise OurError(
            f"The public address does not follow from --bind {bind}.",
            "Give it: --public HOST:PORT.",
            code="gateway",
        )
    return public_address(own_key(state_dir), (bind,), public)


def public_address(key: Ed25519Signer, listens: tuple[str, ...], public: str | None) -> GatewayAddress:
    """Return the address for hosts and tenants. Raises OurError if `public` is not HOST:PORT."""
    place = public or next(address for address in listens if not address.startswith(WEBSOCKET))
    try:
        return parse_gateway(f"{ss58.encode(key.public_key)}@{place}")
    except WireError as error:
        raise OurError(
            f"--public {place}: {error}.", "Write it like gateway.example.org:4435.", code="gateway"
        ) from None


def _write_status(path: Path, address: GatewayAddress, relay: Relay, started_ms: int) -> None:
    facts = {"address": address.text, "pid": os.getpid(), "started_ms": started_ms, "said_ms": unix_ms()}
    try:
        replace_file(path, json.dumps(facts | asdict(relay.load)) + "\n", mode=0o644, durable=False)
    except OSError as error:  # a full disk is no reason to relay nothing
        log.EventLog("gateway").warning("status-not-written", reason=error.strerror)
