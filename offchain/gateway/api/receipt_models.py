"""Body and answer of the check of a receipt."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from offchain.gateway.api.models import Account, AnsweredModel, LeaseId, TimeMs
from offchain.gateway.api.parameters import Parameters

_MOST_HEX = 128


class ReceiptBody(Parameters):
    """A receipt as `gantry task usage --json` writes it, with the signatures that it has."""

    receipt: Annotated[dict[str, Any], Field(description="The content that host and tenant sign.")]
    digest: Annotated[str, Field(max_length=_MOST_HEX, description="SHA-256 of its canonical form, 64 hex digits.")]
    signature: Annotated[str, Field(max_length=_MOST_HEX, description="Of the host, 128 hex digits.")]
    countersignature: Annotated[dict[str, Any] | None, Field(description="Of the tenant or its proxy.")] = None


class ReceiptCheckResource(AnsweredModel):
    """Whether a receipt agrees with the lease. `problems`: where it does not, as sentences; empty: it may be signed."""

    lease: LeaseId
    task: int
    host: Account
    digest: str
    seq: Annotated[int, Field(description="Number of the receipt of this lease, from 1.")]
    until_ms: Annotated[TimeMs, Field(description="End of the time that it covers.")]
    final: Annotated[bool, Field(description="Whether it says that no other one follows.")]
    signed_by_host: bool
    agreed_by: Annotated[
        Account | None,
        Field(description="The account that has signed it for the tenant; null: there is no valid signature."),
    ]
    problems: list[str]
