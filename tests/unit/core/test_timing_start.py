"""When a gang can start: on clusters small enough to say it by heart."""

import numpy as np

from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.timing.claims import FOREVER, Claim, Claims
from offchain.core.timing.releases import Profile
from offchain.core.timing.start import Never, Start, earliest
from tests.support.timing_samples import GPU, HALF, PAIR, gpus, lease, running

RED, BLUE = frozenset({"red"}), frozenset({"blue"})


def start(cluster, leases, shape, pods=1, *, reserved=None, longest_ms=10, at_ms=0):
    profile = Profile(cluster, 0, leases, Claims.of(reserved or []))
    return earliest(profile, shape, pods, longest_ms, at_ms)


def test_a_pod_starts_now_where_there_is_room_and_else_when_the_first_lease_ends():
    cluster = gpus(1, 1)
    leases = running(cluster, lease(0, 50), lease(1, 30))
    assert start(cluster, leases, GPU) == Start(30, (HostSlot(1, 1),))
    assert start(gpus(1, 1), Claims(), GPU) == Start(0, (HostSlot(0, 1),))
    assert start(cluster, leases, GPU, at_ms=40) == Start(40, (HostSlot(1, 1),))
    # Of hosts with the same moment, the first; one with a later moment before them is none of these.
    alike = gpus(1, 1, 1)
    leases = running(alike, lease(0, 50), lease(1, 30), lease(2, 30))
    assert start(alike, leases, GPU) == Start(30, (HostSlot(1, 1),))
    # The same where something is reserved there.
    window = [Claim(1, GPU, 1, 90, 95), Claim(2, GPU, 1, 90, 95)]
    assert start(alike, leases, GPU, reserved=window) == Start(30, (HostSlot(1, 1),))


def test_a_gang_starts_when_all_its_pods_fit_together():
    cluster = gpus(1, 1, 2)
    leases = running(cluster, lease(0, 50), lease(1, 30), lease(2, 20), lease(2, 40, devices=2))
    assert start(cluster, leases, GPU, 2) == Start(30, (HostSlot(1, 1), HostSlot(2, 1)))
    assert start(cluster, leases, PAIR) == Start(40, (HostSlot(2, 0b11),))
    assert start(cluster, leases, GPU, 4).at_ms == 50


def test_what_is_too_much_for_the_empty_cluster_never_starts_and_it_says_why():
    cluster = gpus(1, 1, 4)
    never = start(cluster, Claims(), PodShape(1000, 1024, 2, 1000), 3)
    assert never == Never(3, 2, {"gpus": 2}, 0)
    assert str(never) == (
        "there will never be room for 3 pods: gpus excludes 2 hosts, if nothing else ran there would be room for 2"
    )
    blue = start(cluster, Claims(), PodShape(99_000, 1, 1, 1000, BLUE))
    assert blue == Never(1, 0, {"models": 3}, 0)
    assert start(cluster, Claims(), PodShape(2000, 99_999, 1, 1000, RED)).excluded == {"cpu_milli": 2, "memory_mib": 1}


def test_what_is_held_without_an_end_is_never_free():
    cluster = gpus(1, 1)
    leases = running(cluster, lease(0, FOREVER), lease(1, 30))
    assert start(cluster, leases, GPU).at_ms == 30
    never = start(cluster, leases, GPU, 2)
    assert never == Never(2, 2, {}, 1)
    assert "1 hosts are held without an end" in str(never)


def test_a_lease_that_should_have_ended_holds_its_part_still():
    cluster = gpus(1)
    leases = running(cluster, lease(0, 30))
    assert earliest(Profile(cluster, 100, leases), GPU, 1, 10).at_ms == 101


def test_a_reserved_window_is_left_free_from_its_beginning_to_its_end():
    window = [Claim(0, GPU, 1, 20, 60)]
    assert start(gpus(1), Claims(), GPU, reserved=window, longest_ms=20).at_ms == 0
    assert start(gpus(1), Claims(), GPU, reserved=window, longest_ms=21).at_ms == 60
    assert start(gpus(1), Claims(), GPU, reserved=[Claim(0, GPU, 1, 0, 60)], longest_ms=5).at_ms == 60
    assert start(gpus(2), Claims(), GPU, reserved=window, longest_ms=99) == Start(0, (HostSlot(0, 0b10),))


def test_a_host_counts_no_longer_than_a_start_there_ends_before_its_window():
    cluster = gpus(1, 1)
    leases = running(cluster, lease(1, 11))
    window = [Claim(0, GPU, 1, 20, 60)]
    assert start(cluster, leases, GPU, 2, reserved=window, longest_ms=9).at_ms == 11
    assert start(cluster, leases, GPU, 2, reserved=window, longest_ms=10).at_ms == 60


def test_windows_that_follow_each_other_do_not_add_up():
    windows = [Claim(0, HALF, 1, 10, 20), Claim(0, HALF, 1, 20, 30)]
    assert start(gpus(1), Claims(), HALF, reserved=windows, longest_ms=100).at_ms == 0


def test_a_window_that_begins_as_a_lease_ends_does_not_meet_it():
    cluster = gpus(2)
    leases = running(cluster, lease(0, 20))
    window = [Claim(0, GPU, 1, 20, 60)]
    assert start(cluster, leases, GPU, reserved=window, longest_ms=99) == Start(0, (HostSlot(0, 0b10),))


def test_pods_that_need_parts_of_several_gpus_are_counted_as_they_fit():
    both = PodShape(0, 0, 2, 400)
    cluster = gpus(3)
    leases = running(cluster, lease(0, 50, PodShape(0, 0, 1, 600), 0b1), lease(0, 60, PodShape(0, 0, 1, 600), 0b10))
    found = start(cluster, leases, both, 2)
    assert found.at_ms == 0
    assert [place.devices & 0b100 for place in found.places] == [0b100, 0b100]


def test_claims_are_kept_by_key_and_the_latest_counts():
    claims = Claims()
    for key in range(100):
        claims.put(key, lease(key, 1000 + key))
    for key in range(99):
        claims.drop(key)
    assert len(claims) == 1
    assert 99 in claims
    assert 0 not in claims
    assert claims.rows.tolist() == [[99, 1000, 1024, 1000, 1, 0, 1099]]
    claims.put(99, lease(7, 5))
    assert claims.rows[:, 0].tolist() == [7]


def test_a_profile_leaves_the_cluster_as_it_is():
    cluster = gpus(2, 2)
    before = [column.copy() for column in cluster.free]
    profile = Profile(cluster, 0, Claims(), Claims.of([Claim(0, GPU, 1, 0, 9)]))
    profile.add([Claim(1, GPU, 1, 0, 9), Claim(1, GPU, 1, 5, 9)])
    assert all(np.array_equal(was, now) for was, now in zip(before, cluster.free, strict=True))
