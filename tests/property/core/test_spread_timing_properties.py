"""Pods that are to lie groups have reserved starts: the first at which they can, and no sooner."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.scheduler.availability import Allocation
from offchain.core.scheduler.reservations import earliest_start
from tests.property.core.test_timing_properties import LAST, busy, rooms, shapes
from tests.support.examples import examples
from tests.support.timing_samples import most_pods, profile_of


@settings(max_examples=examples(60))
@given(busy(), shapes(), st.integers(1, 3), st.integers(1, 8), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_a_spread_gang_starts_at_the_first_moment_at_which_so_many_groups_of_hosts_have_room(
    work, shape, pods, longest_ms, groups
):
    cluster, leases, windows = work
    groups = np.array(groups[: len(cluster)], dtype=np.int64)
    hosts = [
        i for i in range(len(cluster)) if not shape.models or cluster.kinds[cluster.free.main[i]].model in shape.models
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
