"""What failed on a host lately, as this scheduler saw it (`core/scheduler/host_health.py`)."""

from __future__ import annotations

from offchain.core.fleet.facts import Facts
from offchain.core.fleet.want import Want
from offchain.core.placing.free import Floats


def failures(want: Want, facts: Facts) -> Floats:
    """From 0, nothing lately, to 1."""
    del want
    return facts.trouble
