"""A run of pods of one shape as one compiled loop: score the hosts that have changed, then place pod after pod."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from offchain.core.placing.compiled import compiled, inner
from offchain.core.placing.devices import Wish
from offchain.core.placing.free import MOST_DEVICES, Columns, Floats, Ints
from offchain.core.placing.kinds import MOST_KINDS
from offchain.core.placing.lanes import AnyFloats, Beside, Lane, first_of, renew, renew_one
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

_SLACK = 2.0**-5
"""More than what points are off by their arithmetic, and less than what tells hosts apart."""


_ALL: Final = (1 << MOST_DEVICES) - 1


@inner
def unknown(gpus: int) -> int:
    """Stands in a lane for the devices of a host that has a bound and no points yet; of pods with so many GPUs.

    No such pod takes just these.
    """
    return _ALL if gpus < MOST_DEVICES else 0


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
    bounds: AnyFloats,
) -> tuple[int, int]:
    """Score `hosts`, then place as many pods as `chosen` and `on` have room for, or fit; each takes its share.

    Gives how many were placed, and the host at which it stopped because it is not sure; -1: at none. `salt`: a number
    that no call before had, so that scores of other shapes are not taken for those of this one.

    `bounds`: [host], the score of a pod that asks for the same GPUs and for nothing else; infinite: no room. No pod
    that asks for more scores less, but for what it leaves less full. Where they are given, `hosts` get points that are
    too low at first, and a host is scored only when it comes to be the best. What is placed is the same.

    One flat loop over columns that have names of their own: to hand so many arrays to a function for each host, or to
    take them out of a tuple, takes longer than what there is to do.
    """
    free_cpu, free_memory, free_disk, device, kinds, gpus_of, main, states = free
    marks, seen, looked_at = known.marks, known.scored, known.hosts
    points, devices, least = lane
    against, offer, price, sure, closed = beside
    with_beside = len(against) > 0
    need_cpu, need_memory, need_disk, gpus, milli, accepts = wish
    worths, cpu_each, memory_each = known.worths, tables.cpu_each, tables.memory_each
    places, last = len(seen) - 1, len(worths) - 1
    asked = gpus * milli
    single, whole = gpus == 1 and milli < WHOLE_GPU, milli == WHOLE_GPU
    many, placed, new = len(chosen), 0, True
    scored, step = hosts, 0
    one = np.zeros(1, dtype=np.int64)
    later = unknown(gpus)
    if len(bounds):
        less = need_cpu / scale[0] + need_memory / scale[1] + _SLACK
        for host in hosts:
            # All at once, without a question for each that processors guess wrong.
            room = (free_cpu[host] >= need_cpu) & (free_memory[host] >= need_memory) & (free_disk[host] >= need_disk)
            at_best = bounds[host] - less + (against[host] + price[offer[host]])
            points[host] = at_best if room & (not closed[host]) else np.inf
            devices[host] = later
        step = len(hosts)
    while True:
        while step < len(scored):
            host = scored[step]
            known_state = seen[states[host] & places]
            if known_state.key != states[host] ^ salt or not states[host]:
                break
            room = free_disk[host] >= need_disk
            add = np.float32(against[host] + price[offer[host]]) if with_beside else np.float32(0.0)
            shut = with_beside and closed[host]
            points[host] = known_state.score + add if room and not shut else np.inf
            devices[host] = known_state.devices if room else -1
            step += 1
        if step < len(scored):
            # Of those with its state, the first.
            host = scored[step]
            count = gpus_of[host]
            here = looked_at[host]
            if not states[host] or here.state != states[host]:
                state = free_cpu[host] * MARK_CPU + free_memory[host] * MARK_MEMORY + main[host]
                total = 0
                mark = 0
                for index in range(count):
                    left = device[host, index]
                    state = (state ^ (state >> 29)) * MARK_KIND + left * MOST_KINDS + kinds[host, index]
                    total += left
                    mark += marks[left]
                state *= MARK_CPU
                state ^= state >> 31
                # 0 says that it was not counted.
                state = state or MARK_CPU
                states[host] = here.state = state
                here.total, here.mark, here.worth = total, mark, 0.0
                if total:
                    # Cores and memory beyond what the free GPUs' pods can use are worth nothing, and a little less of
                    # them too.
                    cores = min(free_cpu[host], int(total * cpu_each)) // CPU_GRAIN_MILLI
                    grains = min(free_memory[host], int(total * memory_each)) // MEMORY_GRAIN_MIB
                    key = mark + cores * MARK_CPU + grains * MARK_MEMORY + main[host] * MARK_KIND
                    key ^= key >> 31
                    worth = worths[key & last]
                    if worth.key != key:
                        free_of = device[host, :count]
                        worth.worth = worth_of(cores, grains, free_of, 0, 0, tables, main[host], known.room, known.each)
                        worth.key = key
                    here.worth = worth.worth
                if seen[state & places].key == state ^ salt:
                    continue
            score = np.inf
            taken = -1
            cpu = free_cpu[host] - need_cpu
            memory = free_memory[host] - need_memory
            total = here.total - asked
            if cpu >= 0 and memory >= 0 and total >= 0:
                rest = cpu / scale[0] + memory / scale[1] + total / scale[2]
                own = 0
                if not single:
                    # The fullest devices that have room.
                    for _ in range(gpus):
                        first = -1
                        for index in range(count):
                            left = device[host, index]
                            usable = left >= milli and accepts[kinds[host, index]] and not own >> index & 1
                            if usable and (first < 0 or left < device[host, first]):
                                first = index
                                if whole:
                                    break
                        if first < 0:
                            own = -1
                            break
                        own |= 1 << first
                if not here.total:
                    score = rest
                    taken = 0
                elif own >= 0:
                    cores = min(cpu, int(total * cpu_each)) // CPU_GRAIN_MILLI
                    grains = min(memory, int(total * memory_each)) // MEMORY_GRAIN_MIB
                    for index in range(count if single else 1):
                        mark = here.mark
                        left = 0
                        if single:
                            left = device[host, index]
                            if left < milli or not accepts[kinds[host, index]]:
                                continue
                            again = False
                            for other in range(index):
                                # One of the same kind with as much free was looked at.
                                again |= device[host, other] == left and kinds[host, other] == kinds[host, index]
                            if again:
                                continue
                            own = 1 << index
                            mark += marks[left - milli] - marks[left]
                        else:
                            for other in range(count):
                                if own >> other & 1:
                                    mark += marks[device[host, other] - milli] - marks[device[host, other]]
                        key = mark + cores * MARK_CPU + grains * MARK_MEMORY + main[host] * MARK_KIND
                        key ^= key >> 31
                        worth = worths[key & last]
                        if worth.key != key:
                            free_of = device[host, :count]
                            worth.worth = worth_of(
                                cores, grains, free_of, own, milli, tables, main[host], known.room, known.each
                            )
                            worth.key = key
                        steps = math.floor((here.worth - worth.worth) / STEP_MILLI + _HALF)
                        now = steps * TIE + rest + (_WHOLE * left / WHOLE_GPU if single else 0.0)
                        if now < score:
                            score = now
                            taken = own
            known_state = seen[states[host] & places]
            known_state.key = states[host] ^ salt
            known_state.score, known_state.devices = score, taken
            continue
        if new:
            renew(lane, hosts)
            new = False
        else:
            renew_one(least, points, one[0])
        if placed == many:
            return many, -1
        best = first_of(least, points)
        if best < 0:
            return placed, -1
        one[0] = best
        scored, step = one, 0
        if devices[best] == later:
            continue
        if not sure[offer[best]]:
            return placed, best
        on_these = np.int64(devices[best])
        chosen[placed] = best
        on[placed] = on_these
        placed += 1
        free_cpu[best] -= need_cpu
        free_memory[best] -= need_memory
        free_disk[best] -= need_disk
        for index in range(gpus_of[best]):
            device[best, index] -= milli * (on_these >> index & 1)
        states[best] = 0
