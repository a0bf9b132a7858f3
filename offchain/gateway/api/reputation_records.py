"""Reputation on the chain as an answer. Pure."""

from __future__ import annotations

from offchain.gateway.api.reputation_models import (
    HostReputationResource,
    ProviderFaultsResource,
    ReputationResource,
    ScorePartResource,
    TenantReputationResource,
)
from offchain.schema.chain_types._generated_chain import Beta, FaultRecord, HostScore, TenantScore
from offchain.schema.chain_types.score import HOST_PARTS, TENANT_PARTS, beta_ppm, host_ppm, tenant_ppm


def reputation_of(
    account: str, host: HostScore | None, tenant: TenantScore | None, faults: FaultRecord | None
) -> ReputationResource:
    """Return the reputation of an account from its records; None: the chain has none."""
    return ReputationResource(
        account=account,
        host=None if host is None else _host(host),
        tenant=None if tenant is None else _tenant(tenant),
        provider=None
        if faults is None
        else ProviderFaultsResource(weight_ppm=faults.weight, updated_ms=faults.updated_at),
    )


def _host(score: HostScore) -> HostReputationResource:
    return HostReputationResource(
        score_ppm=host_ppm(score),
        parts=[_part(name, percent, getattr(score, name)) for name, percent in HOST_PARTS],
        promised_ms=score.sla.promised_ms,
        met_ms=score.sla.met_ms,
        settled_leases=score.settled_leases,
        updated_ms=score.updated_at,
    )


def _tenant(score: TenantScore) -> TenantReputationResource:
    return TenantReputationResource(
        score_ppm=tenant_ppm(score),
        parts=[_part(name, percent, getattr(score, name)) for name, percent in TENANT_PARTS],
        updated_ms=score.updated_at,
    )


def _part(name: str, percent: int, beta: Beta) -> ScorePartResource:
    return ScorePartResource(
        name=name,
        weight_percent=percent,
        positive=beta.positive,
        negative=beta.negative,
        score_ppm=beta_ppm(beta),
    )
