"""Submission of the host's calls through the outbox."""

from __future__ import annotations

import asyncio
import logging

from node_agent.core.values import ReportStatus
from offchain.adapters.outbox.intent_values import CallGivenUp, CallRejected
from offchain.adapters.outbox.outbox import Outbox
from offchain.errors import StoreStuck
from offchain.schema.chain_types.values import Call

log = logging.getLogger(__name__)

STUCK_PAUSE_S = 2.0


class CallSender:
    """Submits calls. Keys of reports are remembered; all others are free again after their outcome."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def send(self, key: str, call: Call) -> tuple[ReportStatus, str]:
        """Submit a call once for each key and return its outcome with the reason.

        LookupError if it was taken back.
        """
        await self._stored(key, call)
        outcome = await self._outbox.wait(key)
        if isinstance(outcome, CallRejected):
            return ReportStatus.FAILED, f"{outcome.failure.pallet}.{outcome.failure.name}: {outcome.failure.doc}"
        if isinstance(outcome, CallGivenUp):
            return ReportStatus.DEAD, outcome.reason
        return ReportStatus.INCLUDED, ""

    async def take_back(self, key: str) -> None:
        """Take a call back if it is not in an extrinsic and has no outcome yet; retried while the disk is full."""
        while True:
            try:
                return await self._outbox.take_back(key)
            except StoreStuck:
                await asyncio.sleep(STUCK_PAUSE_S)

    async def send_again(self, key: str, call: Call, *, urgent: bool = False) -> bool:
        """Submit a call of the host, one at a time for each key; return whether it took effect."""
        await self._stored(key, call, supersede=self._outbox.outcome(key) is not None, urgent=urgent)
        outcome = await self._outbox.wait(key)
        taken = not isinstance(outcome, (CallRejected, CallGivenUp))
        if not taken:
            log.warning("%s.%s was not taken: %s", call.pallet, call.function, outcome)
        await self._outbox.forget(key)
        return taken

    async def _stored(self, key: str, call: Call, *, supersede: bool = False, urgent: bool = False) -> None:
        """Store the call in the outbox; retried while the disk is full."""
        stuck_logged = False
        while True:
            try:
                await self._outbox.submit(key, call, supersede=supersede, urgent=urgent)
            except StoreStuck as error:
                if not stuck_logged:
                    log.warning("%s.%s waits: %s", call.pallet, call.function, error)
                stuck_logged = True
                await asyncio.sleep(STUCK_PAUSE_S)
            else:
                return
