"""Earliest start times on small clusters."""

import numpy as np

from offchain.core.scheduler.availability import Allocation, AvailabilityProfile
from offchain.core.scheduler.availability_kernels import FOREVER
from offchain.core.scheduler.cluster import HostSlot
from offchain.core.scheduler.pod_request import PodShape
from offchain.core.scheduler.reservations import EarliestStart, earliest_start
from tests.support.reservation_samples import GPU, HALF, PAIR, gpus, lease, lease_ends, profile_of, running

RED, BLUE = frozenset({"red"}), frozenset({"blue"})


def start(cluster, leases, shape, pods=1, *, reserved=None, longest_ms=10):
    profile = AvailabilityProfile(cluster, 0, leases)
    profile.add(reserved or [])
    return earliest_start(profile, shape, pods, longest_ms)


def test_a_pod_starts_now_if_it_fits_and_else_when_the_first_lease_ends():
    cluster = gpus(1, 1)
    leases = running(cluster, lease(0, 50), lease(1, 30))
    assert start(cluster, leases, GPU) == EarliestStart(30, (HostSlot(1, 1),))
    assert start(gpus(1, 1), lease_ends(), GPU) == EarliestStart(0, (HostSlot(0, 1),))
    # Of hosts with the same moment, the first; one with a later moment before them is none of these.
    alike = gpus(1, 1, 1)
    leases = running(alike, lease(0, 50), lease(1, 30), lease(2, 30))
    assert start(alike, leases, GPU) == EarliestStart(30, (HostSlot(1, 1),))
    # The same where something is reserved there.
    window = [Allocation(1, GPU, 1, 90, 95), Allocation(2, GPU, 1, 90, 95)]
    assert start(alike, leases, GPU, reserved=window) == EarliestStart(30, (HostSlot(1, 1),))


def test_a_gang_starts_when_all_its_pods_fit_together():
    cluster = gpus(1, 1, 2)
    leases = running(cluster, lease(0, 50), lease(1, 30), lease(2, 20), lease(2, 40, devices=2))
    assert start(cluster, leases, GPU, 2) == EarliestStart(30, (HostSlot(1, 1), HostSlot(2, 1)))
    assert start(cluster, leases, PAIR) == EarliestStart(40, (HostSlot(2, 0b11),))
    assert start(cluster, leases, GPU, 4).at_ms == 50


def test_a_gang_that_exceeds_the_empty_cluster_never_starts():
    cluster = gpus(1, 1, 4)
    assert start(cluster, lease_ends(), PodShape(1000, 1024, 2, 1000), 3) is None
    assert start(cluster, lease_ends(), PodShape(99_000, 1, 1, 1000, BLUE)) is None
    assert start(cluster, lease_ends(), PodShape(2000, 99_999, 1, 1000, RED)) is None


def test_resources_allocated_without_an_end_are_never_free():
    cluster = gpus(1, 1)
    leases = running(cluster, lease(0, FOREVER), lease(1, 30))
    assert start(cluster, leases, GPU).at_ms == 30
    assert start(cluster, leases, GPU, 2) is None


def test_an_overdue_lease_still_uses_its_resources():
    cluster = gpus(1)
    leases = running(cluster, lease(0, 30))
    assert earliest_start(AvailabilityProfile(cluster, 100, leases), GPU, 1, 10).at_ms == 101


def test_a_window_is_left_free_from_its_beginning_to_its_end():
    window = [Allocation(0, GPU, 1, 20, 60)]
    assert start(gpus(1), lease_ends(), GPU, reserved=window, longest_ms=20).at_ms == 0
    assert start(gpus(1), lease_ends(), GPU, reserved=window, longest_ms=21).at_ms == 60
    assert start(gpus(1), lease_ends(), GPU, reserved=[Allocation(0, GPU, 1, 0, 60)], longest_ms=5).at_ms == 60
    assert start(gpus(2), lease_ends(), GPU, reserved=window, longest_ms=99) == EarliestStart(0, (HostSlot(0, 0b10),))


def test_a_host_counts_no_longer_than_a_start_there_ends_before_its_window():
    cluster = gpus(1, 1)
    leases = running(cluster, lease(1, 11))
    window = [Allocation(0, GPU, 1, 20, 60)]
    assert start(cluster, leases, GPU, 2, reserved=window, longest_ms=9).at_ms == 11
    assert start(cluster, leases, GPU, 2, reserved=window, longest_ms=10).at_ms == 60


def test_windows_that_follow_each_other_do_not_add_up():
    windows = [Allocation(0, HALF, 1, 10, 20), Allocation(0, HALF, 1, 20, 30)]
    assert start(gpus(1), lease_ends(), HALF, reserved=windows, longest_ms=100).at_ms == 0


def test_a_window_that_begins_when_a_lease_ends_does_not_overlap_with_it():
    cluster = gpus(2)
    leases = running(cluster, lease(0, 20))
    window = [Allocation(0, GPU, 1, 20, 60)]
    assert start(cluster, leases, GPU, reserved=window, longest_ms=99) == EarliestStart(0, (HostSlot(0, 0b10),))


def test_pods_that_need_parts_of_several_gpus_are_counted_as_they_fit():
    both = PodShape(0, 0, 2, 400)
    cluster = gpus(3)
    leases = running(cluster, lease(0, 50, PodShape(0, 0, 1, 600), 0b1), lease(0, 60, PodShape(0, 0, 1, 600), 0b10))
    found = start(cluster, leases, both, 2)
    assert found.at_ms == 0
    assert [place.devices & 0b100 for place in found.places] == [0b100, 0b100]


def test_a_profile_leaves_the_cluster_as_it_is():
    cluster = gpus(2, 2)
    before = [column.copy() for column in cluster.free]
    profile = profile_of(cluster, reserved=[Allocation(0, GPU, 1, 0, 9)])
    profile.add([Allocation(1, GPU, 1, 0, 9), Allocation(1, GPU, 1, 5, 9)])
    assert all(np.array_equal(was, now) for was, now in zip(before, cluster.free, strict=True))
