"""Requests to running pods: programs, connections, copies and delivered files.

They are authorised before and meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final, TypeVar

from node_agent.attestation.sealing_key import SealingKey
from node_agent.drivers.access_port import AccessRefused, ByteStream, PathHidden, PodAccess
from node_agent.drivers.port import DriverError, EngineBusy, EngineUnreachable, PodGone
from node_agent.handlers.programs import PodPrograms
from node_agent.handlers.resumable import send_from
from node_agent.handlers.uploads import Upload, UploadFolder, pieces
from offchain.adapters.keys.sealed_box import open_as_host
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import HostRefused, refused
from offchain.adapters.transport.session import BULK_WINDOW, WINDOW, Session
from offchain.adapters.transport.tar_files import COPY_INSIDE, BadArchive, check
from offchain.errors import BadKey
from offchain.schema.protocol.messages import Answer, Code, Control, Op, Request, WireError
from offchain.schema.protocol.mux import CONTROL, MAIN
from offchain.schema.protocol.operations import AttachArgs, DeliverArgs, DialArgs, ExecArgs, GetArgs, PutArgs

MAX_DIALS: Final = 256
"""Maximum of TCP connections into the pods of this host."""
MAX_COPIES: Final = 8
UPLOAD_PIECE: Final = 1 << 20

T = TypeVar("T")

Deliver = Callable[[int, str, bytes], Awaitable[None]]
"""(lease, name, content): stores a delivered file. Raises ValueError with a text for users."""


class PodRequests:
    """Handlers for :class:`offchain.adapters.transport.host_server.HostServer`. `sealing`: of a confidential host."""

    def __init__(
        self, pods: PodAccess, folder: Path, key: Ed25519Signer, deliver: Deliver, sealing: SealingKey | None = None
    ) -> None:
        self._pods = pods
        self._key = key
        self._sealing = sealing
        self._deliver = deliver
        self._programs = PodPrograms()
        self._uploads = UploadFolder(folder)
        self._dials = 0
        self._copies = 0

    def handlers(self) -> Mapping[Op, Handler]:
        return {
            Op.EXEC: self.exec,
            Op.ATTACH: self.attach,
            Op.DIAL: self.dial,
            Op.GET: self.get,
            Op.PUT: self.put,
            Op.DELIVER: self.deliver,
        }

    async def end_lease(self, lease: int) -> None:
        """End the programs of a removed pod and drop its uploads."""
        await self._programs.end_lease(lease)
        await asyncio.to_thread(self._uploads.forget_lease, lease)

    async def close(self) -> None:
        """End all programs: none outlives the agent."""
        await self._programs.close()
        await self._pods.close()

    async def exec(self, request: Request, session: Session) -> None:
        lease, args = _about(request, ExecArgs)
        self._programs.check_room(lease)
        with _explained(lease):
            program = await self._pods.exec(
                lease, args.service, args.argv, tty=args.tty, rows=args.rows, columns=args.columns
            )
        await self._programs.start(lease, request.account, program, session)

    async def attach(self, request: Request, session: Session) -> None:
        lease, args = _about(request, AttachArgs)
        await self._programs.attach(lease, request.account, args.token, args.received, session)

    async def dial(self, request: Request, session: Session) -> None:
        lease, args = _about(request, DialArgs)
        if self._dials >= MAX_DIALS:
            raise refused(Code.BUSY, f"{MAX_DIALS} connections into pods are open here.", "Close some of them.")
        self._dials += 1
        try:
            with _explained(lease):
                stream = await self._pods.dial(lease, args.port)
            try:
                session.accept(window=WINDOW)
                await _both_ways(session, stream)
            finally:
                await stream.close()
        finally:
            self._dials -= 1

    async def get(self, request: Request, session: Session) -> None:
        lease, args = _about(request, GetArgs)
        with self._copying(), _explained(lease):
            async with aclosing(self._pods.get(lease, args.service, args.path)) as archive:
                await send_from(session, archive, args.offset, args.digest, args.path)

    async def put(self, request: Request, session: Session) -> None:
        lease, args = _about(request, PutArgs)
        with self._copying(), _explained(lease):
            hidden = await self._pods.hidden(lease, args.service, args.path)
            upload = await asyncio.to_thread(
                self._uploads.begin, lease, request.account, args.upload, args.size, fresh=args.fresh
            )
            try:
                held = upload.held
                session.accept(Answer(held=held, digest=upload.digest.digest() if held else None), window=BULK_WINDOW)
                trailer = await _receive(session, upload)
                if trailer is None or trailer.size != upload.held or trailer.digest != upload.digest.digest():
                    await asyncio.to_thread(upload.remove)
                    raise refused(Code.CHANGED, "What arrived is not what was sent.", "Copy it again.")
                await asyncio.to_thread(_check_archive, upload, hidden)
                await self._pods.put(lease, args.service, args.path, pieces(upload.path))
                await asyncio.to_thread(upload.remove)
                await session.say(Control(done=True))
            except (BadArchive, AccessRefused):
                await asyncio.to_thread(upload.remove)
                raise
            finally:
                upload.close()
                self._uploads.done(upload)

    async def deliver(self, request: Request, session: Session) -> None:
        lease, args = _about(request, DeliverArgs)
        with self._copying():
            session.accept(window=WINDOW)
            sealed = bytearray()
            while (piece := await session.read_main()) is not None:
                sealed += piece
                if len(sealed) > args.size:
                    raise refused(Code.BAD_REQUEST, f"More than the {args.size} bytes announced.", "Send it again.")
            try:
                data = await asyncio.to_thread(self._open, bytes(sealed))
                await self._deliver(lease, args.name, data)
            except BadKey:
                raise refused(
                    Code.BAD_REQUEST, f"{args.name} was not sealed to this host's key.", "Seal it to the key you dial."
                ) from None
            except ValueError as error:
                raise refused(
                    Code.NOT_FOUND, str(error), "gantry manifest check shows the files that the manifest names."
                ) from None
            await session.say(Control(done=True))

    def _open(self, sealed: bytes) -> bytes:
        """Open a file that was sealed for the host's key, or for that of its attestation documents."""
        if self._sealing is not None:
            with contextlib.suppress(BadKey):
                return self._sealing.open(sealed)
        return open_as_host(self._key, sealed)

    @contextlib.contextmanager
    def _copying(self) -> Iterator[None]:
        if self._copies >= MAX_COPIES:
            raise refused(Code.BUSY, f"{MAX_COPIES} copies are in progress here.", "Try again when one is done.")
        self._copies += 1
        try:
            yield
        finally:
            self._copies -= 1


def _about(request: Request, kind: type[T]) -> tuple[int, T]:
    """Return the lease and the arguments of a decoded request."""
    assert request.lease is not None  # noqa: S101
    assert isinstance(request.args, kind)  # noqa: S101
    return request.lease, request.args


async def _receive(session: Session, upload: Upload) -> Control | None:
    """Write the upload to disk in large pieces; return the sender's last message."""
    trailer, waiting = None, bytearray()
    while (piece := await session.read()) is not None:
        channel, data = piece
        if channel == CONTROL:
            try:
                trailer = Control.decode(data)
            except WireError as error:
                raise refused(Code.BAD_REQUEST, f"A word is malformed: {error}.", "Use a matching client.") from None
        elif channel == MAIN:
            waiting += data
            if upload.held + len(waiting) > upload.size:
                raise refused(Code.TOO_LARGE, f"More than the {upload.size} bytes announced.", "Copy it again.")
            if len(waiting) >= UPLOAD_PIECE:
                ready, waiting = bytes(waiting), bytearray()
                await asyncio.to_thread(upload.add, ready)
    if waiting:
        await asyncio.to_thread(upload.add, bytes(waiting))
    return trailer


def _check_archive(upload: Upload, hidden: tuple[str, ...]) -> None:
    with upload.path.open("rb") as file:
        check(file, most_bytes=upload.size, closed=hidden)


async def _both_ways(session: Session, stream: ByteStream) -> None:
    async def inwards() -> None:
        with contextlib.suppress(ConnectionError):
            while (data := await session.read_main()) is not None:
                await stream.write(data)
            await stream.end()

    feeding = asyncio.create_task(inwards())
    try:
        while data := await stream.read():
            await session.write(data)
        session.end()
        await feeding
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


@contextlib.contextmanager
def _explained(lease: int) -> Iterator[None]:
    """Turn errors of drivers and files into refusals of the protocol."""
    try:
        yield
    except HostRefused:
        raise
    except PathHidden as error:
        raise refused(Code.BAD_REQUEST, f"{error}.", COPY_INSIDE) from None
    except AccessRefused as error:
        raise refused(
            Code.NOT_FOUND, f"{error}.", "Check the path and --service; gantry exec ID -- ls lists files."
        ) from None
    except PodGone:
        raise refused(
            Code.NOT_READY, f"The pod of lease {lease} is not running.", "gantry task show shows its state."
        ) from None
    except BadArchive as error:
        raise refused(Code.BAD_REQUEST, f"{error.message}.", error.hint) from None
    except (EngineUnreachable, EngineBusy):
        raise refused(Code.BUSY, "The host's container engine does not answer now.", "Try again in a minute.") from None
    except DriverError as error:
        raise refused(Code.INTERNAL, f"{error}.", "Try again.") from None
    except OSError as error:
        raise refused(Code.INTERNAL, f"The host's disk failed: {error.strerror}.", "Try again, or report it.") from None
