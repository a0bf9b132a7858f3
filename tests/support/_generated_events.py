"""The events of our pallets. Made by scripts/gen-chain-types; do not edit."""

# fmt: off
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from offchain.schema.chain_types._generated_chain import (
    AccountId,
    Ask,
    Attribute,
    ChallengeOutcome,
    DeviceSpec,
    DisputeOutcome,
    Due,
    EndReason,
    Fault,
    HostStatus,
    LeaseBill,
    LeaveReason,
    Matter,
    Misconduct,
    OfferOutcome,
    PenaltyReason,
    Placement,
    PodResult,
    RemovalReason,
    RequeueReason,
    ResultsOutcome,
    Side,
    Subject,
    TaskKind,
    TaskState,
    VoidReason,
    Vote,
)


class GantryEvent:
    """Base of the events of our pallets."""

    __slots__ = ()
    pallet: ClassVar[str]
    name: ClassVar[str]


@dataclass(frozen=True, slots=True)
class ValidatorsAdded(GantryEvent):
    """A validator joined the list."""

    pallet: ClassVar[str] = "Validators"
    name: ClassVar[str] = "Added"
    validator: AccountId
    """Whose session keys will be used."""


@dataclass(frozen=True, slots=True)
class ValidatorsRemoved(GantryEvent):
    """A validator left the list."""

    pallet: ClassVar[str] = "Validators"
    name: ClassVar[str] = "Removed"
    validator: AccountId
    """Who."""
    reason: RemovalReason
    """Why."""


@dataclass(frozen=True, slots=True)
class ValidatorsEquivocatorKept(GantryEvent):
    """A validator equivocated, but the list has no more than the fewest validators, so that it stays."""

    pallet: ClassVar[str] = "Validators"
    name: ClassVar[str] = "EquivocatorKept"
    validator: AccountId
    """Who."""


@dataclass(frozen=True, slots=True)
class GovernanceEnacting(GantryEvent):
    """A call will be carried out as root. Its result will be in an event of the scheduler."""

    pallet: ClassVar[str] = "Governance"
    name: ClassVar[str] = "Enacting"
    id: int
    """The id to cancel it by."""
    call_hash: bytes
    """The hash of the encoded call."""
    at: int
    """The block that will carry it out."""


@dataclass(frozen=True, slots=True)
class GovernanceCancelled(GantryEvent):
    """A call that waited will not be carried out."""

    pallet: ClassVar[str] = "Governance"
    name: ClassVar[str] = "Cancelled"
    id: int
    """Its id."""


@dataclass(frozen=True, slots=True)
class GovernanceParamsChanged(GantryEvent):
    """The periods of this pallet were changed."""

    pallet: ClassVar[str] = "Governance"
    name: ClassVar[str] = "ParamsChanged"


@dataclass(frozen=True, slots=True)
class HostsRegistered(GantryEvent):
    """A provider registered a host."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "Registered"
    host: AccountId
    """The host."""
    provider: AccountId
    """Who owns it."""


@dataclass(frozen=True, slots=True)
class HostsStatusChanged(GantryEvent):
    """A host changed its status."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "StatusChanged"
    host: AccountId
    """The host."""
    from_: HostStatus
    """What it was."""
    to: HostStatus
    """What it is."""


@dataclass(frozen=True, slots=True)
class HostsAskChanged(GantryEvent):
    """A host has a new price list."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "AskChanged"
    host: AccountId
    """The host."""
    ask: Ask
    """The new price list."""


@dataclass(frozen=True, slots=True)
class HostsEndpointChanged(GantryEvent):
    """A host changed its endpoint."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "EndpointChanged"
    host: AccountId
    """The host."""


@dataclass(frozen=True, slots=True)
class HostsParamsChanged(GantryEvent):
    """The periods and amounts of this pallet were changed."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "ParamsChanged"


@dataclass(frozen=True, slots=True)
class HostsHardwareChanged(GantryEvent):
    """A host has other hardware, and none of it is attested."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "HardwareChanged"
    host: AccountId
    """The host."""
    generation: int
    """How often its hardware was changed."""
    bond_required: int
    """What its bond must be now."""


@dataclass(frozen=True, slots=True)
class HostsDeviceHealthChanged(GantryEvent):
    """A host reported which of its devices are unhealthy; all others are healthy."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "DeviceHealthChanged"
    host: AccountId
    """The host."""
    unhealthy: bytes
    """The devices that take no new lease."""


@dataclass(frozen=True, slots=True)
class HostsNetworkMeasured(GantryEvent):
    """A host measured its network: what it offers, as `Placement.min_network_mbps` and `max_latency_ms` ask for it."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "NetworkMeasured"
    host: AccountId
    """The host."""
    down_mbps: int
    """Megabits a second to the host."""
    up_mbps: int
    """Megabits a second from the host."""
    latency_ms: int
    """Its round trip in milliseconds; 0 where it is not known."""


@dataclass(frozen=True, slots=True)
class HostsDeviceAttested(GantryEvent):
    """A challenge proved that a device is real, or did not."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "DeviceAttested"
    host: AccountId
    """The host."""
    device: int
    """The device."""
    attested: bool
    """Whether it was proved."""


@dataclass(frozen=True, slots=True)
class HostsAbsenceReported(GantryEvent):
    """A host was reported absent."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "AbsenceReported"
    host: AccountId
    """The host."""
    reporter: AccountId
    """Who reported it."""
    bounty: int
    """What the reporter got for it, out of the bond."""
    forfeited: int
    """What the treasury got, out of the bond as well."""


@dataclass(frozen=True, slots=True)
class HostsSlashed(GantryEvent):
    """A host paid for a fault out of its bond."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "Slashed"
    host: AccountId
    """The host."""
    fault: Fault
    """What it did."""
    amount: int
    """What was taken of its bond."""


@dataclass(frozen=True, slots=True)
class HostsBondToppedUp(GantryEvent):
    """A provider added to the bond of a host."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "BondToppedUp"
    host: AccountId
    """The host."""
    amount: int
    """What was added."""


@dataclass(frozen=True, slots=True)
class HostsBondWithdrawn(GantryEvent):
    """A provider has the bond of a retired host back."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "BondWithdrawn"
    host: AccountId
    """The host."""
    amount: int
    """What was left of it."""


@dataclass(frozen=True, slots=True)
class HostsDeviceChallenged(GantryEvent):
    """A device takes no new lease until the host has answered a challenge of it."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "DeviceChallenged"
    host: AccountId
    """The host."""
    device: int | None
    """The device; none: the host has answered, or the challenge is over."""


@dataclass(frozen=True, slots=True)
class TasksSubmitted(GantryEvent):
    """A tenant submitted tasks."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Submitted"
    first: int
    """The first of them; the others have the next numbers."""
    count: int
    """How many."""
    tenant: AccountId
    """The account that pays."""
    kind: TaskKind
    """The kind of the tasks."""
    manifest_digest: bytes
    """SHA-256 of their manifest."""


@dataclass(frozen=True, slots=True)
class TasksAssigned(GantryEvent):
    """Pods of a task were assigned."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Assigned"
    task: int
    """The task."""
    generation: int
    """The generation of the leases."""
    leases: tuple[tuple[int, AccountId, int, int], ...]
    """The leases that were opened, in the order of the pods: each with its host, its rate an hour and its
    deposit.
    """
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksDataMoved(GantryEvent):
    """A rental took over the retained data of a lease, which has ended for good."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "DataMoved"
    from_: int
    """The lease that had the data."""
    to: int
    """The lease that has it."""


@dataclass(frozen=True, slots=True)
class TasksPodStarted(GantryEvent):
    """A pod started."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "PodStarted"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""
    depletes_at: int
    """When the lease ends."""
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksPodReported(GantryEvent):
    """A pod reported its result."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "PodReported"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""
    result: PodResult
    """Its result."""
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksRequeued(GantryEvent):
    """An attempt failed: the task is queued again, or has failed."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Requeued"
    task: int
    """The task."""
    lease: int
    """The lease that failed."""
    reason: RequeueReason
    """Why."""
    bills: tuple[LeaseBill, ...]
    """How the leases of the attempt were paid."""
    failures: int
    """The number of failed attempts."""
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksPodLost(GantryEvent):
    """A pod of a service, a rental or a task with replicas failed."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "PodLost"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""
    reason: RequeueReason
    """Why."""
    bills: tuple[LeaseBill, ...]
    """How the leases that ended were paid."""
    failures: int
    """The number of failed attempts; for services and rentals, of consecutive ones."""
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksLeaseEnded(GantryEvent):
    """A lease ended because its time is over, its provider reclaimed it, or its deposit is used up."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "LeaseEnded"
    task: int
    """The task."""
    lease: int
    """The lease."""
    reason: EndReason
    """Why."""
    bills: tuple[LeaseBill, ...]
    """How the leases that were paid at once were paid. Those of services and rentals are paid when the task
    is settled.
    """
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksPreemptionNoticed(GantryEvent):
    """A spot task received a preemption notice in favour of a queued task of higher priority."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "PreemptionNoticed"
    task: int
    """The spot task."""
    wanting: int
    """The queued task."""
    ends_at: int
    """The spot task may continue until then."""


@dataclass(frozen=True, slots=True)
class TasksPreemptionWithdrawn(GantryEvent):
    """The preemption notice of a spot task was withdrawn: the queued task is no longer queued, or its pods did not
    fit at the end of the notice.
    """

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "PreemptionWithdrawn"
    task: int
    """The spot task."""
    wanting: int
    """The task that was queued."""


@dataclass(frozen=True, slots=True)
class TasksPreemptionFailed(GantryEvent):
    """A preemption notice is over, and the queued task could not be assigned: no task is evicted."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "PreemptionFailed"
    task: int
    """The queued task."""
    error: Any
    """Why it could not be assigned."""


@dataclass(frozen=True, slots=True)
class TasksPreempted(GantryEvent):
    """A spot task was preempted by a queued task of higher priority, which was assigned. A rental has ended, and
    its data is retained; others are queued again.
    """

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Preempted"
    task: int
    """The spot task."""
    wanting: int
    """The queued task."""
    bills: tuple[LeaseBill, ...]
    """How its leases were paid; that of a rental is paid at its settlement."""
    state: TaskState
    """Where the spot task stands now."""


@dataclass(frozen=True, slots=True)
class TasksStandbyNamed(GantryEvent):
    """A host was named as the standby of a lease."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "StandbyNamed"
    lease: int
    """The lease."""
    host: AccountId
    """The standby."""


@dataclass(frozen=True, slots=True)
class TasksLeaseMoved(GantryEvent):
    """A pod migrates to another host, by a new lease that is pending."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "LeaseMoved"
    task: int
    """The task."""
    from_: int
    """The lease that ended."""
    to: int
    """The new lease."""
    host: AccountId
    """The host of that lease."""
    rate_per_hour: int
    """The rate of that lease in base units per hour."""
    deposit: int
    """Its deposit: the rest of the deposit of the lease that ended."""
    bill: LeaseBill
    """How the lease that ended was paid."""
    reason: EndReason
    """Why it ended: the pod was moved, or it was lost and its standby took over."""


@dataclass(frozen=True, slots=True)
class TasksCheckpointed(GantryEvent):
    """A host stored a new checkpoint of a pod."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Checkpointed"
    lease: int
    """The lease of the pod."""
    digest: bytes
    """SHA-256 of the file."""
    bytes_: int
    """How long the file is, in bytes."""


@dataclass(frozen=True, slots=True)
class TasksCancelled(GantryEvent):
    """A tenant cancelled a task."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Cancelled"
    task: int
    """The task."""
    bills: tuple[LeaseBill, ...]
    """How its leases were paid."""


@dataclass(frozen=True, slots=True)
class TasksExpired(GantryEvent):
    """A task was not assigned before its deadline."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Expired"
    task: int
    """The task."""


@dataclass(frozen=True, slots=True)
class TasksStopped(GantryEvent):
    """A tenant ended a service or rental."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Stopped"
    task: int
    """The task."""
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksScaled(GantryEvent):
    """A service was scaled, or a further replica was requested."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Scaled"
    task: int
    """The task."""
    pods: int
    """How many."""
    bills: tuple[LeaseBill, ...]
    """How the leases of pods that are no longer wanted were paid."""
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksResultAccepted(GantryEvent):
    """The tenant accepted the result of a task."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "ResultAccepted"
    task: int
    """The task."""


@dataclass(frozen=True, slots=True)
class TasksVerified(GantryEvent):
    """The results of a task's replicas were compared and agree."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Verified"
    task: int
    """The task."""


@dataclass(frozen=True, slots=True)
class TasksNotVerified(GantryEvent):
    """The results of a task's replicas were compared and do not agree: the task has failed."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "NotVerified"
    task: int
    """The task."""
    bills: tuple[LeaseBill, ...]
    """How its leases were closed."""


@dataclass(frozen=True, slots=True)
class TasksNotRepeated(GantryEvent):
    """No other host repeats the work of an audited job: the result that was revealed is that of the task, and may be
    accepted or disputed.
    """

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "NotRepeated"
    task: int
    """The task."""


@dataclass(frozen=True, slots=True)
class TasksDisputed(GantryEvent):
    """The result of a task is disputed."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Disputed"
    task: int
    """The task."""


@dataclass(frozen=True, slots=True)
class TasksDisputeResolved(GantryEvent):
    """A dispute is decided."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "DisputeResolved"
    task: int
    """The task."""
    upheld: bool
    """Whether the dispute was upheld: then the result does not count and is not paid."""
    bills: tuple[LeaseBill, ...]
    """How the leases were closed where it was upheld."""
    state: TaskState
    """The new state of the task."""


@dataclass(frozen=True, slots=True)
class TasksSettled(GantryEvent):
    """A task is settled and everyone is paid."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Settled"
    task: int
    """The task."""
    bills: tuple[LeaseBill, ...]
    """How its leases were paid."""


@dataclass(frozen=True, slots=True)
class TasksRated(GantryEvent):
    """A tenant rated a lease of a settled task."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Rated"
    task: int
    """The task."""
    lease: int
    """The lease."""
    stars: int
    """How well, 1 to 5."""


@dataclass(frozen=True, slots=True)
class TasksPurged(GantryEvent):
    """The data of an ended rental was deleted."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Purged"
    task: int
    """The task."""
    lease: int
    """The lease."""
    receipt: bytes
    """SHA-256 of the receipt of its host."""


@dataclass(frozen=True, slots=True)
class TasksDataLost(GantryEvent):
    """A host lost the data of an ended rental that it was to keep."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "DataLost"
    task: int
    """The task."""
    lease: int
    """The lease."""


@dataclass(frozen=True, slots=True)
class TasksPruned(GantryEvent):
    """A final task was pruned."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Pruned"
    task: int
    """The task."""
    digest: bytes
    """The digest of its page of the archive, this task folded in."""


@dataclass(frozen=True, slots=True)
class TasksItemRefused(GantryEvent):
    """An item of a batch was refused. It changed nothing and did not affect the others."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "ItemRefused"
    index: int
    """Which item, counted from 0."""
    task: int
    """The task it is about."""
    error: Any
    """Why."""


@dataclass(frozen=True, slots=True)
class TasksBatchDone(GantryEvent):
    """A batch is done."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "BatchDone"
    accepted: int
    """How many of its items took effect."""
    refused: int
    """How many were refused."""


@dataclass(frozen=True, slots=True)
class TasksSchedulerBonded(GantryEvent):
    """An account may assign tasks of others."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "SchedulerBonded"
    who: AccountId
    """The account."""


@dataclass(frozen=True, slots=True)
class TasksSchedulerLeaving(GantryEvent):
    """An account may no longer assign tasks of others. Its bond is still held."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "SchedulerLeaving"
    who: AccountId
    """The account."""
    until: int
    """The time from which its bond can be released."""


@dataclass(frozen=True, slots=True)
class TasksSchedulerPunished(GantryEvent):
    """A scheduler lost a part of its bond, because it placed a pod on a host of its own although another was cheaper."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "SchedulerPunished"
    who: AccountId
    """The scheduler."""
    lease: int
    """The lease of the pod."""
    cheaper: AccountId
    """The host that was cheaper."""
    to_tenant: int
    """What went to the tenant."""
    to_treasury: int
    """What went to the treasury."""


@dataclass(frozen=True, slots=True)
class TasksSchedulerUnbonded(GantryEvent):
    """The bond of an account that has left the schedulers was released."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "SchedulerUnbonded"
    who: AccountId
    """The account."""


@dataclass(frozen=True, slots=True)
class TasksParamsChanged(GantryEvent):
    """The periods and amounts of this pallet were changed."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "ParamsChanged"


@dataclass(frozen=True, slots=True)
class TasksQueuesPublished(GantryEvent):
    """A scheduler has published the digest of its queue definitions, or withdrawn it."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "QueuesPublished"
    who: AccountId
    """The account."""
    digest: bytes | None
    """SHA-256 of the definitions as canonical JSON."""


@dataclass(frozen=True, slots=True)
class LeasesExtended(GantryEvent):
    """A tenant bought more time."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Extended"
    lease: int
    """The lease."""
    amount: int
    """How many coins were deposited."""
    ends_at: int
    """When the lease ends now."""


@dataclass(frozen=True, slots=True)
class LeasesToppedUp(GantryEvent):
    """A tenant deposited more coins."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "ToppedUp"
    lease: int
    """The lease."""
    amount: int
    """How many."""
    depletes_at: int
    """When the deposit is used up now."""


@dataclass(frozen=True, slots=True)
class LeasesSuspended(GantryEvent):
    """A tenant stopped the machine of its rental; the disk is kept."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Suspended"
    lease: int
    """The lease."""
    rate_per_hour: int
    """The new rate in base units per hour."""
    owed: int
    """The amount owed for the time before."""
    ends_at: int
    """When the lease ends now."""


@dataclass(frozen=True, slots=True)
class LeasesResumed(GantryEvent):
    """A tenant started the machine of its rental again."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Resumed"
    lease: int
    """The lease."""
    rate_per_hour: int
    """The new rate in base units per hour."""
    owed: int
    """The amount owed for the time before."""
    ends_at: int
    """When the lease ends now."""


@dataclass(frozen=True, slots=True)
class LeasesReclaimNoticed(GantryEvent):
    """A provider gave notice that it reclaims its resources."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "ReclaimNoticed"
    lease: int
    """The lease."""
    reclaim_at: int
    """When it ends."""


@dataclass(frozen=True, slots=True)
class LeasesPaid(GantryEvent):
    """A running lease was paid for."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Paid"
    lease: int
    """The lease."""
    until: int
    """The time until which it was paid."""
    share: int
    """The amount that the provider got."""
    fee: int
    """The protocol fee, the shares of scheduler and settler included."""
    scheduler_fee: int
    """The scheduler's share of the fee."""
    settler_fee: int
    """The settler's share of the fee."""


@dataclass(frozen=True, slots=True)
class LeasesBountyPaid(GantryEvent):
    """A lease whose deposit is used up was closed by an account that is none of its parties."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "BountyPaid"
    lease: int
    """The lease."""
    who: AccountId
    """Who closed it."""
    bounty: int
    """The bounty, out of the provider's share."""
    fee: int
    """The protocol fee for it, the shares of scheduler and settler included."""
    scheduler_fee: int
    """The scheduler's share of the fee."""
    settler_fee: int
    """The part of the fee that the closer got as the settler."""


@dataclass(frozen=True, slots=True)
class LeasesDataKept(GantryEvent):
    """A tenant paid for a longer retention of the data of a rental."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "DataKept"
    lease: int
    """The lease."""
    until: int
    """The new end of the retention."""
    rate_per_hour: int
    """The price of the added time, in base units an hour."""
    amount: int
    """How many coins are held for it."""


@dataclass(frozen=True, slots=True)
class LeasesStoragePaid(GantryEvent):
    """A host was paid for the retention of data, or the coins held for it were released to the tenant."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "StoragePaid"
    lease: int
    """The lease."""
    share: int
    """The amount that the provider got."""
    fee: int
    """The protocol fee, the shares of scheduler and settler included."""
    scheduler_fee: int
    """The scheduler's share of the fee."""
    settler_fee: int
    """The settler's share of the fee."""
    refunded: int
    """The amount released to the tenant."""


@dataclass(frozen=True, slots=True)
class LeasesDataReleased(GantryEvent):
    """A tenant no longer needs the data of a rental."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "DataReleased"
    lease: int
    """The lease."""


@dataclass(frozen=True, slots=True)
class LeasesPurgedWithoutReceipt(GantryEvent):
    """The time for a receipt of the purge is over, and the resources of the lease are released."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "PurgedWithoutReceipt"
    lease: int
    """The lease."""


@dataclass(frozen=True, slots=True)
class LeasesDueFailed(GantryEvent):
    """The processing of a due lease failed; it is retried."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "DueFailed"
    lease: int
    """The lease."""
    error: Any
    """Why."""
    again_at: int
    """When it is retried."""


@dataclass(frozen=True, slots=True)
class LeasesCranked(GantryEvent):
    """An account had entries of the agenda processed."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Cranked"
    entries: int
    """How many."""


@dataclass(frozen=True, slots=True)
class LeasesParamsChanged(GantryEvent):
    """The periods of this pallet were changed."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "ParamsChanged"


@dataclass(frozen=True, slots=True)
class BillingParamsChanged(GantryEvent):
    """The amounts and periods of this pallet were changed."""

    pallet: ClassVar[str] = "Billing"
    name: ClassVar[str] = "ParamsChanged"


@dataclass(frozen=True, slots=True)
class ReputationScored(GantryEvent):
    """A host has new evidence for or against it."""

    pallet: ClassVar[str] = "Reputation"
    name: ClassVar[str] = "Scored"
    host: AccountId
    """The host."""
    score_ppm: int
    """Its score now, in parts per million."""


@dataclass(frozen=True, slots=True)
class ReputationTenantScored(GantryEvent):
    """A tenant has new evidence for or against it."""

    pallet: ClassVar[str] = "Reputation"
    name: ClassVar[str] = "TenantScored"
    tenant: AccountId
    """The tenant."""
    score_ppm: int
    """Its score now, in parts per million."""


@dataclass(frozen=True, slots=True)
class VerificationVerifierBonded(GantryEvent):
    """An account may be drawn as a verifier, or brought its bond up to what is asked for."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "VerifierBonded"
    who: AccountId
    """The account."""
    bond: int
    """What is held of it now."""


@dataclass(frozen=True, slots=True)
class VerificationVerifierLeaving(GantryEvent):
    """A verifier is not drawn any more."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "VerifierLeaving"
    who: AccountId
    """The account."""
    until: int
    """Until when its bond is kept at least."""
    reason: LeaveReason
    """Why."""


@dataclass(frozen=True, slots=True)
class VerificationVerifierLeft(GantryEvent):
    """A verifier has its bond back."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "VerifierLeft"
    who: AccountId
    """The account."""
    bond: int
    """What it got back."""


@dataclass(frozen=True, slots=True)
class VerificationVerifierPenalised(GantryEvent):
    """A verifier lost some of its bond."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "VerifierPenalised"
    who: AccountId
    """The account."""
    matter: Matter
    """The committee or jury of this matter it was on."""
    reason: PenaltyReason
    """Why."""
    amount: int
    """How much it lost."""


@dataclass(frozen=True, slots=True)
class VerificationVerifierRewarded(GantryEvent):
    """A verifier was paid for having voted with the majority, or for a challenge that the host did not answer."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "VerifierRewarded"
    who: AccountId
    """The account."""
    matter: Matter
    """The committee or jury of this matter it was on."""
    amount: int
    """How much it got."""


@dataclass(frozen=True, slots=True)
class VerificationCommitteeDrawn(GantryEvent):
    """A committee or jury was drawn."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "CommitteeDrawn"
    matter: Matter
    """What it judges."""
    round: int
    """How many were drawn for this matter before."""
    seed: bytes
    """What it was drawn by."""
    block: int
    """The block whose randomness the seed is of."""
    members: tuple[AccountId, ...]
    """Its members."""


@dataclass(frozen=True, slots=True)
class VerificationConfirmationAwaited(GantryEvent):
    """A committee found against a host. Another one, drawn by the same seed, judges the same answer."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ConfirmationAwaited"
    challenge: int
    """The challenge."""
    round: int
    """How many committees were drawn for the challenge before."""
    members: tuple[AccountId, ...]
    """The members of the confirming committee."""
    until: int
    """Until when they may commit their votes."""


@dataclass(frozen=True, slots=True)
class VerificationCommitteeNotDrawn(GantryEvent):
    """There were not enough verifiers for a committee or jury."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "CommitteeNotDrawn"
    matter: Matter
    """What it was to judge."""
    round: int
    """How many were drawn for this matter before."""
    seed: bytes
    """What it was to be drawn by."""
    block: int
    """The block whose randomness the seed is of."""


@dataclass(frozen=True, slots=True)
class VerificationVoteCommitted(GantryEvent):
    """A member of a committee or jury is bound to a vote."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "VoteCommitted"
    matter: Matter
    """What it judges."""
    who: AccountId
    """The member."""
    commitment: bytes
    """What binds it."""


@dataclass(frozen=True, slots=True)
class VerificationRevealsOpened(GantryEvent):
    """The members of a committee or jury may reveal their votes."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "RevealsOpened"
    matter: Matter
    """What it judges."""
    until: int
    """The last moment for it."""


@dataclass(frozen=True, slots=True)
class VerificationVoteRevealed(GantryEvent):
    """A member of a committee or jury showed its vote."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "VoteRevealed"
    matter: Matter
    """What it judges."""
    who: AccountId
    """The member."""
    vote: Vote
    """The vote."""


@dataclass(frozen=True, slots=True)
class VerificationBallotClosed(GantryEvent):
    """A committee or jury is done."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "BallotClosed"
    matter: Matter
    """What it judged."""
    round: int
    """How many were drawn for this matter before."""
    verdict: Vote | None
    """The vote of more than half of its members, if there is one."""


@dataclass(frozen=True, slots=True)
class VerificationChallengeOpened(GantryEvent):
    """A challenge was opened."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ChallengeOpened"
    challenge: int
    """The challenge."""
    host: AccountId
    """The host."""
    device: int
    """Which of its devices."""
    claim: DeviceSpec
    """What its provider says about the device."""
    opener: AccountId | None
    """Who opened it; none where the chain's governance did."""
    fee: int
    """What the opener pays the committee."""


@dataclass(frozen=True, slots=True)
class VerificationAnswerAwaited(GantryEvent):
    """A challenge has a committee and its host must answer."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "AnswerAwaited"
    challenge: int
    """The challenge."""
    until: int
    """The last moment for it."""


@dataclass(frozen=True, slots=True)
class VerificationAnswered(GantryEvent):
    """A host answered a challenge."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "Answered"
    challenge: int
    """The challenge."""
    digest: bytes
    """SHA-256 of the proof."""
    until: int
    """Until when the committee commits its votes."""


@dataclass(frozen=True, slots=True)
class VerificationChallengeClosed(GantryEvent):
    """A challenge is over."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ChallengeClosed"
    challenge: int
    """The challenge."""
    host: AccountId
    """The host."""
    device: int
    """Which of its devices."""
    outcome: ChallengeOutcome
    """What became of it."""
    returned: int
    """What of the fee the opener got back."""


@dataclass(frozen=True, slots=True)
class VerificationResultCommitted(GantryEvent):
    """A host is bound to a result."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ResultCommitted"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""
    commitment: bytes
    """What binds it."""


@dataclass(frozen=True, slots=True)
class VerificationAuditDrawn(GantryEvent):
    """The chain drew whether another host repeats the work of one that has committed its result."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "AuditDrawn"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""
    valid: int
    """How many results of the host were valid before, one after the other."""
    probability_ppm: int
    """The probability of a repetition in parts per million."""
    seed: bytes
    """What it was drawn by."""
    block: int
    """The block whose randomness the seed is of."""
    repeated: bool
    """Whether it is repeated."""


@dataclass(frozen=True, slots=True)
class VerificationTagsOpened(GantryEvent):
    """The hosts that committed may show the tags of their results."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "TagsOpened"
    task: int
    """The task."""
    until: int
    """The last moment for it."""


@dataclass(frozen=True, slots=True)
class VerificationResultTagged(GantryEvent):
    """A host showed the tag of its result."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ResultTagged"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""
    tag: bytes
    """The tag: equal results of a task have equal tags."""


@dataclass(frozen=True, slots=True)
class VerificationResultsOpened(GantryEvent):
    """The tags agree, or there is one result only, and the hosts may reveal their results."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ResultsOpened"
    task: int
    """The task."""
    until: int
    """The last moment for it."""


@dataclass(frozen=True, slots=True)
class VerificationResultRevealed(GantryEvent):
    """A host showed its result."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ResultRevealed"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""
    result: PodResult
    """The result."""


@dataclass(frozen=True, slots=True)
class VerificationReplicaRejected(GantryEvent):
    """A host's result was wrong or missing."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ReplicaRejected"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""
    host: AccountId
    """The host."""
    reason: Misconduct
    """Why."""


@dataclass(frozen=True, slots=True)
class VerificationSlashShared(GantryEvent):
    """Somebody got a part of what a host lost for a wrong or missing result: the tenant of the task, or the provider of
    a host whose result is that of the majority.
    """

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "SlashShared"
    task: int
    """The task."""
    lease: int
    """The lease of the pod whose host was slashed."""
    who: AccountId
    """Who got it."""
    amount: int
    """How much."""


@dataclass(frozen=True, slots=True)
class VerificationExtraPodWanted(GantryEvent):
    """One more host is asked, because results do not agree or one is audited."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ExtraPodWanted"
    task: int
    """The task."""
    wanted: int
    """How many results are compared then."""


@dataclass(frozen=True, slots=True)
class VerificationResultsClosed(GantryEvent):
    """The results of a task were compared."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ResultsClosed"
    task: int
    """The task."""
    outcome: ResultsOutcome
    """What became of them."""


@dataclass(frozen=True, slots=True)
class VerificationDisputeOpened(GantryEvent):
    """A task is in dispute."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "DisputeOpened"
    task: int
    """The task."""
    by: AccountId
    """Who opened it."""
    accused: tuple[int, ...]
    """The leases whose results are disputed."""
    stake: int
    """What it staked."""
    evidence: bytes
    """SHA-256 of its first piece of evidence."""
    until: int
    """Until when both sides may name evidence."""


@dataclass(frozen=True, slots=True)
class VerificationEvidenceAdded(GantryEvent):
    """A side of a dispute named evidence."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "EvidenceAdded"
    task: int
    """The task."""
    by: AccountId
    """Who named it."""
    digest: bytes
    """SHA-256 of it."""


@dataclass(frozen=True, slots=True)
class VerificationJuryAwaited(GantryEvent):
    """A jury was asked for."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "JuryAwaited"
    task: int
    """The task."""
    level: int
    """How often a verdict was appealed."""


@dataclass(frozen=True, slots=True)
class VerificationJuryCommits(GantryEvent):
    """A jury may commit its votes."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "JuryCommits"
    task: int
    """The task."""
    until: int
    """The last moment for it."""


@dataclass(frozen=True, slots=True)
class VerificationDisputeDecided(GantryEvent):
    """A jury has a verdict."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "DisputeDecided"
    task: int
    """The task."""
    level: int
    """How often a verdict was appealed before."""
    verdict: Vote
    """Whether the dispute is upheld."""
    appeal_until: int | None
    """Until when it may be appealed; none where it may not."""


@dataclass(frozen=True, slots=True)
class VerificationAppealed(GantryEvent):
    """A verdict was appealed."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "Appealed"
    task: int
    """The task."""
    by: AccountId
    """Who appealed."""
    stake: int
    """What it staked."""
    level: int
    """How often a verdict was appealed."""
    until: int
    """Until when both sides may name evidence."""


@dataclass(frozen=True, slots=True)
class VerificationStakeReturned(GantryEvent):
    """A stake was returned."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "StakeReturned"
    task: int
    """The task."""
    who: AccountId
    """Its owner."""
    amount: int
    """How much."""


@dataclass(frozen=True, slots=True)
class VerificationStakeLost(GantryEvent):
    """A stake was lost."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "StakeLost"
    task: int
    """The task."""
    who: AccountId
    """Its former owner."""
    amount: int
    """How much."""


@dataclass(frozen=True, slots=True)
class VerificationFeeRefunded(GantryEvent):
    """The fee of a jury was refunded to a winning party by the losing ones."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "FeeRefunded"
    task: int
    """The task."""
    who: AccountId
    """Who got it."""
    amount: int
    """How much."""


@dataclass(frozen=True, slots=True)
class VerificationDisputeClosed(GantryEvent):
    """A dispute is over."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "DisputeClosed"
    task: int
    """The task."""
    outcome: DisputeOutcome
    """What became of it."""


@dataclass(frozen=True, slots=True)
class VerificationStepFailed(GantryEvent):
    """The processing of an entry failed; nothing changed, and it is retried. A bug: please report it."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "StepFailed"
    matter: Matter
    """The matter of the entry."""
    error: Any
    """Why."""


@dataclass(frozen=True, slots=True)
class VerificationParamsChanged(GantryEvent):
    """The parameters of this pallet were changed."""

    pallet: ClassVar[str] = "Verification"
    name: ClassVar[str] = "ParamsChanged"


@dataclass(frozen=True, slots=True)
class AgreementsProposed(GantryEvent):
    """A tenant offered a provider a long lease."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "Proposed"
    offer: int
    """The offer."""
    tenant: AccountId
    """The account that would pay."""
    provider: AccountId
    """The owner of the hosts."""
    rate_per_hour: int
    """The price in base units an hour."""
    duration_ms: int
    """The duration of the lease in milliseconds."""
    until: int
    """The provider may answer until then."""


@dataclass(frozen=True, slots=True)
class AgreementsCountered(GantryEvent):
    """A side answered an offer with other terms."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "Countered"
    offer: int
    """The offer."""
    by: Side
    """The side whose terms they are."""
    rate_per_hour: int
    """The price in base units an hour."""
    duration_ms: int
    """The duration of the lease in milliseconds."""
    until: int
    """The other side may answer until then."""


@dataclass(frozen=True, slots=True)
class AgreementsAccepted(GantryEvent):
    """An offer was accepted. The place is reserved, and both sides are bound."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "Accepted"
    offer: int
    """The offer."""
    host: AccountId
    """The host."""
    bond: int
    """The bond that is held of each side."""
    start_until: int
    """The tenant may begin until then."""


@dataclass(frozen=True, slots=True)
class AgreementsUnavailableReported(GantryEvent):
    """A tenant reported that the host of an agreement could not take the pod."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "UnavailableReported"
    offer: int
    """The offer."""
    host: AccountId
    """The host."""


@dataclass(frozen=True, slots=True)
class AgreementsBegun(GantryEvent):
    """The lease of an agreement began."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "Begun"
    offer: int
    """The offer."""
    lease: int
    """The lease."""
    ends_at: int
    """Both sides are bound until then."""


@dataclass(frozen=True, slots=True)
class AgreementsOfferClosed(GantryEvent):
    """An offer or agreement is over."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "OfferClosed"
    offer: int
    """The offer."""
    outcome: OfferOutcome
    """How it ended."""
    compensation: int
    """The part of the bond of the side that broke it that went to the other."""


@dataclass(frozen=True, slots=True)
class AgreementsTicketOpened(GantryEvent):
    """A tenant opened a ticket."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "TicketOpened"
    ticket: int
    """The ticket."""
    lease: int
    """The lease that it is about."""
    host: AccountId
    """The host of the lease."""
    digest: bytes
    """SHA-256 of the text."""
    respond_until: int
    """A provider that answers until then has responded in time."""


@dataclass(frozen=True, slots=True)
class AgreementsTicketAnswered(GantryEvent):
    """A side of a ticket wrote a message."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "TicketAnswered"
    ticket: int
    """The ticket."""
    by: Side
    """The side."""
    digest: bytes
    """SHA-256 of the text."""


@dataclass(frozen=True, slots=True)
class AgreementsTicketClosed(GantryEvent):
    """A side closed a ticket."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "TicketClosed"
    ticket: int
    """The ticket."""
    by: Side
    """The side."""


@dataclass(frozen=True, slots=True)
class AgreementsResponseCounted(GantryEvent):
    """The provider of a host responded to the ticket of a lease in time, or did not."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "ResponseCounted"
    ticket: int
    """The ticket."""
    host: AccountId
    """The host."""
    in_time: bool
    """Whether it was in time."""


@dataclass(frozen=True, slots=True)
class AgreementsTicketForgotten(GantryEvent):
    """A ticket was removed, and its deposit released."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "TicketForgotten"
    ticket: int
    """The ticket."""


@dataclass(frozen=True, slots=True)
class AgreementsAuditorBonded(GantryEvent):
    """An account became an auditor, or topped up its bond."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "AuditorBonded"
    who: AccountId
    """The account."""
    bond: int
    """Its bond now."""


@dataclass(frozen=True, slots=True)
class AgreementsAuditorLeaving(GantryEvent):
    """An auditor may no longer attest."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "AuditorLeaving"
    who: AccountId
    """The account."""
    until: int
    """Its bond is held at least until then."""


@dataclass(frozen=True, slots=True)
class AgreementsAuditorLeft(GantryEvent):
    """The bond of a former auditor was released."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "AuditorLeft"
    who: AccountId
    """The account."""
    bond: int
    """The released amount."""


@dataclass(frozen=True, slots=True)
class AgreementsAuditorSlashed(GantryEvent):
    """An auditor lost some of its bond for a wrong attestation."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "AuditorSlashed"
    who: AccountId
    """The account."""
    amount: int
    """The amount, of its bond and of the stake of the attestation."""


@dataclass(frozen=True, slots=True)
class AgreementsAttested(GantryEvent):
    """An auditor attested an attribute."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "Attested"
    attestation: int
    """The attestation."""
    auditor: AccountId
    """The auditor."""
    subject: Subject
    """The provider or host."""
    attribute: Attribute
    """The attribute."""
    expires_at: int
    """It is void from then on."""


@dataclass(frozen=True, slots=True)
class AgreementsContested(GantryEvent):
    """An account contested an attestation."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "Contested"
    attestation: int
    """The attestation."""
    by: AccountId
    """The account."""
    evidence: bytes
    """SHA-256 of the evidence."""
    until: int
    """Without a decision until then the attestation stays in force."""


@dataclass(frozen=True, slots=True)
class AgreementsContestRejected(GantryEvent):
    """A contest ended, and the attestation stays in force."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "ContestRejected"
    attestation: int
    """The attestation."""
    decided: bool
    """Whether governance decided it. Otherwise there was no decision in time."""


@dataclass(frozen=True, slots=True)
class AgreementsVoided(GantryEvent):
    """An attestation is no longer in force."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "Voided"
    attestation: int
    """The attestation."""
    reason: VoidReason
    """Why."""


@dataclass(frozen=True, slots=True)
class AgreementsDueFailed(GantryEvent):
    """A due entry of the agenda failed; nothing changed, and it is retried later. A bug: please report it."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "DueFailed"
    due: Due
    """The entry."""
    error: Any
    """Why."""


@dataclass(frozen=True, slots=True)
class AgreementsParamsChanged(GantryEvent):
    """The parameters of this pallet were changed."""

    pallet: ClassVar[str] = "Agreements"
    name: ClassVar[str] = "ParamsChanged"


_EVENTS: Final[dict[tuple[str, str], Callable[[Any], GantryEvent]]] = {
    ("Validators", "Added"): lambda f: ValidatorsAdded(validator=f["validator"]),
    ("Validators", "Removed"): lambda f: ValidatorsRemoved(
        validator=f["validator"],
        reason=RemovalReason.decode(f["reason"]),
    ),
    ("Validators", "EquivocatorKept"): lambda f: ValidatorsEquivocatorKept(validator=f["validator"]),
    ("Governance", "Enacting"): lambda f: GovernanceEnacting(id=f["id"], call_hash=f["call_hash"], at=f["at"]),
    ("Governance", "Cancelled"): lambda f: GovernanceCancelled(id=f["id"]),
    ("Governance", "ParamsChanged"): lambda _: GovernanceParamsChanged(),
    ("Hosts", "Registered"): lambda f: HostsRegistered(host=f["host"], provider=f["provider"]),
    ("Hosts", "StatusChanged"): lambda f: HostsStatusChanged(
        host=f["host"],
        from_=HostStatus.decode(f["from"]),
        to=HostStatus.decode(f["to"]),
    ),
    ("Hosts", "AskChanged"): lambda f: HostsAskChanged(host=f["host"], ask=Ask.decode(f["ask"])),
    ("Hosts", "EndpointChanged"): lambda f: HostsEndpointChanged(host=f["host"]),
    ("Hosts", "ParamsChanged"): lambda _: HostsParamsChanged(),
    ("Hosts", "HardwareChanged"): lambda f: HostsHardwareChanged(
        host=f["host"],
        generation=f["generation"],
        bond_required=f["bond_required"],
    ),
    ("Hosts", "DeviceHealthChanged"): lambda f: HostsDeviceHealthChanged(host=f["host"], unhealthy=f["unhealthy"]),
    ("Hosts", "NetworkMeasured"): lambda f: HostsNetworkMeasured(
        host=f["host"],
        down_mbps=f["down_mbps"],
        up_mbps=f["up_mbps"],
        latency_ms=f["latency_ms"],
    ),
    ("Hosts", "DeviceAttested"): lambda f: HostsDeviceAttested(
        host=f["host"],
        device=f["device"],
        attested=f["attested"],
    ),
    ("Hosts", "AbsenceReported"): lambda f: HostsAbsenceReported(
        host=f["host"],
        reporter=f["reporter"],
        bounty=f["bounty"],
        forfeited=f["forfeited"],
    ),
    ("Hosts", "Slashed"): lambda f: HostsSlashed(host=f["host"], fault=Fault.decode(f["fault"]), amount=f["amount"]),
    ("Hosts", "BondToppedUp"): lambda f: HostsBondToppedUp(host=f["host"], amount=f["amount"]),
    ("Hosts", "BondWithdrawn"): lambda f: HostsBondWithdrawn(host=f["host"], amount=f["amount"]),
    ("Hosts", "DeviceChallenged"): lambda f: HostsDeviceChallenged(host=f["host"], device=f["device"]),
    ("Tasks", "Submitted"): lambda f: TasksSubmitted(
        first=f["first"],
        count=f["count"],
        tenant=f["tenant"],
        kind=TaskKind.decode(f["kind"]),
        manifest_digest=f["manifest_digest"],
    ),
    ("Tasks", "Assigned"): lambda f: TasksAssigned(
        task=f["task"],
        generation=f["generation"],
        leases=tuple(f["leases"]),
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "DataMoved"): lambda f: TasksDataMoved(from_=f["from"], to=f["to"]),
    ("Tasks", "PodStarted"): lambda f: TasksPodStarted(
        task=f["task"],
        lease=f["lease"],
        depletes_at=f["depletes_at"],
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "PodReported"): lambda f: TasksPodReported(
        task=f["task"],
        lease=f["lease"],
        result=PodResult.decode(f["result"]),
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "Requeued"): lambda f: TasksRequeued(
        task=f["task"],
        lease=f["lease"],
        reason=RequeueReason.decode(f["reason"]),
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
        failures=f["failures"],
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "PodLost"): lambda f: TasksPodLost(
        task=f["task"],
        lease=f["lease"],
        reason=RequeueReason.decode(f["reason"]),
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
        failures=f["failures"],
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "LeaseEnded"): lambda f: TasksLeaseEnded(
        task=f["task"],
        lease=f["lease"],
        reason=EndReason.decode(f["reason"]),
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "PreemptionNoticed"): lambda f: TasksPreemptionNoticed(
        task=f["task"],
        wanting=f["wanting"],
        ends_at=f["ends_at"],
    ),
    ("Tasks", "PreemptionWithdrawn"): lambda f: TasksPreemptionWithdrawn(task=f["task"], wanting=f["wanting"]),
    ("Tasks", "PreemptionFailed"): lambda f: TasksPreemptionFailed(task=f["task"], error=f["error"]),
    ("Tasks", "Preempted"): lambda f: TasksPreempted(
        task=f["task"],
        wanting=f["wanting"],
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "StandbyNamed"): lambda f: TasksStandbyNamed(lease=f["lease"], host=f["host"]),
    ("Tasks", "LeaseMoved"): lambda f: TasksLeaseMoved(
        task=f["task"],
        from_=f["from"],
        to=f["to"],
        host=f["host"],
        rate_per_hour=f["rate_per_hour"],
        deposit=f["deposit"],
        bill=LeaseBill.decode(f["bill"]),
        reason=EndReason.decode(f["reason"]),
    ),
    ("Tasks", "Checkpointed"): lambda f: TasksCheckpointed(lease=f["lease"], digest=f["digest"], bytes_=f["bytes"]),
    ("Tasks", "Cancelled"): lambda f: TasksCancelled(
        task=f["task"],
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
    ),
    ("Tasks", "Expired"): lambda f: TasksExpired(task=f["task"]),
    ("Tasks", "Stopped"): lambda f: TasksStopped(task=f["task"], state=TaskState.decode(f["state"])),
    ("Tasks", "Scaled"): lambda f: TasksScaled(
        task=f["task"],
        pods=f["pods"],
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "ResultAccepted"): lambda f: TasksResultAccepted(task=f["task"]),
    ("Tasks", "Verified"): lambda f: TasksVerified(task=f["task"]),
    ("Tasks", "NotVerified"): lambda f: TasksNotVerified(
        task=f["task"],
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
    ),
    ("Tasks", "NotRepeated"): lambda f: TasksNotRepeated(task=f["task"]),
    ("Tasks", "Disputed"): lambda f: TasksDisputed(task=f["task"]),
    ("Tasks", "DisputeResolved"): lambda f: TasksDisputeResolved(
        task=f["task"],
        upheld=f["upheld"],
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
        state=TaskState.decode(f["state"]),
    ),
    ("Tasks", "Settled"): lambda f: TasksSettled(
        task=f["task"],
        bills=tuple(LeaseBill.decode(i0) for i0 in f["bills"]),
    ),
    ("Tasks", "Rated"): lambda f: TasksRated(task=f["task"], lease=f["lease"], stars=f["stars"]),
    ("Tasks", "Purged"): lambda f: TasksPurged(task=f["task"], lease=f["lease"], receipt=f["receipt"]),
    ("Tasks", "DataLost"): lambda f: TasksDataLost(task=f["task"], lease=f["lease"]),
    ("Tasks", "Pruned"): lambda f: TasksPruned(task=f["task"], digest=f["digest"]),
    ("Tasks", "ItemRefused"): lambda f: TasksItemRefused(index=f["index"], task=f["task"], error=f["error"]),
    ("Tasks", "BatchDone"): lambda f: TasksBatchDone(accepted=f["accepted"], refused=f["refused"]),
    ("Tasks", "SchedulerBonded"): lambda f: TasksSchedulerBonded(who=f["who"]),
    ("Tasks", "SchedulerLeaving"): lambda f: TasksSchedulerLeaving(who=f["who"], until=f["until"]),
    ("Tasks", "SchedulerPunished"): lambda f: TasksSchedulerPunished(
        who=f["who"],
        lease=f["lease"],
        cheaper=f["cheaper"],
        to_tenant=f["to_tenant"],
        to_treasury=f["to_treasury"],
    ),
    ("Tasks", "SchedulerUnbonded"): lambda f: TasksSchedulerUnbonded(who=f["who"]),
    ("Tasks", "ParamsChanged"): lambda _: TasksParamsChanged(),
    ("Tasks", "QueuesPublished"): lambda f: TasksQueuesPublished(who=f["who"], digest=f["digest"]),
    ("Leases", "Extended"): lambda f: LeasesExtended(lease=f["lease"], amount=f["amount"], ends_at=f["ends_at"]),
    ("Leases", "ToppedUp"): lambda f: LeasesToppedUp(
        lease=f["lease"],
        amount=f["amount"],
        depletes_at=f["depletes_at"],
    ),
    ("Leases", "Suspended"): lambda f: LeasesSuspended(
        lease=f["lease"],
        rate_per_hour=f["rate_per_hour"],
        owed=f["owed"],
        ends_at=f["ends_at"],
    ),
    ("Leases", "Resumed"): lambda f: LeasesResumed(
        lease=f["lease"],
        rate_per_hour=f["rate_per_hour"],
        owed=f["owed"],
        ends_at=f["ends_at"],
    ),
    ("Leases", "ReclaimNoticed"): lambda f: LeasesReclaimNoticed(lease=f["lease"], reclaim_at=f["reclaim_at"]),
    ("Leases", "Paid"): lambda f: LeasesPaid(
        lease=f["lease"],
        until=f["until"],
        share=f["share"],
        fee=f["fee"],
        scheduler_fee=f["scheduler_fee"],
        settler_fee=f["settler_fee"],
    ),
    ("Leases", "BountyPaid"): lambda f: LeasesBountyPaid(
        lease=f["lease"],
        who=f["who"],
        bounty=f["bounty"],
        fee=f["fee"],
        scheduler_fee=f["scheduler_fee"],
        settler_fee=f["settler_fee"],
    ),
    ("Leases", "DataKept"): lambda f: LeasesDataKept(
        lease=f["lease"],
        until=f["until"],
        rate_per_hour=f["rate_per_hour"],
        amount=f["amount"],
    ),
    ("Leases", "StoragePaid"): lambda f: LeasesStoragePaid(
        lease=f["lease"],
        share=f["share"],
        fee=f["fee"],
        scheduler_fee=f["scheduler_fee"],
        settler_fee=f["settler_fee"],
        refunded=f["refunded"],
    ),
    ("Leases", "DataReleased"): lambda f: LeasesDataReleased(lease=f["lease"]),
    ("Leases", "PurgedWithoutReceipt"): lambda f: LeasesPurgedWithoutReceipt(lease=f["lease"]),
    ("Leases", "DueFailed"): lambda f: LeasesDueFailed(lease=f["lease"], error=f["error"], again_at=f["again_at"]),
    ("Leases", "Cranked"): lambda f: LeasesCranked(entries=f["entries"]),
    ("Leases", "ParamsChanged"): lambda _: LeasesParamsChanged(),
    ("Billing", "ParamsChanged"): lambda _: BillingParamsChanged(),
    ("Reputation", "Scored"): lambda f: ReputationScored(host=f["host"], score_ppm=f["score_ppm"]),
    ("Reputation", "TenantScored"): lambda f: ReputationTenantScored(tenant=f["tenant"], score_ppm=f["score_ppm"]),
    ("Verification", "VerifierBonded"): lambda f: VerificationVerifierBonded(who=f["who"], bond=f["bond"]),
    ("Verification", "VerifierLeaving"): lambda f: VerificationVerifierLeaving(
        who=f["who"],
        until=f["until"],
        reason=LeaveReason.decode(f["reason"]),
    ),
    ("Verification", "VerifierLeft"): lambda f: VerificationVerifierLeft(who=f["who"], bond=f["bond"]),
    ("Verification", "VerifierPenalised"): lambda f: VerificationVerifierPenalised(
        who=f["who"],
        matter=Matter.decode(f["matter"]),
        reason=PenaltyReason.decode(f["reason"]),
        amount=f["amount"],
    ),
    ("Verification", "VerifierRewarded"): lambda f: VerificationVerifierRewarded(
        who=f["who"],
        matter=Matter.decode(f["matter"]),
        amount=f["amount"],
    ),
    ("Verification", "CommitteeDrawn"): lambda f: VerificationCommitteeDrawn(
        matter=Matter.decode(f["matter"]),
        round=f["round"],
        seed=f["seed"],
        block=f["block"],
        members=tuple(f["members"]),
    ),
    ("Verification", "ConfirmationAwaited"): lambda f: VerificationConfirmationAwaited(
        challenge=f["challenge"],
        round=f["round"],
        members=tuple(f["members"]),
        until=f["until"],
    ),
    ("Verification", "CommitteeNotDrawn"): lambda f: VerificationCommitteeNotDrawn(
        matter=Matter.decode(f["matter"]),
        round=f["round"],
        seed=f["seed"],
        block=f["block"],
    ),
    ("Verification", "VoteCommitted"): lambda f: VerificationVoteCommitted(
        matter=Matter.decode(f["matter"]),
        who=f["who"],
        commitment=f["commitment"],
    ),
    ("Verification", "RevealsOpened"): lambda f: VerificationRevealsOpened(
        matter=Matter.decode(f["matter"]),
        until=f["until"],
    ),
    ("Verification", "VoteRevealed"): lambda f: VerificationVoteRevealed(
        matter=Matter.decode(f["matter"]),
        who=f["who"],
        vote=Vote.decode(f["vote"]),
    ),
    ("Verification", "BallotClosed"): lambda f: VerificationBallotClosed(
        matter=Matter.decode(f["matter"]),
        round=f["round"],
        verdict=None if f["verdict"] is None else Vote.decode(f["verdict"]),
    ),
    ("Verification", "ChallengeOpened"): lambda f: VerificationChallengeOpened(
        challenge=f["challenge"],
        host=f["host"],
        device=f["device"],
        claim=DeviceSpec.decode(f["claim"]),
        opener=f["opener"],
        fee=f["fee"],
    ),
    ("Verification", "AnswerAwaited"): lambda f: VerificationAnswerAwaited(challenge=f["challenge"], until=f["until"]),
    ("Verification", "Answered"): lambda f: VerificationAnswered(
        challenge=f["challenge"],
        digest=f["digest"],
        until=f["until"],
    ),
    ("Verification", "ChallengeClosed"): lambda f: VerificationChallengeClosed(
        challenge=f["challenge"],
        host=f["host"],
        device=f["device"],
        outcome=ChallengeOutcome.decode(f["outcome"]),
        returned=f["returned"],
    ),
    ("Verification", "ResultCommitted"): lambda f: VerificationResultCommitted(
        task=f["task"],
        lease=f["lease"],
        commitment=f["commitment"],
    ),
    ("Verification", "AuditDrawn"): lambda f: VerificationAuditDrawn(
        task=f["task"],
        lease=f["lease"],
        valid=f["valid"],
        probability_ppm=f["probability_ppm"],
        seed=f["seed"],
        block=f["block"],
        repeated=f["repeated"],
    ),
    ("Verification", "TagsOpened"): lambda f: VerificationTagsOpened(task=f["task"], until=f["until"]),
    ("Verification", "ResultTagged"): lambda f: VerificationResultTagged(
        task=f["task"],
        lease=f["lease"],
        tag=f["tag"],
    ),
    ("Verification", "ResultsOpened"): lambda f: VerificationResultsOpened(task=f["task"], until=f["until"]),
    ("Verification", "ResultRevealed"): lambda f: VerificationResultRevealed(
        task=f["task"],
        lease=f["lease"],
        result=PodResult.decode(f["result"]),
    ),
    ("Verification", "ReplicaRejected"): lambda f: VerificationReplicaRejected(
        task=f["task"],
        lease=f["lease"],
        host=f["host"],
        reason=Misconduct.decode(f["reason"]),
    ),
    ("Verification", "SlashShared"): lambda f: VerificationSlashShared(
        task=f["task"],
        lease=f["lease"],
        who=f["who"],
        amount=f["amount"],
    ),
    ("Verification", "ExtraPodWanted"): lambda f: VerificationExtraPodWanted(task=f["task"], wanted=f["wanted"]),
    ("Verification", "ResultsClosed"): lambda f: VerificationResultsClosed(
        task=f["task"],
        outcome=ResultsOutcome.decode(f["outcome"]),
    ),
    ("Verification", "DisputeOpened"): lambda f: VerificationDisputeOpened(
        task=f["task"],
        by=f["by"],
        accused=tuple(f["accused"]),
        stake=f["stake"],
        evidence=f["evidence"],
        until=f["until"],
    ),
    ("Verification", "EvidenceAdded"): lambda f: VerificationEvidenceAdded(
        task=f["task"],
        by=f["by"],
        digest=f["digest"],
    ),
    ("Verification", "JuryAwaited"): lambda f: VerificationJuryAwaited(task=f["task"], level=f["level"]),
    ("Verification", "JuryCommits"): lambda f: VerificationJuryCommits(task=f["task"], until=f["until"]),
    ("Verification", "DisputeDecided"): lambda f: VerificationDisputeDecided(
        task=f["task"],
        level=f["level"],
        verdict=Vote.decode(f["verdict"]),
        appeal_until=f["appeal_until"],
    ),
    ("Verification", "Appealed"): lambda f: VerificationAppealed(
        task=f["task"],
        by=f["by"],
        stake=f["stake"],
        level=f["level"],
        until=f["until"],
    ),
    ("Verification", "StakeReturned"): lambda f: VerificationStakeReturned(
        task=f["task"],
        who=f["who"],
        amount=f["amount"],
    ),
    ("Verification", "StakeLost"): lambda f: VerificationStakeLost(task=f["task"], who=f["who"], amount=f["amount"]),
    ("Verification", "FeeRefunded"): lambda f: VerificationFeeRefunded(
        task=f["task"],
        who=f["who"],
        amount=f["amount"],
    ),
    ("Verification", "DisputeClosed"): lambda f: VerificationDisputeClosed(
        task=f["task"],
        outcome=DisputeOutcome.decode(f["outcome"]),
    ),
    ("Verification", "StepFailed"): lambda f: VerificationStepFailed(
        matter=Matter.decode(f["matter"]),
        error=f["error"],
    ),
    ("Verification", "ParamsChanged"): lambda _: VerificationParamsChanged(),
    ("Agreements", "Proposed"): lambda f: AgreementsProposed(
        offer=f["offer"],
        tenant=f["tenant"],
        provider=f["provider"],
        rate_per_hour=f["rate_per_hour"],
        duration_ms=f["duration_ms"],
        until=f["until"],
    ),
    ("Agreements", "Countered"): lambda f: AgreementsCountered(
        offer=f["offer"],
        by=Side.decode(f["by"]),
        rate_per_hour=f["rate_per_hour"],
        duration_ms=f["duration_ms"],
        until=f["until"],
    ),
    ("Agreements", "Accepted"): lambda f: AgreementsAccepted(
        offer=f["offer"],
        host=f["host"],
        bond=f["bond"],
        start_until=f["start_until"],
    ),
    ("Agreements", "UnavailableReported"): lambda f: AgreementsUnavailableReported(offer=f["offer"], host=f["host"]),
    ("Agreements", "Begun"): lambda f: AgreementsBegun(offer=f["offer"], lease=f["lease"], ends_at=f["ends_at"]),
    ("Agreements", "OfferClosed"): lambda f: AgreementsOfferClosed(
        offer=f["offer"],
        outcome=OfferOutcome.decode(f["outcome"]),
        compensation=f["compensation"],
    ),
    ("Agreements", "TicketOpened"): lambda f: AgreementsTicketOpened(
        ticket=f["ticket"],
        lease=f["lease"],
        host=f["host"],
        digest=f["digest"],
        respond_until=f["respond_until"],
    ),
    ("Agreements", "TicketAnswered"): lambda f: AgreementsTicketAnswered(
        ticket=f["ticket"],
        by=Side.decode(f["by"]),
        digest=f["digest"],
    ),
    ("Agreements", "TicketClosed"): lambda f: AgreementsTicketClosed(ticket=f["ticket"], by=Side.decode(f["by"])),
    ("Agreements", "ResponseCounted"): lambda f: AgreementsResponseCounted(
        ticket=f["ticket"],
        host=f["host"],
        in_time=f["in_time"],
    ),
    ("Agreements", "TicketForgotten"): lambda f: AgreementsTicketForgotten(ticket=f["ticket"]),
    ("Agreements", "AuditorBonded"): lambda f: AgreementsAuditorBonded(who=f["who"], bond=f["bond"]),
    ("Agreements", "AuditorLeaving"): lambda f: AgreementsAuditorLeaving(who=f["who"], until=f["until"]),
    ("Agreements", "AuditorLeft"): lambda f: AgreementsAuditorLeft(who=f["who"], bond=f["bond"]),
    ("Agreements", "AuditorSlashed"): lambda f: AgreementsAuditorSlashed(who=f["who"], amount=f["amount"]),
    ("Agreements", "Attested"): lambda f: AgreementsAttested(
        attestation=f["attestation"],
        auditor=f["auditor"],
        subject=Subject.decode(f["subject"]),
        attribute=Attribute.decode(f["attribute"]),
        expires_at=f["expires_at"],
    ),
    ("Agreements", "Contested"): lambda f: AgreementsContested(
        attestation=f["attestation"],
        by=f["by"],
        evidence=f["evidence"],
        until=f["until"],
    ),
    ("Agreements", "ContestRejected"): lambda f: AgreementsContestRejected(
        attestation=f["attestation"],
        decided=f["decided"],
    ),
    ("Agreements", "Voided"): lambda f: AgreementsVoided(
        attestation=f["attestation"],
        reason=VoidReason.decode(f["reason"]),
    ),
    ("Agreements", "DueFailed"): lambda f: AgreementsDueFailed(due=Due.decode(f["due"]), error=f["error"]),
    ("Agreements", "ParamsChanged"): lambda _: AgreementsParamsChanged(),
}


def decode_event(pallet: str, name: str, fields: Mapping[str, Any]) -> GantryEvent | None:
    """The typed event, or None where it is not one of our pallets."""
    made = _EVENTS.get((pallet, name))
    return None if made is None else made(fields)
