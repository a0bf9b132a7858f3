"""Challenges of honest hosts in simulated time: verdicts against them, and how the others end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from main_job import say
from table import Figure

from offchain.schema.chain_types._generated_chain import ChallengeOutcome
from tests.support.challenge_attackers import honest_plan
from tests.support.challenge_simulation import ChallengeEnd, ChallengeRun, LatencyModel

CHALLENGES: Final = 10_000
SLOW_CALLS: Final = LatencyModel(inclusion=(100, 12_000))
"""A chain whose blocks are so full that a call waits for up to six slots."""
_SLOW_PART: Final = 10
"""One in so many challenges is repeated with slow calls."""
_TOLD: Final = 1_000


def measure(challenges: int) -> tuple[list[Figure], list[str]]:
    """Return the verdicts against honest hosts, single votes against them, and the times of the others."""
    ends = _ends(challenges, LatencyModel())
    slow = _ends(max(1, challenges // _SLOW_PART), SLOW_CALLS)
    passed_s = tuple(end.open_ms / 1000 for end in ends if end.outcome is ChallengeOutcome.PASSED)
    figures = [
        Figure("trust-false-verdicts", "verdicts", (_count(ends, ChallengeOutcome.FAILED),), 0),
        Figure("trust-false-votes", "votes", (float(sum(end.no_votes for end in ends)),)),
        Figure("trust-false-missed", "challenges", (_count(ends, ChallengeOutcome.MISSED),)),
        Figure("trust-honest-open", "s", passed_s),
        Figure("trust-false-slow-calls", "%", (round(100 * _count(slow, ChallengeOutcome.FAILED) / len(slow), 2),)),
    ]
    return figures, [_line("", ends), _line(" where calls wait for up to 12 s", slow)]


def _ends(challenges: int, latency: LatencyModel) -> Sequence[ChallengeEnd]:
    found = []
    for run in range(challenges):
        found.append(ChallengeRun(honest_plan(run), run, latency).result())
        if (run + 1) % _TOLD == 0:
            say(f"{run + 1:,} challenges, {_count(found, ChallengeOutcome.FAILED):g} verdicts against honest hosts")
    return found


def _count(ends: Sequence[ChallengeEnd], outcome: ChallengeOutcome) -> float:
    return float(sum(end.outcome is outcome for end in ends))


def _line(where: str, ends: Sequence[ChallengeEnd]) -> str:
    counts = Counter(end.outcome for end in ends)
    told = ", ".join(f"{count:,} {outcome.value}" for outcome, count in counts.most_common())
    votes = f"{sum(end.no_votes for end in ends)} of {sum(end.votes for end in ends):,} votes against them"
    return f"{len(ends):,} challenges of honest hosts{where}: {told}; {votes}"
