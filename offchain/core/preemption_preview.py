"""Preview of the preemption victims of a task, shown before it is submitted.

The search examines every host of a snapshot. :mod:`offchain.core.scheduler.preemption` compares more combinations and
may choose other victims; which task may preempt which is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from offchain.core.capacity import GangCapacity, allowed_hosts, count_pods, max_pods_per_host, released
from offchain.core.feasibility import candidate
from offchain.core.scheduler.entitlements import (
    ReclaimPolicy,
    SnapshotEntitlements,
    is_preemptible,
    may_preempt,
    shares_reason,
)
from offchain.core.scheduler.pod_request import NO_RESOURCES, ResourceAmount, queue_name, task_amount, task_usage
from offchain.core.scheduler.queue_definitions import DEFAULT, QueueTree
from offchain.core.snapshot import Snapshot
from offchain.core.values import Host, HostStatus, Task, TaskState

Victims = Mapping[int, Task]
_Allows = Callable[[Iterable[Task]], bool]


@dataclass(frozen=True, slots=True)
class PreemptionPreview:
    """The spot tasks that would be preempted, by number; if there are none, `why` is the reason.

    `parts`: number of victims by queue, or by account for those of the default queue.
    """

    victims: Victims = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)
    why: str | None = None


def preview_preemption(snapshot: Snapshot, task: Task, tree: QueueTree) -> PreemptionPreview | None:
    """Return the preview for an unschedulable `task`; None: spot tasks of lower priority hold too little."""
    below = [one for one in snapshot.tasks.values() if is_preemptible(one) and one.priority < task.priority]
    if not may_preempt(task) or not below:
        return None
    search = _Search(snapshot, task)
    if not search.find(below, lambda _: True):
        return None
    counted = _counted(snapshot, task, tree)
    part, asks = _part(counted, task), task_amount(task, task.least)
    for policy in counted.entitlements.reclaim_policies(part, asks):

        def allows(some: Iterable[Task], policy: ReclaimPolicy = policy) -> bool:
            return policy.allows((_part(counted, one), _holds(one)) for one in some)

        found = search.find([one for one in below if policy.is_open(_part(counted, one))], allows)
        if found:
            return PreemptionPreview(found, _names(found.values(), tree))
    return PreemptionPreview(why=shares_reason(counted.entitlements, part, asks))


def _names(tasks: Iterable[Task], tree: QueueTree) -> Mapping[str, int]:
    names: dict[str, int] = {}
    for one in tasks:
        part = tree.leaf_of(queue_name(one), one.tenant)
        name = f"account {part.account}" if part.queue == DEFAULT else f"queue {part.queue}"
        names[name] = names.get(name, 0) + 1
    return names


class _Search:
    """Search for victims: hosts in ascending order of cost, on each the cheapest tasks until one more pod fits."""

    def __init__(self, snapshot: Snapshot, task: Task) -> None:
        self._task = task
        self._now_ms = snapshot.now_ms
        self._most = max_pods_per_host(task)
        there = ((host.id, candidate(task, host)) for host in allowed_hosts(task, snapshot.hosts))
        self._hosts = {name: host for name, host in there if isinstance(host, Host)}

    def find(self, may: Iterable[Task], allows: _Allows) -> Victims:
        """Return victims that free capacity for all pods that must start together; empty: there are not enough."""
        on: dict[str, list[Task]] = {}
        for one in sorted(may, key=self._cost):
            for name in {lease.host for lease in one.leases} & self._hosts.keys():
                on.setdefault(name, []).append(one)
        hosts, total = dict(self._hosts), GangCapacity(self._task.layout)
        pods = {name: self._pods(host) for name, host in hosts.items()}
        for name, many in pods.items():
            total.update(hosts[name].provider, 0, many)
        gone: dict[int, Task] = {}
        for name in sorted(on, key=lambda name: sum(map(self._cost, on[name]))):
            some = [one for one in on[name] if one.id not in gone]
            while total.pods < self._task.least and some:
                needed = self._needed(hosts[name], pods[name], some, lambda more: allows((*gone.values(), *more)))
                if not needed:
                    break
                for one in needed:
                    gone[one.id] = one
                    self._end(one, hosts, pods, total)
                some = [one for one in some if one.id not in gone]
            if total.pods >= self._task.least:
                return gone
        return {}

    def _needed(self, host: Host, had: int, some: Iterable[Task], allows: _Allows) -> list[Task]:
        """Return the cheapest minimal set of tasks whose end makes one more pod fit on the host."""
        found: list[Task] = []
        for one in some:
            if not allows([*found, one]):
                continue
            found.append(one)
            if self._pods(_without(host, found)) > had:
                break
        else:
            return []
        for one in found[-2::-1]:
            rest = [other for other in found if other is not one]
            if self._pods(_without(host, rest)) > had:
                found = rest
        return found

    def _end(self, one: Task, hosts: dict[str, Host], pods: dict[str, int], total: GangCapacity) -> None:
        for name in {lease.host for lease in one.leases} & hosts.keys():
            hosts[name] = _without(hosts[name], [one])
            before, pods[name] = pods[name], self._pods(hosts[name])
            total.update(hosts[name].provider, before, pods[name])

    def _pods(self, host: Host) -> int:
        return count_pods(host, self._task, self._most)[0]

    def _cost(self, one: Task) -> int:
        """Return the cost of the work that is lost, without the grace period, which is the same for all tasks."""
        return max(0, self._now_ms - one.changed_at) * sum(lease.escrow.rate_per_hour for lease in one.leases)


def _without(host: Host, gone: Iterable[Task]) -> Host:
    for one in gone:
        # As in the scheduler, disk is not counted: data may remain on it after the end of the task.
        resources = replace(one.resources, disk_gib=0)
        for lease in one.leases:
            if lease.host == host.id:
                host = released(host, resources, lease.devices)
    return host


def _counted(snapshot: Snapshot, task: Task, tree: QueueTree) -> SnapshotEntitlements:
    """Return the entitlements as if all announced preemptions had been carried out."""
    tasks = snapshot.tasks
    preempted = [one for one in tasks.values() if one.state is TaskState.RUNNING and one.preemption is not None]
    preemptors = {one.preemption.wanting for one in preempted if one.preemption is not None}
    gone = {one.id for one in preempted}
    held = [task_usage(one, len(one.leases)) for one in tasks.values() if one.leases and one.id not in gone]
    held += [task_usage(tasks[number], tasks[number].least) for number in preemptors & tasks.keys()]
    waiting = [one for one in tasks.values() if one.open_pods and one.id not in preemptors and one.id != task.id]
    return SnapshotEntitlements(
        tree,
        _totals(snapshot.hosts.values()),
        held,
        [task_usage(one, len(one.open_pods)) for one in (*waiting, task)],
    )


def _totals(hosts: Iterable[Host]) -> ResourceAmount:
    """Return the resources of the hosts that are online, without unhealthy GPUs."""
    total = NO_RESOURCES
    for host in hosts:
        if host.status is HostStatus.ONLINE:
            gpus = sum(device.healthy for device in host.devices)
            total = total.plus(ResourceAmount(host.total.cpu_milli, host.total.memory_mib, 1000 * gpus))
    return total


def _part(counted: SnapshotEntitlements, task: Task) -> int:
    return counted.leaf(queue_name(task), task.tenant)


def _holds(task: Task) -> ResourceAmount:
    return task_amount(task, len(task.leases))
