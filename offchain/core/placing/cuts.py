"""What a part of a GPU is worth, when GPUs are cut in the best way for the sizes that are expected.

The cutting-stock problem: as few GPUs as possible for shares of given sizes (Gilmore and Gomory, 1961). Its linear
relaxation gives each size a price, in GPUs: what one share more of it costs. A piece of a GPU is worth the most that
shares cut from it can add up to: nothing where no share fits that is short of places, a whole GPU where none is lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np

from offchain.core.placing.compiled import compiled
from offchain.core.placing.free import Floats, Ints
from offchain.core.placing.shapes import WHOLE_GPU

MOST_SIZES = 50
"""The time grows with their third power and more, and tenants may ask for any: rare ones count as the next larger."""

_ROUNDS = 2000
_EXACT = 1e-9


def piece_values(demand: Mapping[int, float]) -> Floats:
    """[thousandths]: the worth of such a piece, from 0 to 1. `demand`: how many shares of each size are expected."""
    demand = few(demand)
    sizes = np.array(sorted(demand), dtype=np.int64)
    if not len(sizes):
        return np.zeros(WHOLE_GPU + 1)
    # Each column of `patterns` is a way to cut a GPU, `used` how many are cut so. At first: all into equal shares.
    each = (WHOLE_GPU // sizes).astype(np.float64)
    patterns = np.diag(each)
    used = np.array([demand[int(size)] for size in sizes]) / each
    value = np.zeros(WHOLE_GPU + 1)
    last = np.zeros(WHOLE_GPU + 1, dtype=np.int64)
    for _ in range(_ROUNDS):
        price = np.linalg.solve(patterns.T, np.ones(len(sizes))).astype(np.float64)
        fill(sizes, price, value, last)
        if value[WHOLE_GPU] <= 1 + _EXACT:
            break
        better = _pattern(sizes, last)
        step = np.linalg.solve(patterns, better)
        ratio = np.divide(used, step, out=np.full(len(sizes), np.inf), where=step > _EXACT)
        leaves = int(np.argmin(ratio))
        many = ratio[leaves]
        used = used - many * step
        used[leaves] = many
        patterns[:, leaves] = better
    # Where rounds ran out the prices are too high by the same part for all.
    worth: Floats = value / max(1.0, value[WHOLE_GPU])
    return worth


def few(demand: Mapping[int, float]) -> Mapping[int, float]:
    """As many shares, of few sizes: the largest and the most wanted stay, others become the next larger of these."""
    wanted = {size: many for size, many in demand.items() if many > 0}
    if len(wanted) <= MOST_SIZES:
        return wanted
    often = sorted(wanted, key=lambda size: (-wanted[size], size))
    kept = sorted({max(wanted), *often[: MOST_SIZES - 1]})
    found = dict.fromkeys(kept, 0.0)
    for size, many in wanted.items():
        found[kept[bisect_left(kept, size)]] += many
    return found


def _pattern(sizes: Ints, last: Ints) -> Floats:
    """How often each size is in the best cut of a whole GPU."""
    pattern = np.zeros(len(sizes))
    left = WHOLE_GPU
    while left > 0:
        if last[left] < 0:
            left -= 1
        else:
            pattern[last[left]] += 1
            left -= int(sizes[last[left]])
    return pattern


@compiled
def fill(sizes: Ints, price: Floats, value: Floats, last: Ints) -> None:
    """The most that shares cut from each piece cost together, and one of these shares, -1 where none is cut."""
    for left in range(1, len(value)):
        value[left] = value[left - 1]
        last[left] = -1
        for index in range(len(sizes)):
            if sizes[index] <= left and value[left - sizes[index]] + price[index] > value[left] + 1e-12:
                value[left] = value[left - sizes[index]] + price[index]
                last[left] = index
