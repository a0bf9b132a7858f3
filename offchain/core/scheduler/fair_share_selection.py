"""Compiled selection of the next task, or the next batch of tasks, of the fair-share queue.

From the root down the child with the least weighted dominant share is next, then the first bucket in its order. No
list is kept sorted: scanning the few hundred buckets of a leaf, or the children of a queue, is less work than sorting
while a hundred thousand tasks leave.
"""

from __future__ import annotations

from typing import Final

from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.fair_share_tables import NONE, UNLIMITED_EACH, FairShareTables, as_int64
from offchain.core.scheduler.jit import compiled, inner
from offchain.core.scheduler.queue_definitions import ABOVE_CEILING, AT_CEILING, BELOW_CEILING

BATCH_SHARE: Final = 1 / 1024
"""How far a leaf may get ahead of the others, as a share of the network, when several tasks are taken at once."""

MAX_BATCH: Final = 4096

_Key = tuple[int, int, int, int]
"""Rank, order within the rank, time of submission, task number; the least is first."""

_Available = tuple[int, int, int]
"""Cores, memory and GPUs."""


@inner
def unlimited() -> _Available:
    return as_int64(UNLIMITED_EACH), as_int64(UNLIMITED_EACH), as_int64(UNLIMITED_EACH)


@inner
def _order_key(tables: FairShareTables, bucket: int) -> _Key:
    """Return the position of the bucket's first task among those of its leaf, now."""
    one = tables.buckets[bucket]
    if one.ageing_ms < 0:
        return ABOVE_CEILING, one.ageing_ms, one.submitted_at, one.id
    at_ceiling_ms = one.submitted_at + one.ageing_ms
    if at_ceiling_ms <= tables.state[0].now_ms:
        return AT_CEILING, 0, one.submitted_at, one.id
    return BELOW_CEILING, at_ceiling_ms, one.submitted_at, one.id


@inner
def dominant_share_of(tables: FairShareTables, cpu: int, memory: int, gpu: int) -> float:
    """Compiled form of :func:`offchain.core.scheduler.pod_request.dominant_share`."""
    total = tables.state[0]
    share = 0.0
    if total.cpu:
        share = cpu / total.cpu
    if total.memory:
        share = max(share, memory / total.memory)
    if total.gpu:
        share = max(share, gpu / total.gpu)
    return share


@inner
def weighted_share(tables: FairShareTables, node: int) -> float:
    """Return the node's dominant share divided by its weight.

    A queue with children is compared only in the resources that its schedulable waiting tasks request. Otherwise, where
    one child uses all GPUs and another waits for cores, the siblings of the queue would get every core (Bhattacharya et
    al., SoCC 2013). A tree of depth one is plain DRF.
    """
    one = tables.nodes[node]
    cpu, memory, gpu = one.cpu, one.memory, one.gpu
    if one.branch >= 0:
        requested = tables.requested[one.branch]
        if requested[0] or requested[1] or requested[2]:
            cpu, memory, gpu = cpu * (requested[0] > 0), memory * (requested[1] > 0), gpu * (requested[2] > 0)
    return float(dominant_share_of(tables, cpu, memory, gpu) / one.weight)


@inner
def _within_node(tables: FairShareTables, node: int, available: _Available) -> _Available:
    """Reduce `available` to what the limit of the node leaves."""
    one = tables.nodes[node]
    if not one.limited:
        return available
    return (
        min(available[0], max(0, one.cpu_limit - one.cpu)),
        min(available[1], max(0, one.memory_limit - one.memory)),
        min(available[2], max(0, one.gpu_limit - one.gpu)),
    )


@inner
def _within_account(tables: FairShareTables, account_limit: int, available: _Available) -> _Available:
    """Reduce `available` to what the limits of an account leave."""
    cpu, memory, gpu = available
    while account_limit != NONE:
        one = tables.account_limits[account_limit]
        cpu = min(cpu, max(0, one.cpu_limit - one.cpu))
        memory = min(memory, max(0, one.memory_limit - one.memory))
        gpu = min(gpu, max(0, one.gpu_limit - one.gpu))
        account_limit = one.parent
    return cpu, memory, gpu


@inner
def available_to(tables: FairShareTables, bucket: int) -> _Available:
    """Return what the limits of the bucket's leaf, of its ancestors and of the account leave."""
    one = tables.buckets[bucket]
    available, node = unlimited(), one.leaf
    while node != NONE:
        available = _within_node(tables, node, available)
        node = tables.nodes[node].parent
    return _within_account(tables, one.account_limit, available)


@inner
def class_fits(tables: FairShareTables, class_id: int, available: _Available) -> bool:
    one = tables.classes[class_id]
    return bool(one.cpu <= available[0] and one.memory <= available[1] and one.gpu <= available[2])


@inner
def _head(tables: FairShareTables, leaf: int) -> int:
    """Return the first bucket of a leaf that is not blocked, without regard to limits of queues."""
    one = tables.nodes[leaf]
    if one.head == NONE or tables.classes[tables.buckets[one.head].class_id].blocked:
        one.head = _first_that_fits(tables, leaf, unlimited())
    return int(one.head)


@compiled
def next_bucket(tables: FairShareTables) -> int:
    """Return the bucket whose first task is next; NONE: no task can be placed now."""
    nodes, cycle = tables.nodes, tables.state[0].cycle
    everything = unlimited()
    while True:
        node, available = as_int64(0), everything
        while nodes[node].branch >= 0:
            available = _within_node(tables, node, available)
            child = NONE
            if available == everything or _can_serve(tables, nodes[node].branch, available):
                child = _next_child(tables, node, cycle)
            if child == NONE:
                break
            node = child
        if nodes[node].branch < 0:
            bucket = _head_that_fits(tables, node, _within_node(tables, node, available))
            if bucket != NONE:
                return bucket
        elif node == 0:
            return NONE
        nodes[node].exhausted = cycle


@inner
def _next_child(tables: FairShareTables, node: int, cycle: int) -> int:
    """Return the child with the least share; of equals the one served the longest ago, then the first by name."""
    nodes = tables.nodes
    best, best_share = NONE, 0.0
    child = nodes[node].child
    while child != NONE:
        one = nodes[child]
        if one.active and one.exhausted != cycle:
            share = one.share if one.branch < 0 else weighted_share(tables, child)
            if best == NONE or share < best_share:
                best, best_share = child, share
            elif share == best_share:
                other = nodes[best]
                if one.served_ms < other.served_ms or (one.served_ms == other.served_ms and one.rank < other.rank):
                    best = child
        child = one.sibling
    return int(best)


@inner
def _can_serve(tables: FairShareTables, branch: int, available: _Available) -> bool:
    """Return whether a class that is not blocked and fits waits below the branch."""
    counts, classes = tables.class_counts[branch], tables.classes
    for class_id in range(len(counts)):
        if counts[class_id] and not classes[class_id].blocked and class_fits(tables, class_id, available):
            return True
    return False


@inner
def _head_that_fits(tables: FairShareTables, leaf: int, available: _Available) -> int:
    """Return the first bucket of a leaf that fits, which usually is the head; limits of accounts are always checked."""
    head = _head(tables, leaf)
    if head == NONE:
        return NONE
    one = tables.buckets[head]
    if one.account_limit == NONE and class_fits(tables, one.class_id, available):
        return head
    return _first_that_fits(tables, leaf, available)


@inner
def _first_that_fits(tables: FairShareTables, leaf: int, available: _Available) -> int:
    """Return the first bucket of a leaf that is not blocked and fits, also within the limits of its account."""
    buckets, classes = tables.buckets, tables.classes
    best, best_key = NONE, (0, 0, 0, 0)
    node = tables.nodes[leaf]
    for at in range(node.list_start, node.list_start + node.list_length):
        bucket = tables.bucket_lists[at]
        one = buckets[bucket]
        if not classes[one.class_id].blocked and class_fits(tables, one.class_id, available):
            key = _order_key(tables, bucket)
            first = best == NONE or key < best_key
            if first and class_fits(tables, one.class_id, _within_account(tables, one.account_limit, available)):
                best, best_key = bucket, key
    return int(best)


@compiled
def next_batch(tables: FairShareTables, ids: Ints, parts: Ints) -> int:
    """Fill `ids` with tasks of one class that may be taken together, the next task first; return the number of parts.

    `parts`: [part, 2], the bucket and how many tasks it contributes; as long as `ids`. All tasks were submitted at
    about the same time as those ahead of them in their leaf, and no leaf gets more than BATCH_SHARE ahead of others.
    """
    bucket = next_bucket(tables)
    if bucket == NONE:
        return 0
    first = tables.buckets[bucket]
    request = tables.classes[first.class_id]
    share = dominant_share_of(tables, request.cpu, request.memory, request.gpu)
    limit = min(_count_within_limits(tables, bucket), len(ids))
    most = min(limit, int(min(BATCH_SHARE / share, float(len(ids))))) if share else limit
    count = _take_oldest(tables, bucket, max(1, most), ids, as_int64(0))
    parts[0, 0], parts[0, 1] = bucket, count
    parent = tables.nodes[first.leaf].parent
    if first.account_limit != NONE or not share or share > BATCH_SHARE or not _is_only_branch(tables, parent):
        return 1
    return _add_siblings(tables, bucket, share, limit, count, ids, parts)


@inner
def _count_within_limits(tables: FairShareTables, bucket: int) -> int:
    """Return for how many tasks of the bucket the limits of queues and account leave room."""
    request, available = tables.classes[tables.buckets[bucket].class_id], available_to(tables, bucket)
    count = UNLIMITED_EACH
    if request.cpu:
        count = min(count, available[0] // request.cpu)
    if request.memory:
        count = min(count, available[1] // request.memory)
    if request.gpu:
        count = min(count, available[2] // request.gpu)
    return count


@inner
def _take_oldest(tables: FairShareTables, bucket: int, most: int, ids: Ints, at: int) -> int:
    """Write the bucket's oldest tasks to `ids`, those submitted within the batch window; return how many."""
    one = tables.buckets[bucket]
    until_ms = one.submitted_at + tables.nodes[one.leaf].batch_window_ms
    found, task = 0, one.first
    while found < most and task != NONE and tables.tasks[task].submitted_at <= until_ms:
        ids[at + found] = tables.tasks[task].id
        task = tables.tasks[task].next
        found += 1
    return found


@inner
def _is_only_branch(tables: FairShareTables, node: int) -> bool:
    """Return whether neither the node nor any of its ancestors has siblings."""
    nodes = tables.nodes
    while nodes[node].parent != NONE:
        node = nodes[node].parent
        if nodes[nodes[node].child].sibling != NONE:
            return False
    return True


@inner
def _near_head(tables: FairShareTables, bucket: int) -> bool:
    """Return whether the bucket is the head of its leaf, or close enough in time to be taken together with it."""
    leaf = tables.buckets[bucket].leaf
    head = _head(tables, leaf)
    if head == NONE:
        return False
    mine, first, window = _order_key(tables, bucket), _order_key(tables, head), tables.nodes[leaf].batch_window_ms
    soon = mine[2] - first[2] <= window and mine[0] == first[0]
    return bool(soon and (mine[1] == first[1] or (mine[0] == BELOW_CEILING and mine[1] - first[1] <= window)))


@inner
def _add_siblings(
    tables: FairShareTables, first: int, share: float, limit: int, count: int, ids: Ints, parts: Ints
) -> int:
    """Add tasks of sibling leaves, as long as none gets ahead of the first leaf by more than BATCH_SHARE."""
    buckets, nodes, cycle = tables.buckets, tables.nodes, tables.state[0].cycle
    leaf = buckets[first].leaf
    level = nodes[leaf].share + BATCH_SHARE / nodes[leaf].weight
    # First, the best bucket of each leaf goes to `parts`, from 1 on.
    leaves, request = as_int64(0), tables.classes[buckets[first].class_id]
    for at in range(request.list_start, request.list_start + request.list_length):
        if leaves + 1 == len(parts):
            break
        bucket = tables.bucket_lists[at]
        one = nodes[buckets[bucket].leaf]
        sibling = buckets[bucket].leaf != leaf and one.parent == nodes[leaf].parent and not one.limited
        if sibling and one.exhausted != cycle and one.share < level and _near_head(tables, bucket):
            if one.candidate == NONE:
                one.candidate = leaves
                leaves += 1
                parts[leaves, 0] = bucket
            elif _order_key(tables, bucket) < _order_key(tables, parts[1 + one.candidate, 0]):
                parts[1 + one.candidate, 0] = bucket
    for at in range(1, leaves + 1):
        nodes[buckets[parts[at, 0]].leaf].candidate = NONE
    _sort_by_share(tables, parts, leaves)
    found = 1
    for at in range(1, leaves + 1):
        left = min(limit, len(ids)) - count
        if left <= 0:
            break
        bucket = parts[at, 0]
        one = nodes[buckets[bucket].leaf]
        taken = _take_oldest(tables, bucket, min(left, int((level - one.share) * one.weight / share)), ids, count)
        if taken:
            parts[found, 0], parts[found, 1] = bucket, taken
            count += taken
            found += 1
    return found


@inner
def _sort_by_share(tables: FairShareTables, parts: Ints, count: int) -> None:
    """Heapsort of `parts` from 1 on, by the order in which their leaves are served."""
    for start in range(count // 2, 0, -1):
        _sift_down(tables, parts, start, count)
    for end in range(count, 1, -1):
        parts[1, 0], parts[end, 0] = parts[end, 0], parts[1, 0]
        _sift_down(tables, parts, as_int64(1), end - 1)


@inner
def _sift_down(tables: FairShareTables, parts: Ints, at: int, end: int) -> None:
    while 2 * at <= end:
        later = 2 * at
        if later < end and _served_before(tables, parts[later, 0], parts[later + 1, 0]):
            later += 1
        if not _served_before(tables, parts[at, 0], parts[later, 0]):
            return
        parts[at, 0], parts[later, 0] = parts[later, 0], parts[at, 0]
        at = later


@inner
def _served_before(tables: FairShareTables, bucket: int, other: int) -> bool:
    """Return whether the bucket's leaf comes before that of the other bucket."""
    one, two = tables.nodes[tables.buckets[bucket].leaf], tables.nodes[tables.buckets[other].leaf]
    if one.share != two.share:
        return bool(one.share < two.share)
    return bool(one.served_ms < two.served_ms or (one.served_ms == two.served_ms and one.rank < two.rank))
