"""Verdicts on compared results, of replicas and of audited jobs, from the records of the chain alone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.replicas import is_audited, is_compared


class ReplicaVerdict(StrEnum):
    """What is known of one result."""

    RUNNING = "running"
    COMMITTED = "committed"
    REVEALED = "revealed"
    AGREED = "agreed"
    WRONG = "wrong"
    NOT_REVEALED = "not_revealed"
    NO_AGREEMENT = "no_agreement"
    NOT_NEEDED = "not_needed"
    NOT_REPEATED = "not_repeated"
    DISPUTE_LOST = "dispute_lost"


VERDICT_TEXTS: Final[Mapping[ReplicaVerdict, str]] = {
    ReplicaVerdict.RUNNING: "its result is not committed yet",
    ReplicaVerdict.COMMITTED: "its result is committed and not revealed yet",
    ReplicaVerdict.REVEALED: "its result is revealed; the comparison is not over",
    ReplicaVerdict.AGREED: "agreed: its result is the task's",
    ReplicaVerdict.WRONG: "wrong: others agree on another result. Not paid; the host was slashed",
    ReplicaVerdict.NOT_REVEALED: "its result was committed and not revealed. Not paid; the host was slashed",
    ReplicaVerdict.NO_AGREEMENT: "no two results agree. Not paid",
    ReplicaVerdict.NOT_NEEDED: "ended before it had a result. Not paid",
    ReplicaVerdict.NOT_REPEATED: "no other host repeated the work: its result is the task's",
    ReplicaVerdict.DISPUTE_LOST: "wrong: a jury upheld the dispute about it. Not paid; the host was slashed",
}

_AGREED_STATES: Final = ("Verified", "Settled")
_COMPARING_STATES: Final = ("Queued", "Assigned", "Running")


def task_verdict_of(task: gen.TaskRecord, spec: gen.TaskSpec, lease: gen.Lease) -> ReplicaVerdict | None:
    """Return the verdict on the result of a lease; None if results of the task are not compared."""
    if not is_compared(spec):
        return None
    return verdict_of(task.state, lease, is_single=is_audited(spec) and _has_one_result(task))


def _has_one_result(task: gen.TaskRecord) -> bool:
    """Whether no other host has repeated the work, and none will: where one has, at least two results agree."""
    is_over = task.state.tag not in _COMPARING_STATES
    return is_over and sum(lease.result is not None for lease in task.leases) == 1


def verdict_of(task: gen.TaskState, lease: gen.Lease, *, is_single: bool = False) -> ReplicaVerdict:
    """Return the verdict on the result of a lease in a task of this state.

    `is_single`: it is the only result of an audited job, whose work is not repeated.
    """
    if not isinstance(lease.state, gen.LeaseStateEnded):
        return ReplicaVerdict.RUNNING
    if isinstance(task, gen.TaskStateFailed) and task.value is gen.FailReason.NO_AGREEMENT:
        return ReplicaVerdict.NO_AGREEMENT
    reason, has_result = lease.state.value.tag, lease.result is not None
    if reason == "DisputeLost":
        wrong = ReplicaVerdict.DISPUTE_LOST if is_single else ReplicaVerdict.WRONG
        return wrong if has_result else ReplicaVerdict.NOT_REVEALED
    if reason != "Completed":
        return ReplicaVerdict.NOT_NEEDED
    if not has_result:
        return ReplicaVerdict.COMMITTED
    return _of_result(task, is_single=is_single)


def _of_result(task: gen.TaskState, *, is_single: bool) -> ReplicaVerdict:
    if is_single:
        return ReplicaVerdict.NOT_REPEATED
    return ReplicaVerdict.AGREED if task.tag in _AGREED_STATES else ReplicaVerdict.REVEALED
