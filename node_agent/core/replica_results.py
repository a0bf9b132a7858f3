"""Results of replicas: the commitment to one, and when it is revealed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offchain.schema.chain_types._generated_chain import PodResult, Replica, ResultsPhase, ResultsRecord
from offchain.schema.chain_types.values import blake2_256

URGENT_PART: Final = 3
"""A result is revealed before its phase is final when less than this part of `result_reveal_ms` is left."""


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


class RevealStep(StrEnum):
    """What to do with a stored result now."""

    NOTHING = "nothing"
    REVEAL = "reveal"
    LOST = "lost"
    """The commitment on the chain is not from this agent's folder, so it cannot be revealed."""
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class RevealView:
    """The comparison of a task's results in the best block and in the newest final one; None: there is none.

    `is_over`: the lease ended in a final block, or was lost before. `now_ms`: chain time of the best block;
    `reveal_ms`: the chain's time for reveals.
    """

    lease: int
    commitment: bytes
    best: ResultsRecord | None
    final: ResultsRecord | None
    is_over: bool
    now_ms: int
    reveal_ms: int


def reveal_step(view: RevealView) -> RevealStep:
    """Return the next step.

    A result is revealed when all commitments are final: in another fork, a host that has not committed yet could commit
    to what it saw. If finality is late, the result is revealed anyway, because a host that does not reveal is slashed.
    """
    final_replica = _replica(view.final, view.lease)
    if view.is_over and (final_replica is None or final_replica.result is not None):
        return RevealStep.FORGET
    best, replica = view.best, _replica(view.best, view.lease)
    if best is None or replica is None or replica.result is not None:
        return RevealStep.NOTHING
    if replica.commitment != view.commitment:
        return RevealStep.LOST
    if best.phase is not ResultsPhase.REVEALING or view.now_ms > best.until:
        return RevealStep.NOTHING
    is_urgent = URGENT_PART * (best.until - view.now_ms) < view.reveal_ms
    return RevealStep.REVEAL if is_urgent or _is_final(best, view.final) else RevealStep.NOTHING


def _is_final(best: ResultsRecord, final: ResultsRecord | None) -> bool:
    """Whether the final block has the phase of the best one, with the same commitments."""
    if final is None or final.phase is not best.phase:
        return False
    return [one.commitment for one in final.replicas] == [one.commitment for one in best.replicas]


def _replica(record: ResultsRecord | None, lease: int) -> Replica | None:
    return None if record is None else next((one for one in record.replicas if one.lease == lease), None)
