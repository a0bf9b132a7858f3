"""The score of a host from its evidence: `gantry_primitives::score`, with the same rounding."""

from __future__ import annotations

from typing import Final

from offchain.schema.chain_types._generated_chain import Beta, HostScore

OBSERVATION: Final = 1_000_000
"""Weight of one whole piece of evidence in a `Beta`."""
_FEE_UNIT: Final = 10**11
_MOST_DOUBLINGS: Final = 8


def host_ppm(score: HostScore) -> int:
    """Return a host's score in parts per million; 500,000 without evidence."""
    parts = (
        (30, score.completed),
        (20, score.verified),
        (20, score.uptime),
        (15, score.start_latency),
        (15, score.rating),
    )
    return sum(hundredths * beta_ppm(beta) for hundredths, beta in parts) // 100


def beta_ppm(beta: Beta) -> int:
    """Return the mean of a Beta distribution with a prior of 1 + 1, in parts per million."""
    return (beta.positive + OBSERVATION) * 1_000_000 // (beta.positive + beta.negative + 2 * OBSERVATION)


def evidence_weight(fee: int) -> int:
    """Return the weight of one observation about a lease with this protocol fee, in millionths (ADR 0049).

    `fee`: base units, without the shares of scheduler and settler, which may go back to who paid it.
    """
    total = _FEE_UNIT + min(fee, _FEE_UNIT << _MOST_DOUBLINGS)
    doublings = (total // _FEE_UNIT).bit_length() - 1
    power = _FEE_UNIT << doublings
    rest = (total - power) * OBSERVATION // power
    return min(doublings * OBSERVATION + rest, _MOST_DOUBLINGS * OBSERVATION)
