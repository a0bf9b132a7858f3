"""Parameters and answers about the reputation of hosts, tenants and providers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from offchain.gateway.api.models import Account, AnsweredModel, EventResource, TimeMs
from offchain.gateway.api.parameters import AccountId, Parameters, TimedListParameters

_Ppm = Annotated[int, Field(description="Parts per million.")]


class ReputationOf(Parameters):
    account: AccountId


class ScoreChangesOf(TimedListParameters):
    account: AccountId


class ScorePartResource(AnsweredModel):
    """Evidence of one kind, in millionths of an observation, as it weighed when it last changed.

    The score is (`positive` + 1) / (`positive` + `negative` + 2) in observations.
    """

    name: str
    weight_percent: Annotated[int, Field(description="Part in the score of the account.")]
    positive: int
    negative: int
    score_ppm: _Ppm


class HostReputationResource(AnsweredModel):
    """What is known of a host's conduct. `promised_ms`: time of its leases; `met_ms`: of it, while it was there."""

    score_ppm: _Ppm
    parts: list[ScorePartResource]
    promised_ms: int
    met_ms: int
    settled_leases: int
    updated_ms: TimeMs


class TenantReputationResource(AnsweredModel):
    """What is known of a tenant's conduct."""

    score_ppm: _Ppm
    parts: list[ScorePartResource]
    updated_ms: TimeMs


class ProviderFaultsResource(AnsweredModel):
    """What is held against a provider: the gravity of its hosts' faults. It raises the bonds of its hosts."""

    weight_ppm: Annotated[int, Field(description="Millionths of a grave fault of its only host.")]
    updated_ms: TimeMs


class ReputationResource(AnsweredModel):
    """The reputation of an account in each of its roles; null: there is no evidence about it in this role."""

    account: Account
    host: HostReputationResource | None
    tenant: TenantReputationResource | None
    provider: ProviderFaultsResource | None


class ScoreChangeResource(AnsweredModel):
    """A change of a score, with events that caused it: those about the account in the same extrinsic, at most 10."""

    id: Annotated[str, Field(description="Block and index of the event.")]
    block: int
    index: int
    time_ms: TimeMs
    extrinsic: int | None
    role: Literal["host", "tenant"]
    score_ppm: Annotated[int, Field(description="The score after it.")]
    causes: list[EventResource]
