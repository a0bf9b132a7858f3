"""The chain's types, calls, events, errors and storage. Made by scripts/gen-chain-types; do not edit."""

# fmt: off
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final

from offchain.schema.chain import Call, StorageItem, compact

AccountId = str
"""An account as its SS58 address."""

METADATA_SHA256: Final = "draft"
SPEC_NAME: Final = "gantry"
SPEC_VERSION: Final = 2
TRANSACTION_VERSION: Final = 1


def _same(plain: Any) -> Any:
    return plain


def _bytes(value: bytes) -> bytes:
    return compact(len(value)) + value


def _variant(plain: Any) -> tuple[str, Any]:
    if isinstance(plain, str):
        return plain, None
    ((name, payload),) = plain.items()
    return name, payload


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """A."""

    digest: bytes
    count: int

    @classmethod
    def decode(cls, plain: Any) -> ArchivePage:
        return cls(digest=plain["digest"], count=plain["count"])

    def encode(self) -> Any:
        return {"digest": self.digest, "count": self.count}

    def scale(self) -> bytes:
        return self.digest + self.count.to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class Ask:
    """A host's price list: base units an hour, except where it says otherwise. See `rate` for what a pod costs by it."""

    gpu: tuple[GpuPrice, ...]
    """Devices of the models that have a price of their own; each model once."""
    gpu_per_hour: int
    """For one whole device of any other model."""
    cpu_core_per_hour: int
    """For one whole core."""
    memory_gib_per_hour: int
    """For one GiB of memory."""
    disk_gib_per_hour: int
    """For one GiB of disk."""
    network_gib: int
    """For each GiB that a pod sends, in base units."""
    storage_gib_per_hour: int
    """For one GiB of the disk of a stopped rental."""
    second_ppm: int
    """Leases billed by the second cost so many millionths of the list price; 0 where none are offered."""
    hour_ppm: int
    """The same for leases billed by the hour."""
    day_ppm: int
    """The same for leases billed by the day."""

    @classmethod
    def decode(cls, plain: Any) -> Ask:
        return cls(
            gpu=tuple(GpuPrice.decode(i0) for i0 in plain["gpu"]),
            gpu_per_hour=plain["gpu_per_hour"],
            cpu_core_per_hour=plain["cpu_core_per_hour"],
            memory_gib_per_hour=plain["memory_gib_per_hour"],
            disk_gib_per_hour=plain["disk_gib_per_hour"],
            network_gib=plain["network_gib"],
            storage_gib_per_hour=plain["storage_gib_per_hour"],
            second_ppm=plain["second_ppm"],
            hour_ppm=plain["hour_ppm"],
            day_ppm=plain["day_ppm"],
        )

    def encode(self) -> Any:
        return {
            "gpu": [i0.encode() for i0 in self.gpu],
            "gpu_per_hour": self.gpu_per_hour,
            "cpu_core_per_hour": self.cpu_core_per_hour,
            "memory_gib_per_hour": self.memory_gib_per_hour,
            "disk_gib_per_hour": self.disk_gib_per_hour,
            "network_gib": self.network_gib,
            "storage_gib_per_hour": self.storage_gib_per_hour,
            "second_ppm": self.second_ppm,
            "hour_ppm": self.hour_ppm,
            "day_ppm": self.day_ppm,
        }

    def scale(self) -> bytes:
        return (
            compact(len(self.gpu)) + b"".join(i0.scale() for i0 in self.gpu)
            + self.gpu_per_hour.to_bytes(16, "little")
            + self.cpu_core_per_hour.to_bytes(16, "little")
            + self.memory_gib_per_hour.to_bytes(16, "little")
            + self.disk_gib_per_hour.to_bytes(16, "little")
            + self.network_gib.to_bytes(16, "little")
            + self.storage_gib_per_hour.to_bytes(16, "little")
            + self.second_ppm.to_bytes(4, "little")
            + self.hour_ppm.to_bytes(4, "little")
            + self.day_ppm.to_bytes(4, "little")
        )


@dataclass(frozen=True, slots=True)
class Beta:
    """Evidence for and against, in parts per million of one observation. The prior of 1 + 1 is not stored."""

    positive: int
    """For."""
    negative: int
    """Against."""

    @classmethod
    def decode(cls, plain: Any) -> Beta:
        return cls(positive=plain["positive"], negative=plain["negative"])

    def encode(self) -> Any:
        return {"positive": self.positive, "negative": self.negative}

    def scale(self) -> bytes:
        return self.positive.to_bytes(8, "little") + self.negative.to_bytes(8, "little")


class BillingHoldReason(StrEnum):
    """pallet_gantry_billing::pallet::HoldReason."""

    ESCROW = "Escrow"

    @classmethod
    def decode(cls, plain: Any) -> BillingHoldReason:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Escrow": 0}[self.value]])


@dataclass(frozen=True, slots=True)
class BillingParams:
    """P."""

    fee_ppm: int
    held_back_ms: int
    depletion_bounty: int

    @classmethod
    def decode(cls, plain: Any) -> BillingParams:
        return cls(
            fee_ppm=plain["fee_ppm"],
            held_back_ms=plain["held_back_ms"],
            depletion_bounty=plain["depletion_bounty"],
        )

    def encode(self) -> Any:
        return {"fee_ppm": self.fee_ppm, "held_back_ms": self.held_back_ms, "depletion_bounty": self.depletion_bounty}

    def scale(self) -> bytes:
        return (
            self.fee_ppm.to_bytes(4, "little")
            + self.held_back_ms.to_bytes(8, "little")
            + self.depletion_bounty.to_bytes(16, "little")
        )


class BillingUnit(StrEnum):
    """The unit a lease is billed by."""

    SECOND = "Second"
    """Pro rata."""
    HOUR = "Hour"
    """Whole started hours in advance."""
    DAY = "Day"
    """Whole started days in advance."""

    @classmethod
    def decode(cls, plain: Any) -> BillingUnit:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Second": 0, "Hour": 1, "Day": 2}[self.value]])


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a host can run and how it hands out its devices; or, where a task asks for it, what the host must have."""

    docker: bool
    """Containers, by a Docker engine."""
    kvm: bool
    """Virtual machines, by KVM."""
    kubernetes: bool
    """Pods of a Kubernetes cluster."""
    cdi: bool
    """Devices by the Container Device Interface."""
    mig: bool
    """Slices of devices that are kept apart by the hardware."""

    @classmethod
    def decode(cls, plain: Any) -> Capabilities:
        return cls(
            docker=plain["docker"],
            kvm=plain["kvm"],
            kubernetes=plain["kubernetes"],
            cdi=plain["cdi"],
            mig=plain["mig"],
        )

    def encode(self) -> Any:
        return {"docker": self.docker, "kvm": self.kvm, "kubernetes": self.kubernetes, "cdi": self.cdi, "mig": self.mig}

    def scale(self) -> bytes:
        return (
            bytes([self.docker])
            + bytes([self.kvm])
            + bytes([self.kubernetes])
            + bytes([self.cdi])
            + bytes([self.mig])
        )


@dataclass(frozen=True, slots=True)
class Capacity:
    """An amount of what every machine has."""

    cpu_milli: int
    """Thousandths of a core."""
    memory_mib: int
    """Memory in MiB."""
    disk_gib: int
    """Disk in GiB."""

    @classmethod
    def decode(cls, plain: Any) -> Capacity:
        return cls(cpu_milli=plain["cpu_milli"], memory_mib=plain["memory_mib"], disk_gib=plain["disk_gib"])

    def encode(self) -> Any:
        return {"cpu_milli": self.cpu_milli, "memory_mib": self.memory_mib, "disk_gib": self.disk_gib}

    def scale(self) -> bytes:
        return (
            self.cpu_milli.to_bytes(4, "little")
            + self.memory_mib.to_bytes(4, "little")
            + self.disk_gib.to_bytes(4, "little")
        )


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a registered host."""

    spec: DeviceSpec
    """What it is."""
    milli_free: int
    """Thousandths of it that no lease holds."""
    attested: bool
    """True once a challenge proved that it is real."""
    healthy: bool
    """False where the host says that it is out of order; it takes no new lease then."""

    @classmethod
    def decode(cls, plain: Any) -> Device:
        return cls(
            spec=DeviceSpec.decode(plain["spec"]),
            milli_free=plain["milli_free"],
            attested=plain["attested"],
            healthy=plain["healthy"],
        )

    def encode(self) -> Any:
        return {
            "spec": self.spec.encode(),
            "milli_free": self.milli_free,
            "attested": self.attested,
            "healthy": self.healthy,
        }

    def scale(self) -> bytes:
        return (
            self.spec.scale()
            + self.milli_free.to_bytes(2, "little")
            + bytes([self.attested])
            + bytes([self.healthy])
        )


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device as its provider describes it."""

    vendor: Vendor
    """Who made it."""
    model: bytes
    """The model as the vendor's tool prints it."""
    vram_mib: int
    """Its memory in MiB."""
    simulated: bool
    """True where no real device stands behind it. Never changes."""

    @classmethod
    def decode(cls, plain: Any) -> DeviceSpec:
        return cls(
            vendor=Vendor.decode(plain["vendor"]),
            model=plain["model"],
            vram_mib=plain["vram_mib"],
            simulated=plain["simulated"],
        )

    def encode(self) -> Any:
        return {
            "vendor": self.vendor.value,
            "model": self.model,
            "vram_mib": self.vram_mib,
            "simulated": self.simulated,
        }

    def scale(self) -> bytes:
        return self.vendor.scale() + _bytes(self.model) + self.vram_mib.to_bytes(4, "little") + bytes([self.simulated])


class EndReason:
    """Why a lease ended.

    One of `EndReasonCompleted`, `EndReasonCancelled`, `EndReasonHostRefused`, `EndReasonStartTimeout`, `EndReasonHostLost`, `EndReasonDurationExceeded`, `EndReasonGangAborted`, `EndReasonTenantEnded`, `EndReasonExpired`, `EndReasonReclaimed`, `EndReasonScaledDown`, `EndReasonDepleted`, `EndReasonDisputeLost`, `EndReasonDataMoved`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> EndReason:
        tag, payload = _variant(plain)
        return _END_REASON[tag](payload)

    def encode(self) -> Any:
        return self.tag

    def scale(self) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class EndReasonCompleted(EndReason):
    """The pod reported its result."""

    tag: ClassVar[str] = "Completed"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class EndReasonCancelled(EndReason):
    """The tenant cancelled the task."""

    tag: ClassVar[str] = "Cancelled"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class EndReasonHostRefused(EndReason):
    """The host refused, for the reason given."""

    tag: ClassVar[str] = "HostRefused"
    value: HostFailure

    def encode(self) -> Any:
        return {"HostRefused": self.value.value}

    def scale(self) -> bytes:
        return bytes([2]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class EndReasonStartTimeout(EndReason):
    """The pod was not started in time."""

    tag: ClassVar[str] = "StartTimeout"

    def scale(self) -> bytes:
        return bytes([3])


@dataclass(frozen=True, slots=True)
class EndReasonHostLost(EndReason):
    """The host was lost."""

    tag: ClassVar[str] = "HostLost"

    def scale(self) -> bytes:
        return bytes([4])


@dataclass(frozen=True, slots=True)
class EndReasonDurationExceeded(EndReason):
    """The pod ran for longer than the job allows."""

    tag: ClassVar[str] = "DurationExceeded"

    def scale(self) -> bytes:
        return bytes([5])


@dataclass(frozen=True, slots=True)
class EndReasonGangAborted(EndReason):
    """Another pod of the same task could not go on."""

    tag: ClassVar[str] = "GangAborted"

    def scale(self) -> bytes:
        return bytes([6])


@dataclass(frozen=True, slots=True)
class EndReasonTenantEnded(EndReason):
    """The tenant ended the service or rental."""

    tag: ClassVar[str] = "TenantEnded"

    def scale(self) -> bytes:
        return bytes([7])


@dataclass(frozen=True, slots=True)
class EndReasonExpired(EndReason):
    """The time that was paid for is over."""

    tag: ClassVar[str] = "Expired"

    def scale(self) -> bytes:
        return bytes([8])


@dataclass(frozen=True, slots=True)
class EndReasonReclaimed(EndReason):
    """The provider wanted its resources back and the notice is over."""

    tag: ClassVar[str] = "Reclaimed"

    def scale(self) -> bytes:
        return bytes([9])


@dataclass(frozen=True, slots=True)
class EndReasonScaledDown(EndReason):
    """The tenant scaled the service down."""

    tag: ClassVar[str] = "ScaledDown"

    def scale(self) -> bytes:
        return bytes([10])


@dataclass(frozen=True, slots=True)
class EndReasonDepleted(EndReason):
    """The deposit was used up, and someone closed the lease for the bounty."""

    tag: ClassVar[str] = "Depleted"

    def scale(self) -> bytes:
        return bytes([11])


@dataclass(frozen=True, slots=True)
class EndReasonDisputeLost(EndReason):
    """The tenant won a dispute about what the pod did."""

    tag: ClassVar[str] = "DisputeLost"

    def scale(self) -> bytes:
        return bytes([12])


@dataclass(frozen=True, slots=True)
class EndReasonDataMoved(EndReason):
    """Its data was taken over by another lease."""

    tag: ClassVar[str] = "DataMoved"

    def scale(self) -> bytes:
        return bytes([13])


_END_REASON: Final[dict[str, Callable[[Any], EndReason]]] = {
    "Completed": lambda _: EndReasonCompleted(),
    "Cancelled": lambda _: EndReasonCancelled(),
    "HostRefused": lambda p: EndReasonHostRefused(value=HostFailure.decode(p)),
    "StartTimeout": lambda _: EndReasonStartTimeout(),
    "HostLost": lambda _: EndReasonHostLost(),
    "DurationExceeded": lambda _: EndReasonDurationExceeded(),
    "GangAborted": lambda _: EndReasonGangAborted(),
    "TenantEnded": lambda _: EndReasonTenantEnded(),
    "Expired": lambda _: EndReasonExpired(),
    "Reclaimed": lambda _: EndReasonReclaimed(),
    "ScaledDown": lambda _: EndReasonScaledDown(),
    "Depleted": lambda _: EndReasonDepleted(),
    "DisputeLost": lambda _: EndReasonDisputeLost(),
    "DataMoved": lambda _: EndReasonDataMoved(),
}


@dataclass(frozen=True, slots=True)
class Escrow:
    """The coins that a tenant has deposited for one lease, and what became of them. It is kept inside the lease; the
    tenant is that of the task, the provider the owner of the host. The rules are in `gantry_primitives::escrow`.
    """

    deposit: int
    """How many coins were deposited, top-ups included. What is held of the tenant is this less `paid`, while `open`."""
    rate_per_hour: int
    """What the lease costs now, in base units an hour."""
    unit: BillingUnit
    """The unit it is billed by."""
    accrued: int
    """What is owed for the segments that are over: a segment is a time at one rate."""
    since: int | None
    """When the running segment began; none while nothing is billed."""
    downtime_mark: int
    """The host's downtime in milliseconds when the running segment began; what it has grown by is not billed."""
    until: int | None
    """Nothing is billed past this."""
    paid: int
    """What left the tenant, the fee included."""
    fee: int
    """The part of it that went to the treasury."""
    open: bool
    """Whether coins are still held."""

    @classmethod
    def decode(cls, plain: Any) -> Escrow:
        return cls(
            deposit=plain["deposit"],
            rate_per_hour=plain["rate_per_hour"],
            unit=BillingUnit.decode(plain["unit"]),
            accrued=plain["accrued"],
            since=plain["since"],
            downtime_mark=plain["downtime_mark"],
            until=plain["until"],
            paid=plain["paid"],
            fee=plain["fee"],
            open=plain["open"],
        )

    def encode(self) -> Any:
        return {
            "deposit": self.deposit,
            "rate_per_hour": self.rate_per_hour,
            "unit": self.unit.value,
            "accrued": self.accrued,
            "since": self.since,
            "downtime_mark": self.downtime_mark,
            "until": self.until,
            "paid": self.paid,
            "fee": self.fee,
            "open": self.open,
        }

    def scale(self) -> bytes:
        return (
            self.deposit.to_bytes(16, "little")
            + self.rate_per_hour.to_bytes(16, "little")
            + self.unit.scale()
            + self.accrued.to_bytes(16, "little")
            + (b"\0" if self.since is None else b"\1" + self.since.to_bytes(8, "little"))
            + self.downtime_mark.to_bytes(8, "little")
            + (b"\0" if self.until is None else b"\1" + self.until.to_bytes(8, "little"))
            + self.paid.to_bytes(16, "little")
            + self.fee.to_bytes(16, "little")
            + bytes([self.open])
        )


class FailReason(StrEnum):
    """Why a task failed."""

    ATTEMPTS_EXHAUSTED = "AttemptsExhausted"
    """It was tried as often as the chain allows."""
    DURATION_EXCEEDED = "DurationExceeded"
    """A pod ran for longer than the task allows."""
    DISPUTE_LOST = "DisputeLost"
    """Its result was disputed, and the dispute was upheld."""

    @classmethod
    def decode(cls, plain: Any) -> FailReason:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"AttemptsExhausted": 0, "DurationExceeded": 1, "DisputeLost": 2}[self.value]])


class Fault(StrEnum):
    """Something that costs a part of a bond."""

    ABSENT = "Absent"
    """A host was away without having said so. Time: how long it was away."""
    START_TIMEOUT = "StartTimeout"
    """A host did not start a pod in time. Time: how long the tenant waited."""
    LOST_POD = "LostPod"
    """A host lost a pod that had started. Time: how long the pod had run."""
    FAILED_CHALLENGE = "FailedChallenge"
    """A host could not prove that its hardware is real."""
    WRONG_RESULT = "WrongResult"
    """A host reported a result that was found to be wrong."""
    DATA_LOST = "DataLost"
    """A host lost data that it was to keep. Time: for how long it still had to keep it."""
    VERIFIER_ABSENT = "VerifierAbsent"
    """A verifier that was drawn did not vote."""
    BAD_BATCH_ITEM = "BadBatchItem"
    """An item of a batch was refused that its sender could have known to be wrong."""

    @classmethod
    def decode(cls, plain: Any) -> Fault:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Absent": 0, "StartTimeout": 1, "LostPod": 2, "FailedChallenge": 3, "WrongResult": 4, "DataLost": 5, "VerifierAbsent": 6, "BadBatchItem": 7}[self.value]])


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """What one whole device of a model costs."""

    model: bytes
    """The model."""
    per_hour: int
    """Base units an hour."""

    @classmethod
    def decode(cls, plain: Any) -> GpuPrice:
        return cls(model=plain["model"], per_hour=plain["per_hour"])

    def encode(self) -> Any:
        return {"model": self.model, "per_hour": self.per_hour}

    def scale(self) -> bytes:
        return _bytes(self.model) + self.per_hour.to_bytes(16, "little")


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """The devices one pod needs."""

    count: int
    """How many devices; 0 for none, and then the other fields mean nothing."""
    milli: int
    """Thousandths of each, 1 to 1000."""
    min_vram_mib: int
    """The least memory of each, in MiB."""
    models: tuple[bytes, ...]
    """The models that will do; empty for any."""

    @classmethod
    def decode(cls, plain: Any) -> GpuRequest:
        return cls(
            count=plain["count"],
            milli=plain["milli"],
            min_vram_mib=plain["min_vram_mib"],
            models=tuple(plain["models"]),
        )

    def encode(self) -> Any:
        return {
            "count": self.count,
            "milli": self.milli,
            "min_vram_mib": self.min_vram_mib,
            "models": list(self.models),
        }

    def scale(self) -> bytes:
        return (
            self.count.to_bytes(1, "little")
            + self.milli.to_bytes(2, "little")
            + self.min_vram_mib.to_bytes(4, "little")
            + compact(len(self.models)) + b"".join(_bytes(i0) for i0 in self.models)
        )


@dataclass(frozen=True, slots=True)
class HardwareSpec:
    """The machine a provider registers."""

    tier: Tier
    """The class of machine."""
    capabilities: Capabilities
    """What it can run."""
    cpu_milli: int
    """Thousandths of a core."""
    memory_mib: int
    """Memory in MiB."""
    disk_gib: int
    """Disk in GiB."""
    network_mbps_down: int
    """What it can receive, in millions of bits a second."""
    network_mbps_up: int
    """What it can send, in millions of bits a second."""
    devices: tuple[DeviceSpec, ...]
    """Its devices; leases name them by their place in this list."""

    @classmethod
    def decode(cls, plain: Any) -> HardwareSpec:
        return cls(
            tier=Tier.decode(plain["tier"]),
            capabilities=Capabilities.decode(plain["capabilities"]),
            cpu_milli=plain["cpu_milli"],
            memory_mib=plain["memory_mib"],
            disk_gib=plain["disk_gib"],
            network_mbps_down=plain["network_mbps_down"],
            network_mbps_up=plain["network_mbps_up"],
            devices=tuple(DeviceSpec.decode(i0) for i0 in plain["devices"]),
        )

    def encode(self) -> Any:
        return {
            "tier": self.tier.value,
            "capabilities": self.capabilities.encode(),
            "cpu_milli": self.cpu_milli,
            "memory_mib": self.memory_mib,
            "disk_gib": self.disk_gib,
            "network_mbps_down": self.network_mbps_down,
            "network_mbps_up": self.network_mbps_up,
            "devices": [i0.encode() for i0 in self.devices],
        }

    def scale(self) -> bytes:
        return (
            self.tier.scale()
            + self.capabilities.scale()
            + self.cpu_milli.to_bytes(4, "little")
            + self.memory_mib.to_bytes(4, "little")
            + self.disk_gib.to_bytes(4, "little")
            + self.network_mbps_down.to_bytes(4, "little")
            + self.network_mbps_up.to_bytes(4, "little")
            + compact(len(self.devices)) + b"".join(i0.scale() for i0 in self.devices)
        )


class HostFailure(StrEnum):
    """Why a host could not run a pod."""

    IMAGE_UNAVAILABLE = "ImageUnavailable"
    """The image could not be fetched."""
    IMAGE_INVALID = "ImageInvalid"
    """The image could not be used."""
    MANIFEST_INVALID = "ManifestInvalid"
    """The manifest could not be understood."""
    RESOURCES_UNAVAILABLE = "ResourcesUnavailable"
    """The host lacks what it offered."""
    DRIVER_ERROR = "DriverError"
    """The host's container engine failed."""

    @classmethod
    def decode(cls, plain: Any) -> HostFailure:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"ImageUnavailable": 0, "ImageInvalid": 1, "ManifestInvalid": 2, "ResourcesUnavailable": 3, "DriverError": 4}[self.value]])


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A registered host."""

    provider: AccountId
    """Who owns it, posts its bond and is paid."""
    status: HostStatus
    """Where it stands."""
    tier: Tier
    """The class of machine, as its provider says."""
    capabilities: Capabilities
    """What it can run."""
    network_mbps_down: int
    """What it can receive, in millions of bits a second."""
    network_mbps_up: int
    """What it can send, in millions of bits a second."""
    total: Capacity
    """What the machine has."""
    free: Capacity
    """What no lease holds."""
    devices: tuple[Device, ...]
    """Its devices, each with what no lease holds of it."""
    ask: Ask
    """Its price list. A lease keeps the rate it was opened at."""
    endpoint: bytes
    """How to reach it."""
    region: bytes
    """Where it is."""
    bond: int
    """Coins of the provider held for it."""
    bond_required: int
    """What its bond must be, fixed when its hardware was registered. Below half of it the host is suspended."""
    generation: int
    """How often its hardware was changed."""
    registered_at: int
    """When it was registered."""
    last_heartbeat: int
    """When it last said that it is there; 0 where it never did."""
    downtime_ms: int
    """How long it was away so far, in milliseconds: at each return from an absence that was reported, or longer than
    the absence limit, the time since the heartbeat before is added. Never falls.
    """
    live_leases: int
    """How many leases hold some of it."""

    @classmethod
    def decode(cls, plain: Any) -> HostRecord:
        return cls(
            provider=plain["provider"],
            status=HostStatus.decode(plain["status"]),
            tier=Tier.decode(plain["tier"]),
            capabilities=Capabilities.decode(plain["capabilities"]),
            network_mbps_down=plain["network_mbps_down"],
            network_mbps_up=plain["network_mbps_up"],
            total=Capacity.decode(plain["total"]),
            free=Capacity.decode(plain["free"]),
            devices=tuple(Device.decode(i0) for i0 in plain["devices"]),
            ask=Ask.decode(plain["ask"]),
            endpoint=plain["endpoint"],
            region=plain["region"],
            bond=plain["bond"],
            bond_required=plain["bond_required"],
            generation=plain["generation"],
            registered_at=plain["registered_at"],
            last_heartbeat=plain["last_heartbeat"],
            downtime_ms=plain["downtime_ms"],
            live_leases=plain["live_leases"],
        )

    def encode(self) -> Any:
        return {
            "provider": self.provider,
            "status": self.status.encode(),
            "tier": self.tier.value,
            "capabilities": self.capabilities.encode(),
            "network_mbps_down": self.network_mbps_down,
            "network_mbps_up": self.network_mbps_up,
            "total": self.total.encode(),
            "free": self.free.encode(),
            "devices": [i0.encode() for i0 in self.devices],
            "ask": self.ask.encode(),
            "endpoint": self.endpoint,
            "region": self.region,
            "bond": self.bond,
            "bond_required": self.bond_required,
            "generation": self.generation,
            "registered_at": self.registered_at,
            "last_heartbeat": self.last_heartbeat,
            "downtime_ms": self.downtime_ms,
            "live_leases": self.live_leases,
        }


@dataclass(frozen=True, slots=True)
class HostScore:
    """The evidence about one host, as it weighed at `updated_at`."""

    completed: Beta
    """Leases it started and completed, against those it started and did not."""
    verified: Beta
    """Results and challenges that were found right, against those found wrong."""
    uptime: Beta
    """Time it was there, against time it was not."""
    start_latency: Beta
    """Pods it started soon, against those it started late or not at all."""
    rating: Beta
    """What tenants thought of it."""
    sla: Sla
    """What it promised and kept."""
    settled_leases: int
    """How many of its leases were settled."""
    updated_at: int
    """When any of this last changed."""

    @classmethod
    def decode(cls, plain: Any) -> HostScore:
        return cls(
            completed=Beta.decode(plain["completed"]),
            verified=Beta.decode(plain["verified"]),
            uptime=Beta.decode(plain["uptime"]),
            start_latency=Beta.decode(plain["start_latency"]),
            rating=Beta.decode(plain["rating"]),
            sla=Sla.decode(plain["sla"]),
            settled_leases=plain["settled_leases"],
            updated_at=plain["updated_at"],
        )

    def encode(self) -> Any:
        return {
            "completed": self.completed.encode(),
            "verified": self.verified.encode(),
            "uptime": self.uptime.encode(),
            "start_latency": self.start_latency.encode(),
            "rating": self.rating.encode(),
            "sla": self.sla.encode(),
            "settled_leases": self.settled_leases,
            "updated_at": self.updated_at,
        }

    def scale(self) -> bytes:
        return (
            self.completed.scale()
            + self.verified.scale()
            + self.uptime.scale()
            + self.start_latency.scale()
            + self.rating.scale()
            + self.sla.scale()
            + self.settled_leases.to_bytes(4, "little")
            + self.updated_at.to_bytes(8, "little")
        )


class HostStatus:
    """Where a host stands. Changes only along `transitions::HOST_TRANSITIONS`.

    One of `HostStatusUnverified`, `HostStatusVerified`, `HostStatusOnline`, `HostStatusOffline`, `HostStatusDraining`, `HostStatusSuspended`, `HostStatusRetired`, `HostStatusRetiring`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> HostStatus:
        tag, payload = _variant(plain)
        return _HOST_STATUS[tag](payload)

    def encode(self) -> Any:
        return self.tag

    def scale(self) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class HostStatusUnverified(HostStatus):
    """Registered; its hardware was not looked at yet."""

    tag: ClassVar[str] = "Unverified"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class HostStatusVerified(HostStatus):
    """May come online."""

    tag: ClassVar[str] = "Verified"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class HostStatusOnline(HostStatus):
    """There, and takes leases."""

    tag: ClassVar[str] = "Online"

    def scale(self) -> bytes:
        return bytes([2])


@dataclass(frozen=True, slots=True)
class HostStatusOffline(HostStatus):
    """Was silent for too long. Its leases may be moved elsewhere."""

    tag: ClassVar[str] = "Offline"

    def scale(self) -> bytes:
        return bytes([3])


@dataclass(frozen=True, slots=True)
class HostStatusDraining(HostStatus):
    """There, finishes what it has, takes nothing new."""

    tag: ClassVar[str] = "Draining"

    def scale(self) -> bytes:
        return bytes([4])


@dataclass(frozen=True, slots=True)
class HostStatusSuspended(HostStatus):
    """Takes nothing, for the reason given."""

    tag: ClassVar[str] = "Suspended"
    value: SuspendReason

    def encode(self) -> Any:
        return {"Suspended": self.value.value}

    def scale(self) -> bytes:
        return bytes([5]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class HostStatusRetired(HostStatus):
    """Gone for ever; its key is not used again."""

    tag: ClassVar[str] = "Retired"

    def scale(self) -> bytes:
        return bytes([6])


@dataclass(frozen=True, slots=True)
class HostStatusRetiring(HostStatus):
    """Takes nothing any more; its bond is held, and can be slashed, until the time given."""

    tag: ClassVar[str] = "Retiring"
    value: int

    def encode(self) -> Any:
        return {"Retiring": self.value}

    def scale(self) -> bytes:
        return bytes([7]) + self.value.to_bytes(8, "little")


_HOST_STATUS: Final[dict[str, Callable[[Any], HostStatus]]] = {
    "Unverified": lambda _: HostStatusUnverified(),
    "Verified": lambda _: HostStatusVerified(),
    "Online": lambda _: HostStatusOnline(),
    "Offline": lambda _: HostStatusOffline(),
    "Draining": lambda _: HostStatusDraining(),
    "Suspended": lambda p: HostStatusSuspended(value=SuspendReason.decode(p)),
    "Retired": lambda _: HostStatusRetired(),
    "Retiring": lambda p: HostStatusRetiring(value=p),
}


class HostsHoldReason(StrEnum):
    """pallet_gantry_hosts::pallet::HoldReason."""

    BOND = "Bond"

    @classmethod
    def decode(cls, plain: Any) -> HostsHoldReason:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Bond": 0}[self.value]])


@dataclass(frozen=True, slots=True)
class HostsParams:
    """P."""

    bond_consumer: int
    bond_professional: int
    bond_datacenter: int
    heartbeat_period_ms: int
    absence_limit_ms: int
    absence_bounty: int
    unbonding_ms: int
    allow_simulated: bool
    verification_required: bool

    @classmethod
    def decode(cls, plain: Any) -> HostsParams:
        return cls(
            bond_consumer=plain["bond_consumer"],
            bond_professional=plain["bond_professional"],
            bond_datacenter=plain["bond_datacenter"],
            heartbeat_period_ms=plain["heartbeat_period_ms"],
            absence_limit_ms=plain["absence_limit_ms"],
            absence_bounty=plain["absence_bounty"],
            unbonding_ms=plain["unbonding_ms"],
            allow_simulated=plain["allow_simulated"],
            verification_required=plain["verification_required"],
        )

    def encode(self) -> Any:
        return {
            "bond_consumer": self.bond_consumer,
            "bond_professional": self.bond_professional,
            "bond_datacenter": self.bond_datacenter,
            "heartbeat_period_ms": self.heartbeat_period_ms,
            "absence_limit_ms": self.absence_limit_ms,
            "absence_bounty": self.absence_bounty,
            "unbonding_ms": self.unbonding_ms,
            "allow_simulated": self.allow_simulated,
            "verification_required": self.verification_required,
        }

    def scale(self) -> bytes:
        return (
            self.bond_consumer.to_bytes(16, "little")
            + self.bond_professional.to_bytes(16, "little")
            + self.bond_datacenter.to_bytes(16, "little")
            + self.heartbeat_period_ms.to_bytes(8, "little")
            + self.absence_limit_ms.to_bytes(8, "little")
            + self.absence_bounty.to_bytes(16, "little")
            + self.unbonding_ms.to_bytes(8, "little")
            + bytes([self.allow_simulated])
            + bytes([self.verification_required])
        )


class IndexTag(StrEnum):
    """The lists of tasks that the chain keeps. A task that is not final is on that of its state."""

    QUEUED = "Queued"
    """See [`TaskState::Queued`]."""
    ASSIGNED = "Assigned"
    """See [`TaskState::Assigned`]."""
    RUNNING = "Running"
    """See [`TaskState::Running`]."""
    REPORTED = "Reported"
    """See [`TaskState::Reported`]."""
    VERIFIED = "Verified"
    """See [`TaskState::Verified`]."""
    DISPUTED = "Disputed"
    """See [`TaskState::Disputed`]."""
    SHORT = "Short"
    """Besides: assigned or running, and to have more pods than it has leases."""

    @classmethod
    def decode(cls, plain: Any) -> IndexTag:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Queued": 0, "Assigned": 1, "Running": 2, "Reported": 3, "Verified": 4, "Disputed": 5, "Short": 6}[self.value]])


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease. It is kept inside the record of its task, which says who pays and for what; its number is made of the
    number of the task, `pod` and `generation`.
    """

    pod: int
    """Which pod of the task."""
    generation: int
    """Which generation of leases of the task; numbers of leases are never used again."""
    host: AccountId
    """The host that runs the pod."""
    devices: bytes
    """Which devices of the host."""
    state: LeaseState
    """Where it stands."""
    created_at: int
    """When it was opened."""
    started_at: int | None
    """When the pod started."""
    ended_at: int | None
    """When it ended."""
    escrow: Escrow
    """The coins deposited for it."""
    resume_rate: int | None
    """While suspended: the rate to which it returns, in base units an hour."""
    reclaim_at: int | None
    """The provider wants its resources back then. The lease is billed through it and no longer."""
    due_at: int | None
    """When the agenda looks at it next; an entry for any other time is out of date."""
    result: PodResult | None
    """What the pod ended with."""
    rated: bool
    """Whether the tenant has rated it."""

    @classmethod
    def decode(cls, plain: Any) -> Lease:
        return cls(
            pod=plain["pod"],
            generation=plain["generation"],
            host=plain["host"],
            devices=plain["devices"],
            state=LeaseState.decode(plain["state"]),
            created_at=plain["created_at"],
            started_at=plain["started_at"],
            ended_at=plain["ended_at"],
            escrow=Escrow.decode(plain["escrow"]),
            resume_rate=plain["resume_rate"],
            reclaim_at=plain["reclaim_at"],
            due_at=plain["due_at"],
            result=None if plain["result"] is None else PodResult.decode(plain["result"]),
            rated=plain["rated"],
        )

    def encode(self) -> Any:
        return {
            "pod": self.pod,
            "generation": self.generation,
            "host": self.host,
            "devices": self.devices,
            "state": self.state.encode(),
            "created_at": self.created_at,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "escrow": self.escrow.encode(),
            "resume_rate": self.resume_rate,
            "reclaim_at": self.reclaim_at,
            "due_at": self.due_at,
            "result": None if self.result is None else self.result.encode(),
            "rated": self.rated,
        }


@dataclass(frozen=True, slots=True)
class LeaseBill:
    """How the escrow of a lease was closed."""

    lease: int
    """The lease."""
    paid: int
    """What it cost the tenant in all, the fee included."""
    fee: int
    """The part of it that went to the treasury."""
    refunded: int
    """What went back to the tenant."""

    @classmethod
    def decode(cls, plain: Any) -> LeaseBill:
        return cls(lease=plain["lease"], paid=plain["paid"], fee=plain["fee"], refunded=plain["refunded"])

    def encode(self) -> Any:
        return {"lease": self.lease, "paid": self.paid, "fee": self.fee, "refunded": self.refunded}

    def scale(self) -> bytes:
        return (
            self.lease.to_bytes(8, "little")
            + self.paid.to_bytes(16, "little")
            + self.fee.to_bytes(16, "little")
            + self.refunded.to_bytes(16, "little")
        )


class LeaseState:
    """Where a lease stands. Changes only along `transitions::LEASE_TRANSITIONS`.

    One of `LeaseStatePending`, `LeaseStateActive`, `LeaseStateSuspended`, `LeaseStateEnded`, `LeaseStateRetained`, `LeaseStatePurged`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> LeaseState:
        tag, payload = _variant(plain)
        return _LEASE_STATE[tag](payload)

    def encode(self) -> Any:
        return self.tag

    def scale(self) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class LeaseStatePending(LeaseState):
    """Waits for the pod's start."""

    tag: ClassVar[str] = "Pending"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class LeaseStateActive(LeaseState):
    """The pod runs and is billed."""

    tag: ClassVar[str] = "Active"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class LeaseStateSuspended(LeaseState):
    """The machine of a rental is stopped; its disk is kept and billed at the storage rate."""

    tag: ClassVar[str] = "Suspended"

    def scale(self) -> bytes:
        return bytes([2])


@dataclass(frozen=True, slots=True)
class LeaseStateEnded(LeaseState):
    """The pod is gone; the host has its resources back."""

    tag: ClassVar[str] = "Ended"
    value: EndReason

    def encode(self) -> Any:
        return {"Ended": self.value.encode()}

    def scale(self) -> bytes:
        return bytes([3]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class LeaseStateRetained(LeaseState):
    """Ended; its data is kept until then."""

    tag: ClassVar[str] = "Retained"
    value: int

    def encode(self) -> Any:
        return {"Retained": self.value}

    def scale(self) -> bytes:
        return bytes([4]) + self.value.to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class LeaseStatePurged(LeaseState):
    """Ended; its data is gone."""

    tag: ClassVar[str] = "Purged"

    def scale(self) -> bytes:
        return bytes([5])


_LEASE_STATE: Final[dict[str, Callable[[Any], LeaseState]]] = {
    "Pending": lambda _: LeaseStatePending(),
    "Active": lambda _: LeaseStateActive(),
    "Suspended": lambda _: LeaseStateSuspended(),
    "Ended": lambda p: LeaseStateEnded(value=EndReason.decode(p)),
    "Retained": lambda p: LeaseStateRetained(value=p),
    "Purged": lambda _: LeaseStatePurged(),
}


@dataclass(frozen=True, slots=True)
class LeasesParams:
    """P."""

    reclaim_notice_ms: int
    retention_ms: int
    purge_grace_ms: int
    max_kept_ms: int

    @classmethod
    def decode(cls, plain: Any) -> LeasesParams:
        return cls(
            reclaim_notice_ms=plain["reclaim_notice_ms"],
            retention_ms=plain["retention_ms"],
            purge_grace_ms=plain["purge_grace_ms"],
            max_kept_ms=plain["max_kept_ms"],
        )

    def encode(self) -> Any:
        return {
            "reclaim_notice_ms": self.reclaim_notice_ms,
            "retention_ms": self.retention_ms,
            "purge_grace_ms": self.purge_grace_ms,
            "max_kept_ms": self.max_kept_ms,
        }

    def scale(self) -> bytes:
        return (
            self.reclaim_notice_ms.to_bytes(8, "little")
            + self.retention_ms.to_bytes(8, "little")
            + self.purge_grace_ms.to_bytes(8, "little")
            + self.max_kept_ms.to_bytes(8, "little")
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a task may run. An empty list stands for any."""

    regions: tuple[bytes, ...]
    """The regions that will do."""
    hosts: tuple[AccountId, ...]
    """The hosts that will do."""
    providers_allowed: tuple[AccountId, ...]
    """The providers whose hosts will do."""
    providers_denied: tuple[AccountId, ...]
    """The providers whose hosts will not do; empty for none."""
    tiers: tuple[Tier, ...]
    """The classes of machine that will do."""
    verified_only: bool
    """True where every device used must be attested."""
    allow_simulated: bool
    """True where simulated devices will do too."""
    min_network_mbps: int
    """The least a host must be able to send and to receive, in millions of bits a second."""
    capabilities: Capabilities
    """What a host must be able to run: each one that is true."""

    @classmethod
    def decode(cls, plain: Any) -> Placement:
        return cls(
            regions=tuple(plain["regions"]),
            hosts=tuple(plain["hosts"]),
            providers_allowed=tuple(plain["providers_allowed"]),
            providers_denied=tuple(plain["providers_denied"]),
            tiers=tuple(Tier.decode(i0) for i0 in plain["tiers"]),
            verified_only=plain["verified_only"],
            allow_simulated=plain["allow_simulated"],
            min_network_mbps=plain["min_network_mbps"],
            capabilities=Capabilities.decode(plain["capabilities"]),
        )

    def encode(self) -> Any:
        return {
            "regions": list(self.regions),
            "hosts": list(self.hosts),
            "providers_allowed": list(self.providers_allowed),
            "providers_denied": list(self.providers_denied),
            "tiers": [i0.value for i0 in self.tiers],
            "verified_only": self.verified_only,
            "allow_simulated": self.allow_simulated,
            "min_network_mbps": self.min_network_mbps,
            "capabilities": self.capabilities.encode(),
        }


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """One pod on one host, as a scheduler proposes it."""

    pod: int
    """The pod, counted from 0."""
    host: AccountId
    """The host."""
    devices: bytes
    """Which devices of the host."""

    @classmethod
    def decode(cls, plain: Any) -> PodPlacement:
        return cls(pod=plain["pod"], host=plain["host"], devices=plain["devices"])

    def encode(self) -> Any:
        return {"pod": self.pod, "host": self.host, "devices": self.devices}


@dataclass(frozen=True, slots=True)
class PodResult:
    """What a pod ended with."""

    digest: bytes
    """SHA-256 of the result."""
    exit_code: int
    """What its first container returned."""
    usage: Usage
    """What it used."""

    @classmethod
    def decode(cls, plain: Any) -> PodResult:
        return cls(digest=plain["digest"], exit_code=plain["exit_code"], usage=Usage.decode(plain["usage"]))

    def encode(self) -> Any:
        return {"digest": self.digest, "exit_code": self.exit_code, "usage": self.usage.encode()}

    def scale(self) -> bytes:
        return self.digest + self.exit_code.to_bytes(4, "little", signed=True) + self.usage.scale()


class Report:
    """What a host says about a lease of its own.

    One of `ReportStarted`, `ReportResult`, `ReportFailed`, `ReportPurged`, `ReportDataLost`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> Report:
        tag, payload = _variant(plain)
        return _REPORT[tag](payload)

    def encode(self) -> Any:
        return self.tag

    def scale(self) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ReportStarted(Report):
    """The pod started."""

    tag: ClassVar[str] = "Started"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class ReportResult(Report):
    """The pod ended with a result."""

    tag: ClassVar[str] = "Result"
    value: PodResult

    def encode(self) -> Any:
        return {"Result": self.value.encode()}

    def scale(self) -> bytes:
        return bytes([1]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class ReportFailed(Report):
    """The pod cannot run here, for the reason given."""

    tag: ClassVar[str] = "Failed"
    value: HostFailure

    def encode(self) -> Any:
        return {"Failed": self.value.value}

    def scale(self) -> bytes:
        return bytes([2]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class ReportPurged(Report):
    """The data of an ended rental was deleted."""

    tag: ClassVar[str] = "Purged"
    receipt: bytes
    """SHA-256 of the receipt of deletion."""

    def encode(self) -> Any:
        return {"Purged": {"receipt": self.receipt}}

    def scale(self) -> bytes:
        return bytes([3]) + self.receipt


@dataclass(frozen=True, slots=True)
class ReportDataLost(Report):
    """The data of a rental that ended was lost before it was to be deleted."""

    tag: ClassVar[str] = "DataLost"

    def scale(self) -> bytes:
        return bytes([4])


_REPORT: Final[dict[str, Callable[[Any], Report]]] = {
    "Started": lambda _: ReportStarted(),
    "Result": lambda p: ReportResult(value=PodResult.decode(p)),
    "Failed": lambda p: ReportFailed(value=HostFailure.decode(p)),
    "Purged": lambda p: ReportPurged(receipt=p["receipt"]),
    "DataLost": lambda _: ReportDataLost(),
}


class RequeueReason:
    """Why a task went back to its queue.

    One of `RequeueReasonHostRefused`, `RequeueReasonStartTimeout`, `RequeueReasonHostLost`, `RequeueReasonReclaimed`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> RequeueReason:
        tag, payload = _variant(plain)
        return _REQUEUE_REASON[tag](payload)

    def encode(self) -> Any:
        return self.tag

    def scale(self) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RequeueReasonHostRefused(RequeueReason):
    """A host refused, for the reason given."""

    tag: ClassVar[str] = "HostRefused"
    value: HostFailure

    def encode(self) -> Any:
        return {"HostRefused": self.value.value}

    def scale(self) -> bytes:
        return bytes([0]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class RequeueReasonStartTimeout(RequeueReason):
    """A pod was not started in time."""

    tag: ClassVar[str] = "StartTimeout"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class RequeueReasonHostLost(RequeueReason):
    """A host was lost."""

    tag: ClassVar[str] = "HostLost"

    def scale(self) -> bytes:
        return bytes([2])


@dataclass(frozen=True, slots=True)
class RequeueReasonReclaimed(RequeueReason):
    """The provider wanted its resources back, and its notice is over."""

    tag: ClassVar[str] = "Reclaimed"

    def scale(self) -> bytes:
        return bytes([3])


_REQUEUE_REASON: Final[dict[str, Callable[[Any], RequeueReason]]] = {
    "HostRefused": lambda p: RequeueReasonHostRefused(value=HostFailure.decode(p)),
    "StartTimeout": lambda _: RequeueReasonStartTimeout(),
    "HostLost": lambda _: RequeueReasonHostLost(),
    "Reclaimed": lambda _: RequeueReasonReclaimed(),
}


@dataclass(frozen=True, slots=True)
class Resources:
    """What one pod needs."""

    cpu_milli: int
    """Thousandths of a core."""
    memory_mib: int
    """Memory in MiB."""
    disk_gib: int
    """Disk in GiB."""
    gpus: GpuRequest
    """Devices."""

    @classmethod
    def decode(cls, plain: Any) -> Resources:
        return cls(
            cpu_milli=plain["cpu_milli"],
            memory_mib=plain["memory_mib"],
            disk_gib=plain["disk_gib"],
            gpus=GpuRequest.decode(plain["gpus"]),
        )

    def encode(self) -> Any:
        return {
            "cpu_milli": self.cpu_milli,
            "memory_mib": self.memory_mib,
            "disk_gib": self.disk_gib,
            "gpus": self.gpus.encode(),
        }

    def scale(self) -> bytes:
        return (
            self.cpu_milli.to_bytes(4, "little")
            + self.memory_mib.to_bytes(4, "little")
            + self.disk_gib.to_bytes(4, "little")
            + self.gpus.scale()
        )


@dataclass(frozen=True, slots=True)
class Sla:
    """What a host promised to be there for tenants, and what of it it was there. Sums; they never fall."""

    promised_ms: int
    """How long its leases lasted in all, in milliseconds."""
    met_ms: int
    """For how much of that it was there."""

    @classmethod
    def decode(cls, plain: Any) -> Sla:
        return cls(promised_ms=plain["promised_ms"], met_ms=plain["met_ms"])

    def encode(self) -> Any:
        return {"promised_ms": self.promised_ms, "met_ms": self.met_ms}

    def scale(self) -> bytes:
        return self.promised_ms.to_bytes(8, "little") + self.met_ms.to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class SpecRecord:
    """What tasks submitted together have in common. Kept under the number of the first until the last is pruned."""

    tenant: AccountId
    """Who submitted them and pays."""
    spec: TaskSpec
    """What was asked for."""
    count: int
    """How many tasks were submitted together."""
    open: int
    """How many of them are not final."""
    kept: int
    """How many of them are not pruned."""
    manifest_deposit: int
    """Coins of the tenant held while the chain keeps the manifest; 0 once all tasks are final."""
    task_deposit: int
    """Coins of the tenant held besides for each task until it is pruned."""

    @classmethod
    def decode(cls, plain: Any) -> SpecRecord:
        return cls(
            tenant=plain["tenant"],
            spec=TaskSpec.decode(plain["spec"]),
            count=plain["count"],
            open=plain["open"],
            kept=plain["kept"],
            manifest_deposit=plain["manifest_deposit"],
            task_deposit=plain["task_deposit"],
        )

    def encode(self) -> Any:
        return {
            "tenant": self.tenant,
            "spec": self.spec.encode(),
            "count": self.count,
            "open": self.open,
            "kept": self.kept,
            "manifest_deposit": self.manifest_deposit,
            "task_deposit": self.task_deposit,
        }


class SuspendReason(StrEnum):
    """Why a host is suspended."""

    BY_ROOT = "ByRoot"
    """The chain's governance decided it. Only governance ends it."""
    FAILED_CHALLENGE = "FailedChallenge"
    """It failed a challenge. Ends when it is verified again."""
    SLASHED = "Slashed"
    """Slashes left less than half of the bond it must have. Ends when the bond is topped up."""
    HARDWARE_CHANGED = "HardwareChanged"
    """Its hardware was found to be another than it was registered with. Ends when it is registered as it is, and
    verified.
    """

    @classmethod
    def decode(cls, plain: Any) -> SuspendReason:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"ByRoot": 0, "FailedChallenge": 1, "Slashed": 2, "HardwareChanged": 3}[self.value]])


class TaskKind(StrEnum):
    """What sort of work it is."""

    JOB = "Job"
    """Ends with a result."""
    SERVICE = "Service"
    """Runs until it is stopped or the time paid for is over."""
    RENTAL = "Rental"
    """A machine to log into; its data is kept for a while after it ended."""

    @classmethod
    def decode(cls, plain: Any) -> TaskKind:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Job": 0, "Service": 1, "Rental": 2}[self.value]])


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A submitted task, with its leases."""

    first: int
    """The first of the tasks it was submitted with: its spec and manifest are kept under this number."""
    tenant: AccountId
    """Who submitted it and pays."""
    state: TaskState
    """Where it stands."""
    generation: int
    """Grows whenever a lease is given up for another, so that no number of a lease is used twice."""
    failures: int
    """How many attempts have come to nothing; of services and rentals, how many in a row without a start."""
    pods_wanted: int
    """How many pods it is to have."""
    submitted_at: int
    """When it was submitted."""
    changed_at: int
    """When it last changed its state."""
    leases: tuple[Lease, ...]
    """Its leases in the order of the pods: the live ones, and those that ended and were not given up for others."""

    @classmethod
    def decode(cls, plain: Any) -> TaskRecord:
        return cls(
            first=plain["first"],
            tenant=plain["tenant"],
            state=TaskState.decode(plain["state"]),
            generation=plain["generation"],
            failures=plain["failures"],
            pods_wanted=plain["pods_wanted"],
            submitted_at=plain["submitted_at"],
            changed_at=plain["changed_at"],
            leases=tuple(Lease.decode(i0) for i0 in plain["leases"]),
        )

    def encode(self) -> Any:
        return {
            "first": self.first,
            "tenant": self.tenant,
            "state": self.state.encode(),
            "generation": self.generation,
            "failures": self.failures,
            "pods_wanted": self.pods_wanted,
            "submitted_at": self.submitted_at,
            "changed_at": self.changed_at,
            "leases": [i0.encode() for i0 in self.leases],
        }


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What a tenant submits."""

    kind: TaskKind
    """The sort of work."""
    manifest_digest: bytes
    """SHA-256 of the manifest."""
    resources: Resources
    """What each pod needs."""
    pods_min: int
    """The least pods that make sense, at least 1."""
    pods_max: int
    """The most pods wanted, at most 16."""
    max_rate_per_hour: int
    """The most one pod may cost, in base units an hour."""
    unit: BillingUnit
    """The unit it is billed by."""
    max_duration_ms: int
    """How long a pod may run, in milliseconds."""
    deadline: int | None
    """It must be assigned by then."""
    priority: int
    """Higher goes first, within what schedulers allow."""
    queue: bytes
    """The queue it waits in."""
    verification: VerificationPolicy
    """How its result is judged."""
    placement: Placement
    """Where it may run."""
    data_from: int | None
    """Rentals only: the lease whose retained data the new machine takes over. It must then be on the same host."""

    @classmethod
    def decode(cls, plain: Any) -> TaskSpec:
        return cls(
            kind=TaskKind.decode(plain["kind"]),
            manifest_digest=plain["manifest_digest"],
            resources=Resources.decode(plain["resources"]),
            pods_min=plain["pods_min"],
            pods_max=plain["pods_max"],
            max_rate_per_hour=plain["max_rate_per_hour"],
            unit=BillingUnit.decode(plain["unit"]),
            max_duration_ms=plain["max_duration_ms"],
            deadline=plain["deadline"],
            priority=plain["priority"],
            queue=plain["queue"],
            verification=VerificationPolicy.decode(plain["verification"]),
            placement=Placement.decode(plain["placement"]),
            data_from=plain["data_from"],
        )

    def encode(self) -> Any:
        return {
            "kind": self.kind.value,
            "manifest_digest": self.manifest_digest,
            "resources": self.resources.encode(),
            "pods_min": self.pods_min,
            "pods_max": self.pods_max,
            "max_rate_per_hour": self.max_rate_per_hour,
            "unit": self.unit.value,
            "max_duration_ms": self.max_duration_ms,
            "deadline": self.deadline,
            "priority": self.priority,
            "queue": self.queue,
            "verification": self.verification.encode(),
            "placement": self.placement.encode(),
            "data_from": self.data_from,
        }


class TaskState:
    """Where a task stands. Changes only along `transitions::TASK_TRANSITIONS`.

    One of `TaskStateQueued`, `TaskStateAssigned`, `TaskStateRunning`, `TaskStateReported`, `TaskStateVerified`, `TaskStateSettled`, `TaskStateDisputed`, `TaskStateExpired`, `TaskStateCancelled`, `TaskStateFailed`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> TaskState:
        tag, payload = _variant(plain)
        return _TASK_STATE[tag](payload)

    def encode(self) -> Any:
        return self.tag

    def scale(self) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TaskStateQueued(TaskState):
    """Waits for hosts."""

    tag: ClassVar[str] = "Queued"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class TaskStateAssigned(TaskState):
    """Has a lease for each pod; not all have started."""

    tag: ClassVar[str] = "Assigned"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class TaskStateRunning(TaskState):
    """Every pod has started."""

    tag: ClassVar[str] = "Running"

    def scale(self) -> bytes:
        return bytes([2])


@dataclass(frozen=True, slots=True)
class TaskStateReported(TaskState):
    """Every pod has reported its result."""

    tag: ClassVar[str] = "Reported"

    def scale(self) -> bytes:
        return bytes([3])


@dataclass(frozen=True, slots=True)
class TaskStateVerified(TaskState):
    """The result is accepted."""

    tag: ClassVar[str] = "Verified"

    def scale(self) -> bytes:
        return bytes([4])


@dataclass(frozen=True, slots=True)
class TaskStateSettled(TaskState):
    """Everyone is paid."""

    tag: ClassVar[str] = "Settled"

    def scale(self) -> bytes:
        return bytes([5])


@dataclass(frozen=True, slots=True)
class TaskStateDisputed(TaskState):
    """The result is in dispute."""

    tag: ClassVar[str] = "Disputed"

    def scale(self) -> bytes:
        return bytes([6])


@dataclass(frozen=True, slots=True)
class TaskStateExpired(TaskState):
    """Was not assigned before its deadline."""

    tag: ClassVar[str] = "Expired"

    def scale(self) -> bytes:
        return bytes([7])


@dataclass(frozen=True, slots=True)
class TaskStateCancelled(TaskState):
    """The tenant called it off."""

    tag: ClassVar[str] = "Cancelled"

    def scale(self) -> bytes:
        return bytes([8])


@dataclass(frozen=True, slots=True)
class TaskStateFailed(TaskState):
    """Ended without a result, for the reason given."""

    tag: ClassVar[str] = "Failed"
    value: FailReason

    def encode(self) -> Any:
        return {"Failed": self.value.value}

    def scale(self) -> bytes:
        return bytes([9]) + self.value.scale()


_TASK_STATE: Final[dict[str, Callable[[Any], TaskState]]] = {
    "Queued": lambda _: TaskStateQueued(),
    "Assigned": lambda _: TaskStateAssigned(),
    "Running": lambda _: TaskStateRunning(),
    "Reported": lambda _: TaskStateReported(),
    "Verified": lambda _: TaskStateVerified(),
    "Settled": lambda _: TaskStateSettled(),
    "Disputed": lambda _: TaskStateDisputed(),
    "Expired": lambda _: TaskStateExpired(),
    "Cancelled": lambda _: TaskStateCancelled(),
    "Failed": lambda p: TaskStateFailed(value=FailReason.decode(p)),
}


class TasksHoldReason(StrEnum):
    """pallet_gantry_tasks::pallet::HoldReason."""

    DEPOSIT = "Deposit"
    SCHEDULER_BOND = "SchedulerBond"

    @classmethod
    def decode(cls, plain: Any) -> TasksHoldReason:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Deposit": 0, "SchedulerBond": 1}[self.value]])


@dataclass(frozen=True, slots=True)
class TasksParams:
    """P."""

    start_timeout_ms: int
    dispute_window_ms: int
    max_attempts: int
    scheduler_bond: int
    deposit_base: int
    deposit_per_byte: int
    deposit_per_task: int
    max_duration_ms: int
    archive_after_ms: int
    refused_item_fine: int

    @classmethod
    def decode(cls, plain: Any) -> TasksParams:
        return cls(
            start_timeout_ms=plain["start_timeout_ms"],
            dispute_window_ms=plain["dispute_window_ms"],
            max_attempts=plain["max_attempts"],
            scheduler_bond=plain["scheduler_bond"],
            deposit_base=plain["deposit_base"],
            deposit_per_byte=plain["deposit_per_byte"],
            deposit_per_task=plain["deposit_per_task"],
            max_duration_ms=plain["max_duration_ms"],
            archive_after_ms=plain["archive_after_ms"],
            refused_item_fine=plain["refused_item_fine"],
        )

    def encode(self) -> Any:
        return {
            "start_timeout_ms": self.start_timeout_ms,
            "dispute_window_ms": self.dispute_window_ms,
            "max_attempts": self.max_attempts,
            "scheduler_bond": self.scheduler_bond,
            "deposit_base": self.deposit_base,
            "deposit_per_byte": self.deposit_per_byte,
            "deposit_per_task": self.deposit_per_task,
            "max_duration_ms": self.max_duration_ms,
            "archive_after_ms": self.archive_after_ms,
            "refused_item_fine": self.refused_item_fine,
        }

    def scale(self) -> bytes:
        return (
            self.start_timeout_ms.to_bytes(8, "little")
            + self.dispute_window_ms.to_bytes(8, "little")
            + self.max_attempts.to_bytes(1, "little")
            + self.scheduler_bond.to_bytes(16, "little")
            + self.deposit_base.to_bytes(16, "little")
            + self.deposit_per_byte.to_bytes(16, "little")
            + self.deposit_per_task.to_bytes(16, "little")
            + self.max_duration_ms.to_bytes(8, "little")
            + self.archive_after_ms.to_bytes(8, "little")
            + self.refused_item_fine.to_bytes(16, "little")
        )


@dataclass(frozen=True, slots=True)
class TenantScore:
    """The evidence about one tenant, as it weighed at `updated_at`."""

    settled: Beta
    """Leases it let come to their end and paid, against those it called off late."""
    disputes: Beta
    """Disputes it won, against those it lost."""
    updated_at: int
    """When any of this last changed."""

    @classmethod
    def decode(cls, plain: Any) -> TenantScore:
        return cls(
            settled=Beta.decode(plain["settled"]),
            disputes=Beta.decode(plain["disputes"]),
            updated_at=plain["updated_at"],
        )

    def encode(self) -> Any:
        return {"settled": self.settled.encode(), "disputes": self.disputes.encode(), "updated_at": self.updated_at}

    def scale(self) -> bytes:
        return self.settled.scale() + self.disputes.scale() + self.updated_at.to_bytes(8, "little")


class Tier(StrEnum):
    """What class of machine a host is; its bond goes by it."""

    CONSUMER = "Consumer"
    """A machine with devices made for the home."""
    PROFESSIONAL = "Professional"
    """A workstation or a server with devices made for work."""
    DATACENTER = "Datacenter"
    """A server with devices made for data centres, in one."""

    @classmethod
    def decode(cls, plain: Any) -> Tier:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Consumer": 0, "Professional": 1, "Datacenter": 2}[self.value]])


@dataclass(frozen=True, slots=True)
class Usage:
    """What a pod used, as its host measured it."""

    wall_ms: int
    """How long it ran, in milliseconds."""
    cpu_ms: int
    """Processor time in milliseconds."""
    memory_peak_mib: int
    """The most memory it held, in MiB."""

    @classmethod
    def decode(cls, plain: Any) -> Usage:
        return cls(wall_ms=plain["wall_ms"], cpu_ms=plain["cpu_ms"], memory_peak_mib=plain["memory_peak_mib"])

    def encode(self) -> Any:
        return {"wall_ms": self.wall_ms, "cpu_ms": self.cpu_ms, "memory_peak_mib": self.memory_peak_mib}

    def scale(self) -> bytes:
        return (
            self.wall_ms.to_bytes(8, "little")
            + self.cpu_ms.to_bytes(8, "little")
            + self.memory_peak_mib.to_bytes(4, "little")
        )


class Vendor(StrEnum):
    """Who made a device."""

    NVIDIA = "Nvidia"
    """NVIDIA."""
    AMD = "Amd"
    """AMD."""
    OTHER = "Other"
    """Anyone else."""

    @classmethod
    def decode(cls, plain: Any) -> Vendor:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Nvidia": 0, "Amd": 1, "Other": 2}[self.value]])


class VerificationPolicy:
    """How a result is judged.

    One of `VerificationPolicyAcceptance`, `VerificationPolicyRedundant`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> VerificationPolicy:
        tag, payload = _variant(plain)
        return _VERIFICATION_POLICY[tag](payload)

    def encode(self) -> Any:
        return self.tag

    def scale(self) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class VerificationPolicyAcceptance(VerificationPolicy):
    """The tenant accepts it, or the dispute window passes."""

    tag: ClassVar[str] = "Acceptance"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class VerificationPolicyRedundant(VerificationPolicy):
    """Jobs only: so many pods, on hosts of different providers, do the same work, and their results are compared."""

    tag: ClassVar[str] = "Redundant"
    replicas: int
    """How many, 2 or 3."""

    def encode(self) -> Any:
        return {"Redundant": {"replicas": self.replicas}}

    def scale(self) -> bytes:
        return bytes([1]) + self.replicas.to_bytes(1, "little")


_VERIFICATION_POLICY: Final[dict[str, Callable[[Any], VerificationPolicy]]] = {
    "Acceptance": lambda _: VerificationPolicyAcceptance(),
    "Redundant": lambda p: VerificationPolicyRedundant(replicas=p["replicas"]),
}


class GantryEvent:
    """Base of the events of our pallets."""

    __slots__ = ()
    pallet: ClassVar[str]
    name: ClassVar[str]


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
    """A host is reached in another way."""

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
    """A host said which of its devices are out of order; all others are in order."""

    pallet: ClassVar[str] = "Hosts"
    name: ClassVar[str] = "DeviceHealthChanged"
    host: AccountId
    """The host."""
    unhealthy: bytes
    """The devices that take no new lease."""


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
    """What the reporter got for it."""


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
class TasksSubmitted(GantryEvent):
    """A tenant submitted tasks."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Submitted"
    first: int
    """The first of them; the others have the numbers that follow."""
    count: int
    """How many."""
    tenant: AccountId
    """Who pays."""
    kind: TaskKind
    """The sort of work."""
    manifest_digest: bytes
    """SHA-256 of their manifest."""


@dataclass(frozen=True, slots=True)
class TasksAssigned(GantryEvent):
    """Pods of a task were placed."""

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
    """Where the task stands now."""


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
    """When the lease is over by itself."""
    state: TaskState
    """Where the task stands now."""


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
    """What it ended with."""
    state: TaskState
    """Where the task stands now."""


@dataclass(frozen=True, slots=True)
class TasksRequeued(GantryEvent):
    """An attempt came to nothing: the task waits again, or has failed."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Requeued"
    task: int
    """The task."""
    lease: int
    """The lease because of which."""
    reason: RequeueReason
    """Why."""
    bills: tuple[LeaseBill, ...]
    """How the leases of the attempt were paid."""
    failures: int
    """How many attempts have come to nothing."""
    state: TaskState
    """Where the task stands now."""


@dataclass(frozen=True, slots=True)
class TasksPodLost(GantryEvent):
    """A pod of a service, a rental or a task with replicas came to nothing."""

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
    """How many attempts have come to nothing; of services and rentals, how many in a row."""
    state: TaskState
    """Where the task stands now."""


@dataclass(frozen=True, slots=True)
class TasksLeaseEnded(GantryEvent):
    """A lease ended because its time is over, or its provider or the tenant's coins ended it."""

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
    """Where the task stands now."""


@dataclass(frozen=True, slots=True)
class TasksCancelled(GantryEvent):
    """A tenant called a task off."""

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
    """Where the task stands now."""


@dataclass(frozen=True, slots=True)
class TasksScaled(GantryEvent):
    """A task is to have another number of pods."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Scaled"
    task: int
    """The task."""
    pods: int
    """How many."""
    bills: tuple[LeaseBill, ...]
    """How the leases of pods that are no longer wanted were paid."""
    state: TaskState
    """Where the task stands now."""


@dataclass(frozen=True, slots=True)
class TasksResultAccepted(GantryEvent):
    """The tenant accepted the result of a task."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "ResultAccepted"
    task: int
    """The task."""


@dataclass(frozen=True, slots=True)
class TasksVerified(GantryEvent):
    """The results of a task's replicas were compared, and most agree."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Verified"
    task: int
    """The task."""
    wrong: tuple[int, ...]
    """The leases whose results are wrong; they are not paid."""


@dataclass(frozen=True, slots=True)
class TasksDisputeOpened(GantryEvent):
    """The result of a task is disputed."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "DisputeOpened"
    task: int
    """The task."""
    by: AccountId
    """Who disputes it."""


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
    """Where the task stands now."""


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
    """A final task was put away."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Pruned"
    task: int
    """The task."""
    digest: bytes
    """The digest of its page of the archive, this task folded in."""


@dataclass(frozen=True, slots=True)
class TasksItemRefused(GantryEvent):
    """An item of a batch was refused. It changed nothing; the others were not touched by it."""

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
class TasksSchedulerUnbonded(GantryEvent):
    """An account may no longer assign tasks of others and has its bond back."""

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
class LeasesExtended(GantryEvent):
    """A tenant bought more time."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Extended"
    lease: int
    """The lease."""
    amount: int
    """How many coins were deposited."""
    ends_at: int
    """When the lease is over by itself now."""


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
    """What it costs from now on, in base units an hour."""
    owed: int
    """What is owed for the time before."""
    ends_at: int
    """When the lease is over by itself now."""


@dataclass(frozen=True, slots=True)
class LeasesResumed(GantryEvent):
    """A tenant started the machine of its rental again."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Resumed"
    lease: int
    """The lease."""
    rate_per_hour: int
    """What it costs from now on, in base units an hour."""
    owed: int
    """What is owed for the time before."""
    ends_at: int
    """When the lease is over by itself now."""


@dataclass(frozen=True, slots=True)
class LeasesReclaimNoticed(GantryEvent):
    """A provider wants its resources back."""

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
    """The time up to which it was paid for."""
    share: int
    """What the provider got."""
    fee: int
    """What the treasury got."""


@dataclass(frozen=True, slots=True)
class LeasesBountyPaid(GantryEvent):
    """A lease whose deposit is used up was closed by someone who is none of its parties."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "BountyPaid"
    lease: int
    """The lease."""
    who: AccountId
    """Who closed it."""
    bounty: int
    """What it got of the provider's share."""


@dataclass(frozen=True, slots=True)
class LeasesDataKept(GantryEvent):
    """A tenant paid for keeping the data of a rental."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "DataKept"
    lease: int
    """The lease."""
    until: int
    """The time until which it is kept now."""
    share: int
    """What the provider got."""
    fee: int
    """What the treasury got."""


@dataclass(frozen=True, slots=True)
class LeasesDataReleased(GantryEvent):
    """A tenant no longer needs the data of a rental."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "DataReleased"
    lease: int
    """The lease."""


@dataclass(frozen=True, slots=True)
class LeasesPurgedWithoutReceipt(GantryEvent):
    """The time for a receipt of the purge is over, and the lease no longer holds anything."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "PurgedWithoutReceipt"
    lease: int
    """The lease."""


@dataclass(frozen=True, slots=True)
class LeasesDueFailed(GantryEvent):
    """What was to be done for a lease at this time was refused; it is tried again."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "DueFailed"
    lease: int
    """The lease."""
    error: Any
    """Why."""
    again_at: int
    """When it is tried again."""


@dataclass(frozen=True, slots=True)
class LeasesCranked(GantryEvent):
    """Someone had entries of the agenda looked at."""

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
class BillingPaid(GantryEvent):
    """Billing.Paid."""

    pallet: ClassVar[str] = "Billing"
    name: ClassVar[str] = "Paid"
    lease: int
    until: int
    share: int
    fee: int


@dataclass(frozen=True, slots=True)
class BillingToppedUp(GantryEvent):
    """Billing.ToppedUp."""

    pallet: ClassVar[str] = "Billing"
    name: ClassVar[str] = "ToppedUp"
    lease: int
    amount: int
    depletes_at: int


@dataclass(frozen=True, slots=True)
class BillingParamsChanged(GantryEvent):
    """Billing.ParamsChanged."""

    pallet: ClassVar[str] = "Billing"
    name: ClassVar[str] = "ParamsChanged"


@dataclass(frozen=True, slots=True)
class ReputationScored(GantryEvent):
    """Reputation.Scored."""

    pallet: ClassVar[str] = "Reputation"
    name: ClassVar[str] = "Scored"
    host: AccountId
    score_ppm: int


_EVENTS: Final[dict[tuple[str, str], Callable[[Any], GantryEvent]]] = {
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
    ("Hosts", "DeviceAttested"): lambda f: HostsDeviceAttested(
        host=f["host"],
        device=f["device"],
        attested=f["attested"],
    ),
    ("Hosts", "AbsenceReported"): lambda f: HostsAbsenceReported(
        host=f["host"],
        reporter=f["reporter"],
        bounty=f["bounty"],
    ),
    ("Hosts", "Slashed"): lambda f: HostsSlashed(host=f["host"], fault=Fault.decode(f["fault"]), amount=f["amount"]),
    ("Hosts", "BondToppedUp"): lambda f: HostsBondToppedUp(host=f["host"], amount=f["amount"]),
    ("Hosts", "BondWithdrawn"): lambda f: HostsBondWithdrawn(host=f["host"], amount=f["amount"]),
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
    ("Tasks", "Verified"): lambda f: TasksVerified(task=f["task"], wrong=tuple(f["wrong"])),
    ("Tasks", "DisputeOpened"): lambda f: TasksDisputeOpened(task=f["task"], by=f["by"]),
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
    ("Tasks", "SchedulerUnbonded"): lambda f: TasksSchedulerUnbonded(who=f["who"]),
    ("Tasks", "ParamsChanged"): lambda _: TasksParamsChanged(),
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
    ("Leases", "Paid"): lambda f: LeasesPaid(lease=f["lease"], until=f["until"], share=f["share"], fee=f["fee"]),
    ("Leases", "BountyPaid"): lambda f: LeasesBountyPaid(lease=f["lease"], who=f["who"], bounty=f["bounty"]),
    ("Leases", "DataKept"): lambda f: LeasesDataKept(
        lease=f["lease"],
        until=f["until"],
        share=f["share"],
        fee=f["fee"],
    ),
    ("Leases", "DataReleased"): lambda f: LeasesDataReleased(lease=f["lease"]),
    ("Leases", "PurgedWithoutReceipt"): lambda f: LeasesPurgedWithoutReceipt(lease=f["lease"]),
    ("Leases", "DueFailed"): lambda f: LeasesDueFailed(lease=f["lease"], error=f["error"], again_at=f["again_at"]),
    ("Leases", "Cranked"): lambda f: LeasesCranked(entries=f["entries"]),
    ("Leases", "ParamsChanged"): lambda _: LeasesParamsChanged(),
    ("Billing", "Paid"): lambda f: BillingPaid(lease=f["lease"], until=f["until"], share=f["share"], fee=f["fee"]),
    ("Billing", "ToppedUp"): lambda f: BillingToppedUp(
        lease=f["lease"],
        amount=f["amount"],
        depletes_at=f["depletes_at"],
    ),
    ("Billing", "ParamsChanged"): lambda _: BillingParamsChanged(),
    ("Reputation", "Scored"): lambda f: ReputationScored(host=f["host"], score_ppm=f["score_ppm"]),
}


def decode_event(pallet: str, name: str, fields: Mapping[str, Any]) -> GantryEvent | None:
    """The typed event, or None where it is not one of our pallets."""
    made = _EVENTS.get((pallet, name))
    return None if made is None else made(fields)


class calls:
    """Calls of our pallets: `calls.pallet_function(argument=...)`."""

    @staticmethod
    def hosts_register(
        *,
        host: AccountId,
        hardware: HardwareSpec,
        endpoint: bytes,
        region: bytes,
        ask: Ask,
        host_signature: bytes,
    ) -> Call:
        """Hosts.register."""
        return Call("Hosts", "register", {
            "host": host,
            "hardware": hardware.encode(),
            "endpoint": endpoint,
            "region": region,
            "ask": ask.encode(),
            "host_signature": host_signature,
        })

    @staticmethod
    def hosts_heartbeat() -> Call:
        """Hosts.heartbeat."""
        return Call("Hosts", "heartbeat", {})

    @staticmethod
    def hosts_set_endpoint(*, endpoint: bytes) -> Call:
        """Hosts.set_endpoint."""
        return Call("Hosts", "set_endpoint", {"endpoint": endpoint})

    @staticmethod
    def hosts_set_ask(*, host: AccountId, ask: Ask) -> Call:
        """Hosts.set_ask."""
        return Call("Hosts", "set_ask", {"host": host, "ask": ask.encode()})

    @staticmethod
    def hosts_drain(*, host: AccountId) -> Call:
        """Hosts.drain."""
        return Call("Hosts", "drain", {"host": host})

    @staticmethod
    def hosts_undrain(*, host: AccountId) -> Call:
        """Hosts.undrain."""
        return Call("Hosts", "undrain", {"host": host})

    @staticmethod
    def hosts_retire(*, host: AccountId) -> Call:
        """Hosts.retire."""
        return Call("Hosts", "retire", {"host": host})

    @staticmethod
    def hosts_report_absent(*, host: AccountId) -> Call:
        """Hosts.report_absent."""
        return Call("Hosts", "report_absent", {"host": host})

    @staticmethod
    def tasks_submit(*, spec: TaskSpec, manifest: bytes) -> Call:
        """Tasks.submit."""
        return Call("Tasks", "submit", {"spec": spec.encode(), "manifest": manifest})

    @staticmethod
    def tasks_assign(*, task: int, pods: Sequence[PodPlacement]) -> Call:
        """Tasks.assign."""
        return Call("Tasks", "assign", {"task": task, "pods": [i0.encode() for i0 in pods]})

    @staticmethod
    def tasks_report_started(*, lease: int) -> Call:
        """Tasks.report_started."""
        return Call("Tasks", "report_started", {"lease": lease})

    @staticmethod
    def tasks_report_result(*, lease: int, result: PodResult) -> Call:
        """Tasks.report_result."""
        return Call("Tasks", "report_result", {"lease": lease, "result": result.encode()})

    @staticmethod
    def tasks_report_failed(*, lease: int, reason: HostFailure) -> Call:
        """Tasks.report_failed."""
        return Call("Tasks", "report_failed", {"lease": lease, "reason": reason.value})

    @staticmethod
    def tasks_requeue(*, lease: int) -> Call:
        """Tasks.requeue."""
        return Call("Tasks", "requeue", {"lease": lease})

    @staticmethod
    def tasks_expire_lease(*, lease: int) -> Call:
        """Tasks.expire_lease."""
        return Call("Tasks", "expire_lease", {"lease": lease})

    @staticmethod
    def tasks_cancel(*, task: int) -> Call:
        """Tasks.cancel."""
        return Call("Tasks", "cancel", {"task": task})

    @staticmethod
    def tasks_expire(*, task: int) -> Call:
        """Tasks.expire."""
        return Call("Tasks", "expire", {"task": task})

    @staticmethod
    def tasks_accept_result(*, task: int) -> Call:
        """Tasks.accept_result."""
        return Call("Tasks", "accept_result", {"task": task})

    @staticmethod
    def tasks_settle(*, task: int) -> Call:
        """Tasks.settle."""
        return Call("Tasks", "settle", {"task": task})

    @staticmethod
    def tasks_bond_scheduler() -> Call:
        """Tasks.bond_scheduler."""
        return Call("Tasks", "bond_scheduler", {})

    @staticmethod
    def tasks_unbond_scheduler() -> Call:
        """Tasks.unbond_scheduler."""
        return Call("Tasks", "unbond_scheduler", {})

    @staticmethod
    def tasks_set_params(*, params: TasksParams) -> Call:
        """Tasks.set_params."""
        return Call("Tasks", "set_params", {"params": params.encode()})

    @staticmethod
    def tasks_submit_array(*, spec: TaskSpec, manifest: bytes, count: int) -> Call:
        """Tasks.submit_array."""
        return Call("Tasks", "submit_array", {"spec": spec.encode(), "manifest": manifest, "count": count})

    @staticmethod
    def tasks_assign_batch(*, assignments: Sequence[tuple[int, Sequence[PodPlacement]]]) -> Call:
        """Tasks.assign_batch."""
        return Call("Tasks", "assign_batch", {"assignments": [(i0[0], [i1.encode() for i1 in i0[1]]) for i0 in assignments]})

    @staticmethod
    def tasks_report_batch(*, reports: Sequence[tuple[int, Report]]) -> Call:
        """Tasks.report_batch."""
        return Call("Tasks", "report_batch", {"reports": [(i0[0], i0[1].encode()) for i0 in reports]})

    @staticmethod
    def tasks_settle_batch(*, tasks: Sequence[int]) -> Call:
        """Tasks.settle_batch."""
        return Call("Tasks", "settle_batch", {"tasks": list(tasks)})

    @staticmethod
    def tasks_prune(*, tasks: Sequence[int]) -> Call:
        """Tasks.prune."""
        return Call("Tasks", "prune", {"tasks": list(tasks)})

    @staticmethod
    def tasks_scale(*, task: int, pods: int) -> Call:
        """Tasks.scale."""
        return Call("Tasks", "scale", {"task": task, "pods": pods})

    @staticmethod
    def tasks_end(*, task: int) -> Call:
        """Tasks.end."""
        return Call("Tasks", "end", {"task": task})

    @staticmethod
    def tasks_rate(*, lease: int, stars: int) -> Call:
        """Tasks.rate."""
        return Call("Tasks", "rate", {"lease": lease, "stars": stars})

    @staticmethod
    def tasks_report(*, lease: int, report: Report) -> Call:
        """Tasks.report."""
        return Call("Tasks", "report", {"lease": lease, "report": report.encode()})

    @staticmethod
    def leases_crank(*, limit: int) -> Call:
        """Leases.crank."""
        return Call("Leases", "crank", {"limit": limit})

    @staticmethod
    def leases_top_up(*, lease: int, amount: int) -> Call:
        """Leases.top_up."""
        return Call("Leases", "top_up", {"lease": lease, "amount": amount})

    @staticmethod
    def billing_set_params(*, params: BillingParams) -> Call:
        """Billing.set_params."""
        return Call("Billing", "set_params", {"params": params.encode()})


class storage:
    """Storage items of our pallets with the decoders of their values."""

    hosts_hosts: Final[StorageItem[HostRecord]] = StorageItem("Hosts", "Hosts", HostRecord.decode)

    hosts_hosts_by_provider: Final[StorageItem[tuple[()]]] = StorageItem("Hosts", "HostsByProvider", _same)

    hosts_endpoint_changed_at: Final[StorageItem[int]] = StorageItem("Hosts", "EndpointChangedAt", _same)

    hosts_params: Final[StorageItem[HostsParams]] = StorageItem("Hosts", "Params", HostsParams.decode)

    tasks_next_task_id: Final[StorageItem[int]] = StorageItem("Tasks", "NextTaskId", _same)

    tasks_tasks: Final[StorageItem[TaskRecord]] = StorageItem("Tasks", "Tasks", TaskRecord.decode)

    tasks_specs: Final[StorageItem[SpecRecord]] = StorageItem("Tasks", "Specs", SpecRecord.decode)

    tasks_manifests: Final[StorageItem[bytes]] = StorageItem("Tasks", "Manifests", _same)

    tasks_by_state: Final[StorageItem[bytes]] = StorageItem("Tasks", "ByState", _same)

    tasks_by_tenant: Final[StorageItem[int]] = StorageItem("Tasks", "ByTenant", _same)

    tasks_schedulers: Final[StorageItem[int]] = StorageItem("Tasks", "Schedulers", _same)

    tasks_params: Final[StorageItem[TasksParams]] = StorageItem("Tasks", "Params", TasksParams.decode)

    tasks_archive: Final[StorageItem[ArchivePage]] = StorageItem("Tasks", "Archive", ArchivePage.decode)

    leases_by_host: Final[StorageItem[tuple[int, ...]]] = StorageItem("Leases", "ByHost", lambda x: tuple(x))

    leases_agenda: Final[StorageItem[tuple[int, ...]]] = StorageItem("Leases", "Agenda", lambda x: tuple(x))

    leases_agenda_pages: Final[StorageItem[int]] = StorageItem("Leases", "AgendaPages", _same)

    leases_params: Final[StorageItem[LeasesParams]] = StorageItem("Leases", "Params", LeasesParams.decode)

    billing_total_escrowed: Final[StorageItem[int]] = StorageItem("Billing", "TotalEscrowed", _same)

    billing_params: Final[StorageItem[BillingParams]] = StorageItem("Billing", "Params", BillingParams.decode)

    reputation_host_scores: Final[StorageItem[HostScore]] = StorageItem("Reputation", "HostScores", HostScore.decode)

    reputation_tenant_scores: Final[StorageItem[TenantScore]] = StorageItem(
        "Reputation",
        "TenantScores",
        TenantScore.decode,
    )


ERRORS: Final[dict[str, dict[str, str]]] = {
    "Hosts": {
        "AlreadyRegistered": "The host is registered already; a key is used once, retired or not.",
        "NoSuchHost": "No such host is registered.",
        "NotProvider": "The caller is not the provider of the host.",
        "BadHostSignature": "The signature is not by the host's key, or not for this chain, provider and content.",
        "HardwareEmpty": "The hardware has no processor or no memory.",
        "SimulatedDevicesRefused": "The hardware has a simulated device, and this chain takes real ones only.",
        "ProviderCannotPay": "The provider cannot pay the bond.",
        "HostRetired": "The host is retired or on its way out.",
        "TransitionNotAllowed": "A host in this status cannot go to the wanted one.",
        "HasLiveLeases": "The host has live leases.",
        "NotAbsent": "The host was heard of within the absence limit.",
        "HostNotOnline": "The host takes no leases now.",
        "NotEnoughCpu": "Less processor is free on the host than the pod needs.",
        "NotEnoughMemory": "Less memory is free on the host than the pod needs.",
        "NotEnoughDisk": "Less disk is free on the host than the pod needs.",
        "WrongDeviceCount": "Not as many devices are named as the pod needs.",
        "NoSuchDevice": "A named device does not exist.",
        "DeviceRepeated": "A device is named twice.",
        "SimulatedNotAllowed": "A named device is simulated, and the task allows real ones only.",
        "WrongModel": "A named device is of a model that the task does not want.",
        "NotEnoughVram": "A named device has less memory than the pod needs.",
        "DeviceBusy": "Less of a named device is free than the pod needs.",
        "MoreFreeThanTotal": "More would be free on the host than it has. A bug: please report it.",
        "Overflow": "A sum or product does not fit its type.",
        "HostNotWanted": "The task names other hosts.",
        "RegionNotWanted": "The task wants other regions.",
        "ProviderNotWanted": "The task does not allow the host's provider, or denies it.",
        "TierNotWanted": "The task wants another class of machine.",
        "NotEnoughNetwork": "The host can send or receive less than the task wants.",
        "CapabilityMissing": "The host cannot run something that the task wants.",
        "NotAttested": "A named device is not attested, and the task allows attested ones only.",
        "DeviceUnhealthy": "A named device is out of order.",
        "AskModelRepeated": "The price list prices a model twice.",
        "AskFactorTooGreat": "The price list has a factor of more than ten times the list price.",
        "SuspendedByRoot": "Governance suspended the host, and only governance ends that.",
        "StillUnbonding": "The bond of the host is held for a while yet.",
        "BondTooLow": "The host has less than half of the bond that it must have.",
        "AmountZero": "An amount of zero changes nothing.",
        "HeartbeatPeriodZero": "The heartbeat period is zero.",
        "AbsenceLimitTooShort": "The absence limit is less than two heartbeat periods.",
        "PeriodTooLong": "A period is longer than a year.",
        "BondTooGreat": "A bond for a device is too great to be added up.",
        "AbsenceBountyTooGreat": "The bounty for an absence is more than half of a bond for a device.",
    },
    "Tasks": {
        "NoSuchTask": "There is no such task: it was not submitted, or it is pruned.",
        "NoSuchLease": "The task has no such lease now.",
        "TransitionNotAllowed": "A task in this state cannot go to the wanted one.",
        "LeaseTransitionNotAllowed": "A lease in this state cannot go to the wanted one.",
        "CountInvalid": "One call submits 1 to 4,096 tasks.",
        "OnlyJobsInArrays": "Only jobs can be submitted many at a time.",
        "NoTaskIdsLeft": "The chain has run out of numbers for tasks.",
        "ManifestDigestMismatch": "The SHA-256 of the manifest is not the digest in the spec.",
        "ManifestEmpty": "The manifest is empty.",
        "ResourcesEmpty": "A pod needs some processor and some memory.",
        "GpuRequestInvalid": "A pod may need at most 16 devices, and 1 to 1000 thousandths of each.",
        "PodRangeInvalid": "A task has 1 to 16 pods, at most as many as at least; a service scales within what its spec says.",
        "RentalHasOnePod": "A rental has exactly one pod.",
        "OnlyRentalsTakeData": "Only rentals take over the data of another lease.",
        "ReplicasInvalid": "Results are compared of jobs only, with 2 or 3 replicas and as many pods.",
        "DurationInvalid": "The duration is zero or longer than the chain allows.",
        "DeadlinePassed": "The deadline has passed.",
        "DeadlineNotPassed": "The deadline has not passed, or there is none.",
        "TenantCannotPay": "The tenant cannot pay the deposits for the task and for its pods at the highest rate.",
        "CostTooHigh": "The cost is greater than any number of coins.",
        "NotSchedulerOrTenant": "The caller is neither a bonded scheduler nor the tenant of the task.",
        "NotTenant": "The caller is not the tenant of the task.",
        "NotHostOfLease": "The caller is not the host of the lease.",
        "NotQueued": "The task waits for no hosts: another scheduler may have been faster.",
        "NotRunning": "The task does not run.",
        "NotReported": "The task has no result that waits to be accepted.",
        "NotSettleable": "The task cannot be settled in its state.",
        "NotSettled": "The task is not settled.",
        "NotFinal": "The task is not final.",
        "TooEarlyToPrune": "The task became final too short a time ago to be pruned.",
        "DataRetained": "The chain still keeps account of data that a host retains for the task.",
        "NotDisputed": "The result of the task is not disputed.",
        "DisputeWindowOpen": "The dispute window has not passed.",
        "DisputeWindowClosed": "The dispute window has passed.",
        "NotService": "The task is no service.",
        "JobsAreCancelled": "A job is not ended but cancelled.",
        "ResultsAreCompared": "The results of this task are compared: they are committed and revealed, not reported.",
        "NotRedundant": "The results of this task are not compared.",
        "NothingRight": "None of the results is right.",
        "WrongPodCount": "There are fewer or more pods than the task wants.",
        "PodOutOfRange": "Pods must be numbered from 0 without a gap.",
        "PodRepeated": "A pod is placed twice, or has a lease already.",
        "ProviderRepeated": "Replicas must be on hosts of different providers.",
        "ModelDiffers": "A further replica must have devices of the same models as the others.",
        "RateTooHigh": "The host asks for more than the task's highest rate.",
        "UnitNotOffered": "The host does not offer leases in this billing unit.",
        "DataNotRetained": "The lease has no retained data.",
        "DataElsewhere": "The data that the rental is to take over is on another host.",
        "DataStillKept": "The data is to be kept until its time is over, or the tenant gives it up.",
        "LeaseNotPending": "The pod of this lease has started already, or the lease has ended.",
        "LeaseNotActive": "The pod of this lease has not started, or the lease has ended.",
        "LeaseEnded": "The lease has ended.",
        "LeaseNotStuck": "The pod of this lease is not late, and its host is not lost.",
        "LeaseNotDepleted": "The lease has not used its duration yet.",
        "HostIsLost": "The host of the lease is lost: requeue it.",
        "StarsInvalid": "A lease is rated with 1 to 5 stars.",
        "NeverStarted": "The pod of this lease never started.",
        "AlreadyRated": "The lease is rated already.",
        "OwnHost": "The caller owns the host of the lease.",
        "BatchTooHeavy": "The batch touches more leases than were paid for: send tasks of several pods one by one.",
        "AlreadyScheduler": "The account is bonded as a scheduler already.",
        "NotScheduler": "The account is not bonded as a scheduler.",
        "SchedulerCannotPay": "The account cannot pay the bond of a scheduler.",
        "StartTimeoutZero": "A pod must have some time to start.",
        "DisputeWindowZero": "There must be some time for disputes.",
        "MaxAttemptsZero": "A task must be allowed at least one attempt.",
        "MaxDurationZero": "A task must be allowed some duration.",
        "ArchiveAfterZero": "Final tasks must be kept for some time.",
        "RefusedItemFineZero": "A refused report of a batch must cost something.",
        "Overflow": "A sum or product does not fit its type.",
    },
    "Leases": {
        "NotTenant": "The caller is not the tenant of the lease.",
        "NotProvider": "The caller is not the provider of the lease's host.",
        "LeaseOfJob": "The lease is that of a job: it ends with its result, and its deposit covers its longest duration.",
        "NotRental": "The lease is not that of a rental.",
        "LeaseNotRunning": "The lease has not started, or has ended.",
        "LeaseNotActive": "The lease is not active.",
        "LeaseNotSuspended": "The lease is not suspended.",
        "LeaseNotRetained": "No data is kept for this lease.",
        "ReclaimNoticed": "The provider has given notice already: the lease gets no more time.",
        "ReclaimNotNoticed": "The provider has given no notice.",
        "NoticeNotOver": "The provider's notice is not over.",
        "LeaseNotDepleted": "The lease has not used up what was paid for.",
        "DepositUsedUp": "What is deposited does not cover any time at the full rate: top it up first.",
        "DurationIsZero": "The duration is zero.",
        "AmountIsZero": "The amount is zero.",
        "AmountTooSmall": "The provider cannot be credited with so little: its account lacks the existential deposit.",
        "KeptTooLong": "The data would be kept for longer than the chain allows.",
        "StorageNotOffered": "The host does not offer storage in the billing unit of this lease.",
        "NothingDue": "Nothing is due that could be paid now.",
        "NothingOnAgenda": "No entry of the agenda is due.",
        "TooManyLeasesOnHost": "The host has as many leases as the chain keeps for one.",
        "CostTooHigh": "The cost is greater than any number of coins.",
        "ReclaimNoticeIsZero": "The period of notice must not be zero.",
        "RetentionIsZero": "The period for which data is kept must not be zero.",
        "PurgeGraceIsZero": "The period for a receipt of a purge must not be zero.",
        "RetentionTooLong": "Data is kept at no further cost for longer than it may be kept at all.",
    },
    "Billing": {
    },
    "Reputation": {
    },
}
"""What each refusal of our pallets means: pallet, error, documentation."""
