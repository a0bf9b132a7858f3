"""What a filter is."""

from __future__ import annotations

from typing import Protocol

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.cluster import Bools


class Filter(Protocol):
    """One rule over all hosts."""

    misfit: Misfit
    """What is said of hosts that it excludes."""

    def allows(self, want: Want, facts: Facts) -> Bools | None:
        """For each host, whether the pod may go there; None: the pod does not care."""
