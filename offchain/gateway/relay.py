"""Relay of bytes between callers and hosts that keep a stream to the gateway. The traffic is encrypted end to end.

A host requests `serve` and stays connected; a caller requests `carry`; the host receives a token and requests `take`
with it. Then each side's bytes are passed to the other, as fast as it reads.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from offchain.adapters.keys import ss58
from offchain.adapters.transport.gateway_registration import KEEPALIVE
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import HostRefused, refused
from offchain.adapters.transport.session import Session
from offchain.errors import GantryError
from offchain.gateway.limits import RelayedStream, RelayLimits, refusal, window
from offchain.schema.protocol.messages import Code, Op, Refusal, Request
from offchain.schema.protocol.operations import TOKEN_BYTES, AcceptArgs, RelayArgs

BEAT_S = 5.0
SILENCE_S = 30.0
"""How long a host may leave a keepalive unanswered."""
RECHECK_S = 120.0
_SERVE_WINDOW = 1 << 12

Authorise = Callable[[Request], Awaitable[None]]


@dataclass(slots=True, eq=False)
class _PendingCall:
    """A caller that waits for its host. `taken`: the host's session; `over`: set when the relaying has ended."""

    taken: asyncio.Future[Session]
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True, eq=False)
class _AttachedHost:
    """A host that keeps a stream to the gateway."""

    session: Session
    calls: dict[str, _PendingCall] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def say(self, token: bytes) -> None:
        """Send a token, never interleaved with another."""
        async with self.turn:
            await self.session.write(token)


@dataclass(frozen=True, slots=True)
class RelayLoad:
    """The present load of a gateway, and what it has relayed and refused since its start.

    `carried_streams`: streams that reached their host; `refused_streams`: by the limits on streams; `refused_hosts`: by
    the limit on hosts.
    """

    hosts: int
    streams: int
    carried_bytes: int
    carried_streams: int
    refused_streams: int
    refused_hosts: int


class Relay:
    """The request handlers of a gateway."""

    def __init__(
        self,
        authorise: Authorise,
        *,
        limits: RelayLimits | None = None,
        beat_s: float = BEAT_S,
        recheck_s: float = RECHECK_S,
        report: Callable[[str, str], None] = lambda _happened, _host: None,
    ) -> None:
        self._authorise = authorise
        self._limits = limits or RelayLimits()
        self._beat_s = beat_s
        self._recheck_s = recheck_s
        self._report = report
        self._hosts: dict[str, _AttachedHost] = {}
        self._streams: list[RelayedStream] = []
        self._carried = 0
        self._carried_streams = 0
        self._refused_streams = 0
        self._refused_hosts = 0

    @property
    def load(self) -> RelayLoad:
        return RelayLoad(
            hosts=len(self._hosts),
            streams=len(self._streams),
            carried_bytes=self._carried,
            carried_streams=self._carried_streams,
            refused_streams=self._refused_streams,
            refused_hosts=self._refused_hosts,
        )

    def handlers(self) -> Mapping[Op, Handler]:
        """Return the handlers for :class:`offchain.adapters.transport.host_server.HostServer`."""
        return {Op.SERVE: self.serve, Op.TAKE: self.take, Op.CARRY: self.carry}

    # --- hosts ----------------------------------------------------------------------------------------------------

    async def serve(self, request: Request, session: Session) -> None:
        """Keep a host attached for as long as it answers and the chain knows it."""
        host = request.account
        if host not in self._hosts and len(self._hosts) >= self._limits.hosts:
            self._refused_hosts += 1
            raise refused(
                Code.BUSY, f"{self._limits.hosts} hosts are attached, which is the limit.", "Use another gateway."
            )
        session.accept(window=_SERVE_WINDOW)
        before = self._hosts.get(host)
        attached = self._hosts[host] = _AttachedHost(session)
        if before is not None:
            before.session.drop(Refusal(Code.GONE, "This host has connected again.", "Run one agent with this key."))
        self._report("attached", host)
        try:
            await self._keep(request, attached)
        finally:
            if self._hosts.get(host) is attached:
                del self._hosts[host]
                self._report("left", host)
            for call in attached.calls.values():
                if not call.taken.done():
                    call.taken.set_exception(_not_attached(host))

    async def _keep(self, request: Request, attached: _AttachedHost) -> None:
        clock = asyncio.get_running_loop()
        checked_s = clock.time()
        while True:
            await attached.say(KEEPALIVE)
            heard = 0
            try:
                async with asyncio.timeout(SILENCE_S):
                    while heard < TOKEN_BYTES:
                        piece = await attached.session.read_main()
                        if piece is None:
                            return
                        heard += len(piece)
            except TimeoutError:
                raise refused(Code.GONE, f"The host was silent for {SILENCE_S:g} s.", "Connect again.") from None
            await asyncio.sleep(self._beat_s)
            if clock.time() - checked_s >= self._recheck_s:
                checked_s = clock.time()
                await self._check_again(request)

    async def _check_again(self, request: Request) -> None:
        try:
            await self._authorise(request)
        except HostRefused as no:
            # A chain node that is away sends no host away.
            if no.refusal.code is not Code.BUSY:
                raise

    async def take(self, request: Request, session: Session) -> None:
        """Connect a host to the caller with the token."""
        assert isinstance(request.args, AcceptArgs)  # noqa: S101  (decoded by its op)
        attached = self._hosts.get(request.account)
        call = None if attached is None else attached.calls.pop(request.args.token, None)
        if call is None or call.taken.done():
            raise refused(Code.NOT_FOUND, "No caller waits with this token.", "The caller has left; nothing to do.")
        session.accept(window=window(len(self._streams), self._limits))
        call.taken.set_result(session)
        await call.over.wait()

    # --- callers --------------------------------------------------------------------------------------------------

    async def carry(self, request: Request, session: Session) -> None:
        """Relay a caller's stream to the requested host."""
        assert isinstance(request.args, RelayArgs)  # noqa: S101  (decoded by its op)
        host = ss58.encode(bytes.fromhex(request.args.host))
        attached = self._attached(host)
        if attached is None:
            raise _not_attached(host)
        stream = RelayedStream(request.tenant, host)
        no = refusal(self._streams, stream, self._limits)
        if no is not None:
            self._refused_streams += 1
            raise HostRefused(no)
        self._streams.append(stream)
        token, call = secrets.token_bytes(TOKEN_BYTES), _PendingCall(asyncio.get_running_loop().create_future())
        attached.calls[token.hex()] = call
        try:
            theirs = await self._called(attached, token, call, host)
            self._carried_streams += 1
            session.accept(window=window(len(self._streams), self._limits))
            await self._join(session, theirs)
        finally:
            attached.calls.pop(token.hex(), None)
            self._streams.remove(stream)
            call.over.set()
            call.taken.cancel()

    def _attached(self, host: str) -> _AttachedHost | None:
        return self._hosts.get(host)

    async def _called(self, attached: _AttachedHost, token: bytes, call: _PendingCall, host: str) -> Session:
        try:
            async with asyncio.timeout(self._limits.call_s):
                await attached.say(token)
                return await call.taken
        except TimeoutError:
            raise refused(
                Code.NOT_ATTACHED,
                f"Host {host} did not accept the call within {self._limits.call_s:g} s.",
                "Try again in a minute.",
            ) from None
        except GantryError:
            raise _not_attached(host) from None

    async def _join(self, caller: Session, host: Session) -> None:
        """Pass bytes in both directions until both sides have ended or one has disconnected."""
        clock = asyncio.get_running_loop()
        moved_s = clock.time()

        async def hand_over(source: Session, sink: Session) -> None:
            nonlocal moved_s
            while (piece := await source.read_main()) is not None:
                moved_s = clock.time()
                await self.pass_on(piece, source is caller, sink)
                moved_s = clock.time()
            sink.end()

        ways = {asyncio.create_task(hand_over(*both)) for both in ((caller, host), (host, caller))}
        why = Refusal(Code.GONE, "The other side left.", "")
        try:
            while ways:
                left_s = self._limits.idle_s - (clock.time() - moved_s)
                if left_s <= 0:
                    why = Refusal(Code.GONE, f"Nothing moved for {self._limits.idle_s:g} s.", "Connect again.")
                    return
                done, ways = await asyncio.wait(ways, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
                for way in done:
                    if way.exception() is not None:
                        return
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for session in (caller, host):
                session.drop(why)

    async def pass_on(self, piece: bytes, from_caller: bool, sink: Session) -> None:  # noqa: FBT001  (a direction)
        """Pass bytes on, without reading them: they are encrypted end to end."""
        del from_caller
        self._carried += len(piece)
        await sink.write(piece)


def _not_attached(host: str) -> HostRefused:
    return refused(
        Code.NOT_ATTACHED,
        f"Host {host} keeps no stream to this gateway.",
        "gantry host show shows its gateways, and whether it is online.",
    )
