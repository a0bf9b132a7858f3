"""Carries bytes between callers and hosts that keep a stream here. What they say to each other is encrypted end to end.

A host asks `serve` and stays; a caller asks `carry`; the host is told a token and asks `take` with it. From then on,
what comes from one is handed to the other, as fast as that one reads.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from offchain.adapters.keys import ss58
from offchain.adapters.transport.gateway_registration import KEEPALIVE
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.peer import Session
from offchain.adapters.transport.port import HostRefused, refused
from offchain.errors import GantryError
from offchain.gateway.limits import Limits, Stream, refusal, window
from offchain.schema.protocol.messages import Code, Op, Refusal, Request
from offchain.schema.protocol.operations import TOKEN_BYTES, CarryArgs, TakeArgs

BEAT_S = 5.0
SILENCE_S = 30.0
"""A host that does not say a beat back for so long is gone."""
RECHECK_S = 120.0
_SERVE_WINDOW = 1 << 12

Authorise = Callable[[Request], Awaitable[None]]


@dataclass(slots=True, eq=False)
class _Call:
    """A caller who waits for its host. `taken`: the host's session; `over`: nothing is carried any more."""

    taken: asyncio.Future[Session]
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True, eq=False)
class _Attached:
    """A host that is here."""

    session: Session
    calls: dict[str, _Call] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def say(self, token: bytes) -> None:
        """A token is never cut in two by another."""
        async with self.turn:
            await self.session.write(token)


@dataclass(frozen=True, slots=True)
class Load:
    """What a gateway does now, and the bytes that it has carried since its start."""

    hosts: int
    streams: int
    carried_bytes: int


class Relay:
    """The handlers of a gateway."""

    def __init__(
        self,
        authorise: Authorise,
        *,
        limits: Limits | None = None,
        beat_s: float = BEAT_S,
        recheck_s: float = RECHECK_S,
        told: Callable[[str, str], None] = lambda _happened, _host: None,
    ) -> None:
        self._authorise = authorise
        self._limits = limits or Limits()
        self._beat_s = beat_s
        self._recheck_s = recheck_s
        self._told = told
        self._hosts: dict[str, _Attached] = {}
        self._streams: list[Stream] = []
        self._carried = 0

    @property
    def load(self) -> Load:
        """How much there is to do."""
        return Load(len(self._hosts), len(self._streams), self._carried)

    def handlers(self) -> Mapping[Op, Handler]:
        """For :class:`offchain.adapters.transport.host_server.HostServer`."""
        return {Op.SERVE: self.serve, Op.TAKE: self.take, Op.CARRY: self.carry}

    # --- hosts ----------------------------------------------------------------------------------------------------

    async def serve(self, request: Request, session: Session) -> None:
        """Have a host here for as long as it answers and the chain has it."""
        host = request.account
        if host not in self._hosts and len(self._hosts) >= self._limits.hosts:
            raise refused(
                Code.BUSY, f"{self._limits.hosts} hosts are here, which is all there may be.", "Use another gateway."
            )
        session.accept(window=_SERVE_WINDOW)
        before = self._hosts.get(host)
        attached = self._hosts[host] = _Attached(session)
        if before is not None:
            before.session.drop(Refusal(Code.GONE, "This host came again.", "Run one agent with this key."))
        self._told("attached", host)
        try:
            await self._keep(request, attached)
        finally:
            if self._hosts.get(host) is attached:
                del self._hosts[host]
                self._told("left", host)
            for call in attached.calls.values():
                if not call.taken.done():
                    call.taken.set_exception(_not_attached(host))

    async def _keep(self, request: Request, attached: _Attached) -> None:
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
        """A host takes up a caller."""
        assert isinstance(request.args, TakeArgs)  # noqa: S101  (decoded by its op)
        attached = self._hosts.get(request.account)
        call = None if attached is None else attached.calls.pop(request.args.token, None)
        if call is None or call.taken.done():
            raise refused(Code.NOT_FOUND, "Nobody waits with this token.", "The caller has left; nothing to do.")
        session.accept(window=window(len(self._streams), self._limits))
        call.taken.set_result(session)
        await call.over.wait()

    # --- callers --------------------------------------------------------------------------------------------------

    async def carry(self, request: Request, session: Session) -> None:
        """Carry a caller's stream to the host it asks for."""
        assert isinstance(request.args, CarryArgs)  # noqa: S101  (decoded by its op)
        host = ss58.encode(bytes.fromhex(request.args.host))
        attached = self._attached(host)
        if attached is None:
            raise _not_attached(host)
        stream = Stream(request.account, host)
        no = refusal(self._streams, stream, self._limits)
        if no is not None:
            raise HostRefused(no)
        self._streams.append(stream)
        token, call = secrets.token_bytes(TOKEN_BYTES), _Call(asyncio.get_running_loop().create_future())
        attached.calls[token.hex()] = call
        try:
            theirs = await self._called(attached, token, call, host)
            session.accept(window=window(len(self._streams), self._limits))
            await self._join(session, theirs)
        finally:
            attached.calls.pop(token.hex(), None)
            self._streams.remove(stream)
            call.over.set()
            call.taken.cancel()

    def _attached(self, host: str) -> _Attached | None:
        return self._hosts.get(host)

    async def _called(self, attached: _Attached, token: bytes, call: _Call, host: str) -> Session:
        try:
            async with asyncio.timeout(self._limits.call_s):
                await attached.say(token)
                return await call.taken
        except TimeoutError:
            raise refused(
                Code.NOT_ATTACHED,
                f"Host {host} did not take up the call within {self._limits.call_s:g} s.",
                "Try again in a minute.",
            ) from None
        except GantryError:
            raise _not_attached(host) from None

    async def _join(self, caller: Session, host: Session) -> None:
        """Hand over what comes from either to the other, until both have ended or one leaves."""
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
        """Bytes on their way. They are not looked at: they are encrypted from end to end."""
        del from_caller
        self._carried += len(piece)
        await sink.write(piece)


def _not_attached(host: str) -> HostRefused:
    return refused(
        Code.NOT_ATTACHED,
        f"Host {host} keeps no stream to this gateway.",
        "gantry host show tells which gateways it names, and whether it is online.",
    )
