"""The rules over columns are the rules of core/fit.py, host by host."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from offchain.core.feasibility import Misfit, candidate, fit
from offchain.core.scheduler import filters
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import PodRequest
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


def first_misfit(host: Host, task: Task) -> Misfit | None:
    there = candidate(task, host)
    if isinstance(there, Misfit):
        return there
    found = fit(there, task.resources, task.placement, task.unit, task.max_rate_per_hour, task.tenant)
    return found if isinstance(found, Misfit) else None


@given(fleets, tasks_with(1))
def test_each_host_is_excluded_for_the_same_reason_as_on_the_chain(hosts: tuple[Host, ...], task: Task):
    fleet = of_records(hosts)
    found = filters.first_misfits(PodRequest.of(task), fleet.attributes, fleet.cluster).tolist()
    for host in hosts:
        place = found[fleet.cluster.row(host.id)]
        expected = first_misfit(host, task)
        if expected is Misfit.PRICE and place == -1:
            continue  # Columns look at the cheapest devices; the planner asks the exact rule for those it chooses.
        assert (None if place == -1 else MISFITS[place]) == expected


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
