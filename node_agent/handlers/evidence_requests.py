"""Requests of tenants and juries for evidence about ended leases: output, end of the log, newest receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from node_agent.logs.lines import LogTail
from node_agent.logs.store import LogKey
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.keys.sealed_box import seal
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import HostRefused, refused
from offchain.adapters.transport.session import Session
from offchain.errors import BadKey, BadReply, ChainUnreachable, StoreStuck, TheirError
from offchain.schema.chain_types._generated_chain import DisputeRecord, storage
from offchain.schema.chain_types.values import LIVE_LEASE_STATES
from offchain.schema.protocol.evidence import (
    LEASE_FILE,
    LOG_FILE,
    MAX_LOG_BYTES,
    MAX_OUTPUT_BYTES,
    OUTPUT_FILE,
    RECEIPT_FILE,
    pack,
)
from offchain.schema.protocol.messages import Answer, Code, Op, Request, canonical_json
from offchain.schema.protocol.operations import MAX_TAIL, EvidenceArgs
from offchain.schema.protocol.receipt import SignedReceipt

AT_ONCE: Final = 2
"""Maximum of archives that are made at a time: each takes up to 10 MiB of memory, and reads a log of up to 32 MiB."""

NewestReceipt = Callable[[int], Awaitable[SignedReceipt | None]]


async def check_juror(chain: GantryChain, lease: LeaseOfTask, request: Request) -> None:
    """Refuse the request unless its account is on the present jury of a dispute that accuses this lease."""
    record = await open_dispute(chain, lease.task.id)
    if record is None or lease.id not in record.accused:
        raise refused(
            Code.NOT_YOUR_LEASE,
            f"Lease {lease.id} does not belong to {request.tenant}, and no dispute accuses it.",
            "Sign with the account that submitted the task; jurors get evidence while their ballot is open.",
        )
    if not is_on_jury(record, request.account):
        raise refused(
            Code.NOT_ON_JURY,
            f"{request.account} is not on the jury of the dispute about lease {lease.id} now.",
            f"Sign with the account of a juror; gantry dispute show {lease.task.id} shows the jury.",
        )


def is_on_jury(record: DisputeRecord, account: str) -> bool:
    """Whether the account has a seat in the ballot that is open."""
    return any(seat.who == account for seat in record.ballot.seats)


def has_consent(record: DisputeRecord) -> bool:
    """Whether the tenant lets the jury read its output and log: it opened the dispute, or named evidence in it.

    Any verifier may dispute any task. Without this rule, one with an accomplice on the jury could read the data of
    tenants for a stake.
    """
    return record.opener == record.tenant or any(one.by == record.tenant for one in record.evidence)


class EvidenceRequests:
    """Handler of :data:`Op.EVIDENCE`, after the authorisation of `HostRequests`.

    `receipt` returns the newest receipt of a lease; None: this host has no receipts.
    """

    def __init__(self, chain: GantryChain, state: StateDir, receipt: NewestReceipt | None = None) -> None:
        self._chain = chain
        self._state = state
        self._receipt = receipt
        self._made = 0

    def handlers(self) -> Mapping[Op, Handler]:
        return {Op.EVIDENCE: self.evidence}

    async def evidence(self, request: Request, session: Session) -> None:
        """Send the archive of a lease, sealed for the key in the request."""
        assert isinstance(request.args, EvidenceArgs)  # noqa: S101  (decoded by its op)
        assert request.lease is not None  # noqa: S101  (a request without is refused)
        if self._made >= AT_ONCE:
            raise refused(Code.BUSY, f"{AT_ONCE} archives are being made here.", "Try again in some seconds.")
        self._made += 1
        try:
            lease = await self._ended_lease(request.lease)
            record = await open_dispute(self._chain, lease.task.id)
            is_juror = record is not None and is_on_jury(record, request.account)
            with_data = record is None or not is_juror or has_consent(record)
            receipt = await self._newest_receipt(lease.id)
            key = bytes.fromhex(request.args.seal_to)
            sealed = await asyncio.to_thread(self._sealed, lease, receipt, key, with_data=with_data)
            session.accept(Answer(size=len(sealed)))
            await session.write(sealed)
        finally:
            self._made -= 1

    async def _ended_lease(self, number: int) -> LeaseOfTask:
        try:
            lease = await self._chain.lease(number)
        except TheirError:
            raise _node_away() from None
        if lease is None:
            raise refused(Code.UNKNOWN_LEASE, f"Lease {number} has just been replaced.", "Ask for its task again.")
        if lease.record.state.tag in LIVE_LEASE_STATES:
            raise refused(Code.NOT_READY, f"Lease {number} has not ended.", "Evidence is about ended leases.")
        return lease

    async def _newest_receipt(self, number: int) -> bytes | None:
        if self._receipt is None:
            return None
        try:
            signed = await self._receipt(number)
        except (ChainUnreachable, BadReply):
            raise _node_away() from None
        except StoreStuck:
            raise refused(Code.BUSY, "The host cannot write to its disk now.", "Try again in a minute.") from None
        return None if signed is None else signed.encode()

    def _sealed(self, lease: LeaseOfTask, receipt: bytes | None, key: bytes, *, with_data: bool) -> bytes:
        members = self._members(lease) if with_data else {}
        about = {
            "v": 1,
            "lease": lease.id,
            "host": lease.record.host,
            "withheld": not with_data,
            "log_bytes": len(members[LOG_FILE]) if LOG_FILE in members else None,
            "output_bytes": len(members[OUTPUT_FILE]) if OUTPUT_FILE in members else None,
        }
        members[LEASE_FILE] = canonical_json(about)
        if receipt is not None:
            members[RECEIPT_FILE] = receipt
        try:
            return seal(key, pack(members))
        except BadKey as error:
            raise refused(Code.BAD_REQUEST, error.message, "Send an X25519 public key.") from None

    def _members(self, lease: LeaseOfTask) -> dict[str, bytes]:
        """Return output and end of the log, without what this host does not keep or what is too large."""
        members = {}
        result = lease.record.result
        output = None if result is None else self._state.get_blob(result.digest)
        if output is not None and len(output) <= MAX_OUTPUT_BYTES:
            members[OUTPUT_FILE] = output
        lines = self._state.logs.lines(LogKey(lease.id, lease.record.created_at))
        if lines is not None:
            tail = LogTail(MAX_TAIL, MAX_LOG_BYTES)
            tail.add(lines)
            members[LOG_FILE] = b"".join(tail.lines())
        return members


async def open_dispute(chain: GantryChain, task: int) -> DisputeRecord | None:
    """Return the open dispute about a task. Raises HostRefused if the node does not answer."""
    try:
        return await chain.read(storage.verification_disputes, task)
    except TheirError:
        raise _node_away() from None


def _node_away() -> HostRefused:
    return refused(Code.BUSY, "The host cannot reach its chain node now.", "Try again in a minute.")
