"""Pods that are to lie apart have reserved starts: the first at which they can, and no sooner."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.core.timing.claims import Claim, Claims
from offchain.core.timing.releases import Profile
from offchain.core.timing.start import Never, Start, earliest
from tests.property.core.test_timing_properties import LAST, busy, rooms, shapes
from tests.support.examples import examples
from tests.support.timing_samples import most_pods


@settings(max_examples=examples(60))
@given(busy(), shapes(), st.integers(1, 3), st.integers(1, 8), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_a_spread_gang_starts_at_the_first_moment_at_which_so_many_groups_of_hosts_have_room(
    work, shape, pods, longest_ms, groups
):
    cluster, leases, windows = work
    apart = np.array(groups[: len(cluster)], dtype=np.int64)
    hosts = [
        i
        for i in range(len(cluster))
        if not shape.models or cluster.classes[cluster.free.main_class[i]].model in shape.models
    ]

    def open_groups(at):
        times = range(at, at + longest_ms)
        return {groups[host] for host in hosts if most_pods(rooms(cluster, leases, windows, host, times), shape, 1)}

    profile = Profile(cluster, 0, Claims.of(leases), Claims.of(windows))
    start = earliest(profile, shape, pods, longest_ms, apart=apart)
    at = next((moment for moment in range(LAST) if len(open_groups(moment)) >= pods), None)
    assert (start.at_ms if isinstance(start, Start) else None) == at
    if isinstance(start, Never):
        assert start.room <= len(set(groups))
        return
    claims = [Claim(place.host, shape, place.devices, at, at + longest_ms) for place in start.places]
    assert len(claims) == pods == len({groups[place.host] for place in start.places})
    assert profile.holds(claims)
