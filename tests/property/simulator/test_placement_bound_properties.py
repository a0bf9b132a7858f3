"""The upper bound on small clusters: no policy exceeds it, not even the best one, found by enumeration."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.demand import DemandDistribution
from offchain.core.scheduler.pod_request import WHOLE_GPU, PodShape
from offchain.simulator.policies import make_policy
from offchain.simulator.production import ProductionPlacer
from offchain.simulator.sim_score_cache import SimScoreCache
from tests.benchmarks.placement_bound import allocation_bound
from tests.support.examples import examples

TOLERANCE = 1e-5
"""In percent: that of the solver."""

hosts = st.lists(
    st.tuples(st.integers(2, 8), st.integers(4, 16), st.integers(0, 2), st.sampled_from(["red", "blue"])),
    min_size=1,
    max_size=2,
).map(
    lambda found: [
        HostSpec(f"host-{index}", 1000 * cores, 1024 * gib, gpus, model)
        for index, (cores, gib, gpus, model) in enumerate([*found, (8, 16, 1, "red")])
    ]
)


@st.composite
def pods(draw):
    cpu, memory = draw(st.integers(0, 4)) * 1000, draw(st.integers(0, 4)) * 1024
    gpus = draw(st.sampled_from([0, 1, 1, 1, 2]))
    if not gpus:
        return PodShape(cpu, memory)
    milli = draw(st.sampled_from([190, 320, 470, 810, WHOLE_GPU]))
    models = draw(st.sampled_from([frozenset(), frozenset(), frozenset({"red"})]))
    account = draw(st.sampled_from(["alice", "bob"])) if milli < WHOLE_GPU else ""
    return PodShape(cpu, memory, gpus, milli, models, account=account)


def best(specs, arrivals, *, may_refuse):
    """The most thousandths that any choice of hosts and devices for each pod allocates in the end."""
    seen = {}

    def follow(index, state):
        if index == len(arrivals):
            return 0
        if (index, state) not in seen:
            shape = arrivals[index]
            found = [shape.total_milli + follow(index + 1, after) for after in placements(specs, state, shape)]
            if may_refuse or not found:
                found.append(follow(index + 1, state))
            seen[index, state] = max(found)
        return seen[index, state]

    return follow(0, tuple((spec.cpu_milli, spec.memory_mib, ((WHOLE_GPU, ""),) * spec.gpus) for spec in specs))


def placements(specs, state, shape):
    """Every different state after the pod was placed somewhere. A device: what is free, and of whom the shares are."""
    found = set()
    for host, (cpu, memory, devices) in enumerate(state):
        if (
            cpu < shape.cpu_milli
            or memory < shape.memory_mib
            or (shape.models and specs[host].model not in shape.models)
        ):
            continue
        usable = [
            index
            for index, (free, owner) in enumerate(devices)
            if free >= shape.gpu_milli and (not shape.account or owner in ("", shape.account))
        ]
        for chosen in combinations(usable, shape.gpus):
            after = [
                (free - shape.gpu_milli, shape.account) if index in chosen else (free, owner)
                for index, (free, owner) in enumerate(devices)
            ]
            changed = cpu - shape.cpu_milli, memory - shape.memory_mib, tuple(sorted(after))
            found.add((*state[:host], changed, *state[host + 1 :]))
    return found


@settings(max_examples=examples(60), deadline=None)
@given(specs=hosts, arrivals=st.lists(pods(), min_size=1, max_size=7), accounts=st.booleans())
def test_no_policy_exceeds_the_bound(specs, arrivals, accounts):
    if not accounts:
        arrivals = [PodShape(one.cpu_milli, one.memory_mib, one.gpus, one.gpu_milli, one.models) for one in arrivals]
    total = WHOLE_GPU * sum(spec.gpus for spec in specs)
    optimum, free_optimum = (100 * best(specs, arrivals, may_refuse=choice) / total for choice in (False, True))
    bound, free_bound = (allocation_bound(specs, arrivals, may_refuse=choice) for choice in (False, True))
    assert optimum <= bound + TOLERANCE
    assert free_optimum <= free_bound + TOLERANCE
    assert bound <= free_bound + TOLERANCE
    # An account is needed for each share in production; without accounts all are of one.
    production = ProductionPlacer(specs, 1)
    reached = sum(shape.total_milli for shape in arrivals if production.place(shape))
    cluster = Cluster.of(specs)
    scores = SimScoreCache(cluster, make_policy("fgd", cluster, DemandDistribution.of(arrivals)), 1)
    published = sum(shape.total_milli for shape in arrivals if scores.place(shape) is not None)
    assert 100 * reached / total <= optimum + TOLERANCE
    assert 100 * published / total <= optimum + TOLERANCE


@pytest.mark.parametrize(
    ("arrivals", "may_refuse", "percent"),
    [
        ([PodShape(1000, 1024, 1, 810), PodShape(1000, 1024, 1, 190)], False, 100.0),
        # A GPU holds two shares of 470, and with them nothing of 320.
        ([PodShape(1000, 1024, 1, 470)] * 3 + [PodShape(1000, 1024, 1, 320)], True, 94.0),
        # The share comes first and must be placed, so that the whole GPU finds none; the program divides both.
        ([PodShape(1000, 1024, 1, 470), PodShape(1000, 1024, 1, 1000)], True, 100.0),
        ([PodShape(1000, 1024, 1, 470), PodShape(1000, 1024, 1, 1000)], False, 73.5),
        # Two accounts cannot share the GPU.
        ([PodShape(1000, 1024, 1, 470, account="alice"), PodShape(1000, 1024, 1, 470, account="bob")], True, 47.0),
    ],
)
def test_bounds_that_are_known(arrivals, may_refuse, percent):
    host = HostSpec("a", 8000, 8192, 1, "red")
    assert allocation_bound([host], arrivals, may_refuse=may_refuse) == pytest.approx(percent)
