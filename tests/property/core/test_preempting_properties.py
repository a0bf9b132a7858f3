"""Whatever runs: only those leave who may, are enough, and are needed."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.preempting.rules import Past, Preemption, Rules, Running, Wanting
from offchain.core.preempting.victims import Refused, preempt
from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.rights import ABOVE_ROOT, Node, Rights
from offchain.core.scheduler.cluster import HostSlot
from tests.property.core.test_timing_properties import clusters, shapes
from tests.support.examples import examples
from tests.support.placing_samples import is_feasible
from tests.support.queue_samples import OWN
from tests.support.timing_samples import fits, room_of

NOW = 10_000
RULES = Rules(notice_ms=10)


@st.composite
def work(draw):
    """A cluster, and who runs there; some over several hosts."""
    cluster = draw(clusters)
    running = []
    for task in range(draw(st.integers(1, 7))):
        shape, places = draw(shapes()), []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            host = draw(st.integers(0, len(cluster) - 1))
            devices = room_of(cluster, host).pick(shape)
            if devices >= 0 and is_feasible(cluster, host, shape):
                cluster.take(host, shape, devices)
                places.append(HostSlot(host, devices))
        if places:
            one = Running(
                task,
                0,
                draw(st.integers(0, 3)),
                draw(st.sampled_from([True, True, True, False])),
                shape,
                tuple(places),
                draw(st.integers(1, 9)),
                0,
                draw(st.none() | st.integers(0, NOW)),
                draw(st.integers(0, 99)),
            )
            running.append(one)
    return cluster, running


def without(cluster, gone, then):
    """What `then` says of the cluster when these have ended."""
    for one in gone:
        for place in one.places:
            cluster.release(place.host, one.shape, place.devices)
    said = then()
    for one in gone:
        for place in one.places:
            cluster.take(place.host, one.shape, place.devices)
    return said


groups = st.none() | st.lists(st.integers(0, 2), min_size=3, max_size=3)
"""Of the hosts: of those with the same number one takes a pod of the gang; None: as many as have room."""


def fits_apart(cluster, shape, pods, apart):
    """Whether all of them have room now, one on the hosts of each group."""
    if apart is None:
        return fits(cluster, shape, pods)
    return len({apart[host] for host in range(len(cluster)) if is_feasible(cluster, host, shape)}) >= pods


@settings(max_examples=examples(120))
@given(work(), shapes(), st.integers(1, 3), st.integers(0, 3), st.frozensets(st.integers(0, 6), max_size=2), groups)
def test_only_those_leave_who_may_are_enough_and_are_needed(work, shape, pods, priority, leaving, groups):
    cluster, running = work
    wanting = Wanting(99, "mine", priority, shape, pods, 1000)
    apart = None if groups is None else np.array(groups[: len(cluster)], dtype=np.int64)
    done = preempt(wanting, running, cluster, NOW, RULES, Past(leaving=leaving), OWN, apart=apart)
    may = [one for one in running if one.spot and one.priority < priority and one.task not in leaving]

    def enough(gone):
        return without(cluster, gone, lambda: fits_apart(cluster, shape, pods, groups))

    assert (done is Refused.FITS) == enough([])
    assert isinstance(done, Preemption) == (not enough([]) and enough(may))
    if not isinstance(done, Preemption):
        return
    assert set(done.victims) <= set(may)
    for victim in done.victims:
        assert not enough([one for one in done.victims if one is not victim])

    def places():
        for place in done.places:
            cluster.take(place.host, shape, place.devices)
        for place in done.places:
            cluster.release(place.host, shape, place.devices)
        return len(done.places)

    assert without(cluster, done.victims, places) == pods
    if groups is not None:
        assert len({groups[place.host] for place in done.places}) == pods
    assert done.cost == sum(RULES.cost(one, NOW) for one in done.victims)
    if pods == 1:
        sets = [some for many in range(1, len(may) + 1) for some in combinations(may, many)]
        assert done.cost == min(sum(RULES.cost(one, NOW) for one in some) for some in sets if enough(some))


PARTS = 3
"""Beside each other in the root, which is node 0; the last of them asks."""


@settings(max_examples=examples(250))
@given(work(), shapes(), st.integers(1, 3), groups, st.data())
def test_whom_a_plain_search_finds_among_those_who_may_leave_is_found(work, shape, pods, groups, data):
    cluster, running = work
    running = [replace(one, part=data.draw(st.integers(1, PARTS)), spot=True) for one in running]
    totals = Amount(*(int(column.sum()) for column in (cluster.whole.cpu, cluster.whole.memory, cluster.whole.device)))
    nodes = [Node(ABOVE_ROOT, 1.0, NOTHING, 1.0)]
    for part in range(1, PARTS + 1):
        held = NOTHING
        for one in running:
            held = held.plus(one.amount) if one.part == part else held
        right = data.draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
        nodes.append(Node(0, data.draw(st.sampled_from([1.0, 3.0])), held, right))
    wanting = Wanting(99, "mine", 9, shape, pods, 1000)
    takings = Rights(totals, nodes).taking(PARTS, wanting.amount)
    apart = None if groups is None else np.array(groups[: len(cluster)], dtype=np.int64)
    done = preempt(wanting, running, cluster, NOW, RULES, Past(), takings, apart=apart)

    def held_by(some):
        return [(one.part, one.amount) for one in some]

    def enough(gone):
        return without(cluster, gone, lambda: fits_apart(cluster, shape, pods, groups))

    ways = []
    for taking in takings:
        may = [one for one in running if taking.open(one.part)]
        sets = [some for many in range(1, len(may) + 1) for some in combinations(may, many)]
        ways.append([some for some in sets if taking.allows(held_by(some)) and enough(some)])
    if enough([]):
        assert done is Refused.FITS
        return
    assert isinstance(done, Preemption) == any(ways)
    if isinstance(done, Preemption):
        at = next(at for at, found in enumerate(ways) if found)
        assert takings[at].allows(held_by(done.victims))
        assert enough(done.victims)
        if pods == 1:
            assert done.cost == min(sum(RULES.cost(one, NOW) for one in some) for some in ways[at])
