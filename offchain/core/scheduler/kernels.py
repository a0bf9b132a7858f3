"""Compiled loops of the fragmentation score: score the hosts that have changed, then place pods of one shape."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from offchain.core.scheduler.columns import MAX_CLASSES, MAX_DEVICES, Floats, HostColumns, Ints
from offchain.core.scheduler.demand import DemandRows
from offchain.core.scheduler.device_choice import KernelRequest
from offchain.core.scheduler.host_value import (
    CPU_GRAIN_MILLI,
    MEMORY_GRAIN_MIB,
    ScoreTables,
    device_level,
    host_value,
)
from offchain.core.scheduler.jit import compiled, inner
from offchain.core.scheduler.pod_request import WHOLE_GPU
from offchain.core.scheduler.score_column import (
    AnyFloats,
    Penalties,
    ScoreColumn,
    best_host,
    update_tree,
    update_tree_of,
)

Table = npt.NDArray[np.void]
"""Rows with named fields."""

_VALUE_ENTRIES = 1 << 20
"""A busy network of 10,000 hosts has some hundred thousand different states between two changes of the demand."""
_SCORE_ENTRIES = 1 << 12

MARK_CPU = 0x1E3779B97F4A7C15
MARK_MEMORY = 0x42B2AE3D27D4EB4F
MARK_CLASS = 0x165667B19E3779F9
"""Odd numbers without a pattern, which hash what is free into one number."""


VALUE_ENTRY = np.dtype([("key", "i8"), ("value", "f8")], align=True)
"""The value of a host, by what is free there."""

SCORE_ENTRY = np.dtype([("key", "i8"), ("score", "f8"), ("devices", "i8")], align=True)
"""The score of a host by its state. Infinite, -1: not feasible."""

HOST_ENTRY = np.dtype([("state", "i8"), ("total", "i8"), ("mark", "i8"), ("value", "f8")], align=True)
"""What is the same for all pods while a host is in this state: free thousandths, their hash, the host's value."""


class ScoreMemo(NamedTuple):
    """Hash tables of earlier results.

    An entry's index is the last bits of its key; later entries replace earlier ones.
    """

    values: Table
    scored: Table
    hosts: Table
    """[host]"""
    marks: Ints
    """[level, thousandths]: the hash of a device with so much free."""
    sums: Floats
    """[2, k]: buffer for sums."""
    by_row: Floats
    """[row]: buffer."""


def empty_memo(rows: DemandRows, levels: int) -> ScoreMemo:
    """Return an empty memo. `levels`: their number."""
    random = np.random.default_rng(1)
    marks = random.integers(1, 2**62, (levels, WHOLE_GPU + 1), dtype=np.int64)
    marks[:, 0] = 0
    sums, by_row = np.zeros((2, len(rows.gpus))), np.zeros(max(1, len(rows.cpu)))
    return ScoreMemo(
        np.zeros(_VALUE_ENTRIES, VALUE_ENTRY),
        np.zeros(_SCORE_ENTRIES, SCORE_ENTRY),
        np.zeros(0, HOST_ENTRY),
        marks,
        sums,
        by_row,
    )


def extended_memo(of: ScoreMemo, hosts: int) -> ScoreMemo:
    """Return the memo with entries for `hosts` hosts."""
    return of._replace(hosts=np.zeros(hosts, HOST_ENTRY))


STEP_MILLI = 40.0
"""Differences of less than half of this count as equal, so that hosts are filled one after the other."""

STEP_COST = 100.0
"""Cost of one step of lost value: more than all tie-breakers together."""

_IDLE_GPU_COST = 10.0
"""Against what is left of a host, at most 3: of equal losses, a GPU in use is preferred to an idle one."""

_ROUND_UP = 0.5 + 1e-6
"""Halves are rounded up, and so is what falls short of one by no more than rounding errors."""

_SLACK = 2.0**-5
"""More than rounding errors of costs, and less than the difference between hosts."""


_ALL: Final = (1 << MAX_DEVICES) - 1


@inner
def unscored_devices(gpus: int) -> int:
    """Return the entry of :attr:`ScoreColumn.devices` for a host that has a bound and no score yet.

    No pod with this number of GPUs takes exactly these devices.
    """
    return _ALL if gpus < MAX_DEVICES else 0


@compiled
def score_and_place(  # noqa: C901, PLR0912, PLR0915 - one flat loop, its docstring says why
    hosts: Ints,
    free: HostColumns,
    request: KernelRequest,
    tables: ScoreTables,
    memo: ScoreMemo,
    scale: Floats,
    column: ScoreColumn,
    penalties: Penalties,
    chosen: Ints,
    chosen_devices: Ints,
    salt: int,
    bounds: AnyFloats,
) -> tuple[int, int]:
    """Score `hosts`, then place pods until `chosen` is full or none is feasible. Each pod takes its resources.

    Return the number of pods placed, and the host at which it stopped because its price is not certain; -1: none.
    `salt`: a new number for each call, so that scores of other shapes are not reused.

    `bounds`: [host], the score of a pod that asks for the same GPUs and nothing else; infinite: not feasible. No pod
    that asks for more scores less, but for what it leaves free. With bounds, `hosts` first get costs that are too low,
    and a host is scored only when it becomes the best. The result is the same.

    One flat loop over columns with names of their own: passing the arrays to a function for each host, or reading them
    from a tuple, takes longer than the work itself.
    """
    free_cpu, free_memory, free_disk, device, classes, gpus_of, main_class, states = free
    marks, scores, host_entries = memo.marks, memo.scored, memo.hosts
    costs, devices, tree = column
    by_host, price_list, by_list, certain, closed = penalties
    with_penalties = len(by_host) > 0
    need_cpu, need_memory, need_disk, gpus, milli, accepts, own_level = request
    levels = tables.levels
    values, cpu_each, memory_each = memo.values, tables.cpu_each, tables.memory_each
    score_mask, value_mask = len(scores) - 1, len(values) - 1
    asked = gpus * milli
    single, whole = gpus == 1 and milli < WHOLE_GPU, milli == WHOLE_GPU
    wanted, placed, new = len(chosen), 0, True
    scored, step = hosts, 0
    single_host = np.zeros(1, dtype=np.int64)
    unscored = unscored_devices(gpus)
    if len(bounds):
        offset = need_cpu / scale[0] + need_memory / scale[1] + _SLACK
        for host in hosts:
            # Without branches, which processors would mispredict.
            fits = (free_cpu[host] >= need_cpu) & (free_memory[host] >= need_memory) & (free_disk[host] >= need_disk)
            at_best = bounds[host] - offset + (by_host[host] + by_list[price_list[host]])
            costs[host] = at_best if fits & (not closed[host]) else np.inf
            devices[host] = unscored
        step = len(hosts)
    while True:
        while step < len(scored):
            host = scored[step]
            scored_state = scores[states[host] & score_mask]
            if scored_state.key != states[host] ^ salt or not states[host]:
                break
            fits = free_disk[host] >= need_disk
            add = np.float32(by_host[host] + by_list[price_list[host]]) if with_penalties else np.float32(0.0)
            shut = with_penalties and closed[host]
            costs[host] = scored_state.score + add if fits and not shut else np.inf
            devices[host] = scored_state.devices if fits else -1
            step += 1
        if step < len(scored):
            # The first host with this state is scored.
            host = scored[step]
            count = gpus_of[host]
            entry_of_host = host_entries[host]
            if not states[host] or entry_of_host.state != states[host]:
                state = free_cpu[host] * MARK_CPU + free_memory[host] * MARK_MEMORY + main_class[host]
                total = 0
                mark = 0
                for index in range(count):
                    left = device[host, index]
                    state = (state ^ (state >> 29)) * MARK_CLASS + left * MAX_CLASSES + classes[host, index]
                    total += left
                    mark += marks[device_level(levels, classes[host, index], left, own_level), left]
                state *= MARK_CPU
                state ^= state >> 31
                # 0 means that it was not computed.
                state = state or MARK_CPU
                states[host] = entry_of_host.state = state
                entry_of_host.total, entry_of_host.mark, entry_of_host.value = total, mark, 0.0
                if total:
                    # Cores and memory beyond what pods on the free GPUs can use have no value.
                    cores = min(free_cpu[host], int(total * cpu_each)) // CPU_GRAIN_MILLI
                    grains = min(free_memory[host], int(total * memory_each)) // MEMORY_GRAIN_MIB
                    key = mark + cores * MARK_CPU + grains * MARK_MEMORY + main_class[host] * MARK_CLASS
                    key ^= key >> 31
                    entry = values[key & value_mask]
                    if entry.key != key:
                        entry.value = host_value(
                            cores,
                            grains,
                            device[host, :count],
                            classes[host, :count],
                            0,
                            0,
                            own_level,
                            tables,
                            main_class[host],
                            memo.sums,
                            memo.by_row,
                        )
                        entry.key = key
                    entry_of_host.value = entry.value
                if scores[state & score_mask].key == state ^ salt:
                    continue
            score = np.inf
            taken = -1
            cpu = free_cpu[host] - need_cpu
            memory = free_memory[host] - need_memory
            total = entry_of_host.total - asked
            if cpu >= 0 and memory >= 0 and total >= 0:
                rest = cpu / scale[0] + memory / scale[1] + total / scale[2]
                own = 0
                if not single:
                    # The fullest devices with enough free.
                    for _ in range(gpus):
                        fullest = -1
                        for index in range(count):
                            left = device[host, index]
                            usable = left >= milli and accepts[classes[host, index]] and not own >> index & 1
                            if usable and (fullest < 0 or left < device[host, fullest]):
                                fullest = index
                                if whole:
                                    break
                        if fullest < 0:
                            own = -1
                            break
                        own |= 1 << fullest
                if not entry_of_host.total:
                    score = rest
                    taken = 0
                elif own >= 0:
                    cores = min(cpu, int(total * cpu_each)) // CPU_GRAIN_MILLI
                    grains = min(memory, int(total * memory_each)) // MEMORY_GRAIN_MIB
                    for index in range(count if single else 1):
                        mark = entry_of_host.mark
                        left = 0
                        if single:
                            left = device[host, index]
                            if left < milli or not accepts[classes[host, index]]:
                                continue
                            duplicate = False
                            for other in range(index):
                                # An equal device was scored already.
                                duplicate |= (
                                    device[host, other] == left and classes[host, other] == classes[host, index]
                                )
                            if duplicate:
                                continue
                            own = 1 << index
                            level = device_level(levels, classes[host, index], left, own_level)
                            mark += marks[own_level, left - milli] - marks[level, left]
                        else:
                            for other in range(count):
                                if own >> other & 1:
                                    left = device[host, other]
                                    level = device_level(levels, classes[host, other], left, own_level)
                                    mark += marks[own_level, left - milli] - marks[level, left]
                        key = mark + cores * MARK_CPU + grains * MARK_MEMORY + main_class[host] * MARK_CLASS
                        key ^= key >> 31
                        entry = values[key & value_mask]
                        if entry.key != key:
                            entry.value = host_value(
                                cores,
                                grains,
                                device[host, :count],
                                classes[host, :count],
                                own,
                                milli,
                                own_level,
                                tables,
                                main_class[host],
                                memo.sums,
                                memo.by_row,
                            )
                            entry.key = key
                        lost_steps = math.floor((entry_of_host.value - entry.value) / STEP_MILLI + _ROUND_UP)
                        cost = lost_steps * STEP_COST + rest + (_IDLE_GPU_COST * left / WHOLE_GPU if single else 0.0)
                        if cost < score:
                            score = cost
                            taken = own
            scored_state = scores[states[host] & score_mask]
            scored_state.key = states[host] ^ salt
            scored_state.score, scored_state.devices = score, taken
            continue
        if new:
            update_tree(column, hosts)
            new = False
        else:
            update_tree_of(tree, costs, single_host[0])
        if placed == wanted:
            return wanted, -1
        best = best_host(tree, costs)
        if best < 0:
            return placed, -1
        single_host[0] = best
        scored, step = single_host, 0
        if devices[best] == unscored:
            continue
        if not certain[price_list[best]]:
            return placed, best
        devices_taken = np.int64(devices[best])
        chosen[placed] = best
        chosen_devices[placed] = devices_taken
        placed += 1
        free_cpu[best] -= need_cpu
        free_memory[best] -= need_memory
        free_disk[best] -= need_disk
        for index in range(gpus_of[best]):
            device[best, index] -= milli * (devices_taken >> index & 1)
        states[best] = 0
