"""The score of a host from its evidence: `gantry_primitives::score`, with the same rounding."""

from __future__ import annotations

from typing import Final

from offchain.schema.chain_types._generated_chain import Beta, HostScore

_OBSERVATION: Final = 1_000_000


def host_ppm(score: HostScore) -> int:
    """Return a host's score in parts per million; 500,000 without evidence."""
    parts = (
        (30, score.completed),
        (20, score.verified),
        (20, score.uptime),
        (15, score.start_latency),
        (15, score.rating),
    )
    return sum(hundredths * _beta_ppm(beta) for hundredths, beta in parts) // 100


def _beta_ppm(beta: Beta) -> int:
    """Return the mean of a Beta distribution with a prior of 1 + 1."""
    return (beta.positive + _OBSERVATION) * 1_000_000 // (beta.positive + beta.negative + 2 * _OBSERVATION)
