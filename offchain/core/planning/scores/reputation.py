"""What the chain has on record of a host: leases completed, results, uptime, starts, and what tenants thought of it."""

from __future__ import annotations

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Floats


def reputation(want: Want, facts: Facts) -> Floats:
    """What its score lacks of the best there is; one half where nothing is known."""
    del want
    lacks: Floats = 1.0 - facts.reputation
    return lacks
