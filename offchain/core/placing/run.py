"""A run of pods of one shape as one compiled loop: score the hosts that have changed, then place pod after pod."""

from __future__ import annotations

import math

import numpy as np

from offchain.core.placing.cluster import Columns, Floats, Ints
from offchain.core.placing.compiled import compiled
from offchain.core.placing.devices import Wish
from offchain.core.placing.lanes import Beside, Lane, first_of, renew, renew_one
from offchain.core.placing.loss import (
    CPU_GRAIN_MILLI,
    MARK_CPU,
    MARK_KIND,
    MARK_MEMORY,
    MEMORY_GRAIN_MIB,
    Known,
    Tables,
    worth_of,
)
from offchain.core.placing.shapes import WHOLE_GPU

STEP_MILLI = 40.0
"""Differences of less than half of this are taken for none, so that hosts are filled up one after the other."""

TIE = 100.0
"""More than what tells hosts apart that lose as much."""

_WHOLE = 10.0
"""Against what is left of a host, at most 3: of places that lose as much, a GPU in use goes before a whole one."""

_HALF = 0.5 + 1e-6
"""Halves are rounded up, and so is what falls short of one by no more than its arithmetic."""


@compiled
def fill(  # noqa: C901, PLR0912, PLR0915 - one flat loop, its docstring says why
    hosts: Ints,
    free: Columns,
    wish: Wish,
    tables: Tables,
    known: Known,
    scale: Floats,
    lane: Lane,
    beside: Beside,
    chosen: Ints,
    on: Ints,
    salt: int,
) -> tuple[int, int]:
    """Score `hosts`, then place as many pods as `chosen` and `on` have room for, or fit; each takes its share.

    Gives how many were placed, and the host at which it stopped because it is not sure; -1: at none. `salt`: a number
    that no call before had, so that scores of other shapes are not taken for those of this one.

    One flat loop over columns that have names of their own: to hand so many arrays to a function for each host, or to
    take them out of a tuple, takes longer than what there is to do.
    """
    free_cpu, free_memory, free_disk, device, kinds, gpus_of, main, states = free
    marks, keys, values = known.marks, known.keys, known.values
    known_states, known_scores, known_devices = known.states, known.scores, known.chosen
    points, devices, least = lane
    against, offer, price, sure, closed = beside
    with_beside = len(against) > 0
    need_cpu, need_memory, need_disk, gpus, milli, accepts = wish
    cpu_each, memory_each = tables.cpu_each, tables.memory_each
    places = len(known_states) - 1
    asked = gpus * milli
    single, whole = gpus == 1 and milli < WHOLE_GPU, milli == WHOLE_GPU
    many, placed = len(chosen), -1
    scored, step = hosts, 0
    one = np.zeros(1, dtype=np.int64)
    while True:
        while step < len(scored):
            host = scored[step]
            at = states[host] & places
            if known_states[at] != states[host] ^ salt:
                break
            room = free_disk[host] >= need_disk
            add = np.float32(against[host] + price[offer[host]]) if with_beside else np.float32(0.0)
            shut = with_beside and closed[host]
            points[host] = known_scores[at] + add if room and not shut else np.inf
            devices[host] = known_devices[at] if room else -1
            step += 1
        if step < len(scored):
            # Of those with its state, the first.
            host = scored[step]
            state = free_cpu[host] * MARK_CPU + free_memory[host] * MARK_MEMORY + main[host]
            for index in range(gpus_of[host]):
                here = device[host, index] * 64 + kinds[host, index]
                state = (state ^ (state >> 29)) * MARK_KIND + here
            state *= MARK_CPU
            state ^= state >> 31
            states[host] = state
            at = state & places
            if known_states[at] == state ^ salt:
                continue
            score = np.inf
            taken = -1
            cpu = free_cpu[host] - need_cpu
            memory = free_memory[host] - need_memory
            if cpu >= 0 and memory >= 0:
                count = gpus_of[host]
                kind = main[host]
                total = 0
                mark = 0
                for index in range(count):
                    total += device[host, index]
                    mark += marks[device[host, index]]
                # The fullest devices that have room.
                taken = 0
                for _ in range(gpus):
                    first = -1
                    for index in range(count):
                        left = device[host, index]
                        usable = left >= milli and accepts[kinds[host, index]] and not taken >> index & 1
                        if usable and (first < 0 or left < device[host, first]):
                            first = index
                            if whole:
                                break
                    if first < 0:
                        taken = -1
                        break
                    taken |= 1 << first
                if taken >= 0:
                    rest = cpu / scale[0] + memory / scale[1] + (total - asked) / scale[2]
                    before = 0.0
                    if total == 0:
                        score = rest
                    # The first is the host as it is, each other with one choice of devices taken.
                    for index in range(-1, (count if single else 1) if total else -1):
                        own = taken
                        after_mark = mark
                        sum_left = total
                        cores, grains = free_cpu[host], free_memory[host]
                        left = 0
                        if index >= 0:
                            if single:
                                left = device[host, index]
                                skip = left < milli or not accepts[kinds[host, index]]
                                for other in range(index):
                                    # One of the same kind with as much free was looked at.
                                    skip |= kinds[host, other] == kinds[host, index] and device[host, other] == left
                                if skip:
                                    continue
                                own = 1 << index
                            sum_left -= asked
                            cores, grains = cpu, memory
                            for other in range(count):
                                if own >> other & 1:
                                    of = device[host, other]
                                    after_mark += marks[of - milli] - marks[of]
                        # Cores and memory beyond what the free GPUs' pods can use are worth nothing, and a little
                        # less of them too.
                        cores = min(cores, int(sum_left * cpu_each)) // CPU_GRAIN_MILLI
                        grains = min(grains, int(sum_left * memory_each)) // MEMORY_GRAIN_MIB
                        key = after_mark + cores * MARK_CPU + grains * MARK_MEMORY + kind * MARK_KIND
                        key ^= key >> 31
                        place = key & (len(keys) - 1)
                        if keys[place] != key:
                            less = milli if index >= 0 else 0
                            free_of = device[host, :count]
                            values[place] = worth_of(cores, grains, free_of, own, less, tables, kind, known.room)
                            keys[place] = key
                        if index < 0:
                            before = values[place]
                            continue
                        steps = math.floor((before - values[place]) / STEP_MILLI + _HALF)
                        now = steps * TIE + rest + (_WHOLE * left / WHOLE_GPU if single else 0.0)
                        if now < score:
                            score = now
                            taken = own
            known_states[at] = state ^ salt
            known_scores[at] = score
            known_devices[at] = taken
            continue
        if placed < 0:
            renew(lane, hosts)
        else:
            renew_one(least, points, one[0])
        placed += 1
        if placed == many:
            return many, -1
        best = first_of(least, points)
        if best < 0:
            return placed, -1
        if not sure[offer[best]]:
            return placed, best
        on_these = np.int64(devices[best])
        chosen[placed] = best
        on[placed] = on_these
        free_cpu[best] -= need_cpu
        free_memory[best] -= need_memory
        free_disk[best] -= need_disk
        for index in range(gpus_of[best]):
            device[best, index] -= milli * (on_these >> index & 1)
        states[best] = 0
        one[0] = best
        scored, step = one, 0
