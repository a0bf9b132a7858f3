"""Heartbeats and endpoint of this host on the chain, and its suspensions in the agent's log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from node_agent.chain.call_sender import CallSender
from node_agent.core.host_presence import BEAT_AT_PPM, EARLY_BEAT_AT_PPM, FIRST_BEAT_AT_PPM, PresenceCall, due_calls
from node_agent.core.identity import IdentityWatch
from offchain.adapters.background_tasks import BackgroundTasks
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.periodic_jobs import NextRun
from offchain.errors import BadReply, ChainUnreachable
from offchain.schema.chain_types._generated_chain import HostRecord, calls
from offchain.schema.chain_types.suspension import Suspension, suspension_of
from offchain.schema.chain_types.values import Call
from offchain.schema.protocol.messages import endpoint_text

log = logging.getLogger(__name__)

LOOK_S = 3.0
"""Longest interval between two reads of the host's record."""
SOON_S = 0.2
"""Shortest interval, shortly before a heartbeat is due."""


class Heartbeat:
    """Presence of one host. `addresses` returns its current addresses; `identity`: whether another agent serves it."""

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
        self._sending: set[str] = set()
        """Keys of the calls in the outbox that have no outcome yet."""
        self._registered: bool | None = None
        self.suspension = SuspensionLog(host)
        self.beats = 0
        """Heartbeats that took effect since the agent started."""
        self.beat_at_s: float | None = None
        """When the last one took effect, by the monotonic clock."""
        self.period_ms: int | None = None
        """The chain's period of heartbeats, once it was read."""

    async def send_due(self) -> NextRun:
        """Send what is due in the best block and not in flight, without waiting for it.

        Return when to call it next: when the next heartbeat is due, and after `LOOK_S` at most.
        """
        try:
            record = await self._chain.host(self._host)
            if record is None:
                if self._registered is not False:
                    log.warning("host %s is not registered: register it with gantry agent join", self._host)
                self._registered = False
                return NextRun(LOOK_S)
            self._registered = True
            params = await self._chain.params("Hosts")
            now_ms = await self._chain.now_ms()
        except (ChainUnreachable, BadReply):
            return NextRun(LOOK_S)  # the follower logs this
        self.suspension.note(record, now_ms)
        endpoint = endpoint_text(self._addresses())
        self.period_ms = period_ms = params.heartbeat_period_ms
        beat_at_ppm = self._beat_at_ppm()
        for wanted in due_calls(record, period_ms, endpoint, now_ms, beat_at_ppm):
            if wanted is PresenceCall.HEARTBEAT:
                # A key for each heartbeat: the next one is due before its predecessor is final if finality stalls.
                self._start_sending(wanted, f"presence/heartbeat:{record.last_heartbeat}", calls.hosts_heartbeat())
            else:
                self._start_sending(wanted, "presence/endpoint", calls.hosts_set_endpoint(endpoint=endpoint))
        left_s = (record.last_heartbeat - now_ms + period_ms * beat_at_ppm // 1_000_000) / 1000
        return NextRun(max(left_s, SOON_S) if 0 < left_s < LOOK_S else LOOK_S)

    def _beat_at_ppm(self) -> int:
        identity = self._identity
        if identity.came_later:
            return EARLY_BEAT_AT_PPM
        return FIRST_BEAT_AT_PPM if identity.is_first_heartbeat else BEAT_AT_PPM

    def _start_sending(self, wanted: PresenceCall, key: str, call: Call) -> None:
        if key not in self._sending:
            self._sending.add(key)
            self._background.run(self._send(wanted, key, call))

    async def _send(self, wanted: PresenceCall, key: str, call: Call) -> None:
        try:
            taken = await self._sender.send_again(key, call, urgent=wanted is PresenceCall.HEARTBEAT)
            if taken and wanted is PresenceCall.HEARTBEAT:
                self.beats += 1
                self.beat_at_s = time.monotonic()
                self._identity.note_heartbeat()
        finally:
            self._sending.discard(key)


class SuspensionLog:
    """Logs once when the host is suspended, when the reason changes, and when the suspension ends.

    `since_ms`: chain time at which the agent saw the suspension begin; None if the host is not suspended, or was before
    the agent started.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._looked = False
        self._last: Suspension | None = None
        self.since_ms: int | None = None

    @property
    def is_suspended(self) -> bool:
        """Whether the host was suspended when its record was read last."""
        return self._last is not None

    def note(self, record: HostRecord, now_ms: int) -> None:
        """Compare with the host's record at chain time `now_ms`."""
        found, before = suspension_of(self._host, record), self._last
        looked, self._looked, self._last = self._looked, True, found
        if found is None:
            self.since_ms = None
            if before is not None:
                log.info("this host is not suspended any more; it is %s", record.status.tag)
            return
        if before is None and looked:
            self.since_ms = now_ms
        if before is None or before.reason != found.reason:
            log.warning("this host is suspended and takes no leases: %s", found.text)
            for step in found.way_back:
                log.warning("what ends the suspension: %s", step)
