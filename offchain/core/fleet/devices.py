"""Which rule leaves a host with too few devices, for all hosts in one loop."""

from __future__ import annotations

from typing import Final

import numpy as np

from offchain.core.fit import Misfit
from offchain.core.fleet.facts import Facts
from offchain.core.placing.cluster import Cluster
from offchain.core.placing.compiled import compiled
from offchain.core.placing.free import Bools, Columns, Ints
from offchain.core.placing.shapes import WHOLE_GPU, Shape

STEPS: Final = (
    Misfit.WRONG_DEVICE_COUNT,
    Misfit.SIMULATED_NOT_ALLOWED,
    Misfit.NOT_ATTESTED,
    Misfit.WRONG_MODEL,
    Misfit.NOT_ENOUGH_VRAM,
    Misfit.DEVICE_UNHEALTHY,
    Misfit.DEVICE_BUSY,
    Misfit.DEVICE_SHARED,
)
"""In the chain's order. A device counts for a rule if no rule up to it excludes the device."""

ENOUGH: Final = len(STEPS)
_UNHEALTHY: Final = STEPS.index(Misfit.DEVICE_UNHEALTHY)
_BUSY: Final = STEPS.index(Misfit.DEVICE_BUSY)
_SHARED: Final = STEPS.index(Misfit.DEVICE_SHARED)


def first_steps(shape: Shape, facts: Facts, cluster: Cluster) -> Ints:
    """[host]: the place in :data:`STEPS` of the first rule that leaves too few devices; ENOUGH where none does."""
    by_kind = np.full(len(cluster.kinds), ENOUGH, dtype=np.int64)
    own = np.ones(len(cluster.kinds), dtype=np.bool_)
    for number, kind in enumerate(cluster.kinds):
        own[number] = not shape.account or kind.account == shape.account
        fine = (
            shape.allow_simulated or not kind.simulated,
            kind.attested or not shape.verified_only,
            not shape.models or kind.model in shape.models,
            kind.vram_mib >= shape.min_vram_mib,
        )
        by_kind[number] = 1 + fine.index(False) if False in fine else ENOUGH
    found = np.empty(len(facts), dtype=np.int64)
    _first_steps(cluster.free, facts.healthy, by_kind, own, shape.gpus, shape.gpu_milli, found)
    return found


@compiled
def _first_steps(free: Columns, healthy: Bools, by_kind: Ints, own: Bools, count: int, milli: int, found: Ints) -> None:
    """`own`: [kind]: whether a device of it does although some of it is taken."""
    left = np.zeros(ENOUGH + 1, dtype=np.int64)
    for host in range(len(found)):
        left[:] = 0
        for device in range(free.gpus[host]):
            step = by_kind[free.kind[host, device]]
            if step == ENOUGH:
                if not healthy[host, device]:
                    step = _UNHEALTHY
                elif free.device[host, device] < milli:
                    step = _BUSY
                elif free.device[host, device] < WHOLE_GPU and not own[free.kind[host, device]]:
                    step = _SHARED
            left[step] += 1
        # From the last rule to the first: what is left after each.
        enough = left[ENOUGH]
        first = ENOUGH
        for step in range(ENOUGH - 1, -1, -1):
            if enough < count:
                first = step
            enough += left[step]
        found[host] = first
