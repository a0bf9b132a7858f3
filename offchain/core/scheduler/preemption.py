"""Preemption: which spot tasks are ended for a task of higher priority, when not, and the hosts reserved meanwhile.

Earlier preemptions decide which tasks may preempt and be preempted, so that preemptions do not cascade.
docs/scheduling.md, "Preemption".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

import numpy as np

from offchain.core.scheduler.cluster import Cluster, HostSlot
from offchain.core.scheduler.columns import AnyInts, Bools, Ints, device_bits
from offchain.core.scheduler.cycle_filters import HostFilter, excluded_by_pods, spread_groups
from offchain.core.scheduler.entitlements import SHARES_REASON, Entitlements, ReclaimPolicy, shares_reason
from offchain.core.scheduler.filters import permitted
from offchain.core.scheduler.hosts import HostTable
from offchain.core.scheduler.pod_request import PodRequest, PodShape, ResourceAmount, shape_amount
from offchain.core.scheduler.victim_search import VictimSearch
from offchain.core.scheduler.victim_sets import RunningTask, Victim
from offchain.core.values import Task, TaskState
from offchain.schema.durations import HOUR_MS, MINUTE_MS

MAX_VICTIMS: Final = 16
"""Of one call to the chain."""

GRACE_MS: Final = 60_000
"""Hosts stay reserved for this long after the notice: by then the preemptor was assigned, or the notice is void."""


@dataclass(frozen=True, slots=True)
class Preemptor:
    """A waiting task that may preempt others.

    `shape`: the resources of its `PodRequest`. The rest of the request is not needed here: it is in the hosts that
    :func:`choose_victims` excludes.
    """

    task: int
    account: str
    priority: int
    shape: PodShape
    pods: int

    @property
    def amount(self) -> ResourceAmount:
        return shape_amount(self.shape, self.pods)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionPolicy:
    """Settings of the operator, described in docs/scheduling.md."""

    notice_ms: int = 2 * MINUTE_MS
    """Grace period in which a victim can save its work."""
    min_run_ms: int = 10 * MINUTE_MS
    """A task that preempted others is not preempted before it has run for this long."""
    max_per_account: int = 20
    """Preemptions by one account within `window_ms`."""
    window_ms: int = HOUR_MS

    def cost(self, running: RunningTask, now_ms: int) -> int:
        """Return what is lost if the task ends: its work, and the notice."""
        return (max(0, now_ms - running.started_ms) + self.notice_ms) * running.rate_per_ms


@dataclass(frozen=True, slots=True)
class PreemptionDecision:
    """The victims get notice; from `notice_ends_ms` on, what they free belongs to the preemptor."""

    preemptor: Preemptor
    victims: tuple[RunningTask, ...]
    places: tuple[HostSlot, ...]
    notice_ends_ms: int


@dataclass(frozen=True, slots=True)
class PreemptionHistory:
    preempted_at: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """[account]: when its tasks preempted others, within the window."""
    preemptors: frozenset[int] = frozenset()
    """Tasks that preempted others and have not ended."""

    def is_rate_limited(self, account: str, now_ms: int, policy: PreemptionPolicy) -> bool:
        recent = sum(at > now_ms - policy.window_ms for at in self.preempted_at.get(account, ()))
        return recent >= policy.max_per_account

    def is_eligible(self, running: RunningTask, preemptor: Preemptor, now_ms: int, policy: PreemptionPolicy) -> bool:
        """Return whether the running task may be preempted for this preemptor."""
        young = running.task in self.preemptors and now_ms - running.started_ms < policy.min_run_ms
        return running.spot and running.priority < preemptor.priority and not young

    def after(self, done: PreemptionDecision, now_ms: int, policy: PreemptionPolicy) -> PreemptionHistory:
        """Return the history with one more preemption."""
        account = done.preemptor.account
        recent = tuple(at for at in self.preempted_at.get(account, ()) if at > now_ms - policy.window_ms)
        victims = {running.task for running in done.victims}
        others = {name: times for name, times in self.preempted_at.items() if max(times) > now_ms - policy.window_ms}
        return replace(
            self,
            preempted_at={**others, account: (*recent, now_ms)},
            preemptors=(self.preemptors | {done.preemptor.task}) - victims,
        )

    def ended(self, task: int) -> PreemptionHistory:
        return replace(self, preemptors=self.preemptors - {task}) if task in self.preemptors else self


class PreemptionRefused(Enum):
    """Why no task is preempted."""

    FITS = "there is room without"
    TOO_OFTEN = "its account has made others leave too often; it may again later"
    NOBODY = "no spot tasks of lower priority hold enough"
    SHARES = SHARES_REASON


def preempt(
    preemptor: Preemptor,
    running: Iterable[RunningTask],
    cluster: Cluster,
    now_ms: int,
    policy: PreemptionPolicy,
    history: PreemptionHistory,
    reclaim: Iterable[ReclaimPolicy],
    excluded: Bools | None = None,
    groups: Ints | None = None,
) -> PreemptionDecision | PreemptionRefused:
    """Return the cheapest victims found after whose end all pods of `preemptor` fit, on hosts not `excluded`, [host].

    Every victim is needed: without any one of them the pods would not fit. `reclaim`: the policies that the queues
    allow; the first by which the pods fit applies. `groups`: [host], for anti-affinity: at most one pod on all hosts
    with the same number.
    """
    search = VictimSearch(preemptor.shape, preemptor.pods, cluster, excluded, groups)
    if search.pods_fitting >= preemptor.pods:
        return PreemptionRefused.FITS
    if history.is_rate_limited(preemptor.account, now_ms, policy):
        return PreemptionRefused.TOO_OFTEN
    eligible = [
        Victim(policy.cost(one, now_ms), one) for one in running if history.is_eligible(one, preemptor, now_ms, policy)
    ]
    if not search.is_enough(eligible):
        return PreemptionRefused.NOBODY
    for one in reclaim:
        search = VictimSearch(preemptor.shape, preemptor.pods, cluster, excluded, groups)
        chosen = search.find([victim for victim in eligible if one.is_open(victim.running.leaf)], one)
        if chosen is not None:
            victims = tuple(victim.running for victim in chosen)
            return PreemptionDecision(preemptor, victims, search.places(), now_ms + policy.notice_ms)
    return PreemptionRefused.SHARES


@dataclass(frozen=True, slots=True)
class QueueEntitlements:
    """Entitlements of the queues, and the node of a task."""

    entitlements: Entitlements
    leaf_of: Callable[[Task], int]

    def refusal_text(self, task: Task, refused: PreemptionRefused) -> str:
        """Explain to people why no task is preempted for this one."""
        if refused is not PreemptionRefused.SHARES:
            return str(refused.value)
        return shares_reason(self.entitlements, self.leaf_of(task), _task_shape_amount(task, task.least))

    def apply_pending(self, leaving: Iterable[Task], coming: Iterable[Task]) -> None:
        """Count what is about to be freed as free, and what is reserved for preemptors as used."""
        for task in leaving:
            self.entitlements.remove_usage(self.leaf_of(task), _task_shape_amount(task, len(task.leases)))
        for task in coming:
            self.entitlements.add_usage(self.leaf_of(task), _task_shape_amount(task, task.least))


def _task_shape_amount(task: Task, pods: int) -> ResourceAmount:
    return shape_amount(PodRequest.of(task).shape, pods)


def choose_victims(
    task: Task,
    spot: Iterable[Task],
    fleet: HostTable,
    now_ms: int,
    history: PreemptionHistory,
    reserved: Bools | None,
    queues: QueueEntitlements,
) -> PreemptionDecision | PreemptionRefused:
    """Return the cheapest of the `spot` tasks whose end makes `task` feasible, by the chain's records.

    Only hosts are considered that the filters allow and that are not `reserved`, [host].
    """
    want = PodRequest.of(task)
    excluded = ~permitted(want, fleet.attributes)
    # Disk used by victims is not counted: a task that needs it does not preempt in vain.
    excluded |= fleet.cluster.free.disk < want.shape.disk_gib
    excluded |= excluded_by_pods(want, fleet)
    if reserved is not None:
        excluded |= reserved
    preemptor = Preemptor(task.id, task.tenant, task.priority, want.shape, task.least)
    known = (_running(victim, fleet.cluster, queues.leaf_of(victim)) for victim in spot)
    running = [one for one in known if one is not None]
    groups = spread_groups(want.layout, fleet.attributes)
    reclaim = queues.entitlements.reclaim_policies(queues.leaf_of(task), preemptor.amount)
    policy = PreemptionPolicy()
    found = preempt(preemptor, running, fleet.cluster, now_ms, policy, history, reclaim, excluded, groups)
    if isinstance(found, PreemptionDecision) and len(found.victims) > MAX_VICTIMS:
        return PreemptionRefused.NOBODY
    return found


def _running(task: Task, cluster: Cluster, leaf: int) -> RunningTask | None:
    """Return None if one of the task's hosts is gone."""
    if not all(lease.host in cluster for lease in task.leases):
        return None
    return RunningTask(
        task=task.id,
        leaf=leaf,
        priority=task.priority,
        spot=task.spot,
        shape=PodRequest.of(task).shape,
        places=tuple(HostSlot(cluster.row(lease.host), device_bits(lease.devices)) for lease in task.leases),
        rate_per_ms=sum(lease.escrow.rate_per_hour for lease in task.leases) // HOUR_MS,
        started_ms=task.changed_at,
    )


@dataclass(frozen=True, slots=True)
class ReservedHosts:
    """Hosts that are reserved for one preemptor until a time."""

    hosts: frozenset[str]
    until_ms: int


class ReservedHostsTracker:
    """Follows the chain's records of preempted tasks; hosts of victims that end within the notice stay reserved."""

    def __init__(self) -> None:
        self._reserved: dict[int, ReservedHosts] = {}

    def put_task(self, task: Task) -> None:
        """Update from a record."""
        if task.notice_ends_at is None:
            self._reserved.pop(task.id, None)
        notice = task.preemption
        if notice is not None and task.state is TaskState.RUNNING:
            before = self._reserved.get(notice.wanting, ReservedHosts(frozenset(), 0))
            hosts = before.hosts | {lease.host for lease in task.leases}
            self._reserved[notice.wanting] = ReservedHosts(hosts, max(before.until_ms, notice.ends_at + GRACE_MS))

    def task_gone(self, task: int) -> None:
        self._reserved.pop(task, None)

    def reserved(self, now_ms: int) -> Mapping[int, ReservedHosts]:
        """Return what is reserved now, by preemptor."""
        self._reserved = {task: one for task, one in self._reserved.items() if now_ms <= one.until_ms}
        return self._reserved


class ReservedHostsFilter(HostFilter):
    """A filter of a scheduling cycle: hosts reserved for one task are closed to all others."""

    def __init__(self, reserved: Mapping[int, ReservedHosts], cluster: Cluster) -> None:
        self._rows = {task: host_rows(one.hosts, cluster) for task, one in reserved.items()}
        self._hosts = len(cluster)

    def excluded(self, task: Task, request: PodRequest, devices: AnyInts) -> Bools | None:
        del request, devices
        return self.excluded_for(task.id)

    def excluded_for(self, task: int) -> Bools | None:
        """Return which hosts are reserved for other tasks, [host]; None: no host is."""
        others = [rows for number, rows in self._rows.items() if number != task]
        if not others:
            return None
        mask: Bools = np.zeros(self._hosts, dtype=np.bool_)
        for rows in others:
            mask[rows] = True
        return mask


def host_rows(hosts: frozenset[str], cluster: Cluster) -> Ints:
    """Return the rows of those hosts that the cluster contains."""
    known = sorted(cluster.row(host) for host in hosts if host in cluster)
    return np.array(known, dtype=np.int64)
