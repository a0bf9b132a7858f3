"""A fuzzer for the access protocol: random peers talk to a server of the host link, valid and broken frames mixed.

    python -m tests.support.link_fuzz [--seconds S] [--seed N] [--steps N]      (also: scripts/fuzz link)

Each round is decided by its seed alone. After a round every connection is closed, and nothing of it may be left in the
server: no session, no task, no slot, no place in the queue. An honest tenant has to be answered all the time.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.host_server import HostServer
from offchain.adapters.transport.limits import ConnectionLimits, ServerLimits
from offchain.adapters.transport.peer import SLOTS, Peer
from offchain.adapters.transport.port import ConnectionLost, PeerConnection, refused
from offchain.adapters.transport.session import Session
from offchain.schema.protocol.fields import canonical_json
from offchain.schema.protocol.frames import FrameKind, encode
from offchain.schema.protocol.messages import Code, Op, Refusal, Request
from offchain.schema.protocol.mux import Mux
from offchain.schema.protocol.operations import ExecArgs, LogsArgs, PingArgs, ResultArgs
from tests.support.memory_transport import MemoryNetwork

GENESIS = b"f" * 32
NOW_MS = 1_800_000_000_000
TENANT, STRANGER = from_uri("//Alice"), from_uri("//Bob")
GENUINE = b"\1" * 64
"""The signature that the server of the fuzzer takes for genuine: keys are not what is tested."""
RESET = Refusal(Code.GONE, "", "").encode()
PATIENCE_S = 30.0
MOST_CONNECTIONS = 4


class FuzzError(Exception):
    """The server broke an invariant; the text names the seed."""


class _Unpaced(ConnectionLimits):
    """The limits of a connection without waiting: time is not what is tested."""

    def spend(self, frames: int, requests: int, size: int, now_s: float) -> float:
        super().spend(frames, requests, size, now_s)
        return 0.0


class _UnpacedLimits(ServerLimits):
    def connect(self, address: str) -> ConnectionLimits:
        return _Unpaced(self, address)


class _Complaints(logging.Handler):
    """Collects what the server logs as its own failure."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@dataclass
class _Attacker:
    """One connection, with the sessions that it has opened."""

    connection: PeerConnection
    opened: int = 0
    sessions: list[int] = field(default_factory=list)


class Round:
    """One server and its peers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  (repeatable, and no secret)
        self._network = MemoryNetwork()
        self._host = self._network.endpoint(b"h" * 32)
        self._peers: list[_Attacker] = []
        self._server = HostServer(
            self._host,
            genesis_hash=GENESIS,
            authorise=self._authorise,
            handlers={Op.RESULT: self._write, Op.EXEC: self._echo, Op.LOGS: self._wait},
            verify=lambda _account, _crypto, _payload, signature: signature == GENUINE,
            now_ms=lambda: NOW_MS,
        )
        self._server._limits = _UnpacedLimits()
        self._numbers = iter(range(1 << 60))
        self._seen: set[Peer] = set()

    async def run(self, steps: int) -> None:
        """Take so many random steps, close everything, and look at what is left. Raises :class:`FuzzError`."""
        complaints = _Complaints()
        logger = logging.getLogger("offchain.adapters.transport.host_server")
        logger.addHandler(complaints)
        serving = asyncio.create_task(self._server.serve())
        before = asyncio.all_tasks()
        try:
            for step in range(steps):
                await self._step()
                self._seen |= self._server._peers
                if step % 50 == 49:
                    await self._honest()
            for peer in self._peers:
                await peer.connection.close()
            await self._honest()
            await self._nothing_is_left(before)
        finally:
            await self._server.close()
            await serving
            logger.removeHandler(complaints)
        if complaints.texts:
            raise FuzzError(f"the server failed at a request: {complaints.texts[0]}")

    # --- the server's side ----------------------------------------------------------------------------------------

    async def _authorise(self, request: Request) -> None:
        for _ in range(self._random.randrange(3)):
            await asyncio.sleep(0)
        if request.account != TENANT.address:
            raise refused(Code.NOT_YOUR_LEASE, "Not your lease.", "")
        if request.nonce.startswith("b"):
            raise refused(Code.BUSY, "The node is away.", "")

    async def _write(self, _request: Request, session: Session) -> None:
        session.accept()
        await session.write(bytes(self._random.randrange(1 << 18)))

    async def _echo(self, _request: Request, session: Session) -> None:
        session.accept(window=1 << 12)
        while (piece := await session.read()) is not None:
            await session.write(piece[1], piece[0])

    async def _wait(self, _request: Request, session: Session) -> None:
        session.accept(window=1 << 10)
        await session.gone()

    # --- the peers' side ------------------------------------------------------------------------------------------

    async def _step(self) -> None:
        if not self._peers or (len(self._peers) < MOST_CONNECTIONS and self._random.random() < 0.1):
            near = self._network.endpoint(os.urandom(32))
            connection = await near.dial(self._host.key, self._host.addresses, PATIENCE_S)
            peer = _Attacker(connection)
            self._peers.append(peer)
            if self._random.random() < 0.95:
                await self._send(peer, Mux(dialler=True).take())
            return
        peer = self._random.choice(self._peers)
        actions: list[tuple[float, Callable[[_Attacker], bytes]]] = [
            (8, self._open),
            (4, self._reset),
            (6, self._data),
            (2, self._end),
            (2, self._credit),
            (0.3, self._mutated),
            (0.2, lambda _: self._random.randbytes(self._random.randrange(1, 200))),
            (0.1, lambda _: encode(FrameKind.GOAWAY, 0, RESET)),
        ]
        frames = b"".join(
            self._random.choices([act for _, act in actions], [weight for weight, _ in actions])[0](peer)
            for _ in range(self._random.choice([1, 1, 2, 20]))
        )
        cut = self._random.randrange(len(frames) + 1) if self._random.random() < 0.1 else len(frames)
        await self._send(peer, frames[:cut])
        await self._send(peer, frames[cut:])
        if self._random.random() < 0.03:
            await peer.connection.close()
            self._forget(peer)

    async def _send(self, peer: _Attacker, data: bytes) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                if data:
                    await peer.connection.write(data)
        except ConnectionLost:
            self._forget(peer)
        except TimeoutError:
            raise FuzzError("the server does not read, and did not close the connection") from None
        if self._random.random() < 0.5:
            await asyncio.sleep(0)

    def _forget(self, peer: _Attacker) -> None:
        if peer in self._peers:
            self._peers.remove(peer)

    def _request(self) -> bytes:
        args = self._random.choice([PingArgs(), ResultArgs(), ExecArgs(("cat",)), LogsArgs(follow=True)])
        first = self._random.choice("abbb0000000000")
        request = Request(
            args=args,
            account=self._random.choice([TENANT, TENANT, STRANGER]).address,
            nonce=first + f"{next(self._numbers):031x}",
            expires_ms=NOW_MS + self._random.choice([30_000, 30_000, 30_000, -1, 10**9]),
            crypto="sr25519",
            lease=None if isinstance(args, PingArgs) else 7,
            signature=GENUINE if self._random.random() < 0.9 else bytes(64),
        )
        data = request.encode()
        if self._random.random() < 0.1:
            fields = json.loads(data)
            fields[self._random.choice([*fields, "more"])] = self._random.choice([None, 1, "x", [], {}])
            data = canonical_json(fields)
        return data

    def _open(self, peer: _Attacker) -> bytes:
        peer.opened += self._random.choice([1, 1, 1, 1, 1, 1, 3])
        peer.sessions.append(peer.opened)
        grant = (
            encode(FrameKind.CREDIT, peer.opened, (1 << 16).to_bytes(4, "big")) if self._random.random() < 0.8 else b""
        )
        return encode(FrameKind.OPEN, peer.opened, self._request()) + grant

    def _session(self, peer: _Attacker) -> int:
        return self._random.choice(peer.sessions[-70:] or [1])

    def _reset(self, peer: _Attacker) -> bytes:
        return encode(FrameKind.RESET, self._session(peer), RESET)

    def _data(self, peer: _Attacker) -> bytes:
        content = bytes([self._random.choice([0, 0, 0, 3])]) + self._random.randbytes(
            self._random.choice([0, 1, 1, 40])
        )
        return encode(FrameKind.DATA, self._session(peer), content)

    def _end(self, peer: _Attacker) -> bytes:
        return encode(FrameKind.END, self._session(peer))

    def _credit(self, peer: _Attacker) -> bytes:
        return encode(FrameKind.CREDIT, self._session(peer), self._random.choice([1, 1000, 1 << 20]).to_bytes(4, "big"))

    def _mutated(self, peer: _Attacker) -> bytes:
        frame = bytearray(self._open(peer))
        frame[self._random.randrange(len(frame))] ^= 1 << self._random.randrange(8)
        return bytes(frame)

    # --- invariants -----------------------------------------------------------------------------------------------

    async def _honest(self) -> None:
        """A tenant on a connection of its own is answered, and no connection has more at work than it may."""
        for peer in self._server._peers:
            if not 0 <= peer._in_progress <= SLOTS:
                raise FuzzError(f"{peer._in_progress} requests of one connection are at work; {SLOTS} may be")
        signer = _Signer()
        near = self._network.endpoint(os.urandom(32))
        client = HostClient(
            near, self._host.key, self._host.addresses, genesis_hash=GENESIS, signer=signer, now_ms=lambda: NOW_MS
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                await client.ping()
        except TimeoutError:
            raise FuzzError(f"an honest peer was not answered within {PATIENCE_S:g} s") from None
        finally:
            await client.close()
            await near.close()

    async def _nothing_is_left(self, before: set[asyncio.Task[None]]) -> None:
        server = self._server

        def left() -> dict[str, object]:
            return {
                "peers": server.peers,
                "strangers": len(server._strangers),
                "sessions": len(server._live),
                "slots": sum(peer._in_progress for peer in self._seen),
                "accounts": dict(server._of_account),
                "queries that wait": server._queries.waiting,
                "connections counted": sum(one.connections for one in server._limits._addresses.values()),
                "tasks": len(asyncio.all_tasks() - before - {asyncio.current_task()}) - 1,  # one rechecks
            }

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while any(left().values()):  # noqa: ASYNC110  (the ends of many tasks; nobody announces the last)
                    await asyncio.sleep(0)
        if any(left().values()):
            raise FuzzError(f"when all peers had left, the server still had {left()}")


class _Signer:
    """A tenant whose signatures the server of the fuzzer takes for genuine."""

    address = TENANT.address
    crypto = "sr25519"
    public_key = TENANT.public_key

    def sign(self, _payload: bytes) -> bytes:
        return GENUINE


def run_round(seed: int, steps: int) -> None:
    """Run one round. Raises :class:`FuzzError`, which names the seed."""
    try:
        asyncio.run(Round(seed).run(steps))
    except FuzzError as error:
        raise FuzzError(f"seed {seed}, {steps} steps: {error}") from None


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz link", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (600)")
    parser.add_argument("--seed", type=int, help="the first round's; without, a random one")
    parser.add_argument("--steps", type=int, default=400, help="of a round (400)")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    began_s, rounds = time.monotonic(), 0
    while time.monotonic() - began_s < options.seconds:
        try:
            run_round(seed + rounds, options.steps)
        except FuzzError as error:
            sys.stderr.write(f"error: {error}\n")
            return 1
        rounds += 1
        if rounds % 100 == 0:
            sys.stderr.write(f"fuzz: {rounds} rounds, {time.monotonic() - began_s:.0f} s\n")
    sys.stdout.write(f"{rounds} rounds of {options.steps} steps, from seed {seed}: no invariant was broken\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
