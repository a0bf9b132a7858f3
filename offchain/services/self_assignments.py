"""Proof that a scheduler placed a pod on a host of its own although another host was as good and clearly cheaper.

The conditions are those of the chain's call `report_self_assignment` (docs/protocol.md, call 27), which checks them
again. By that call the scheduler loses a part of its bond: half of it goes to the tenant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask, TaskAndSpec
from offchain.core.feasibility import Fit, fit
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Task
from offchain.errors import CheckFailed
from offchain.ports import Call, ChainPort
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.schema.value_text import duration_text
from offchain.services.record_mapping import host_of, overdue_ms
from offchain.services.submit_checks import task_of_spec

SAVING: Final = 10
"""The other host must cost less by one part in this many, at least."""


@dataclass(frozen=True, slots=True)
class CheaperHost:
    """A host on which the pod of a lease would have cost `rate_per_hour`, in base units, instead of `paid_per_hour`."""

    lease: int
    scheduler: str
    host: str
    devices: tuple[int, ...]
    rate_per_hour: int
    paid_per_hour: int

    @property
    def call(self) -> Call:
        """The call that proves it."""
        return calls.tasks_report_self_assignment(lease=self.lease, host=self.host, devices=bytes(self.devices))


async def cheaper_host(chain: ChainPort, number: int) -> CheaperHost:
    """Return the cheapest host that proves a scheduler of a task wrong. Raises CheckFailed if there is none."""
    typed, at = GantryChain(chain), (await chain.best_head()).hash
    task = await typed.task(number, at)
    lease = None if task is None else self_assigned_lease(task)
    if task is None or lease is None:
        raise CheckFailed(
            f"no pod of task {number} was placed on a host of its scheduler's own, or that was reported before.",
            f"gantry task why {number} explains where it is. Only the only pod of a task counts that a bonded "
            "scheduler placed on a host of its own account.",
            code="not_self_assigned",
        )
    now, params = await typed.now_ms(at), await typed.params("Tasks", at)
    await _check_time(typed, lease, params, now, at)
    scores = await typed.host_scores(at)
    late_ms = overdue_ms(await typed.params("Hosts", at))
    found: list[CheaperHost] = []
    for name, record in (await typed.hosts(at)).items():
        score = scores.get(name)
        is_known = _was_known(record, score, lease.record.created_at, params.offer_known_ms)
        if name == lease.record.host or not is_known or record.last_heartbeat + late_ms < now:
            continue
        offer = _offer(lease, name, record, score, params.poor_ppm)
        if offer is not None:
            found.append(offer)
    if not found:
        raise CheckFailed(
            f"no other host proves it: none that has room now for the pod of lease {lease.id} costs a tenth less, has "
            f"at least the same score, and had the same offer for {duration_text(params.offer_known_ms)} before.",
            "The scheduler cannot be punished for this placement.",
            code="no_cheaper_host",
        )
    return min(found, key=lambda one: (one.rate_per_hour, one.host))


def self_assigned_lease(task: TaskAndSpec) -> LeaseOfTask | None:
    """Return the lease of a task whose scheduler placed it on a host of its own; None if there is none."""
    return next((lease for lease in task.leases if lease.record.self_assigned_ppm is not None), None)


async def _check_time(chain: GantryChain, lease: LeaseOfTask, params: gen.TasksParams, now: int, at: bytes) -> None:
    assigned_at, scheduler = lease.record.created_at, lease.record.assigned_by
    if now > assigned_at + params.evidence_ms:
        raise CheckFailed(
            f"lease {lease.id} was assigned {duration_text(now - assigned_at)} ago, and can be reported for "
            f"{duration_text(params.evidence_ms)}.",
            "Report the next one earlier.",
            code="too_late",
        )
    if scheduler is None:
        return
    punished_until = await chain.read(storage.tasks_punished_until, scheduler, at=at)
    if punished_until is not None and punished_until >= assigned_at:
        raise CheckFailed(
            f"scheduler {scheduler} was punished for a later placement than that of lease {lease.id}.",
            "Earlier placements are not punished any more.",
            code="already_punished",
        )


def _was_known(record: gen.HostRecord, score: gen.HostScore | None, assigned_at: int, known_ms: int) -> bool:
    """Whether offer and score of a host had not changed for `known_ms` before the assignment, nor since."""
    changed_at = max(record.offered_since, 0 if score is None else score.updated_at)
    return changed_at < assigned_at and changed_at + known_ms <= assigned_at


def _offer(
    lease: LeaseOfTask, name: str, record: gen.HostRecord, score: gen.HostScore | None, poor_ppm: int
) -> CheaperHost | None:
    """Return what the pod would have cost on a host now, if that proves the placement wrong."""
    of, host = lease.record, host_of(name, record, score)
    if of.assigned_by is None or of.self_assigned_ppm is None or host.score_ppm < max(poor_ppm, of.self_assigned_ppm):
        return None
    paid = of.escrow.rate_per_hour if of.resume_rate is None else of.resume_rate
    found = fit(host, PodRequest.of(_with_limit(lease, paid - -(-paid // SAVING))))
    if not isinstance(found, Fit) or found.rate_per_hour >= paid:
        return None
    return CheaperHost(lease.id, of.assigned_by, name, found.devices, found.rate_per_hour, paid)


def _with_limit(lease: LeaseOfTask, rate_per_hour: int) -> Task:
    """Return the task as it would be placed again at no higher rate, with the hosts that refused it excluded."""
    task = lease.task
    refused = tuple(sorted(attempt.host for attempt in task.record.attempts if attempt.refused))
    placed = task_of_spec(task.spec, task.record.tenant, number=task.id)
    return replace(placed, max_rate_per_hour=rate_per_hour, refused_by=refused)
