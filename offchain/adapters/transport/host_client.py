"""The tenant's side: asks a host, and believes only the chain."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Sequence

from offchain.adapters.keys.sealed_box import OVERHEAD, seal_to_host
from offchain.adapters.transport.peer import BULK_WINDOW, WINDOW, Peer, Session
from offchain.adapters.transport.port import HostMisbehaved, HostRefused, HostUnreachable, Transport, refused
from offchain.adapters.transport.remote_program import RemoteProgram
from offchain.ports import Signer
from offchain.schema.protocol.messages import Answer, Code, Control, Request, WireError
from offchain.schema.protocol.mux import CONTROL, MAIN
from offchain.schema.protocol.operations import (
    MAX_SEALED,
    Args,
    CheckpointArgs,
    DeliverArgs,
    DialArgs,
    ExecArgs,
    GetArgs,
    ImageArgs,
    LogsArgs,
    PingArgs,
    ProbeArgs,
    PutArgs,
    ReceiptArgs,
    RelayArgs,
    ResultArgs,
    SnapshotArgs,
)
from offchain.schema.protocol.snapshots import SnapshotAction, Snapshots

REQUEST_LIFE_MS = 30_000
DIAL_TIMEOUT_S = 10.0
REPLY_TIMEOUT_S = 30.0
MAX_RESULT = 64 << 20
MAX_RECEIPT = 1 << 16
MAX_SNAPSHOTS_LIST = 1 << 16


def _unix_ms() -> int:
    return time.time_ns() // 1_000_000


class HostClient:
    """Questions to one host over one long-lived connection, made when first needed and again when it broke."""

    def __init__(
        self,
        transport: Transport,
        host_key: bytes,
        addresses: Sequence[str],
        *,
        genesis_hash: bytes,
        signer: Signer,
        now_ms: Callable[[], int] = _unix_ms,
    ) -> None:
        self._transport = transport
        self._host_key = host_key
        self._addresses = tuple(addresses)
        self._genesis_hash = genesis_hash
        self._signer = signer
        self._now_ms = now_ms
        self._peer: Peer | None = None
        self._turn = asyncio.Lock()

    @property
    def via(self) -> str | None:
        """What carries the connection now; None where there is none."""
        return None if self._peer is None or self._peer.over else self._peer.connection.via

    @property
    def sessions(self) -> int:
        """Sessions of the connection that are not over; none where there is no connection."""
        return 0 if self._peer is None or self._peer.over else self._peer.mux.sessions

    async def connect(self) -> str:
        """Connect now, and say what carries it. Raises :class:`HostUnreachable`."""
        return (await self._connected()).connection.via

    async def ping(self) -> None:
        """Raises :class:`HostUnreachable` or :class:`HostRefused` unless the host answers."""
        session, _ = await self.ask(PingArgs(), None)
        session.end()
        while await session.read() is not None:
            pass  # its place is free again once the host has ended it, too

    async def probe(self, size: int) -> float:
        """Seconds that so many bytes (at most 4 MiB) took from the host, its first word not counted."""
        session, _ = await self.ask(ProbeArgs(size), None, window=BULK_WINDOW)
        session.end()
        began_s, got = time.perf_counter(), 0
        while (piece := await session.read_main()) is not None:
            got += len(piece)
        if got != size:
            raise HostMisbehaved(f"the host sent {got} bytes of {size}")
        return time.perf_counter() - began_s

    async def probe_up(self, size: int) -> float:
        """Seconds that so many bytes (at most 4 MiB) took to the host, until it said that all have come."""
        session, _ = await self.ask(ProbeArgs(size, up=True), None)
        began_s = time.perf_counter()
        await session.write(bytes(size))
        session.end()
        await finished(session)
        return time.perf_counter() - began_s

    async def carry(self, host_key: bytes, *, window: int) -> Session:
        """Of a gateway: a stream to the host with this key, which may send `window` bytes before they are read."""
        session, _ = await self.ask(RelayArgs(host_key.hex()), None, window=window)
        return session

    async def result(self, lease: int, digest: bytes) -> bytes:
        """The result of this lease. `digest` is the SHA-256 on chain; other bytes raise :class:`HostMisbehaved`."""
        session, _ = await self.ask(ResultArgs(), lease, window=BULK_WINDOW)
        session.end()
        body = await _whole(session, MAX_RESULT)
        got = hashlib.sha256(body).digest()
        if got != digest:
            raise HostMisbehaved(
                f"the host sent {len(body)} bytes with SHA-256 {got.hex()}, but the chain says {digest.hex()}. "
                "Do not use them; the result on chain is what the host is paid for."
            )
        return body

    async def logs(
        self,
        lease: int,
        *,
        follow: bool = False,
        tail: int | None = None,
        since_ms: int | None = None,
        service: str | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """The pod's log in pieces, or one container's; with `follow` until the pod ends."""
        session, _ = await self.ask(LogsArgs(follow, tail, since_ms, service), lease)
        try:
            session.end()
            while (piece := await session.read_main()) is not None:
                yield piece
        finally:
            session.drop()

    async def exec(self, lease: int, args: ExecArgs) -> RemoteProgram:
        """Start a program in the pod."""
        session, answer = await self.ask(args, lease)
        if answer.token is None:
            session.drop()
            raise HostMisbehaved("the host did not name the program it started")
        return RemoteProgram(self, lease, session, answer.token)

    async def dial(self, lease: int, port: int) -> Session:
        """A connection to a TCP port inside the pod: read with `read_main`, write, `end`, `drop`."""
        session, _ = await self.ask(DialArgs(port), lease)
        return session

    async def get(self, lease: int, args: GetArgs) -> tuple[Session, Answer]:
        """A tar stream out of the pod; see :mod:`offchain.adapters.transport.copy`."""
        return await self.ask(args, lease, window=BULK_WINDOW)

    async def put(self, lease: int, args: PutArgs) -> tuple[Session, Answer]:
        """A tar stream into the pod; see :mod:`offchain.adapters.transport.copy`."""
        return await self.ask(args, lease)

    async def snapshots(self, lease: int, act: SnapshotAction, name: str | None = None) -> Snapshots:
        """Do something with the rental's snapshots; gives what there is of them then. A large one takes its time."""
        session, _ = await self.ask(SnapshotArgs(act, name), lease)
        session.end()
        try:
            return Snapshots.decode(await _whole(session, MAX_SNAPSHOTS_LIST))
        except WireError as error:
            raise HostMisbehaved(f"the host's list of snapshots is malformed: {error}") from None
        finally:
            session.drop()

    async def image(self, lease: int, args: ImageArgs) -> tuple[Session, Answer]:
        """A snapshot as an image archive; see :mod:`offchain.adapters.transport.copy`."""
        return await self.ask(args, lease, window=BULK_WINDOW)

    async def checkpoint(self, lease: int, args: CheckpointArgs) -> tuple[Session, Answer]:
        """The saved folder of a pod, for a host that runs it or stands by; see `transport.copy`."""
        return await self.ask(args, lease, window=BULK_WINDOW)

    async def deliver(self, lease: int, name: str, data: bytes) -> None:
        """A file that the manifest names, sealed so that only the host can open it."""
        sealed = seal_to_host(self._host_key, data)
        if len(sealed) > MAX_SEALED:
            raise refused(
                Code.TOO_LARGE,
                f"{name} has {len(data)} bytes, more than the {MAX_SEALED - OVERHEAD} that can be delivered sealed.",
                "Copy it into the running pod: gantry cp.",
            )
        session, _ = await self.ask(DeliverArgs(name, len(sealed)), lease)
        await session.write(sealed)
        session.end()
        await finished(session)

    async def receipt(self, lease: int) -> bytes:
        """The newest receipt of this lease as the host wrote and signed it."""
        session, _ = await self.ask(ReceiptArgs(), lease)
        session.end()
        return await _whole(session, MAX_RECEIPT)

    async def countersign(self, lease: int, digest: bytes, signature: bytes) -> None:
        """Give the tenant's signature under the receipt with this SHA-256."""
        session, _ = await self.ask(ReceiptArgs(digest.hex(), signature.hex()), lease)
        session.end()
        await finished(session)

    async def close(self) -> None:
        """Drop the connection; the transport stays open."""
        peer, self._peer = self._peer, None
        if peer is not None:
            await peer.close()

    async def ask(self, args: Args, lease: int | None, *, window: int = WINDOW) -> tuple[Session, Answer]:
        """Ask, and wait for the host's word. A connection that died unnoticed is made anew, once."""
        fresh = self.via is None
        try:
            return await self._ask(args, lease, window)
        except HostUnreachable:
            if fresh:
                raise
        except HostRefused:
            # A restarting agent says goodbye; the next connection reaches its successor.
            if fresh or self.via is not None:
                raise
        await self.close()
        return await self._ask(args, lease, window)

    async def _ask(self, args: Args, lease: int | None, window: int) -> tuple[Session, Answer]:
        peer = await self._connected()
        session = peer.open(self._signed(args, lease), window=window)
        try:
            async with asyncio.timeout(REPLY_TIMEOUT_S):
                return session, await session.answer()
        except TimeoutError:
            session.drop()
            await self.close()
            raise HostUnreachable(f"The host did not answer within {REPLY_TIMEOUT_S:g} s.", "Try again.") from None
        except BaseException:
            session.drop()
            raise

    async def _connected(self) -> Peer:
        async with self._turn:
            if self._peer is not None and self._peer.over:
                await self.close()
            if self._peer is None:
                connection = await self._transport.dial(self._host_key, self._addresses, DIAL_TIMEOUT_S)
                peer = Peer(connection, dialler=True)
                try:
                    async with asyncio.timeout(DIAL_TIMEOUT_S):
                        await peer.ready()
                except TimeoutError:
                    await peer.close()
                    raise HostUnreachable(f"The host said nothing within {DIAL_TIMEOUT_S:g} s.", "Try again.") from None
                except BaseException:
                    await peer.close()
                    raise
                self._peer = peer
            return self._peer

    def _signed(self, args: Args, lease: int | None) -> bytes:
        unsigned = Request(
            args=args,
            lease=lease,
            account=self._signer.address,
            nonce=secrets.token_hex(16),
            expires_ms=self._now_ms() + REQUEST_LIFE_MS,
            crypto=self._signer.crypto,
        )
        signature = self._signer.sign(unsigned.payload(self._genesis_hash, self._host_key))
        return dataclasses.replace(unsigned, signature=signature).encode()


async def _whole(session: Session, most: int) -> bytes:
    body = bytearray()
    while (piece := await session.read_main()) is not None:
        body += piece
        if len(body) > most:
            session.drop()
            raise HostMisbehaved(f"the host sent more than the {most} bytes allowed")
    return bytes(body)


async def finished(session: Session) -> None:
    """Wait until the host says that what was sent took effect. Raises HostRefused, HostUnreachable, HostMisbehaved."""
    while (piece := await session.read()) is not None:
        if piece[0] == CONTROL and decoded(piece[1]).done:
            return
        if piece[0] == MAIN and piece[1]:
            raise HostMisbehaved("the host sent bytes where it had nothing to send")
    raise HostMisbehaved("the host did not say whether it worked")


def decoded(word: bytes) -> Control:
    """A word beside a body. Raises :class:`HostMisbehaved`."""
    try:
        return Control.decode(word)
    except WireError as error:
        raise HostMisbehaved(f"the host's word is malformed: {error}") from None
