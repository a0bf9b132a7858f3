"""Properties of preemption."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.entitlements import NO_PARENT, EntitlementNode, Entitlements
from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount
from offchain.core.scheduler.preemption import (
    PreemptionDecision,
    PreemptionHistory,
    PreemptionPolicy,
    PreemptionRefused,
    Preemptor,
    preempt,
)
from offchain.core.scheduler.victim_sets import RunningTask
from tests.property.scheduler.test_availability_properties import clusters, shapes
from tests.support.examples import examples
from tests.support.placing_samples import is_feasible
from tests.support.queue_samples import OWN
from tests.support.reservation_samples import fits, room_of

NOW = 10_000
RULES = PreemptionPolicy(notice_ms=10)


@st.composite
def work(draw):
    """A cluster, and who runs there; some over several hosts."""
    cluster = draw(clusters)
    running = []
    for task in range(draw(st.integers(1, 7))):
        shape, places = draw(shapes()), []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            host = draw(st.integers(0, len(cluster) - 1))
            devices = room_of(cluster, host).pick_devices(shape)
            if devices >= 0 and is_feasible(cluster, host, shape):
                cluster.take(host, shape, devices)
                places.append(HostSlot(host, devices))
        if places:
            one = RunningTask(
                task,
                0,
                draw(st.integers(0, 3)),
                draw(st.sampled_from([True, True, True, False])),
                shape,
                tuple(places),
                draw(st.integers(1, 9)),
                draw(st.integers(0, NOW)),
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
@given(work(), shapes(), st.integers(1, 3), st.integers(0, 3), groups)
def test_victims_are_eligible_enough_and_needed(work, shape, pods, priority, groups):
    cluster, running = work
    preemptor = Preemptor(99, "mine", priority, shape, pods)
    apart = None if groups is None else np.array(groups[: len(cluster)], dtype=np.int64)
    done = preempt(preemptor, running, cluster, NOW, RULES, PreemptionHistory(), OWN, groups=apart)
    may = [one for one in running if one.spot and one.priority < priority]

    def enough(gone):
        return without(cluster, gone, lambda: fits_apart(cluster, shape, pods, groups))

    assert (done is PreemptionRefused.FITS) == enough([])
    assert isinstance(done, PreemptionDecision) == (not enough([]) and enough(may))
    if not isinstance(done, PreemptionDecision):
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
    cost = sum(RULES.cost(one, NOW) for one in done.victims)
    if pods == 1:
        sets = [some for many in range(1, len(may) + 1) for some in combinations(may, many)]
        assert cost == min(sum(RULES.cost(one, NOW) for one in some) for some in sets if enough(some))


PARTS = 3
"""Beside each other in the root, which is node 0; the last of them asks."""


@settings(max_examples=examples(250))
@given(work(), shapes(), st.integers(1, 3), groups, st.data())
def test_victims_found_by_exhaustive_search_are_found(work, shape, pods, groups, data):
    cluster, running = work
    running = [replace(one, leaf=data.draw(st.integers(1, PARTS)), spot=True) for one in running]
    totals = ResourceAmount(
        *(int(column.sum()) for column in (cluster.whole.cpu, cluster.whole.memory, cluster.whole.device))
    )
    nodes = [EntitlementNode(NO_PARENT, 1.0, NO_RESOURCES, 1.0)]
    for part in range(1, PARTS + 1):
        held = NO_RESOURCES
        for one in running:
            held = held.plus(one.amount) if one.leaf == part else held
        right = data.draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
        nodes.append(EntitlementNode(0, data.draw(st.sampled_from([1.0, 3.0])), held, right))
    preemptor = Preemptor(99, "mine", 9, shape, pods)
    policies = Entitlements(totals, nodes).reclaim_policies(PARTS, preemptor.amount)
    apart = None if groups is None else np.array(groups[: len(cluster)], dtype=np.int64)
    done = preempt(preemptor, running, cluster, NOW, RULES, PreemptionHistory(), policies, groups=apart)

    def held_by(some):
        return [(one.leaf, one.amount) for one in some]

    def enough(gone):
        return without(cluster, gone, lambda: fits_apart(cluster, shape, pods, groups))

    ways = []
    for policy in policies:
        may = [one for one in running if policy.is_open(one.leaf)]
        sets = [some for many in range(1, len(may) + 1) for some in combinations(may, many)]
        ways.append([some for some in sets if policy.allows(held_by(some)) and enough(some)])
    if enough([]):
        assert done is PreemptionRefused.FITS
        return
    assert isinstance(done, PreemptionDecision) == any(ways)
    if isinstance(done, PreemptionDecision):
        at = next(at for at, found in enumerate(ways) if found)
        assert policies[at].allows(held_by(done.victims))
        assert enough(done.victims)
        if pods == 1:
            cost = sum(RULES.cost(one, NOW) for one in done.victims)
            assert cost == min(sum(RULES.cost(one, NOW) for one in some) for some in ways[at])
