"""The scores of hosts and tenants from their evidence: `gantry_primitives::score`, with the same rounding."""

from __future__ import annotations

from typing import Final

from offchain.schema.chain_types._generated_chain import Beta, HostScore, TenantScore

_OBSERVATION: Final = 1_000_000
HOST_PARTS: Final = (("completed", 30), ("verified", 20), ("uptime", 20), ("start_latency", 15), ("rating", 15))
"""Kinds of evidence about a host, each with its hundredths of the score."""
TENANT_PARTS: Final = (("settled", 50), ("disputes", 50))
"""Kinds of evidence about a tenant, each with its hundredths of the score."""


def host_ppm(score: HostScore) -> int:
    """Return a host's score in parts per million; 500,000 without evidence."""
    return sum(hundredths * beta_ppm(getattr(score, name)) for name, hundredths in HOST_PARTS) // 100


def tenant_ppm(score: TenantScore) -> int:
    """Return a tenant's score in parts per million; 500,000 without evidence."""
    return (beta_ppm(score.settled) + beta_ppm(score.disputes)) // 2


def beta_ppm(beta: Beta) -> int:
    """Return the mean of a Beta distribution with a prior of 1 + 1."""
    return (beta.positive + _OBSERVATION) * 1_000_000 // (beta.positive + beta.negative + 2 * _OBSERVATION)
