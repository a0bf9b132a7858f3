"""Tasks go to hosts that are online."""

from __future__ import annotations

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Bools


class Online:
    """Source: the chain's rule of the same name, docs/protocol.md."""

    misfit = Misfit.NOT_ONLINE

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether it may be there."""
        del want
        return facts.online
