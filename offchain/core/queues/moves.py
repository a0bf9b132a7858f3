"""Tasks come and go, and what is held changes: compiled steps that keep the tables in order."""

from __future__ import annotations

from typing import Final

from offchain.core.queues.index import enter, find, take_out
from offchain.core.queues.lists import has_room, list_alike, strike_alike
from offchain.core.queues.picking import share_of
from offchain.core.queues.tables import NOBODY, Tables, plain
from offchain.core.scheduler.columns import Ints
from offchain.core.scheduler.kernel_cache import compiled, inner

NO_TASK: Final = -1
NO_ALIKE: Final = -2
NO_PLACE: Final = -3
"""Which table has no row left: that of tasks, of alikes, or of their lists."""


@compiled
def join(tables: Tables, asked: Ints, first: int, rows: Ints) -> int:
    """Tasks wait, from the `first` on: fill in their rows. Who is the next that does not yet, as a table must grow.

    `asked`: [task], its number, when it was submitted, its leaf, its shape, how it rises, and its holder. Which table
    must grow stands in `rows` for that one: NO_TASK, NO_ALIKE or NO_PLACE.
    """
    for task in range(first, len(asked)):
        number, submitted_at, leaf, shape, rise_ms, holder = asked[task]
        rows[task] = _joined(tables, number, submitted_at, leaf, shape, rise_ms, holder)
        if rows[task] < 0:
            return task
    return len(asked)


@inner
def _joined(tables: Tables, number: int, submitted_at: int, leaf: int, shape: int, rise_ms: int, holder: int) -> int:
    """Its row; or which table must grow first, and nothing has changed."""
    here, tasks = tables.round[0], tables.tasks
    if here.free_task == NOBODY and here.tasks == len(tasks):
        return NO_TASK
    alike = find(tables, leaf, shape, rise_ms, holder)
    if alike == NOBODY:
        if not has_room(tables, leaf, shape):
            return NO_PLACE
        alike = _new_alike(tables, leaf, shape, rise_ms, holder)
        if alike == NOBODY:
            return NO_ALIKE
    row = here.free_task
    if row == NOBODY:
        row = here.tasks
        here.tasks += 1
    else:
        here.free_task = tasks[row].next
    mine, these = tasks[row], tables.alikes[alike]
    mine.submitted_at, mine.id, mine.alike = submitted_at, number, alike
    # Mostly it is the youngest.
    after = these.last
    while after != NOBODY and _older(tables, plain(row), plain(after)):
        after = tasks[after].before
    mine.before = after
    mine.next = these.first if after == NOBODY else tasks[after].next
    if after == NOBODY:
        these.first = row
    else:
        tasks[after].next = row
    if mine.next == NOBODY:
        these.last = row
    else:
        tasks[mine.next].before = row
    these.count += 1
    if after == NOBODY:
        _new_first(tables, alike)
        tables.nodes[leaf].head = NOBODY
    _comes(tables, leaf, shape, plain(1))
    _bring_back(tables)
    return int(row)


@compiled
def part(tables: Tables, row: int) -> None:
    """A task waits no more."""
    alike = plain(tables.tasks[row].alike)
    _out(tables, row)
    _left(tables, alike, plain(1))


@compiled
def place(tables: Tables, row: int) -> None:
    """A task has its place, and holds what it asked for. Its shape fits somewhere."""
    alike = plain(tables.tasks[row].alike)
    shape = plain(tables.alikes[alike].shape)
    _out(tables, row)
    _placed(tables, alike, plain(1))
    sleep(tables, shape, plain(0))


@compiled
def leave(tables: Tables, parts: Ints, many: int, count: int) -> None:
    """Of a run of so many parts, the first `count` tasks have their places, and hold what they asked for.

    Their shape fits somewhere.
    """
    shape = plain(tables.alikes[parts[0, 0]].shape)
    for place in range(many):
        alike, here = parts[place, 0], min(count, parts[place, 1])
        if not here:
            break
        for _ in range(here):
            _out(tables, tables.alikes[alike].first)
        _placed(tables, alike, here)
        count -= here
    sleep(tables, shape, plain(0))


@compiled
def serve(tables: Tables, node: int, when_ms: int) -> None:
    """A task of it was placed then."""
    while node != NOBODY:
        here = tables.nodes[node]
        here.served = max(here.served, when_ms)
        node = here.parent


@compiled
def charge(tables: Tables, leaf: int, holder: int, cpu: int, memory: int, gpu: int) -> None:
    """So much more is held there; of what is below nothing less."""
    node = leaf
    while node != NOBODY:
        here = tables.nodes[node]
        here.cpu += cpu
        here.memory += memory
        here.gpu += gpu
        node = here.parent
    while holder != NOBODY:
        of = tables.holders[holder]
        of.cpu += cpu
        of.memory += memory
        of.gpu += gpu
        holder = of.above
    tables.nodes[leaf].share = share_of(tables, leaf)


@compiled
def give_back(tables: Tables, holdings: Ints) -> int:
    """These hold so much no more: [holding], its leaf, its holder, cores, memory, thousandths of GPUs.

    How many of them: the next one does not hold as much, and nothing has changed for it.
    """
    _bring_back(tables)
    for place in range(len(holdings)):
        leaf, holder, cpu, memory, gpu = holdings[place]
        here = tables.nodes[leaf]
        if here.cpu < cpu or here.memory < memory or here.gpu < gpu:
            return place
        charge(tables, leaf, holder, -cpu, -memory, -gpu)
    return len(holdings)


@compiled
def block(tables: Tables, shapes: Ints, blocked: int) -> None:
    """They fit nowhere in this round; or may fit after all."""
    for shape in shapes:
        of = tables.shapes[shape]
        changed = of.members if of.blocked != blocked else 0
        of.blocked = blocked
        for place in range(changed):
            leaf = tables.alikes[tables.lists[of.start + place]].leaf
            # Who is blocked is noticed when the first is asked for.
            if not blocked:
                tables.nodes[leaf].head = NOBODY
            _wake(tables, leaf, plain(-1) if blocked else plain(1))
    if not blocked:
        _bring_back(tables)


@compiled
def sleep(tables: Tables, shape: int, asleep: int) -> None:
    """Found out that it fits nowhere, or somewhere: queues with parts are compared in other resources now."""
    if tables.shapes[shape].asleep == asleep:
        return
    tables.shapes[shape].asleep = asleep
    for branch in range(len(tables.waits)):
        if tables.waits[branch, shape]:
            _ask(tables, branch, shape, -1 if asleep else 1)


@compiled
def new_shape(tables: Tables, shape: int, cpu: int, memory: int, gpu: int) -> None:
    """Tasks of a shape come that nobody has waited with."""
    of = tables.shapes[shape]
    of.cpu, of.memory, of.gpu = cpu, memory, gpu
    of.blocked = of.asleep = 0


@compiled
def begin(tables: Tables) -> None:
    """A new round, or another network: everybody is looked at again. Which shapes are blocked is said already."""
    nodes, alikes = tables.nodes, tables.alikes
    for node in range(len(nodes)):
        nodes[node].awake, nodes[node].head = 0, NOBODY
        # Rows that nobody stands in have no weight.
        if nodes[node].weight and nodes[node].branch < 0:
            nodes[node].share = share_of(tables, node)
    for alike in range(tables.round[0].alikes):
        if alikes[alike].count and not tables.shapes[alikes[alike].shape].blocked:
            _wake(tables, alikes[alike].leaf, plain(1))
    _bring_back(tables)


@inner
def _new_alike(tables: Tables, leaf: int, shape: int, rise_ms: int, holder: int) -> int:
    """NOBODY: no row is left."""
    here, alikes = tables.round[0], tables.alikes
    alike = here.free_alike
    if alike == NOBODY:
        if here.alikes == len(alikes):
            return NOBODY
        alike = here.alikes
        here.alikes += 1
    else:
        here.free_alike = alikes[alike].first
    these = alikes[alike]
    these.leaf, these.shape, these.rise_ms, these.holder = leaf, shape, rise_ms, holder
    these.first = these.last = NOBODY
    these.count = 0
    enter(tables, alike)
    list_alike(tables, alike)
    if not tables.shapes[shape].blocked:
        _wake(tables, leaf, plain(1))
    return int(alike)


@inner
def _drop(tables: Tables, alike: int) -> None:
    """Nobody stands in it any more."""
    these = tables.alikes[alike]
    take_out(tables, alike)
    strike_alike(tables, alike)
    if not tables.shapes[these.shape].blocked:
        _wake(tables, these.leaf, plain(-1))
    these.first = tables.round[0].free_alike
    tables.round[0].free_alike = alike


@inner
def _older(tables: Tables, row: int, other: int) -> bool:
    one, two = tables.tasks[row], tables.tasks[other]
    if one.submitted_at != two.submitted_at:
        return bool(one.submitted_at < two.submitted_at)
    return bool(one.id < two.id)


@inner
def _new_first(tables: Tables, alike: int) -> None:
    """The first of them is another one."""
    these = tables.alikes[alike]
    first = tables.tasks[these.first]
    these.submitted_at, these.id = first.submitted_at, first.id


@inner
def _out(tables: Tables, row: int) -> None:
    """Take a task out of the list that it stands in."""
    tasks, here = tables.tasks, tables.round[0]
    mine = tasks[row]
    these = tables.alikes[mine.alike]
    before, after = mine.before, mine.next
    if before == NOBODY:
        these.first = after
    else:
        tasks[before].next = after
    if after == NOBODY:
        these.last = before
    else:
        tasks[after].before = before
    these.count -= 1
    mine.id = NOBODY
    mine.next = here.free_task
    here.free_task = row


@inner
def _placed(tables: Tables, alike: int, count: int) -> None:
    """So many of these have left, for their places."""
    these = tables.alikes[alike]
    asks = tables.shapes[these.shape]
    charge(tables, these.leaf, these.holder, count * asks.cpu, count * asks.memory, count * asks.gpu)
    serve(tables, these.leaf, tables.round[0].now_ms)
    _left(tables, alike, count)


@inner
def _left(tables: Tables, alike: int, count: int) -> None:
    """So many of these have left."""
    these = tables.alikes[alike]
    _comes(tables, these.leaf, these.shape, -count)
    if tables.nodes[these.leaf].head == alike:
        tables.nodes[these.leaf].head = NOBODY
    if these.count:
        _new_first(tables, alike)
    else:
        _drop(tables, alike)


@inner
def _comes(tables: Tables, leaf: int, shape: int, count: int) -> None:
    """So many more of a shape wait in a part of the tree."""
    node = tables.nodes[leaf].parent
    while node != NOBODY:
        branch = tables.nodes[node].branch
        before = tables.waits[branch, shape]
        tables.waits[branch, shape] = before + count
        if (before == 0 or before + count == 0) and not tables.shapes[shape].asleep:
            _ask(tables, branch, shape, 1 if before == 0 else -1)
        node = tables.nodes[node].parent


@inner
def _ask(tables: Tables, branch: int, shape: int, count: int) -> None:
    """One shape more, or one less, asks for its resources."""
    of = tables.shapes[shape]
    tables.asked[branch, 0] += count if of.cpu else 0
    tables.asked[branch, 1] += count if of.memory else 0
    tables.asked[branch, 2] += count if of.gpu else 0


@inner
def _bring_back(tables: Tables) -> None:
    """Parts of which nothing could go any more are looked at again."""
    tables.round[0].stamp += 1


@inner
def _wake(tables: Tables, leaf: int, count: int) -> None:
    """So many more alikes in a part of the tree are not blocked."""
    node = leaf
    while node != NOBODY:
        tables.nodes[node].awake += count
        node = tables.nodes[node].parent
