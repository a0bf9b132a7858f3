"""Files of the opener of a dispute, kept by the hosts of the accused leases and shown to parties and jurors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from node_agent.handlers.evidence_requests import is_on_jury, open_dispute
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.sealed_box import seal
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import WINDOW, Session
from offchain.errors import BadKey
from offchain.files import replace_file
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.protocol.messages import Answer, Code, Control, Op, Request
from offchain.schema.protocol.operations import EvidenceFilesArgs

FOLDER: Final = "dispute-files"
AT_ONCE: Final = 2
"""Requests that are served at a time: each takes up to 8 MiB of memory."""
MAX_KEPT: Final = 64
"""Disputes whose files are kept at a time, of up to 4 MiB each."""


async def check_files_party(chain: GantryChain, request: Request, unknown: Code) -> None:
    """Refuse the request unless a dispute accuses its lease, and its account may send or see the opener's files.

    `unknown`: the code of the refusal where no dispute accuses the lease.
    """
    assert isinstance(request.args, EvidenceFilesArgs)  # noqa: S101  (decoded by its op)
    assert request.lease is not None  # noqa: S101  (a request without is refused)
    task = lease_parts(request.lease)[0]
    record = await open_dispute(chain, task)
    if record is None or request.lease not in record.accused:
        raise refused(
            unknown,
            f"No open dispute accuses lease {request.lease}.",
            "Files of a dispute are sent and shown while it is open.",
        )
    is_sent = request.args.size is not None
    if is_sent and request.tenant != record.opener:
        raise refused(
            Code.NOT_YOUR_LEASE,
            f"{request.tenant} has not opened the dispute about lease {request.lease}.",
            f"Sign with {record.opener}.",
        )
    if not is_sent and request.tenant not in (record.opener, record.tenant) and not is_on_jury(record, request.account):
        raise refused(
            Code.NOT_ON_JURY,
            f"{request.account} is not on the jury of the dispute about lease {request.lease} now.",
            f"Sign with the account of a juror; gantry dispute show {task} shows the jury.",
        )


class EvidenceFiles:
    """Handler of :data:`Op.EVIDENCE_FILES`, after the authorisation of `HostRequests`.

    `folder`: of the agent. What is kept is opaque here: jurors check the opener's signature.
    """

    def __init__(self, chain: GantryChain, folder: Path) -> None:
        self._chain = chain
        self._folder = folder / FOLDER
        self._served = 0

    def handlers(self) -> Mapping[Op, Handler]:
        return {Op.EVIDENCE_FILES: self.files}

    async def files(self, request: Request, session: Session) -> None:
        """Keep the files that the opener sends, or send them sealed for the key in the request."""
        assert isinstance(request.args, EvidenceFilesArgs)  # noqa: S101  (decoded by its op)
        assert request.lease is not None  # noqa: S101  (a request without is refused)
        await check_files_party(self._chain, request, Code.NOT_FOUND)
        task = lease_parts(request.lease)[0]
        if self._served >= AT_ONCE:
            raise refused(Code.BUSY, f"{AT_ONCE} requests for files are served here.", "Try again in some seconds.")
        self._served += 1
        try:
            if request.args.size is not None:
                await self._keep(task, request.args.size, session)
            else:
                await self._show(task, request.args.seal_to or "", session)
        finally:
            self._served -= 1

    async def _keep(self, task: int, size: int, session: Session) -> None:
        await self._make_room(task)
        session.accept(window=WINDOW)
        found = bytearray()
        while (piece := await session.read_main()) is not None:
            found += piece
            if len(found) > size:
                raise refused(Code.BAD_REQUEST, f"More than the {size} bytes announced.", "Send it again.")
        if len(found) != size:
            raise refused(Code.BAD_REQUEST, f"{len(found)} of the {size} bytes announced.", "Send it again.")
        await asyncio.to_thread(replace_file, self._path(task), bytes(found))
        await session.say(Control(done=True))

    async def _make_room(self, task: int) -> None:
        """Remove the files of disputes that are over. Raises HostRefused if there are too many others."""
        kept = await asyncio.to_thread(self._kept)
        for other in kept - {task}:
            if await open_dispute(self._chain, other) is None:
                self._path(other).unlink(missing_ok=True)
                kept = kept - {other}
        if len(kept | {task}) > MAX_KEPT:
            raise refused(Code.BUSY, f"Files of {len(kept)} disputes are kept here.", "Try again when one is over.")

    def _kept(self) -> frozenset[int]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return frozenset(int(file.name) for file in self._folder.iterdir() if file.name.isdecimal())

    async def _show(self, task: int, seal_to: str, session: Session) -> None:
        try:
            data = await asyncio.to_thread(self._path(task).read_bytes)
        except FileNotFoundError:
            raise refused(
                Code.GONE, f"No files of the opener of the dispute about task {task} are here.", "None may exist."
            ) from None
        try:
            sealed = await asyncio.to_thread(seal, bytes.fromhex(seal_to), data)
        except BadKey as error:
            raise refused(Code.BAD_REQUEST, error.message, "Send an X25519 public key.") from None
        session.accept(Answer(size=len(sealed)))
        await session.write(sealed)

    def _path(self, task: int) -> Path:
        return self._folder / str(task)
