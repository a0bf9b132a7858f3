"""Body and answer of the check of a manifest, and the templates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from offchain.gateway.api.call_parameters import ManifestText, Variables
from offchain.gateway.api.models import Amount, AnsweredModel, BlockReference, ManifestErrorResource
from offchain.gateway.api.parameters import AccountId, Parameters
from offchain.gateway.api.wallet_models import RefusalResource


class ManifestBody(Parameters):
    """A manifest, and the account that would submit it."""

    manifest: ManifestText
    account: Annotated[AccountId | None, Field(description="Without it, coins and permissions are not checked.")] = None
    variables: Annotated[Variables, Field(default_factory=dict)]


class TaskPriceResource(AnsweredModel):
    """Prices of the hosts that can run it now, for an hour and pod; null if there is none.

    `deposit`: what all its pods can have deposited at the beginning.
    """

    lowest_per_hour: Amount | None
    highest_per_hour: Amount | None
    deposit: Amount


class ManifestCheckResource(AnsweredModel):
    """What would become of a manifest. `refusals`: what the chain or the schedulers would refuse now."""

    as_of: BlockReference
    valid: bool
    errors: list[ManifestErrorResource]
    price: TaskPriceResource | None
    expected_start_ms: Annotated[
        int | None, Field(description="Latest start by the scheduler's forecast, in chain time; null if unknown.")
    ]
    earliest_start_ms: int | None
    start: Annotated[str, Field(description="The start in words, or why it is unknown.")]
    placement: Annotated[str, Field(description="How many hosts can run it, and why others cannot.")]
    refusals: list[RefusalResource]


class TemplateVariableResource(AnsweredModel):
    """A variable of a template. `value`: its default; null if it has to be given."""

    name: str
    value: str | None


class TemplateResource(AnsweredModel):
    """A manifest to begin with."""

    name: str
    title: str
    description: str
    manifest: str
    variables: list[TemplateVariableResource]


class TemplateList(AnsweredModel):
    data: list[TemplateResource]
