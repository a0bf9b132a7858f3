"""Attackers whose share of verifiers or hosts decides: withheld reveals, and wrong results of colluding hosts.

Challenges run in simulated time with the product's decisions of agents and verifiers. Results follow the rule of the
chain: more than half of the revealed results, and at least two, are equal, or one more host is asked, once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from offchain.core.verifier.duties import CallCommand, RevealVote
from offchain.schema.chain_types._generated_chain import ChallengeOutcome
from tests.support.challenge_attackers import ATTACK, RUNS, honest_plan
from tests.support.challenge_rules import PRODUCTION
from tests.support.challenge_simulation import ChallengeRun, HostPlan
from tests.support.simulated_verifier import SimulatedVerifier

SHARES: Final = (0.1, 0.33, 0.5)
"""Shares of the bonds of all verifiers, or of the providers, that the attacker has."""
PROVIDERS: Final = 100
_MAJORITY: Final = PRODUCTION.committee_size // 2 + 1


class WithholdingVerifier(SimulatedVerifier):
    """Examines, votes and commits as an honest one, and never reveals."""

    def _submit(self, command: CallCommand) -> None:
        if not isinstance(command, RevealVote):
            super()._submit(command)


@dataclass(frozen=True, slots=True)
class WithheldCount:
    """Outcomes of challenges in which a share of the verifiers withholds its reveals.

    `withheld`: votes that were committed and not revealed, for each run; each costs `absence_penalty`.
    """

    share: float
    outcomes: Counter[ChallengeOutcome]
    withheld: float


def attackers_of(share: float) -> int:
    """Return how many of the fewest verifiers of the production preset have this share of the bonds."""
    return round(share * PRODUCTION.drawable)


def withheld(share: float, plan: Callable[[int], HostPlan] = honest_plan, runs: int = RUNS) -> WithheldCount:
    """Run challenges with 21 verifiers, of which a share withholds its reveals."""
    outcomes: Counter[ChallengeOutcome] = Counter()
    lost = 0
    for number in range(runs):
        names = [f"verifier {index}" for index in range(PRODUCTION.drawable)]
        chosen = np.random.default_rng((number, 5)).choice(names, attackers_of(share), replace=False)
        attackers = frozenset(str(name) for name in chosen)
        run = ChallengeRun(plan(number), number, verifier=lambda of, name, bad=attackers: _verifier(of, name, bad))
        outcomes[run.result().outcome] += 1
        lost += sum(ballot[name] is None for ballot in run.state.ballots for name in ballot.keys() & attackers)
    return WithheldCount(share, outcomes, lost / runs)


def _verifier(run: ChallengeRun, name: str, attackers: frozenset[str]) -> SimulatedVerifier:
    return (WithholdingVerifier if name in attackers else SimulatedVerifier)(run, name)


def withheld_fake(share: float, runs: int = RUNS) -> WithheldCount:
    """Return the same for a host that claims a faster model than its device is."""
    return withheld(share, ATTACK["fake-model"].plan, runs)


def two_captured_chance(share: float) -> float:
    """Return the chance that the attacker has more than half of the seats of two committees after each other."""
    total, bad, size = PRODUCTION.drawable, attackers_of(share), PRODUCTION.committee_size
    return sum(
        _seats_chance(total, bad, size, first)
        * sum(_seats_chance(total - size, bad - first, size, second) for second in range(_MAJORITY, size + 1))
        for first in range(_MAJORITY, size + 1)
    )


def _seats_chance(total: int, bad: int, size: int, seats: int) -> float:
    if seats > bad or size - seats > total - bad:
        return 0.0
    return math.comb(bad, seats) * math.comb(total - bad, size - seats) / math.comb(total, size)


@dataclass(frozen=True, slots=True)
class CollusionCount:
    """Outcomes of tasks with two replicas of which at least one is a colluding host's.

    `caught`: a wrong result was rejected; `accepted`: it was agreed; `honest_slashed`: of these, tasks in which an
    honest host lost its bond for the right result.
    """

    colluding: int
    runs: int
    caught: int
    accepted: int
    honest_slashed: int


def colluding(hosts: int, runs: int = RUNS, seed: int = 6) -> CollusionCount:
    """Place tasks on two of `PROVIDERS` hosts of different providers, and a third where their results differ.

    `hosts`: how many of them report one wrong result. Tasks without any of them are drawn again: nobody lies there.
    """
    dice = np.random.default_rng((hosts, seed))
    caught = accepted = slashed = done = 0
    while done < runs:
        lies = [bool(place < hosts) for place in dice.permutation(PROVIDERS)[:3]]
        if not any(lies[:2]):
            continue
        done += 1
        if all(lies[:2]):
            accepted += 1
        elif lies[2]:
            accepted, slashed = accepted + 1, slashed + 1
        else:
            caught += 1
    return CollusionCount(hosts, runs, caught, accepted, slashed)


def accepted_chance(hosts: int) -> float:
    """Return the chance that a wrong result is agreed, where at least one of two replicas is a colluding host's."""
    both = hosts * (hosts - 1) / (PROVIDERS * (PROVIDERS - 1))
    one = 2 * hosts * (PROVIDERS - hosts) / (PROVIDERS * (PROVIDERS - 1))
    return (both + one * (hosts - 1) / (PROVIDERS - 2)) / (both + one)
