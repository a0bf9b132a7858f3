"""Says on chain that this host is here, and where, whenever that is due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from node_agent.chain.reports import CallSender
from node_agent.chain.suspension import SuspensionLog
from node_agent.core.identity import IdentityWatch
from node_agent.core.presence import BEAT_AT_PPM, EARLY_BEAT_AT_PPM, FIRST_BEAT_AT_PPM, PresenceCall, due_calls
from node_agent.runtime.background import BackgroundTasks
from offchain.adapters.chain.typed import GantryChain
from offchain.errors import BadReply, ChainUnreachable
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.chain_types.values import Call
from offchain.schema.protocol.messages import endpoint_text

log = logging.getLogger(__name__)

LOOK_S = 3.0
SOON_S = 0.2


class Heartbeat:
    """One host's presence. `addresses`: where it is to be found now; `identity`: whether another agent serves it."""

    def __init__(
        self,
        chain: GantryChain,
        host: str,
        sender: CallSender,
        background: BackgroundTasks,
        addresses: Callable[[], tuple[str, ...]],
        identity: IdentityWatch,
    ) -> None:
        self._chain = chain
        self._host = host
        self._sender = sender
        self._background = background
        self._addresses = addresses
        self._identity = identity
        self._sending: set[PresenceCall] = set()
        self._registered: bool | None = None
        self.suspension = SuspensionLog(host)

    async def run(self) -> None:
        """Send what is due, for ever."""
        while True:
            pause_s = LOOK_S
            try:
                pause_s = await self.look()
            except Exception:
                log.exception("the heartbeat failed; it is looked at again in %g s", pause_s)
            await asyncio.sleep(pause_s)

    async def look(self) -> float:
        """Send what is due and not on its way yet; waits for the chain's answer to a look, not for what is sent.

        Returns after how many seconds to look again: as soon as the next heartbeat is due, and after `LOOK_S` at most.
        """
        try:
            record = await self._chain.host(self._host)
            if record is None:
                if self._registered is not False:
                    log.warning(
                        "host %s is not registered: register it with 'python -m node_agent register'", self._host
                    )
                self._registered = False
                return LOOK_S
            self._registered = True
            params = await self._chain.params("Hosts")
            now_ms = await self._chain.now_ms()
        except (ChainUnreachable, BadReply):
            return LOOK_S  # the watcher says so already
        self.suspension.note(record, now_ms)
        endpoint = endpoint_text(self._addresses())
        period_ms, beat_at_ppm = params.heartbeat_period_ms, self._beat_at_ppm()
        for wanted in due_calls(record, period_ms, endpoint, now_ms, beat_at_ppm) - self._sending:
            call = (
                calls.hosts_heartbeat()
                if wanted is PresenceCall.HEARTBEAT
                else calls.hosts_set_endpoint(endpoint=endpoint)
            )
            self._sending.add(wanted)
            self._background.run(self._send(wanted, call))
        left_s = (record.last_heartbeat - now_ms + period_ms * beat_at_ppm // 1_000_000) / 1000
        return max(left_s, SOON_S) if 0 < left_s < LOOK_S else LOOK_S

    def _beat_at_ppm(self) -> int:
        identity = self._identity
        if identity.came_later:
            return EARLY_BEAT_AT_PPM
        return FIRST_BEAT_AT_PPM if identity.is_first_heartbeat else BEAT_AT_PPM

    async def _send(self, wanted: PresenceCall, call: Call) -> None:
        try:
            taken = await self._sender.send_again(f"presence/{wanted.value}", call)
            if taken and wanted is PresenceCall.HEARTBEAT:
                self._identity.has_beaten()
        finally:
            self._sending.discard(wanted)
