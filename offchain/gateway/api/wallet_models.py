"""Bodies and answers of the resources that build, submit and describe calls."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from offchain.gateway.api.call_parameters import CallChoice
from offchain.gateway.api.models import Account, Amount, AnsweredModel, BlockReference, Hash
from offchain.gateway.api.parameters import AccountId, Name, Parameters

MOST_CALL_HEX = 200_000
CallHex = Annotated[str, Field(pattern="^0x([0-9a-fA-F]{2})+$", max_length=MOST_CALL_HEX)]


class BuildBody(Parameters):
    """A call of an account: of the chain, by pallet and name, or an action of the API."""

    account: AccountId
    call: CallChoice


class SubmitBody(Parameters):
    """A built extrinsic and the wallet's signature of its payload."""

    account: AccountId
    call_hex: CallHex
    payload: Annotated[dict[str, Any], Field(description="As it was built.")]
    signature: Annotated[
        str,
        Field(
            pattern="^0x([0-9a-fA-F]{128}|[0-9a-fA-F]{130}|[0-9a-fA-F]{132})$",
            description="64 bytes, or a MultiSignature: sr25519, ed25519 or ecdsa.",
        ),
    ]


class RefusalResource(AnsweredModel):
    """What the chain, or its schedulers, would refuse now. `code` is stable."""

    code: str
    message: str
    hint: str


class UnsignedExtrinsicResource(AnsweredModel):
    """An extrinsic for a wallet to sign. `payload`: SignerPayloadJSON of polkadot.js."""

    as_of: BlockReference
    call_hex: str
    payload: dict[str, Any]
    signing_payload_hex: Annotated[str, Field(description="The bytes that the key signs; a hash of long payloads.")]
    expires_at_block: Annotated[int, Field(description="The last block that can include it.")]
    fee_estimate: Amount
    summary: Annotated[str, Field(description="What is signed, in words. A wallet decodes the call itself.")]
    refusals: list[RefusalResource]


class SubmittedResource(AnsweredModel):
    """An extrinsic that a node has taken into its pool."""

    as_of: BlockReference
    hash: Hash
    status_url: Annotated[str, Field(description="Lists the extrinsic once it is in a final block; 404 until then.")]


class CallFilter(Parameters):
    pallet: Annotated[Name | None, Field(description="Only calls of this pallet.")] = None
    kind: Annotated[Literal["call", "action"] | None, Field(description="Only calls, or only actions.")] = None


class CallResource(AnsweredModel):
    """A call that can be built. `parameters`: JSON schema of `args`, or of the action's fields."""

    kind: Literal["call", "action"]
    name: Annotated[str, Field(description="Pallet.name of a call, or the name of an action.", examples=["task.stop"])]
    role: Annotated[str, Field(description="tenant, provider, operator, or any.")]
    documentation: str
    parameters: dict[str, Any]


class CallList(AnsweredModel):
    as_of: BlockReference
    data: list[CallResource]


class BalanceOfAccount(Parameters):
    account: AccountId


class HoldResource(AnsweredModel):
    """Coins on hold for one reason, as the chain names it."""

    reason: Annotated[str, Field(examples=["Billing.Escrow"])]
    amount: Amount


class BalanceResource(AnsweredModel):
    """An account's coins: it has `free` + `held`. `spendable` is what transfers and fees can use."""

    account: Account
    free: Amount
    held: Amount
    frozen: Amount
    spendable: Amount
    nonce: Annotated[int, Field(description="Number of extrinsics of the account in final blocks.")]
    holds: list[HoldResource]
