"""Compiled updates of the fair-share tables: tasks arrive and leave, usage changes, classes are blocked."""

from __future__ import annotations

from typing import Final

from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.fair_share_selection import weighted_share
from offchain.core.scheduler.fair_share_tables import (
    NONE,
    FairShareTables,
    add_to_index,
    add_to_lists,
    as_int64,
    find_bucket,
    lists_have_space,
    remove_from_index,
    remove_from_lists,
)
from offchain.core.scheduler.jit import compiled, inner

TASKS_FULL: Final = -1
BUCKETS_FULL: Final = -2
LISTS_FULL: Final = -3
"""Results of :func:`add_tasks`: the table that must grow first."""


@compiled
def add_tasks(tables: FairShareTables, tasks: Ints, first: int, rows: Ints) -> int:
    """Add waiting tasks from `first` on and fill in their rows; return the first not added because a table is full.

    `tasks`: [task], number, time of submission, leaf, class, ageing_ms, account limit. `rows` of the task that was not
    added is TASKS_FULL, BUCKETS_FULL or LISTS_FULL.
    """
    for task in range(first, len(tasks)):
        number, submitted_at, leaf, class_id, ageing_ms, account_limit = tasks[task]
        rows[task] = _add_task(tables, number, submitted_at, leaf, class_id, ageing_ms, account_limit)
        if rows[task] < 0:
            return task
    return len(tasks)


@inner
def _add_task(
    tables: FairShareTables,
    number: int,
    submitted_at: int,
    leaf: int,
    class_id: int,
    ageing_ms: int,
    account_limit: int,
) -> int:
    """Return the row of the task, or which table is full; then nothing has changed."""
    state, tasks = tables.state[0], tables.tasks
    if state.free_task == NONE and state.tasks == len(tasks):
        return TASKS_FULL
    bucket = find_bucket(tables, leaf, class_id, ageing_ms, account_limit)
    if bucket == NONE:
        if not lists_have_space(tables, leaf, class_id):
            return LISTS_FULL
        bucket = _new_bucket(tables, leaf, class_id, ageing_ms, account_limit)
        if bucket == NONE:
            return BUCKETS_FULL
    row = state.free_task
    if row == NONE:
        row = state.tasks
        state.tasks += 1
    else:
        state.free_task = tasks[row].next
    task, one = tasks[row], tables.buckets[bucket]
    task.submitted_at, task.id, task.bucket = submitted_at, number, bucket
    # Search from the end: a new task usually is the youngest.
    before = one.last
    while before != NONE and _is_older(tables, as_int64(row), as_int64(before)):
        before = tasks[before].before
    task.before = before
    task.next = one.first if before == NONE else tasks[before].next
    if before == NONE:
        one.first = row
    else:
        tasks[before].next = row
    if task.next == NONE:
        one.last = row
    else:
        tasks[task.next].before = row
    one.count += 1
    if before == NONE:
        _copy_first(tables, bucket)
        tables.nodes[leaf].head = NONE
    _count_class(tables, leaf, class_id, as_int64(1))
    _reset_exhausted(tables)
    return int(row)


@compiled
def remove_task(tables: FairShareTables, row: int) -> None:
    bucket = as_int64(tables.tasks[row].bucket)
    _unlink(tables, row)
    _after_removal(tables, bucket, as_int64(1))


@compiled
def place_task(tables: FairShareTables, row: int) -> None:
    """Remove a task that was placed and charge its request; its class is schedulable."""
    bucket = as_int64(tables.tasks[row].bucket)
    class_id = as_int64(tables.buckets[bucket].class_id)
    _unlink(tables, row)
    _charge_placed(tables, bucket, as_int64(1))
    set_unschedulable(tables, class_id, as_int64(0))


@compiled
def place_batch(tables: FairShareTables, parts: Ints, part_count: int, count: int) -> None:
    """Remove the first `count` tasks of a batch, which were placed, and charge them; their class is schedulable."""
    class_id = as_int64(tables.buckets[parts[0, 0]].class_id)
    for part in range(part_count):
        bucket, taken = parts[part, 0], min(count, parts[part, 1])
        if not taken:
            break
        for _ in range(taken):
            _unlink(tables, tables.buckets[bucket].first)
        _charge_placed(tables, bucket, taken)
        count -= taken
    set_unschedulable(tables, class_id, as_int64(0))


@compiled
def mark_served(tables: FairShareTables, node: int, when_ms: int) -> None:
    """Record for the node and its ancestors that one of its tasks was placed at that time."""
    while node != NONE:
        one = tables.nodes[node]
        one.served_ms = max(one.served_ms, when_ms)
        node = one.parent


@compiled
def charge(tables: FairShareTables, leaf: int, account_limit: int, cpu: int, memory: int, gpu: int) -> None:
    """Add to the usage of a leaf, of its ancestors and of the account."""
    node = leaf
    while node != NONE:
        one = tables.nodes[node]
        one.cpu += cpu
        one.memory += memory
        one.gpu += gpu
        node = one.parent
    while account_limit != NONE:
        limit = tables.account_limits[account_limit]
        limit.cpu += cpu
        limit.memory += memory
        limit.gpu += gpu
        account_limit = limit.parent
    tables.nodes[leaf].share = weighted_share(tables, leaf)


@compiled
def release(tables: FairShareTables, usages: Ints) -> int:
    """Subtract usages: [usage], leaf, account limit, cores, memory, GPUs; return how many were subtracted.

    The next one exceeds the usage of its leaf and has changed nothing.
    """
    _reset_exhausted(tables)
    for at in range(len(usages)):
        leaf, account_limit, cpu, memory, gpu = usages[at]
        one = tables.nodes[leaf]
        if one.cpu < cpu or one.memory < memory or one.gpu < gpu:
            return at
        charge(tables, leaf, account_limit, -cpu, -memory, -gpu)
    return len(usages)


@compiled
def set_blocked(tables: FairShareTables, class_ids: Ints, blocked: int) -> None:
    """Set whether these classes are passed over in this cycle."""
    for class_id in class_ids:
        one = tables.classes[class_id]
        changed = one.list_length if one.blocked != blocked else 0
        one.blocked = blocked
        for at in range(changed):
            leaf = tables.buckets[tables.bucket_lists[one.list_start + at]].leaf
            # A head that is blocked is noticed when it is read.
            if not blocked:
                tables.nodes[leaf].head = NONE
            _add_active(tables, leaf, as_int64(-1) if blocked else as_int64(1))
    if not blocked:
        _reset_exhausted(tables)


@compiled
def set_unschedulable(tables: FairShareTables, class_id: int, unschedulable: int) -> None:
    """Set whether a class was found feasible nowhere: it changes the resources in which its queues are compared."""
    if tables.classes[class_id].unschedulable == unschedulable:
        return
    tables.classes[class_id].unschedulable = unschedulable
    for branch in range(len(tables.class_counts)):
        if tables.class_counts[branch, class_id]:
            _count_request(tables, branch, class_id, -1 if unschedulable else 1)


@compiled
def new_class(tables: FairShareTables, class_id: int, cpu: int, memory: int, gpu: int) -> None:
    """Set the request of a class with which no task waits."""
    one = tables.classes[class_id]
    one.cpu, one.memory, one.gpu = cpu, memory, gpu
    one.blocked = one.unschedulable = 0


@compiled
def begin_cycle(tables: FairShareTables) -> None:
    """Reset what is cached per cycle, after `blocked` of the classes or the totals were set."""
    nodes, buckets = tables.nodes, tables.buckets
    for node in range(len(nodes)):
        nodes[node].active, nodes[node].head = 0, NONE
        # Unused rows have no weight.
        if nodes[node].weight and nodes[node].branch < 0:
            nodes[node].share = weighted_share(tables, node)
    for bucket in range(tables.state[0].buckets):
        if buckets[bucket].count and not tables.classes[buckets[bucket].class_id].blocked:
            _add_active(tables, buckets[bucket].leaf, as_int64(1))
    _reset_exhausted(tables)


@inner
def _new_bucket(tables: FairShareTables, leaf: int, class_id: int, ageing_ms: int, account_limit: int) -> int:
    """Return NONE if no row is left."""
    state, buckets = tables.state[0], tables.buckets
    bucket = state.free_bucket
    if bucket == NONE:
        if state.buckets == len(buckets):
            return NONE
        bucket = state.buckets
        state.buckets += 1
    else:
        state.free_bucket = buckets[bucket].first
    one = buckets[bucket]
    one.leaf, one.class_id, one.ageing_ms, one.account_limit = leaf, class_id, ageing_ms, account_limit
    one.first = one.last = NONE
    one.count = 0
    add_to_index(tables, bucket)
    add_to_lists(tables, bucket)
    if not tables.classes[class_id].blocked:
        _add_active(tables, leaf, as_int64(1))
    return int(bucket)


@inner
def _drop_bucket(tables: FairShareTables, bucket: int) -> None:
    """Free the row of an empty bucket."""
    one = tables.buckets[bucket]
    remove_from_index(tables, bucket)
    remove_from_lists(tables, bucket)
    if not tables.classes[one.class_id].blocked:
        _add_active(tables, one.leaf, as_int64(-1))
    one.first = tables.state[0].free_bucket
    tables.state[0].free_bucket = bucket


@inner
def _is_older(tables: FairShareTables, row: int, other: int) -> bool:
    one, two = tables.tasks[row], tables.tasks[other]
    if one.submitted_at != two.submitted_at:
        return bool(one.submitted_at < two.submitted_at)
    return bool(one.id < two.id)


@inner
def _copy_first(tables: FairShareTables, bucket: int) -> None:
    """Copy to the bucket what selection reads of its first task."""
    one = tables.buckets[bucket]
    first = tables.tasks[one.first]
    one.submitted_at, one.id = first.submitted_at, first.id


@inner
def _unlink(tables: FairShareTables, row: int) -> None:
    """Remove a task from the list of its bucket and free its row."""
    tasks, state = tables.tasks, tables.state[0]
    task = tasks[row]
    one = tables.buckets[task.bucket]
    before, after = task.before, task.next
    if before == NONE:
        one.first = after
    else:
        tasks[before].next = after
    if after == NONE:
        one.last = before
    else:
        tasks[after].before = before
    one.count -= 1
    task.id = NONE
    task.next = state.free_task
    state.free_task = row


@inner
def _charge_placed(tables: FairShareTables, bucket: int, count: int) -> None:
    """Charge `count` tasks of the bucket, which were unlinked because they were placed."""
    one = tables.buckets[bucket]
    request = tables.classes[one.class_id]
    charge(tables, one.leaf, one.account_limit, count * request.cpu, count * request.memory, count * request.gpu)
    mark_served(tables, one.leaf, tables.state[0].now_ms)
    _after_removal(tables, bucket, count)


@inner
def _after_removal(tables: FairShareTables, bucket: int, count: int) -> None:
    """Update what depends on the bucket, after `count` of its tasks were unlinked."""
    one = tables.buckets[bucket]
    _count_class(tables, one.leaf, one.class_id, -count)
    if tables.nodes[one.leaf].head == bucket:
        tables.nodes[one.leaf].head = NONE
    if one.count:
        _copy_first(tables, bucket)
    else:
        _drop_bucket(tables, bucket)


@inner
def _count_class(tables: FairShareTables, leaf: int, class_id: int, count: int) -> None:
    """Add to the number of tasks of a class that wait below the ancestors of a leaf."""
    node = tables.nodes[leaf].parent
    while node != NONE:
        branch = tables.nodes[node].branch
        before = tables.class_counts[branch, class_id]
        tables.class_counts[branch, class_id] = before + count
        if (before == 0 or before + count == 0) and not tables.classes[class_id].unschedulable:
            _count_request(tables, branch, class_id, 1 if before == 0 else -1)
        node = tables.nodes[node].parent


@inner
def _count_request(tables: FairShareTables, branch: int, class_id: int, count: int) -> None:
    """Add to the number of classes that request each of the resources of this one."""
    one = tables.classes[class_id]
    tables.requested[branch, 0] += count if one.cpu else 0
    tables.requested[branch, 1] += count if one.memory else 0
    tables.requested[branch, 2] += count if one.gpu else 0


@inner
def _reset_exhausted(tables: FairShareTables) -> None:
    """Let selection look again at nodes that had nothing to offer."""
    tables.state[0].cycle += 1


@inner
def _add_active(tables: FairShareTables, leaf: int, count: int) -> None:
    """Add to the number of buckets that are not blocked, for a leaf and its ancestors."""
    node = leaf
    while node != NONE:
        tables.nodes[node].active += count
        node = tables.nodes[node].parent
