"""Requests of tenants for receipts, and their countersignatures."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from node_agent.metering.meter import UsageMeter
from node_agent.runtime.loop_thread import bound_to
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import verify
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import HostRefused, refused
from offchain.adapters.transport.session import Session
from offchain.errors import BadKey, BadReply, ChainUnreachable, StoreStuck
from offchain.schema.protocol.messages import Answer, Code, Control, Op, Request
from offchain.schema.protocol.operations import ReceiptArgs
from offchain.schema.protocol.receipt import Countersignature


class ReceiptRequests:
    """Handler of :data:`Op.RECEIPT` for tenants. `loop`: the agent's, in which the meter runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop, meter: UsageMeter) -> None:
        self._newest = bound_to(loop, meter.newest)
        self._find = bound_to(loop, meter.find)
        self._countersign = bound_to(loop, meter.countersign)

    def handlers(self) -> Mapping[Op, Handler]:
        return {Op.RECEIPT: self.receipt}

    async def receipt(self, request: Request, session: Session) -> None:
        """Send the newest receipt, or store the tenant's signature under one."""
        assert isinstance(request.args, ReceiptArgs)  # noqa: S101  (decoded by its op)
        assert request.lease is not None  # noqa: S101  (a request without is refused)
        if request.args.digest is not None and request.args.signature is not None:
            given = Countersignature(request.account, request.crypto, bytes.fromhex(request.args.signature))
            await self._take(request.lease, bytes.fromhex(request.args.digest), given)
            session.accept()
            await session.say(Control(done=True))
            return
        try:
            signed = await self._newest(request.lease)
        except (ChainUnreachable, BadReply):
            raise refused(Code.BUSY, "The host cannot reach its chain node now.", "Try again in a minute.") from None
        except StoreStuck:
            raise _no_room() from None
        if signed is None:
            raise refused(
                Code.NOT_READY,
                f"Lease {request.lease} has no receipt yet: it is in no final block.",
                "Ask again in some seconds.",
            )
        body = signed.encode()
        session.accept(Answer(size=len(body)))
        await session.write(body)

    async def _take(self, lease: int, digest: bytes, given: Countersignature) -> None:
        signed = await self._find(lease, digest)
        if signed is not None and not _is_genuine(given, signed.receipt.tenant_payload):
            raise refused(
                Code.BAD_SIGNATURE,
                f"The signature is not one of {given.account} under the receipt {digest.hex()}.",
                "Sign its digest with the account that asks.",
            )
        try:
            kept = signed is not None and await self._countersign(lease, digest, given)
        except StoreStuck:
            raise _no_room() from None
        if not kept:
            raise refused(
                Code.GONE,
                f"The host has no receipt {digest.hex()} of lease {lease} any more.",
                "Ask for the newest one and sign that.",
            )


def _no_room() -> HostRefused:
    return refused(Code.BUSY, "The host cannot write to its disk now.", "Try again in a minute.")


def _is_genuine(given: Countersignature, payload: bytes) -> bool:
    try:
        return verify(ss58.decode(given.account), given.crypto, payload, given.signature)
    except BadKey:
        return False
