"""Gangs made up: some tasks of a trace ask for several pods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from offchain.core.replay.arrival import Trace

_PODS = (2, 4, 8)
_SHARES = (0.5, 0.3, 0.2)


def with_gangs(trace: Trace, percent: float, seed: int) -> Trace:
    """So many percent of the tasks of one pod with GPUs start together with 1, 3 or 7 others, drawn by the seed."""
    random = np.random.default_rng([seed, 8])
    chosen = (random.random(len(trace.arrivals)) < percent / 100).tolist()
    pods = random.choice(_PODS, size=len(trace.arrivals), p=_SHARES).tolist()
    arrivals = tuple(
        replace(arrival, pods=many) if gang and arrival.pods == 1 and arrival.shape.gpus else arrival
        for arrival, gang, many in zip(trace.arrivals, chosen, pods, strict=True)
    )
    note = f"{percent:g} % of the tasks with GPUs are gangs of 2, 4 or 8 pods, drawn by the seed"
    return replace(trace, arrivals=arrivals, notes=(*trace.notes, note))
