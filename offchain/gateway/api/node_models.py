"""Parameters and answers of what a node has and the index has not: terms of leases, arguments of calls."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from offchain.gateway.api.models import Account, Amount, AnsweredModel, Hash, LeaseId, TimeMs
from offchain.gateway.api.parameters import Number, Parameters


class TermsOfTask(Parameters):
    task: Number


class CallOfExtrinsic(Parameters):
    block: Number
    index: Annotated[Number, Field(description="Index of the extrinsic in its block.")]


class ValidatorResource(AnsweredModel):
    """A validator of the present session. `disabled`: it was found at fault, and makes no blocks in this session."""

    account: Account
    disabled: bool


class ValidatorList(AnsweredModel):
    """The validators of the session at a final block. Finality needs more than two thirds of them."""

    session: int
    validators: list[ValidatorResource]


class LeaseTermsResource(AnsweredModel):
    """What the bill of a lease depends on besides its rate and times, from its record on the chain.

    What is owed at a time: `accrued`, and the rate for the time since `since_ms` without `downtime_ms`, by the unit.
    """

    lease: LeaseId
    accrued: Annotated[Amount, Field(description="Owed for segments that have ended; of an ended lease: for all.")]
    since_ms: Annotated[TimeMs | None, Field(description="Begin of the running segment; null: nothing is billed.")]
    until_ms: Annotated[TimeMs | None, Field(description="When the running segment ends at the latest.")]
    reclaim_ms: Annotated[TimeMs | None, Field(description="When its provider takes the resources back.")]
    downtime_ms: Annotated[int, Field(description="Downtime of the host since the last segment began.")]


class TaskTermsResource(AnsweredModel):
    """The billing terms of a task and of the leases in its record: the last one of each pod."""

    task: int
    unit: Annotated[Literal["second", "hour", "day"], Field(description="Billing unit of all its leases.")]
    min_charge_ms: Annotated[int, Field(description="Least time billed for a lease that its tenant ended unstarted.")]
    leases: list[LeaseTermsResource]


class ExtrinsicCallResource(AnsweredModel):
    """The call of an extrinsic with its arguments, decoded from the body of its block."""

    block: int
    index: int
    hash: Hash
    call: Annotated[str, Field(description="Pallet and function.", examples=["Tasks.submit"])]
    signer: Annotated[Account | None, Field(description="Null for those that the block's author added.")]
    args: Annotated[
        dict[str, Any], Field(description="Plain values. Integers above 2^53 - 1 are decimal text; bytes 0x and hex.")
    ]
    runtime_known: Annotated[
        bool,
        Field(description="False: the node has pruned the block's state, and the present runtime was used to decode."),
    ]
