"""Judgement of a dispute by executing the accused job again: which jobs, what is compared, and what follows.

An execution that gives the reported result proves the result right. One that gives another result proves it wrong only
if the program always gives the same result, which its tenant states and nobody can check: a program may read the clock
or the processor's model. So a difference decides in the first instance alone; on appeal, people decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offchain.schema.chain_types._generated_chain import PodResult, Vote
from offchain.schema.manifest.types import Manifest

MOST_RUNTIME_MS: Final = 600_000
"""The longest run that is executed again, as its host reported it."""


class Comparison(StrEnum):
    """Outcome of the executions of one lease.

    `SAME`: one gave the reported result. `DIFFERENT`: two gave the same result, which is not the reported one.
    `UNSTABLE`: two gave different results. `IMPOSSIBLE`: the lease cannot be executed here. `NOT_YET`: an execution
    failed for a reason that may pass.
    """

    SAME = "same"
    DIFFERENT = "different"
    UNSTABLE = "unstable"
    IMPOSSIBLE = "impossible"
    NOT_YET = "not_yet"


@dataclass(frozen=True, slots=True)
class LeaseComparison:
    """Outcome for a lease, with a sentence."""

    lease: int
    outcome: Comparison
    text: str


class JudgementKind(StrEnum):
    """What follows from the comparisons of all accused leases."""

    UPHOLD = "uphold"
    REJECT = "reject"
    PERSON = "person"
    NOT_YET = "not_yet"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What follows from the comparisons, with a sentence. `PERSON`: the juror decides (gantry dispute vote)."""

    kind: JudgementKind
    reason: str

    @property
    def vote(self) -> Vote | None:
        """The vote to the question whether the complaint is right; None if there is none."""
        return {JudgementKind.UPHOLD: Vote.YES, JudgementKind.REJECT: Vote.NO}.get(self.kind)


@dataclass(frozen=True, slots=True)
class ResultValue:
    """What is compared of a result: the SHA-256 of the output, and the exit code."""

    digest: bytes
    exit_code: int

    def __str__(self) -> str:
        return f"{self.digest.hex()} with exit code {self.exit_code}"


def execution_problem(manifest: Manifest, result: PodResult | None, most_runtime_ms: int = MOST_RUNTIME_MS) -> str:
    """Return why a lease is not judged by executing it again; empty if it is."""
    if manifest.verification not in ("deterministic", "audit"):
        return "its manifest does not say verification: deterministic, or audit"
    if len(manifest.services) > 1 or manifest.deliveries:
        return "it has several services or delivered files, and only the manifest and one image are executed again"
    if result is None:
        return "its host reported no result that could be compared"
    if manifest.gpus.count:
        return "it needs a GPU: results of different models may differ"
    if result.usage.wall_ms > most_runtime_ms:
        return f"it ran {result.usage.wall_ms / 1000:.0f} s, and at most {most_runtime_ms / 1000:.0f} s are executed"
    return ""


def compared(lease: int, reported: ResultValue, executions: Sequence[ResultValue]) -> LeaseComparison | None:
    """Return the outcome of the executions of a lease so far; None while another one is needed."""
    if reported in executions:
        return LeaseComparison(lease, Comparison.SAME, f"an execution of lease {lease} gave the reported result")
    if len(executions) < 2:
        return None
    first, second = executions[0], executions[1]
    if first != second:
        text = f"two executions of lease {lease} gave different results: {first}, and {second}"
        return LeaseComparison(lease, Comparison.UNSTABLE, text)
    text = f"two executions of lease {lease} gave {first}, and its host reported {reported}"
    return LeaseComparison(lease, Comparison.DIFFERENT, text)


def judgement(comparisons: Sequence[LeaseComparison], level: int) -> Judgement:
    """Return what follows for a dispute with these accused leases. `level`: number of appeals so far.

    A dispute is right only if the result of each accused lease is wrong.
    """
    for outcome, kind in (
        (Comparison.SAME, JudgementKind.REJECT),
        (Comparison.NOT_YET, JudgementKind.NOT_YET),
        (Comparison.IMPOSSIBLE, JudgementKind.PERSON),
        (Comparison.UNSTABLE, JudgementKind.PERSON),
    ):
        found = next((one for one in comparisons if one.outcome is outcome), None)
        if found is not None:
            return Judgement(kind, found.text)
    if not comparisons:
        return Judgement(JudgementKind.PERSON, "no lease is accused")
    text = "; ".join(one.text for one in comparisons)
    if level > 0:
        return Judgement(JudgementKind.PERSON, f"{text}. On appeal, people decide whether the program is deterministic")
    return Judgement(JudgementKind.UPHOLD, text)
