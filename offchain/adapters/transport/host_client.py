"""Client of a host. Results are checked against the digests on the chain."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Sequence

from offchain.adapters.keys.sealed_box import KEY_BYTES, OVERHEAD, open_sealed, public_of, seal, seal_to_host
from offchain.adapters.transport.peer import Peer
from offchain.adapters.transport.port import HostMisbehaved, HostRefused, HostUnreachable, Transport, refused
from offchain.adapters.transport.remote_program import RemoteProgram
from offchain.adapters.transport.session import BULK_WINDOW, WINDOW, Session
from offchain.clock import unix_ms
from offchain.errors import BadKey
from offchain.ports import Signer
from offchain.schema.attestation.document import MAX_DOCUMENT
from offchain.schema.protocol.delegation import SignedDelegation
from offchain.schema.protocol.evidence import MAX_FILES, MAX_HOST_EVIDENCE
from offchain.schema.protocol.messages import Answer, Code, Control, Request, WireError
from offchain.schema.protocol.mux import CONTROL, MAIN
from offchain.schema.protocol.operations import (
    MAX_SEALED,
    Args,
    AttestArgs,
    ChallengeArgs,
    ChallengePart,
    CheckpointArgs,
    DeliverArgs,
    DialArgs,
    EvidenceArgs,
    EvidenceFilesArgs,
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
MAX_CHALLENGE_DOCUMENT = 1 << 20
MAX_SNAPSHOTS_LIST = 1 << 16


class HostClient:
    """Requests to one host over one long-lived connection, opened when first needed and again after it broke.

    `delegation`: of a tenant to the signer, if that is a session key.
    """

    def __init__(
        self,
        transport: Transport,
        host_key: bytes,
        addresses: Sequence[str],
        *,
        genesis_hash: bytes,
        signer: Signer,
        delegation: SignedDelegation | None = None,
        now_ms: Callable[[], int] = unix_ms,
    ) -> None:
        self._transport = transport
        self._host_key = host_key
        self._addresses = tuple(addresses)
        self._genesis_hash = genesis_hash
        self._signer = signer
        self._delegation = delegation
        self._now_ms = now_ms
        self._peer: Peer | None = None
        self._connecting = asyncio.Lock()

    @property
    def via(self) -> str | None:
        """Name of the transport of the connection; None where there is none."""
        return None if self._peer is None or self._peer.over else self._peer.connection.via

    @property
    def sessions(self) -> int:
        """Number of sessions that are not over; 0 without a connection."""
        return 0 if self._peer is None or self._peer.over else self._peer.mux.sessions

    async def connect(self) -> str:
        """Connect, and return the name of the transport. Raises :class:`HostUnreachable`."""
        return (await self._connected()).connection.via

    async def ping(self) -> None:
        """Check that the host answers. Raises :class:`HostUnreachable`, :class:`HostRefused`."""
        session, _ = await self.ask(PingArgs(), None)
        session.end()
        while await session.read() is not None:
            pass  # the host frees its slot once both sides have ended the session

    async def probe(self, size: int) -> float:
        """Seconds that `size` bytes (at most 4 MiB) took from the host, without the time to its answer."""
        session, _ = await self.ask(ProbeArgs(size), None, window=BULK_WINDOW)
        session.end()
        began_s, got = time.perf_counter(), 0
        while (piece := await session.read_main()) is not None:
            got += len(piece)
        if got != size:
            raise HostMisbehaved(f"the host sent {got} bytes of {size}")
        return time.perf_counter() - began_s

    async def probe_up(self, size: int) -> float:
        """Seconds that `size` bytes (at most 4 MiB) took to the host, until it confirmed all of them."""
        session, _ = await self.ask(ProbeArgs(size, up=True), None)
        began_s = time.perf_counter()
        await session.write(bytes(size))
        session.end()
        await finished(session)
        return time.perf_counter() - began_s

    async def carry(self, host_key: bytes, *, window: int) -> Session:
        """Have a gateway open a stream to the host with this key. `window`: credit in bytes."""
        session, _ = await self.ask(RelayArgs(host_key.hex()), None, window=window)
        return session

    async def result(self, lease: int, digest: bytes) -> bytes:
        """The result of a lease. `digest`: its SHA-256 on the chain; other bytes raise :class:`HostMisbehaved`."""
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
        """Yield the log of the pod, or of one container, in pieces; with `follow` until the pod ends."""
        session, _ = await self.ask(LogsArgs(follow, tail, since_ms, service), lease)
        try:
            session.end()
            while (piece := await session.read_main()) is not None:
                yield piece
        finally:
            session.drop()

    async def exec(self, lease: int, args: ExecArgs) -> RemoteProgram:
        """Start a program in a pod."""
        session, answer = await self.ask(args, lease)
        if answer.token is None:
            session.drop()
            raise HostMisbehaved("the host did not name the program it started")
        return RemoteProgram(self, lease, session, answer.token)

    async def dial(self, lease: int, port: int) -> Session:
        """Open a session to a TCP port inside a pod."""
        session, _ = await self.ask(DialArgs(port), lease)
        return session

    async def get(self, lease: int, args: GetArgs) -> tuple[Session, Answer]:
        """Open a tar stream from a pod; see :mod:`offchain.adapters.transport.copy`."""
        return await self.ask(args, lease, window=BULK_WINDOW)

    async def put(self, lease: int, args: PutArgs) -> tuple[Session, Answer]:
        """Open a tar stream into a pod; see :mod:`offchain.adapters.transport.copy`."""
        return await self.ask(args, lease)

    async def snapshots(self, lease: int, act: SnapshotAction, name: str | None = None) -> Snapshots:
        """Create, delete or list snapshots of a rental; return those that exist then. A large one takes minutes."""
        session, _ = await self.ask(SnapshotArgs(act, name), lease)
        session.end()
        try:
            return Snapshots.decode(await _whole(session, MAX_SNAPSHOTS_LIST))
        except WireError as error:
            raise HostMisbehaved(f"the host's list of snapshots is malformed: {error}") from None
        finally:
            session.drop()

    async def image(self, lease: int, args: ImageArgs) -> tuple[Session, Answer]:
        """Open a snapshot as an image archive; see :mod:`offchain.adapters.transport.copy`."""
        return await self.ask(args, lease, window=BULK_WINDOW)

    async def checkpoint(self, lease: int, args: CheckpointArgs) -> tuple[Session, Answer]:
        """Open the saved folder of a pod, as its next or standby host; see `transport.copy`."""
        return await self.ask(args, lease, window=BULK_WINDOW)

    async def deliver(self, lease: int, name: str, data: bytes, *, seal_key: bytes | None = None) -> None:
        """Send a file that the manifest names, sealed for the host's key, or for this X25519 key that it attested."""
        sealed = seal_to_host(self._host_key, data) if seal_key is None else seal(seal_key, data)
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
        """The newest receipt of a lease, as the host signed it."""
        session, _ = await self.ask(ReceiptArgs(), lease)
        session.end()
        return await _whole(session, MAX_RECEIPT)

    async def challenge_document(self, challenge: int, part: ChallengePart) -> bytes:
        """A document of the host's answer to a challenge, at most 1 MiB, for members of its committee."""
        session, _ = await self.ask(ChallengeArgs(challenge, part), None, window=BULK_WINDOW)
        session.end()
        return await _whole(session, MAX_CHALLENGE_DOCUMENT)

    async def evidence(self, lease: int) -> bytes:
        """The archive of evidence about an ended lease, for its tenant and its jury.

        The host seals it for a key that is made for this request, which the signature of the request covers.
        """
        return await self._sealed(lambda key: EvidenceArgs(key.hex()), lease, MAX_HOST_EVIDENCE)

    async def evidence_files(self, lease: int) -> bytes:
        """The files of the opener of the dispute about a lease, sealed as :meth:`evidence`, for parties and jurors."""
        return await self._sealed(lambda key: EvidenceFilesArgs(seal_to=key.hex()), lease, MAX_FILES)

    async def send_evidence_files(self, lease: int, data: bytes) -> None:
        """Have the host of an accused lease keep the files of the dispute's opener until the dispute is over."""
        session, _ = await self.ask(EvidenceFilesArgs(size=len(data)), lease)
        await session.write(data)
        session.end()
        await finished(session)

    async def _sealed(self, args_for: Callable[[bytes], Args], lease: int, most: int) -> bytes:
        """Ask for something that the host seals for a key made for this request."""
        private = secrets.token_bytes(KEY_BYTES)
        session, _ = await self.ask(args_for(public_of(private)), lease, window=BULK_WINDOW)
        session.end()
        sealed = await _whole(session, most + OVERHEAD)
        try:
            return open_sealed(private, sealed)
        except BadKey:
            raise HostMisbehaved("the host sealed its answer for another key than that of the request") from None

    async def attestation(self, nonce: bytes, lease: int | None = None) -> bytes:
        """An attestation document of the host for this nonce of 32 bytes, which nobody has verified.

        `lease`: of the signer, if it is a tenant of the host.
        """
        session, _ = await self.ask(AttestArgs(nonce.hex()), lease, window=BULK_WINDOW)
        session.end()
        return await _whole(session, MAX_DOCUMENT)

    async def countersign(self, lease: int, digest: bytes, signature: bytes) -> None:
        """Send the tenant's signature of the receipt with this SHA-256."""
        session, _ = await self.ask(ReceiptArgs(digest.hex(), signature.hex()), lease)
        session.end()
        await finished(session)

    async def close(self) -> None:
        """Close the connection; the transport stays open."""
        peer, self._peer = self._peer, None
        if peer is not None:
            await peer.close()

    async def ask(self, args: Args, lease: int | None, *, window: int = WINDOW) -> tuple[Session, Answer]:
        """Send a request, and wait for its answer. A connection that broke unnoticed is opened again, once."""
        fresh = self.via is None
        try:
            return await self._ask(args, lease, window)
        except HostUnreachable:
            if fresh:
                raise
        except HostRefused:
            # A restarting agent closes its connections; the next one reaches its successor.
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
        async with self._connecting:
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
            # A ping is for anybody, and proves nothing.
            delegation=None if isinstance(args, PingArgs) else self._delegation,
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
    """Wait until the host confirms what was sent. Raises HostRefused, HostUnreachable, HostMisbehaved."""
    while (piece := await session.read()) is not None:
        if piece[0] == CONTROL and decoded(piece[1]).done:
            return
        if piece[0] == MAIN and piece[1]:
            raise HostMisbehaved("the host sent bytes where it had nothing to send")
    raise HostMisbehaved("the host did not say whether it worked")


def decoded(message: bytes) -> Control:
    """Decode a control message. Raises :class:`HostMisbehaved`."""
    try:
        return Control.decode(message)
    except WireError as error:
        raise HostMisbehaved(f"the host's word is malformed: {error}") from None
