"""`gantry simulate` prepares a policy, and tells how that goes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from offchain.cli.kit.output import progress

if TYPE_CHECKING:
    from offchain.core.scheduler.cluster import HostSpec
    from offchain.core.scheduler.demand import DemandDistribution
    from offchain.simulator.policies import PreparedPolicy


def rehearsed(policy: str, specs: Sequence[HostSpec], mix: DemandDistribution) -> tuple[PreparedPolicy, float]:
    """The policy of this name for the pods that are expected, and how many seconds that took."""
    from offchain.simulator.rehearsal import prepare_policy  # noqa: PLC0415  (numba is slow to load)

    began_s = time.perf_counter()
    prepared = prepare_policy(policy, specs, mix, lambda line: progress(f"{policy}: {line}"))
    took_s = time.perf_counter() - began_s
    if prepared.note:
        progress(f"{policy}: rehearsed in {took_s:.1f} s, {prepared.note}")
    return prepared, took_s
