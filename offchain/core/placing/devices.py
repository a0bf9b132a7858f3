"""Which devices of a host a pod takes, where the policy has no opinion of its own."""

from __future__ import annotations

from offchain.core.placing.cluster import Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.shapes import WHOLE_GPU


@compiled
def has_room(cpu: int, memory: int, want_cpu: int, want_memory: int) -> bool:
    """Whether cpu and memory suffice."""
    return cpu >= want_cpu and memory >= want_memory


@compiled
def tightest(free: Ints, count: int, gpus: int, milli: int) -> int:
    """The `gpus` fullest of the first `count` devices with `milli` free each, as bits; -1 where there are too few."""
    chosen = 0
    for _ in range(gpus):
        best = -1
        for index in range(count):
            if (
                free[index] >= milli
                and not chosen >> index & 1
                and (best < 0 or free[index] < free[best])
            ):
                best = index
                if free[index] == milli == WHOLE_GPU:
                    break
        if best < 0:
            return -1
        chosen |= 1 << best
    return chosen
