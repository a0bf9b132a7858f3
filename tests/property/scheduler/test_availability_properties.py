"""Properties of earliest starts, reservations and backfill."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.availability import Allocation
from offchain.core.scheduler.cluster import Cluster, HostSpec
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.reservations import ReservationRequest, earliest_start
from tests.support.examples import examples
from tests.support.placing_samples import is_feasible
from tests.support.reservation_samples import (
    GPU,
    HALF,
    PAIR,
    Job,
    Replay,
    SampleBackfill,
    gpus,
    most_pods,
    profile_of,
    room_of,
)

MODELS = ("red", "blue")
LAST = 40
TRIPLE = PodShape(3000, 3072, 3, 1000)

clusters = st.lists(
    st.builds(
        HostSpec,
        name=st.just("host"),
        cpu_milli=st.integers(1, 6).map(lambda cores: cores * 1000),
        memory_mib=st.just(8192),
        gpus=st.integers(0, 3),
        model=st.sampled_from(MODELS),
    ),
    min_size=1,
    max_size=3,
).map(lambda specs: Cluster.of([replace(spec, name=f"host-{place}") for place, spec in enumerate(specs)]))


@st.composite
def shapes(draw):
    cpu = draw(st.integers(0, 3)) * 1000
    many = draw(st.sampled_from([0, 1, 1, 1, 2]))
    if not many:
        return PodShape(max(cpu, 1000), 1024)
    milli = draw(st.sampled_from([300, 500, 1000]))
    return PodShape(cpu, 1024, many, milli, draw(st.sampled_from([frozenset(), frozenset({"red"})])))


@st.composite
def busy(draw):
    """A cluster at work: leases, windows that may begin at any time, and what is reserved without being asked for."""
    cluster = draw(clusters)
    leases = []
    for shape in draw(st.lists(shapes(), max_size=6)):
        host = draw(st.integers(0, len(cluster) - 1))
        devices = room_of(cluster, host).pick_devices(shape)
        if devices >= 0 and is_feasible(cluster, host, shape):
            cluster.take(host, shape, devices)
            leases.append(Allocation(host, shape, devices, 0, draw(st.integers(1, 20))))
    windows = []
    for shape in draw(st.lists(shapes(), max_size=3)):
        host = draw(st.integers(0, len(cluster) - 1))
        begin = draw(st.integers(0, 20))
        windows.append(Allocation(host, shape, (1 << shape.gpus) - 1, begin, begin + draw(st.integers(1, 10))))
    return cluster, leases, windows


def rooms(cluster, leases, windows, host, moments):
    """The least that is free of the host in all these moments, one looked at after the other."""
    least = room_of(cluster, host)
    for moment in moments:
        now = room_of(cluster, host)
        for claim in leases:
            if claim.host == host and claim.until_ms <= moment:
                now.give(claim.shape, claim.devices)
        for claim in windows:
            if claim.host == host and claim.from_ms <= moment < claim.until_ms:
                now.take(claim.shape, claim.devices)
        least.cpu_milli = min(least.cpu_milli, now.cpu_milli) if moment != moments[0] else now.cpu_milli
        least.memory_mib = min(least.memory_mib, now.memory_mib) if moment != moments[0] else now.memory_mib
        least.device = np.minimum(least.device, now.device) if moment != moments[0] else now.device
    return least


@settings(max_examples=examples(60))
@given(busy(), shapes(), st.integers(1, 3), st.integers(1, 8))
def test_a_gang_starts_at_the_first_moment_at_which_it_fits_to_its_end(work, shape, pods, longest_ms):
    cluster, leases, windows = work
    hosts = [
        i
        for i in range(len(cluster))
        if not shape.models or cluster.classes[cluster.free.main_class[i]].model in shape.models
    ]

    def fit(at):
        times = range(at, at + longest_ms)
        have = (most_pods(rooms(cluster, leases, windows, host, times), shape, pods) for host in hosts)
        return sum(have) >= pods

    profile = profile_of(cluster, leases, windows)
    start = earliest_start(profile, shape, pods, longest_ms)
    at = next((moment for moment in range(LAST) if fit(moment)), None)
    assert (None if start is None else start.at_ms) == at
    if start is not None:
        claims = [Allocation(place.host, shape, place.devices, at, at + longest_ms) for place in start.places]
        assert len(claims) == pods
        assert {place.host for place in start.places} <= set(hosts)
        assert all(place.devices.bit_count() == shape.gpus for place in start.places)
        assert profile.fits(claims)
        # What was added and removed leaves no trace.
        profile.add(claims)
        profile.remove(claims)
        assert earliest_start(profile, shape, pods, longest_ms).at_ms == at


@settings(max_examples=examples(60))
@given(busy(), shapes(), st.integers(1, 3), st.integers(1, 8), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_a_spread_gang_starts_at_the_first_moment_at_which_enough_groups_have_room(
    work, shape, pods, longest_ms, groups
):
    cluster, leases, windows = work
    groups = np.array(groups[: len(cluster)], dtype=np.int64)
    hosts = [
        i
        for i in range(len(cluster))
        if not shape.models or cluster.classes[cluster.free.main_class[i]].model in shape.models
    ]

    def open_groups(at):
        times = range(at, at + longest_ms)
        return {groups[host] for host in hosts if most_pods(rooms(cluster, leases, windows, host, times), shape, 1)}

    profile = profile_of(cluster, leases, windows)
    start = earliest_start(profile, shape, pods, longest_ms, groups=groups)
    at = next((moment for moment in range(LAST) if len(open_groups(moment)) >= pods), None)
    assert (None if start is None else start.at_ms) == at
    if start is None:
        return
    claims = [Allocation(place.host, shape, place.devices, at, at + longest_ms) for place in start.places]
    assert len(claims) == pods == len({groups[place.host] for place in start.places})
    assert profile.fits(claims)


@settings(max_examples=examples(60))
@given(busy(), st.lists(st.tuples(shapes(), st.integers(0, 2), st.integers(1, 30)), max_size=6))
def test_a_backfill_updated_by_placements_equals_a_new_one(work, pods):
    cluster, leases, windows = work
    profile = profile_of(cluster, leases, windows)
    kept = SampleBackfill(profile)
    for shape, index, ends_ms in pods:
        host = index % len(cluster)
        fresh = SampleBackfill(profile)
        devices = room_of(cluster, host).pick_devices(shape)
        if devices < 0 or not is_feasible(cluster, host, shape):
            continue
        claim = Allocation(host, shape, devices, 0, ends_ms)
        chosen = np.zeros(len(cluster), dtype=np.int64)
        chosen[host] = devices
        may = kept.is_allowed(host, shape, devices, ends_ms)
        assert (
            may == fresh.is_allowed(host, shape, devices, ends_ms) == kept.allowed_hosts(shape, chosen, ends_ms)[host]
        )
        if kept.is_reserved(host):
            assert may == profile.fits([claim])
        if may:
            cluster.take(host, shape, devices)
            kept.place(host, shape, devices, ends_ms)
            profile.add([claim])


@st.composite
def jobs(draw):
    """So many at once that most have to wait; half of them take all their time, as reservations assume."""
    made = []
    for task in range(draw(st.integers(5, 14))):
        shape = draw(st.sampled_from([HALF, GPU, GPU, PAIR, TRIPLE]))
        longest = draw(st.integers(1, 15))
        waiting = ReservationRequest(task, shape, draw(st.sampled_from([1, 1, 1, 2])), longest, draw(st.integers(0, 6)))
        made.append(Job(waiting, draw(st.just(longest) | st.integers(1, longest))))
    return made


@settings(max_examples=examples(60))
@given(st.lists(st.integers(1, 3), min_size=1, max_size=2), jobs(), st.integers(1, 3), st.sampled_from([0, 10, 1000]))
def test_with_backfill_no_task_starts_later_than_promised(counts, work, depth, patience_ms):
    cluster = gpus(*counts)
    empty = profile_of(cluster)
    work = [job for job in work if earliest_start(empty, job.waiting.shape, job.waiting.pods, 1) is not None]
    replay = Replay(cluster, depth, patience_ms, lambda one: (one.since_ms, one.task))
    replay.run(work)
    assert len(replay.started) == len(work)
    late = {task: (replay.started[task], at) for task, at in replay.promised.items() if replay.started[task] > at}
    assert not late
