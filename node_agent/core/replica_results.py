"""Results that are compared with those of other hosts: commitment, tag, and when tag and result are shown. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offchain.schema.chain_types._generated_chain import PodResult, Replica, ResultsPhase, ResultsRecord
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.chain_types.values import blake2_256

URGENT_PART: Final = 3
"""Tag and result are shown before their phase is final when less than this part of `result_reveal_ms` is left."""


@dataclass(frozen=True, slots=True)
class HeldResult:
    """A stored result of a lease with its salt. `created_at_ms`: of the lease, whose number may be used again."""

    lease: int
    created_at_ms: int
    result: PodResult
    salt: bytes

    def commitment(self, host_key: bytes) -> bytes:
        """Return what binds the host with this key to the result (docs/verification.md, section 5)."""
        return blake2_256(b"gantry/result/v1" + self.result.scale() + self.salt + host_key)

    @property
    def tag(self) -> bytes:
        """The tag of the result: equal results of a task have equal tags."""
        task, exit_code = lease_parts(self.lease)[0], self.result.exit_code
        return blake2_256(
            b"gantry/tag/v1"
            + task.to_bytes(8, "little")
            + self.result.digest
            + exit_code.to_bytes(4, "little", signed=True)
        )


class ResultStep(StrEnum):
    """What to do with a stored result now."""

    NOTHING = "nothing"
    TAG = "tag"
    REVEAL = "reveal"
    LOST = "lost"
    """The commitment on the chain is not from this agent's folder, so it cannot be revealed."""
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class ResultView:
    """The comparison of a task's results in the best block and in the newest final one; None: there is none.

    `is_over`: the lease ended in a final block, or was lost before. `now_ms`: chain time of the best block;
    `reveal_ms`: the chain's time for tags, and for reveals.
    """

    lease: int
    commitment: bytes
    best: ResultsRecord | None
    final: ResultsRecord | None
    is_over: bool
    now_ms: int
    reveal_ms: int


def next_step(view: ResultView) -> ResultStep:
    """Return the next step.

    Tag and result are shown when all commitments, and before the result all tags, are final: in another fork, a host
    that has not committed yet could commit to what it saw. If finality is late they are shown anyway, because a host
    that does not show them is slashed. A result whose tags do not agree is not revealed.
    """
    final_replica = _replica(view.final, view.lease)
    if view.is_over and (final_replica is None or final_replica.result is not None):
        return ResultStep.FORGET
    best, replica = view.best, _replica(view.best, view.lease)
    if best is None or replica is None:
        return ResultStep.NOTHING
    if replica.result is None and replica.commitment != view.commitment:
        return ResultStep.LOST
    step = _asked(best, replica)
    if step is ResultStep.NOTHING or view.now_ms > best.until:
        return ResultStep.NOTHING
    is_urgent = URGENT_PART * (best.until - view.now_ms) < view.reveal_ms
    return step if is_urgent or _is_final(best, view.final) else ResultStep.NOTHING


def _asked(record: ResultsRecord, replica: Replica) -> ResultStep:
    """Return what the chain asks of a replica's host."""
    if record.phase is ResultsPhase.TAGGING and replica.tag is None:
        return ResultStep.TAG
    if record.phase is ResultsPhase.REVEALING and replica.result is None and _tags_agree(record.replicas):
        return ResultStep.REVEAL
    return ResultStep.NOTHING


def _tags_agree(replicas: Sequence[Replica]) -> bool:
    """Return whether at least two tags are equal, and more than half: the chain's rule.

    True without tags: the work is not repeated.
    """
    tags = Counter(one.tag for one in replicas if one.tag is not None)
    most = max(tags.values(), default=0)
    return not tags or (most >= 2 and 2 * most > tags.total())


def _is_final(best: ResultsRecord, final: ResultsRecord | None) -> bool:
    """Whether the final block has the phase of the best one, with the same commitments, and in reveals the same tags.

    In the phase of tags they may differ: each host shows its own without waiting for the others.
    """
    if final is None or final.phase is not best.phase:
        return False
    shows_tags = best.phase is ResultsPhase.REVEALING
    bound = [[(one.commitment, shows_tags and one.tag) for one in record.replicas] for record in (final, best)]
    return bound[0] == bound[1]


def _replica(record: ResultsRecord | None, lease: int) -> Replica | None:
    return None if record is None else next((one for one in record.replicas if one.lease == lease), None)
