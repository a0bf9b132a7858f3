"""The scheduler's fast forms of feasibility are the rule of core/feasibility.py, host by host."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.feasibility import Fit, Misfit, count_pods, first_devices, fit, fits
from offchain.core.scheduler import filters
from offchain.core.scheduler.availability_kernels import pods_that_fit
from offchain.core.scheduler.columns import device_bits
from offchain.core.scheduler.device_choice import KernelRequest, fullest_devices
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.placement import Planner
from offchain.core.scheduler.plan import UnschedulableTask
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.scheduler.reservation_manager import is_uniform
from offchain.core.scheduler.unschedulable import UnschedulableIndex
from offchain.core.values import Host, Task
from tests.support.core_strategies import HOST_IDS, hosts_with, tasks_with

fleets = st.lists(st.sampled_from(HOST_IDS), unique=True).flatmap(
    lambda names: st.tuples(*(hosts_with(name) for name in names))
)
MISFITS = tuple(Misfit)


def of_records(hosts: tuple[Host, ...]) -> HostTable:
    fleet = HostTable()
    fleet.put(hosts)
    return fleet


def has_resources(host: Host, request: PodRequest) -> bool:
    """Whether a pod fits by free resources and devices alone."""
    devices = first_devices(host.devices, request.shape)
    return not isinstance(devices, Misfit) and fits(host.free, host.devices, request.shape, devices) is None


@given(fleets, tasks_with(1))
def test_each_host_is_excluded_for_the_same_reason_as_on_the_chain(hosts: tuple[Host, ...], task: Task):
    fleet, request = of_records(hosts), PodRequest.of(task)
    found = filters.first_misfits(request, fleet.attributes, fleet.cluster).tolist()
    for host in hosts:
        place = found[fleet.cluster.row(host.id)]
        verdict = fit(host, request)
        expected = verdict if isinstance(verdict, Misfit) else None
        if expected is Misfit.PRICE and place == -1:
            continue  # Columns look at the cheapest devices; the planner asks the exact rule for those it chooses.
        assert (None if place == -1 else MISFITS[place]) == expected


@given(fleets, tasks_with(1))
def test_free_resources_of_each_host_suffice_by_columns_as_by_records(hosts: tuple[Host, ...], task: Task):
    fleet, request = of_records(hosts), PodRequest.of(task)
    cluster, shape = fleet.cluster, request.shape
    kernel_request = KernelRequest.of(shape, cluster)
    for host in hosts:
        row, expected = cluster.row(host.id), has_resources(host, request)
        devices = fullest_devices(row, cluster.free, kernel_request)
        assert (devices >= 0) == expected
        if expected:
            assert cluster.fits_on(row, shape, devices)
            index = UnschedulableIndex()
            index.put(0, UnschedulableTask(task.id, request, 0, 1), cluster)
            index.mark_retryable([row], cluster)
            assert index.is_retryable(0)


@given(fleets, tasks_with(1))
def test_the_planner_accepts_exactly_what_the_rule_accepts(hosts: tuple[Host, ...], task: Task):
    planner, request = Planner(b""), PodRequest.of(task)
    planner.update_hosts(hosts)
    for host in hosts:
        found = fit(host, request)
        if isinstance(found, Fit):
            assert planner.is_feasible(request, planner.hosts.cluster.row(host.id), device_bits(found.devices))
        elif found is not Misfit.PRICE:
            assert planner.best_slot_on([planner.hosts.cluster.row(host.id)], request) is None


@given(fleets, tasks_with(1), st.integers(1, 4))
def test_as_many_pods_fit_on_a_uniform_host_as_one_after_the_other(hosts: tuple[Host, ...], task: Task, most: int):
    fleet = of_records(hosts)
    # Prices and disk are not columns of the profile, and a pod of several shares gets the best devices there.
    request = replace(PodRequest.of(task), max_rate_per_hour=1 << 127)
    found = pods_that_fit(fleet.cluster, fleet.cluster.free, request.shape, most)
    for host in hosts:
        row = fleet.cluster.row(host.id)
        roomy = replace(host, free=replace(host.free, disk_gib=1 << 20))
        shared = any(device.shared_by for device in host.devices)
        if not is_uniform(fleet)[row] or shared or isinstance(fit(roomy, request), Misfit):
            continue
        expected = count_pods(roomy, request, most)[0]
        assert found[row] == expected if request.shape.gpus <= 1 else found[row] >= expected


@given(fleets, fleets, tasks_with(1))
def test_a_host_table_that_followed_changes_equals_a_new_one(
    before: tuple[Host, ...], after: tuple[Host, ...], task: Task
):
    followed = of_records(before)
    for host in before:
        if host.id not in {one.id for one in after}:
            followed.remove(host.id)
    for host in after:
        followed.put([host])
    anew, want = of_records(after), PodRequest.of(task)
    assert filters.count_excluded(want, followed) == filters.count_excluded(want, anew)
    for host in after:
        found = [filters.permitted(want, fleet.attributes)[fleet.cluster.row(host.id)] for fleet in (followed, anew)]
        assert found[0] == found[1]
    assert followed.cluster.free_milli == anew.cluster.free_milli
    assert followed.cluster.total_milli == anew.cluster.total_milli
