"""Suspensions of this host, as the agent's log tells them."""

from __future__ import annotations

import logging

from offchain.schema.chain_types._generated_chain import HostRecord
from offchain.schema.chain_types.suspension import Suspension, suspension_of

log = logging.getLogger(__name__)


class SuspensionLog:
    """Logs once when the host is suspended, when the reason changes, and when the suspension ends.

    `since_ms`: the chain's time at which the agent saw the suspension begin; None where the host is not suspended, or
    was suspended before the agent started.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._looked = False
        self._last: Suspension | None = None
        self.since_ms: int | None = None

    def note(self, record: HostRecord, now_ms: int) -> None:
        """Take in the host's record. `now_ms`: the chain's time."""
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
