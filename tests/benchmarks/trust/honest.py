"""Challenges of honest hosts in simulated time: verdicts against them, and how the others end."""

from __future__ import annotations

from collections import Counter
from typing import Final

from main_job import say
from table import Figure

from offchain.schema.chain_types._generated_chain import ChallengeOutcome
from tests.support.challenge_attackers import honest_plan
from tests.support.challenge_simulation import ChallengeRun

CHALLENGES: Final = 10_000
_TOLD: Final = 1_000


def measure(challenges: int) -> tuple[list[Figure], list[str]]:
    """Return the verdicts against honest hosts, single votes against them, and the times of the others."""
    outcomes: Counter[ChallengeOutcome] = Counter()
    open_s: list[float] = []
    no_votes = votes = 0
    for run in range(challenges):
        end = ChallengeRun(honest_plan(run), run).result()
        outcomes[end.outcome] += 1
        no_votes, votes = no_votes + end.no_votes, votes + end.votes
        if end.outcome is ChallengeOutcome.PASSED:
            open_s.append(end.open_ms / 1000)
        if (run + 1) % _TOLD == 0:
            say(f"{run + 1:,} challenges, {outcomes[ChallengeOutcome.FAILED]} verdicts against honest hosts")
    figures = [
        Figure("trust-false-verdicts", "verdicts", (float(outcomes[ChallengeOutcome.FAILED]),), 0),
        Figure("trust-false-votes", "votes", (float(no_votes),)),
        Figure("trust-false-missed", "challenges", (float(outcomes[ChallengeOutcome.MISSED]),)),
        Figure("trust-honest-open", "s", tuple(open_s)),
    ]
    ends = ", ".join(f"{count:,} {outcome.value}" for outcome, count in outcomes.most_common())
    return figures, [f"{challenges:,} challenges of honest hosts: {ends}; {no_votes} of {votes:,} votes against them"]
