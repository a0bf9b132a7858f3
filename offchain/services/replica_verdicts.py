"""Verdicts on the replicas of a task whose results are compared, from the records of the chain alone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from offchain.schema.chain_types import _generated_chain as gen


class ReplicaVerdict(StrEnum):
    """What is known of one replica's result."""

    RUNNING = "running"
    COMMITTED = "committed"
    REVEALED = "revealed"
    AGREED = "agreed"
    WRONG = "wrong"
    NOT_REVEALED = "not_revealed"
    NO_AGREEMENT = "no_agreement"
    NOT_NEEDED = "not_needed"


VERDICT_TEXTS: Final[Mapping[ReplicaVerdict, str]] = {
    ReplicaVerdict.RUNNING: "its result is not committed yet",
    ReplicaVerdict.COMMITTED: "its result is committed and not revealed yet",
    ReplicaVerdict.REVEALED: "its result is revealed; the comparison is not over",
    ReplicaVerdict.AGREED: "agreed: its result is the task's",
    ReplicaVerdict.WRONG: "wrong: others agree on another result. Not paid; the host was slashed",
    ReplicaVerdict.NOT_REVEALED: "its result was committed and not revealed. Not paid; the host was slashed",
    ReplicaVerdict.NO_AGREEMENT: "no two results agree. Not paid",
    ReplicaVerdict.NOT_NEEDED: "ended before it had a result. Not paid",
}

_AGREED_STATES: Final = ("Verified", "Settled")


def verdict_of(task: gen.TaskState, lease: gen.Lease) -> ReplicaVerdict:
    """Return the verdict on a replica in a task of this state."""
    if not isinstance(lease.state, gen.LeaseStateEnded):
        return ReplicaVerdict.RUNNING
    reason, has_result = lease.state.value.tag, lease.result is not None
    if isinstance(task, gen.TaskStateFailed) and task.value is gen.FailReason.NO_AGREEMENT:
        return ReplicaVerdict.NO_AGREEMENT
    if reason == "DisputeLost":
        return ReplicaVerdict.WRONG if has_result else ReplicaVerdict.NOT_REVEALED
    if reason != "Completed":
        return ReplicaVerdict.NOT_NEEDED
    if not has_result:
        return ReplicaVerdict.COMMITTED
    return ReplicaVerdict.AGREED if task.tag in _AGREED_STATES else ReplicaVerdict.REVEALED
