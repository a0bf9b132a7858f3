"""The pace of a trace: arrival times for a given load of the cluster.

The load is the mean, over the time from the first arrival to the last, of the GPUs that would be in use if every task
started on arrival, in percent of all GPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from offchain.core.scheduler.columns import Floats
from offchain.simulator.csv_tables import TraceError
from offchain.simulator.trace import Arrival, Trace

_BISECTIONS = 100


def load_percent(trace: Trace, total_milli: int) -> float:
    """Return the load of a trace as it is; 0 where all tasks arrive at once."""
    if not trace.window_ms:
        return 0.0
    when = np.array([arrival.arrival_ms for arrival in trace.arrivals], dtype=np.float64)
    return _load(trace.arrivals, when / trace.window_ms, total_milli)(trace.window_ms)


def at_load(trace: Trace, percent: float, total_milli: int) -> Trace:
    """Return the trace with arrival times scaled to the load. TraceError: too few tasks, or all arrive at once."""
    if not trace.window_ms:
        raise TraceError(
            "All pods come at once, so there is no pace to change.", "Draw pods, at any pace: --draw 10000."
        )
    when = np.array([arrival.arrival_ms for arrival in trace.arrivals], dtype=np.float64)
    return _paced(trace, trace.arrivals, when / trace.window_ms, percent, total_milli)


def draw_tasks(trace: Trace, count: int, percent: float, total_milli: int, seed: int) -> Trace:
    """Draw tasks from a trace, with replacement, with random arrival times (Poisson) at this load."""
    random = np.random.default_rng([seed, 7])
    which = random.integers(0, len(trace.arrivals), count).tolist()
    when: Floats = np.sort(random.random(count))
    when = (when - when[0]) / max(1e-12, when[-1] - when[0])
    arrivals = tuple(
        replace(trace.arrivals[index], number=place, name=f"{trace.arrivals[index].name}.{place}")
        for place, index in enumerate(which)
    )
    return _paced(trace, arrivals, when, percent, total_milli)


def _paced(trace: Trace, arrivals: tuple[Arrival, ...], when: Floats, percent: float, total_milli: int) -> Trace:
    """`when`: the arrival times, from 0 to 1."""
    window_ms = _window_ms(_load(arrivals, when, total_milli), percent, len(arrivals))
    times = np.rint(when * window_ms).astype(np.int64).tolist()
    return replace(
        trace,
        arrivals=tuple(replace(arrival, arrival_ms=at) for arrival, at in zip(arrivals, times, strict=True)),
        timed=True,
    )


def _load(arrivals: tuple[Arrival, ...], when: Floats, total_milli: int) -> Callable[[float], float]:
    """Return the load in percent as a function of the window in ms, which it decreases with."""
    milli = np.array([arrival.total_milli for arrival in arrivals], dtype=np.float64)
    durations = np.array([arrival.duration_ms for arrival in arrivals], dtype=np.float64)
    return lambda window_ms: float(100 * (milli * np.minimum(durations / window_ms, 1 - when)).sum() / total_milli)


def _window_ms(load: Callable[[float], float], percent: float, count: int) -> float:
    """Return the window for the load, by bisection."""
    shortest, longest = 1.0, 1e18
    reached = load(shortest)
    if reached < percent:
        raise TraceError(
            f"{count} pods never ask for {percent:g} % of all GPUs while they arrive, but for {reached:.1f} % at most.",
            f"Draw more of them: --draw {10 * count}; or ask for less: --load {max(1, int(reached / 2))}.",
        )
    for _ in range(_BISECTIONS):
        middle = (shortest * longest) ** 0.5
        shortest, longest = (middle, longest) if load(middle) > percent else (shortest, middle)
    return longest
