"""A task does not go to a host again that refused it or did not start it."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class HostRefused:
    """Source: `HostRefusedTask` of the chain, docs/protocol.md."""

    misfit = Misfit.HOST_REFUSED

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it has not refused the task; None where no host has."""
        return ~facts.hosts.among(want.refused_by, facts.host) if want.refused_by else None
