"""Cost of the policy `audit`: results that are computed a second time, by the rule of `offchain.core.result_audit`."""

from __future__ import annotations

import statistics
from typing import Final

from table import Figure

from offchain.core.result_audit import is_audited, least_slash

HOSTS: Final = 1_000
VALID: Final = 100
"""Valid results of the host whose next results are measured."""
RESULTS: Final = 100
_LIMIT_PERCENT: Final = 7.0
_WRONG: Final = 0.1
"""Share of wrong results of a host that lies."""


def audits(host: int, first: int, last: int) -> int:
    """Return how many results of an honest host are audited; `first`, `last`: valid results before."""
    return sum(is_audited(valid, host * 1_000_000 + valid, b"block") for valid in range(first, last))


def until_caught(host: int, wrong: float) -> int:
    """Return how many wrong results a host that has 100 valid ones and lies from then on delivers until an audit."""
    period = round(1 / wrong)
    delivered, valid = 0, VALID
    while True:
        if valid % period == 0:
            delivered += 1
            if is_audited(valid, host * 1_000_000 + valid, b"liar"):
                return delivered
        valid += 1


def measure() -> tuple[list[Figure], list[str]]:
    """Return the share of results computed again: for a host with 100 valid results, and for the first 100."""
    later = [100 * audits(host, VALID, VALID + RESULTS) / RESULTS for host in range(HOSTS)]
    first = [100 * audits(host, 0, VALID) / VALID for host in range(HOSTS)]
    wrong = [until_caught(host, _WRONG) for host in range(HOSTS)]
    figures = [
        Figure("trust-audit", "%", (round(statistics.mean(later), 2),), _LIMIT_PERCENT),
        Figure("trust-audit-first-100", "%", (round(statistics.mean(first), 2),)),
        Figure("trust-audit-wrong-results", "results", (round(statistics.mean(wrong), 2),)),
    ]
    lines = [
        (
            f"{HOSTS} hosts: {figures[0].value} % of the results after {VALID} valid ones are computed again, "
            f"{figures[1].value} % of the first {VALID}; a wrong result needs a slash of {least_slash(1, VALID)} times "
            "its gain"
        )
    ]
    return figures, lines
