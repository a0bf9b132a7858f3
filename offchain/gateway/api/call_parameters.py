"""Parameters of calls: a call of the chain by pallet and name, or an action of the API by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Discriminator, Field, Tag

from offchain.gateway.api.parameters import AccountId, Name, Number, Parameters
from offchain.services.submit_checks import MOST_IN_ARRAY

MOST_MANIFEST = 16_384
"""Characters; the chain stores as many bytes."""
_MOST_AMOUNT = (1 << 128) - 1
ACTION_TAG = "action "
"""Begins the tags of actions, which are no part of the name of a field."""
RAW_TAG = f"{ACTION_TAG}none"

AmountText = Annotated[int, Field(ge=0, le=_MOST_AMOUNT, description="Base units: a number, or decimal text.")]
Duration = Annotated[int, Field(ge=1, le=(1 << 63) - 1, description="Milliseconds.")]
Pod = Annotated[int, Field(ge=0, le=15)]
ManifestText = Annotated[str, Field(min_length=1, max_length=MOST_MANIFEST, description="Compose with x-gantry.")]
PartsPerMillion = Annotated[int, Field(ge=0, le=(1 << 32) - 1)]


class ChainCall(Parameters):
    """A call of the chain. `args`: as GET /v1/calls describes them."""

    pallet: Name
    name: Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,63}$")]
    args: Annotated[dict[str, Any], Field(default_factory=dict)]


Variables = Annotated[
    dict[Annotated[str, Field(max_length=128)], Annotated[str, Field(max_length=1_024)]],
    Field(max_length=64, description="Values of variables in the manifest; they become public."),
]


class TaskSubmit(Parameters):
    """Submit the task that a manifest describes, or an array of such jobs."""

    action: Literal["task.submit"]
    manifest: ManifestText
    variables: Annotated[Variables, Field(default_factory=dict)]
    count: Annotated[
        int, Field(ge=1, le=MOST_IN_ARRAY, description="Number of tasks; more than 1 for jobs only. Each has an index.")
    ] = 1


class TaskStop(Parameters):
    """Stop a task: end a running service or rental, cancel everything else."""

    action: Literal["task.stop"]
    task: Number


class TaskExtend(Parameters):
    """Extend a service or rental by a time, at its present rate."""

    action: Literal["task.extend"]
    task: Number
    ms: Duration
    pod: Annotated[Pod | None, Field(description="Only this pod; else all.")] = None


class TaskScale(Parameters):
    """Change the number of pods of a service, within the range of its manifest."""

    action: Literal["task.scale"]
    task: Number
    pods: Annotated[int, Field(ge=1, le=16)]


class TaskTopUp(Parameters):
    """Deposit more coins for a pod of a service or rental."""

    action: Literal["task.top_up"]
    task: Number
    amount: AmountText
    pod: Pod = 0


class TaskSuspend(Parameters):
    """Stop the machine of a rental; its volumes are kept."""

    action: Literal["task.suspend"]
    task: Number


class TaskResume(Parameters):
    """Start the machine of a suspended rental again."""

    action: Literal["task.resume"]
    task: Number


class TaskKeep(Parameters):
    """Keep the volumes of an ended rental longer."""

    action: Literal["task.keep"]
    task: Number
    ms: Duration
    max_rate_per_hour: Annotated[
        AmountText | None, Field(description="The highest price; else what the host asks now.")
    ] = None


class TaskRelease(Parameters):
    """Release the volumes of an ended rental: its host deletes them."""

    action: Literal["task.release"]
    task: Number


class TaskReclaim(Parameters):
    """Give a tenant notice that the provider of its host takes the resources of a lease back."""

    action: Literal["task.reclaim"]
    lease: Number


class TaskMove(Parameters):
    """Move a pod of a running job or service to another host."""

    action: Literal["task.move"]
    task: Number
    host: AccountId
    pod: Annotated[Pod | None, Field(description="Which pod; needed if several run.")] = None


class TaskAccept(Parameters):
    """Accept the results of a task: its hosts are paid at once."""

    action: Literal["task.accept"]
    task: Number


class TaskDispute(Parameters):
    """Dispute the results of a task; a jury decides, and the loser pays."""

    action: Literal["task.dispute"]
    task: Number
    evidence_sha256: Annotated[str, Field(pattern="^(0x)?[0-9a-fA-F]{64}$", description="SHA-256 of the evidence.")]
    pod: Annotated[Pod | None, Field(description="Only this pod; else all.")] = None


class TaskRate(Parameters):
    """Rate the hosts of a settled task, once."""

    action: Literal["task.rate"]
    task: Number
    stars: Annotated[int, Field(ge=1, le=5)]
    pod: Annotated[Pod | None, Field(description="Only this pod; else all.")] = None


class CoinTransfer(Parameters):
    """Transfer coins."""

    action: Literal["transfer"]
    to: AccountId
    amount: AmountText


class HostDrain(Parameters):
    """Take no new leases on a host."""

    action: Literal["host.drain"]
    host: AccountId


class HostUndrain(Parameters):
    """Take new leases on a host again."""

    action: Literal["host.undrain"]
    host: AccountId


HostIds = Annotated[list[AccountId], Field(min_length=1, max_length=50, description="Hosts of one provider.")]


class HostsDrain(Parameters):
    """Take no new leases on several hosts, all or none."""

    action: Literal["hosts.drain"]
    hosts: HostIds


class HostsUndrain(Parameters):
    """Take new leases on several hosts again, all or none."""

    action: Literal["hosts.undrain"]
    hosts: HostIds


class ModelPrice(Parameters):
    """The price of a whole GPU of a model for an hour."""

    model: Annotated[str, Field(min_length=1, max_length=64)]
    per_hour: AmountText


class HostSetAsk(Parameters):
    """Change prices of a host, in base units an hour; others stay as they are. Open leases keep their price."""

    action: Literal["host.set_ask"]
    host: AccountId
    gpu_per_hour: AmountText | None = None
    cpu_core_per_hour: AmountText | None = None
    memory_gib_per_hour: AmountText | None = None
    disk_gib_per_hour: AmountText | None = None
    storage_gib_per_hour: AmountText | None = None
    second_ppm: PartsPerMillion | None = None
    hour_ppm: PartsPerMillion | None = None
    day_ppm: PartsPerMillion | None = None
    gpu: Annotated[list[ModelPrice] | None, Field(max_length=16, description="Prices of models.")] = None


class HostTopUp(Parameters):
    """Add to the bond of a host."""

    action: Literal["host.top_up"]
    host: AccountId
    amount: Annotated[AmountText | None, Field(description="Else what the bond lacks.")] = None


class HostRetire(Parameters):
    """Retire a host that has no leases left."""

    action: Literal["host.retire"]
    host: AccountId


class HostWithdraw(Parameters):
    """Withdraw the bond of a retiring host, once it is free."""

    action: Literal["host.withdraw"]
    host: AccountId


class HostClaim(Parameters):
    """Settle what is payable to the provider of a host. Any account may; coins go to the provider."""

    action: Literal["host.claim"]
    host: AccountId


ACTION_PARAMETERS: tuple[type[Parameters], ...] = (
    TaskSubmit,
    TaskStop,
    TaskExtend,
    TaskScale,
    TaskTopUp,
    TaskSuspend,
    TaskResume,
    TaskKeep,
    TaskRelease,
    TaskReclaim,
    TaskMove,
    TaskAccept,
    TaskDispute,
    TaskRate,
    CoinTransfer,
    HostDrain,
    HostUndrain,
    HostsDrain,
    HostsUndrain,
    HostSetAsk,
    HostTopUp,
    HostRetire,
    HostWithdraw,
    HostClaim,
)


def action_name(model: type[Parameters]) -> str:
    """Return the name of an action."""
    (name,) = model.model_fields["action"].annotation.__args__  # type: ignore[union-attr]
    return str(name)


def _tag(value: Any) -> str | None:
    name = value.get("action") if isinstance(value, dict) else getattr(value, "action", None)
    return RAW_TAG if name is None else f"{ACTION_TAG}{name}"


if TYPE_CHECKING:
    CallChoice = Parameters
else:
    CallChoice = Annotated[
        Union[
            (
                Annotated[ChainCall, Tag(RAW_TAG)],
                *(Annotated[model, Tag(f"{ACTION_TAG}{action_name(model)}")] for model in ACTION_PARAMETERS),
            )
        ],
        Discriminator(_tag),
    ]
