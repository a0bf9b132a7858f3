"""A task that takes over data goes to the host where the data lies."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class DataElsewhere:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.DATA_ELSEWHERE

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        if want.takes_over is None:
            return None
        return facts.hosts.among((want.takes_over.host,), facts.host)
