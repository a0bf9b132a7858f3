"""Attacks on a server of the host link, by somebody with a throw-away key, or by a tenant with one byte at a time.

    python -m tests.support.link_attacker KIND --key HEX --genesis HEX --address ADDRESS --seconds S [options]

Runs as a process of its own and of lower priority, so that it competes with the agent for nothing but processors. It
ends by itself after the given time, prints one JSON object with what it did, and attacks loopback addresses only.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websockets.asyncio.client
from websockets.exceptions import WebSocketException

from offchain.adapters.keys.signer import Ed25519Signer, from_uri
from offchain.adapters.transport.certificate import client_context
from offchain.adapters.transport.host_client import HostClient
from offchain.adapters.transport.iroh_quic import IrohTransport
from offchain.adapters.transport.port import ConnectionLost, HostUnreachable, PeerConnection
from offchain.adapters.transport.websocket import WsConnection, WsTransport, _proof
from offchain.clock import unix_ms
from offchain.errors import GantryError
from offchain.ports import Signer
from offchain.schema.protocol.fields import canonical_json
from offchain.schema.protocol.frames import FrameKind, encode
from offchain.schema.protocol.messages import VERSION, WEBSOCKET, Code, Refusal, Request
from offchain.schema.protocol.mux import OLDEST_VERSION, PROTOCOL
from offchain.schema.protocol.operations import Args, ExecArgs, LogsArgs, PingArgs

HELLO = encode(FrameKind.HELLO, 0, canonical_json({"protocol": PROTOCOL, "oldest": OLDEST_VERSION, "newest": VERSION}))
RESET = Refusal(Code.GONE, "", "").encode()
TOGETHER = 64
"""Sessions opened with one write."""
DIAL_S = 10.0
LIFE_MS = 50_000


@dataclass
class Attack:
    """What all connections of one attack share, and what they did."""

    key: bytes
    genesis: bytes
    address: str
    until_s: float
    signer: Signer
    lease: int
    sources: int
    frames: int = 0
    connections: int = 0
    dropped: int = 0
    refused: int = 0
    _request: tuple[float, bytes] | None = None
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.until_s

    def request(self, args: Args | None = None) -> bytes:
        """Return a validly signed request about a lease of somebody else; made anew when half its life is over."""
        made = self._request
        if made is None or made[0] < time.monotonic() - LIFE_MS / 2000:
            args = args or LogsArgs()
            lease = None if isinstance(args, PingArgs) else self.lease
            expires_ms = unix_ms() + LIFE_MS
            unsigned = Request(
                args=args,
                account=self.signer.address,
                nonce=os.urandom(16).hex(),
                expires_ms=expires_ms,
                crypto="sr25519",
                lease=lease,
            )
            signature = self.signer.sign(unsigned.payload(self.genesis, self.key))
            fields = json.loads(unsigned.encode()) | {"signature": signature.hex()}
            made = self._request = time.monotonic(), canonical_json(fields)
        return made[1]

    async def write(self, connection: PeerConnection, data: bytes) -> None:
        """Write until the end of the attack. Raises TimeoutError."""
        async with asyncio.timeout(max(0.1, self.until_s - time.monotonic())):
            await connection.write(data)

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[PeerConnection]:
        """Connect from the next source address, prove a new key, and say hello."""
        source = f"127.0.1.{1 + next(self._numbers) % self.sources}"
        seed = os.urandom(32)
        if self.address.startswith(WEBSOCKET):
            made = await _websocket(self.address, self.key, Ed25519Signer(seed), source)
            transport = None
        else:
            transport = await IrohTransport.bind(seed, f"{source}:0", listen=False)
            made = await transport.dial(self.key, [self.address], DIAL_S)
        self.connections += 1
        try:
            await made.write(HELLO)
            yield made
        finally:
            await made.close()
            if transport is not None:
                await transport.close()


async def _websocket(address: str, key: bytes, signer: Ed25519Signer, source: str) -> PeerConnection:
    async with asyncio.timeout(DIAL_S):
        socket = await websockets.asyncio.client.connect(
            f"{address}/",
            ssl=client_context(),
            compression=None,
            max_size=1 << 20,
            ping_interval=None,
            proxy=None,
            local_addr=(source, 0),
        )
        made = WsConnection(socket, key)
        nonce = await made.read()
        await made.write(signer.public_key + signer.sign(_proof(nonce, key)))
    return made


Frames = Callable[[Attack, int], bytes]
"""(attack, number of the first session) -> frames of TOGETHER sessions."""


def _open_and_reset(request: bytes, first: int) -> bytes:
    return b"".join(
        encode(FrameKind.OPEN, number, request) + encode(FrameKind.RESET, number, RESET)
        for number in range(first, first + TOGETHER)
    )


def _resets(attack: Attack, first: int) -> bytes:
    return _open_and_reset(attack.request(), first)


def _large(_attack: Attack, first: int) -> bytes:
    """Requests of the greatest length, which cannot be read to their end."""
    return _open_and_reset(b'{"v":2,"op":"logs","account":"' + b"x" * 16_000, first)


def _data_after_reset(attack: Attack, first: int) -> bytes:
    session = encode(FrameKind.OPEN, first, attack.request()) + encode(FrameKind.RESET, first, RESET)
    return session + b"".join(encode(FrameKind.DATA, first, b"\0x") for _ in range(TOGETHER * 8))


def _credit(attack: Attack, first: int) -> bytes:
    one = encode(FrameKind.CREDIT, first, (1).to_bytes(4, "big"))
    return (
        encode(FrameKind.OPEN, first, attack.request()) + one * (TOGETHER * 8) + encode(FrameKind.RESET, first, RESET)
    )


def _pings(attack: Attack, first: int) -> bytes:
    return _open_and_reset(attack.request(PingArgs()), first)


WRITERS: dict[str, Frames] = {
    "rapid-reset": _resets,
    "large-requests": _large,
    "data-after-reset": _data_after_reset,
    "credit": _credit,
    "pings": _pings,
}


@contextlib.asynccontextmanager
async def _beside(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do this work while the block lasts."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _flood(attack: Attack, frames: Frames, *, read: bool) -> None:
    """Write frames as fast as the connection takes them; read nothing where `read` is False."""
    async with attack.connection() as connection, _beside(*([_read_all(connection)] if read else [])):
        for batch in itertools.count():
            if not attack.goes_on:
                return
            await attack.write(connection, frames(attack, 1 + batch * TOGETHER))
            attack.frames += TOGETHER


async def _read_all(connection: PeerConnection) -> None:
    with contextlib.suppress(ConnectionLost):
        while True:
            await connection.read()


async def _slow_resets(attack: Attack) -> None:
    """Open sessions, and reset each only when its work may have begun."""
    async with attack.connection() as connection, _beside(_read_all(connection)):
        for number in itertools.count(1):
            if not attack.goes_on:
                return
            frames = encode(FrameKind.OPEN, number, attack.request())
            if number > TOGETHER // 2:
                frames += encode(FrameKind.RESET, number - TOGETHER // 2, RESET)
            await attack.write(connection, frames)
            attack.frames += 2


async def _half_close(attack: Attack) -> None:
    """Ask, and leave at once."""
    async with attack.connection() as connection:
        request = attack.request()
        await connection.write(b"".join(encode(FrameKind.OPEN, number, request) for number in range(1, TOGETHER)))
        attack.frames += TOGETHER


async def _many_streams(attack: Attack) -> None:
    """Open as many streams of a QUIC connection as there may be, and fill each, so that the server keeps the bytes."""
    async with attack.connection() as connection:

        async def fill(number: int) -> None:
            make = connection._connection.open_uni if number % 2 else connection._connection.open_bi
            stream = await make()
            stream = stream if number % 2 else stream.send()
            while attack.goes_on:
                await stream.write_all(bytes(1 << 16))
                attack.frames += 1

        async with _beside(*(fill(number) for number in range(200))):
            await asyncio.sleep(max(0.0, attack.until_s - time.monotonic()))


async def _single_bytes(attack: Attack) -> None:
    """As a tenant: programs that echo, given their input in frames of one byte."""
    source = IrohTransport.bind(os.urandom(32), "127.0.0.1:0", listen=False)
    transport = WsTransport.client(os.urandom(32)) if attack.address.startswith(WEBSOCKET) else await source
    client = HostClient(transport, attack.key, [attack.address], genesis_hash=attack.genesis, signer=attack.signer)
    attack.connections += 1

    async def echo() -> None:
        session, _ = await client.ask(ExecArgs(("cat",)), attack.lease)
        try:
            async with _beside(_read_session(session)):
                while attack.goes_on:
                    room = session._peer.mux.room(session._number)
                    if not room:
                        await asyncio.sleep(0.001)
                        continue
                    count = min(room // 2, 4096)
                    session._peer.mux._send(encode(FrameKind.DATA, session._number, b"\0x") * count)
                    session._peer.mux._sessions[session._number].may_send -= 2 * count
                    session._peer.wake()
                    attack.frames += count
                    await session._peer.drained()
                    await asyncio.sleep(0)
        finally:
            session.drop()

    try:
        await asyncio.gather(*(echo() for _ in range(4)))
    finally:
        await client.close()
        await transport.close()


async def _read_session(session) -> None:
    with contextlib.suppress(GantryError):
        while await session.read() is not None:
            pass


async def _one(attack: Attack, kind: str) -> None:
    while attack.goes_on:
        try:
            if kind in WRITERS:
                await _flood(attack, WRITERS[kind], read=True)
            else:
                await OTHERS[kind](attack)
        except (ConnectionLost, HostUnreachable, WebSocketException, OSError, EOFError):
            attack.dropped += 1
            await asyncio.sleep(0.05)
        except TimeoutError:
            attack.dropped += 1
        except GantryError:
            attack.refused += 1
            await asyncio.sleep(0.05)


async def _connects(attack: Attack) -> None:
    async with attack.connection():
        attack.frames += 1


async def _never_reads(attack: Attack) -> None:
    await _flood(attack, _resets, read=False)


OTHERS: dict[str, Callable[[Attack], Awaitable[None]]] = {
    "never-reads": _never_reads,
    "slow-resets": _slow_resets,
    "half-close": _half_close,
    "connects": _connects,
    "streams": _many_streams,
    "single-bytes": _single_bytes,
}
KINDS = [*WRITERS, *OTHERS]


def _lower_priority(nice: int) -> None:
    """Lower the priority of this process, and of its session: Linux may schedule sessions as groups of equal weight."""
    os.nice(nice)
    with contextlib.suppress(OSError):  # a kernel without groups of sessions
        Path("/proc/self/autogroup").write_text(str(nice), encoding="ascii")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--key", required=True, help="the server's ed25519 key, hexadecimal")
    parser.add_argument("--genesis", required=True)
    parser.add_argument("--address", required=True, help="127.x.y.z:PORT, wss://127.x.y.z:PORT")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--sources", type=int, default=1, help="addresses that the connections come from")
    parser.add_argument("--lease", type=int, default=1)
    parser.add_argument("--nice", type=int, default=19, help="priority of the attack")
    parser.add_argument("--account", help="URI of the tenant; without, a throw-away key")
    options = parser.parse_args()
    if not options.address.removeprefix(WEBSOCKET).startswith("127."):
        parser.error("only loopback addresses are attacked")
    _lower_priority(options.nice)  # not before: on a busy machine, the start alone would take minutes
    attack = Attack(
        key=bytes.fromhex(options.key),
        genesis=bytes.fromhex(options.genesis),
        address=options.address,
        until_s=time.monotonic() + options.seconds,
        signer=from_uri(options.account or f"//{os.urandom(8).hex()}"),
        lease=options.lease,
        sources=options.sources,
    )
    await asyncio.gather(*(_one(attack, options.kind) for _ in range(options.connections)))
    done = {name: getattr(attack, name) for name in ("frames", "connections", "dropped", "refused")}
    sys.stdout.write(json.dumps(done) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
