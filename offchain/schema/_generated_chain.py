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

METADATA_SHA256: Final = "69ca99f0789e76736a97a4af24ebc1834b6d1c529c1f2942084eab6519bccadf"
SPEC_NAME: Final = "gantry"
SPEC_VERSION: Final = 1
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
class Ask:
    """gantry_primitives::types::hosts::Ask."""

    gpu_per_hour: int
    cpu_core_per_hour: int
    memory_gib_per_hour: int
    disk_gib_per_hour: int

    @classmethod
    def decode(cls, plain: Any) -> Ask:
        return cls(
            gpu_per_hour=plain["gpu_per_hour"],
            cpu_core_per_hour=plain["cpu_core_per_hour"],
            memory_gib_per_hour=plain["memory_gib_per_hour"],
            disk_gib_per_hour=plain["disk_gib_per_hour"],
        )

    def encode(self) -> Any:
        return {
            "gpu_per_hour": self.gpu_per_hour,
            "cpu_core_per_hour": self.cpu_core_per_hour,
            "memory_gib_per_hour": self.memory_gib_per_hour,
            "disk_gib_per_hour": self.disk_gib_per_hour,
        }

    def scale(self) -> bytes:
        return (
            self.gpu_per_hour.to_bytes(16, "little")
            + self.cpu_core_per_hour.to_bytes(16, "little")
            + self.memory_gib_per_hour.to_bytes(16, "little")
            + self.disk_gib_per_hour.to_bytes(16, "little")
        )


@dataclass(frozen=True, slots=True)
class Beta:
    """gantry_primitives::types::reputation::Beta."""

    positive: int
    negative: int

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
    """pallet_gantry_billing::types::Params."""

    fee_ppm: int

    @classmethod
    def decode(cls, plain: Any) -> BillingParams:
        return cls(fee_ppm=plain["fee_ppm"])

    def encode(self) -> Any:
        return {"fee_ppm": self.fee_ppm}

    def scale(self) -> bytes:
        return self.fee_ppm.to_bytes(4, "little")


class BillingUnit(StrEnum):
    """gantry_primitives::types::tasks::BillingUnit."""

    SECOND = "Second"
    HOUR = "Hour"
    DAY = "Day"

    @classmethod
    def decode(cls, plain: Any) -> BillingUnit:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Second": 0, "Hour": 1, "Day": 2}[self.value]])


@dataclass(frozen=True, slots=True)
class Capacity:
    """gantry_primitives::types::hosts::Capacity."""

    cpu_milli: int
    memory_mib: int
    disk_gib: int

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
    """gantry_primitives::types::hosts::Device."""

    spec: DeviceSpec
    milli_free: int
    attested: bool

    @classmethod
    def decode(cls, plain: Any) -> Device:
        return cls(spec=DeviceSpec.decode(plain["spec"]), milli_free=plain["milli_free"], attested=plain["attested"])

    def encode(self) -> Any:
        return {"spec": self.spec.encode(), "milli_free": self.milli_free, "attested": self.attested}

    def scale(self) -> bytes:
        return self.spec.scale() + self.milli_free.to_bytes(2, "little") + bytes([self.attested])


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """gantry_primitives::types::hosts::DeviceSpec."""

    vendor: Vendor
    model: bytes
    vram_mib: int
    simulated: bool

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
    """gantry_primitives::types::leases::EndReason.

    One of `EndReasonCompleted`, `EndReasonCancelled`, `EndReasonHostRefused`, `EndReasonStartTimeout`, `EndReasonHostLost`, `EndReasonDurationExceeded`, `EndReasonGangAborted`.
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
    """EndReason: Completed."""

    tag: ClassVar[str] = "Completed"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class EndReasonCancelled(EndReason):
    """EndReason: Cancelled."""

    tag: ClassVar[str] = "Cancelled"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class EndReasonHostRefused(EndReason):
    """EndReason: HostRefused."""

    tag: ClassVar[str] = "HostRefused"
    value: HostFailure

    def encode(self) -> Any:
        return {"HostRefused": self.value.value}

    def scale(self) -> bytes:
        return bytes([2]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class EndReasonStartTimeout(EndReason):
    """EndReason: StartTimeout."""

    tag: ClassVar[str] = "StartTimeout"

    def scale(self) -> bytes:
        return bytes([3])


@dataclass(frozen=True, slots=True)
class EndReasonHostLost(EndReason):
    """EndReason: HostLost."""

    tag: ClassVar[str] = "HostLost"

    def scale(self) -> bytes:
        return bytes([4])


@dataclass(frozen=True, slots=True)
class EndReasonDurationExceeded(EndReason):
    """EndReason: DurationExceeded."""

    tag: ClassVar[str] = "DurationExceeded"

    def scale(self) -> bytes:
        return bytes([5])


@dataclass(frozen=True, slots=True)
class EndReasonGangAborted(EndReason):
    """EndReason: GangAborted."""

    tag: ClassVar[str] = "GangAborted"

    def scale(self) -> bytes:
        return bytes([6])


_END_REASON: Final[dict[str, Callable[[Any], EndReason]]] = {
    "Completed": lambda _: EndReasonCompleted(),
    "Cancelled": lambda _: EndReasonCancelled(),
    "HostRefused": lambda p: EndReasonHostRefused(value=HostFailure.decode(p)),
    "StartTimeout": lambda _: EndReasonStartTimeout(),
    "HostLost": lambda _: EndReasonHostLost(),
    "DurationExceeded": lambda _: EndReasonDurationExceeded(),
    "GangAborted": lambda _: EndReasonGangAborted(),
}


@dataclass(frozen=True, slots=True)
class Escrow:
    """gantry_primitives::types::billing::Escrow."""

    tenant: AccountId
    provider: AccountId
    deposit: int
    rate_per_hour: int
    unit: BillingUnit
    started_at: int | None
    depletes_at: int | None
    paid: int
    fee: int
    state: EscrowState

    @classmethod
    def decode(cls, plain: Any) -> Escrow:
        return cls(
            tenant=plain["tenant"],
            provider=plain["provider"],
            deposit=plain["deposit"],
            rate_per_hour=plain["rate_per_hour"],
            unit=BillingUnit.decode(plain["unit"]),
            started_at=plain["started_at"],
            depletes_at=plain["depletes_at"],
            paid=plain["paid"],
            fee=plain["fee"],
            state=EscrowState.decode(plain["state"]),
        )

    def encode(self) -> Any:
        return {
            "tenant": self.tenant,
            "provider": self.provider,
            "deposit": self.deposit,
            "rate_per_hour": self.rate_per_hour,
            "unit": self.unit.value,
            "started_at": self.started_at,
            "depletes_at": self.depletes_at,
            "paid": self.paid,
            "fee": self.fee,
            "state": self.state.value,
        }


class EscrowState(StrEnum):
    """gantry_primitives::types::billing::EscrowState."""

    OPEN = "Open"
    CLOSED = "Closed"

    @classmethod
    def decode(cls, plain: Any) -> EscrowState:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Open": 0, "Closed": 1}[self.value]])


class FailReason(StrEnum):
    """gantry_primitives::types::tasks::FailReason."""

    ATTEMPTS_EXHAUSTED = "AttemptsExhausted"
    DURATION_EXCEEDED = "DurationExceeded"

    @classmethod
    def decode(cls, plain: Any) -> FailReason:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"AttemptsExhausted": 0, "DurationExceeded": 1}[self.value]])


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """gantry_primitives::types::tasks::GpuRequest."""

    count: int
    milli: int
    min_vram_mib: int
    models: tuple[bytes, ...]

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
    """gantry_primitives::types::hosts::HardwareSpec."""

    cpu_milli: int
    memory_mib: int
    disk_gib: int
    devices: tuple[DeviceSpec, ...]

    @classmethod
    def decode(cls, plain: Any) -> HardwareSpec:
        return cls(
            cpu_milli=plain["cpu_milli"],
            memory_mib=plain["memory_mib"],
            disk_gib=plain["disk_gib"],
            devices=tuple(DeviceSpec.decode(i0) for i0 in plain["devices"]),
        )

    def encode(self) -> Any:
        return {
            "cpu_milli": self.cpu_milli,
            "memory_mib": self.memory_mib,
            "disk_gib": self.disk_gib,
            "devices": [i0.encode() for i0 in self.devices],
        }

    def scale(self) -> bytes:
        return (
            self.cpu_milli.to_bytes(4, "little")
            + self.memory_mib.to_bytes(4, "little")
            + self.disk_gib.to_bytes(4, "little")
            + compact(len(self.devices)) + b"".join(i0.scale() for i0 in self.devices)
        )


class HostFailure(StrEnum):
    """gantry_primitives::types::tasks::HostFailure."""

    IMAGE_UNAVAILABLE = "ImageUnavailable"
    IMAGE_INVALID = "ImageInvalid"
    MANIFEST_INVALID = "ManifestInvalid"
    RESOURCES_UNAVAILABLE = "ResourcesUnavailable"
    DRIVER_ERROR = "DriverError"

    @classmethod
    def decode(cls, plain: Any) -> HostFailure:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"ImageUnavailable": 0, "ImageInvalid": 1, "ManifestInvalid": 2, "ResourcesUnavailable": 3, "DriverError": 4}[self.value]])


@dataclass(frozen=True, slots=True)
class HostRecord:
    """gantry_primitives::types::hosts::HostRecord."""

    provider: AccountId
    status: HostStatus
    total: Capacity
    free: Capacity
    devices: tuple[Device, ...]
    ask: Ask
    endpoint: bytes
    region: bytes
    bond: int
    registered_at: int
    last_heartbeat: int
    live_leases: int

    @classmethod
    def decode(cls, plain: Any) -> HostRecord:
        return cls(
            provider=plain["provider"],
            status=HostStatus.decode(plain["status"]),
            total=Capacity.decode(plain["total"]),
            free=Capacity.decode(plain["free"]),
            devices=tuple(Device.decode(i0) for i0 in plain["devices"]),
            ask=Ask.decode(plain["ask"]),
            endpoint=plain["endpoint"],
            region=plain["region"],
            bond=plain["bond"],
            registered_at=plain["registered_at"],
            last_heartbeat=plain["last_heartbeat"],
            live_leases=plain["live_leases"],
        )

    def encode(self) -> Any:
        return {
            "provider": self.provider,
            "status": self.status.encode(),
            "total": self.total.encode(),
            "free": self.free.encode(),
            "devices": [i0.encode() for i0 in self.devices],
            "ask": self.ask.encode(),
            "endpoint": self.endpoint,
            "region": self.region,
            "bond": self.bond,
            "registered_at": self.registered_at,
            "last_heartbeat": self.last_heartbeat,
            "live_leases": self.live_leases,
        }


@dataclass(frozen=True, slots=True)
class HostScore:
    """gantry_primitives::types::reputation::HostScore."""

    completed: Beta
    started: Beta
    uptime: Beta
    settled_leases: int
    updated_at: int

    @classmethod
    def decode(cls, plain: Any) -> HostScore:
        return cls(
            completed=Beta.decode(plain["completed"]),
            started=Beta.decode(plain["started"]),
            uptime=Beta.decode(plain["uptime"]),
            settled_leases=plain["settled_leases"],
            updated_at=plain["updated_at"],
        )

    def encode(self) -> Any:
        return {
            "completed": self.completed.encode(),
            "started": self.started.encode(),
            "uptime": self.uptime.encode(),
            "settled_leases": self.settled_leases,
            "updated_at": self.updated_at,
        }

    def scale(self) -> bytes:
        return (
            self.completed.scale()
            + self.started.scale()
            + self.uptime.scale()
            + self.settled_leases.to_bytes(4, "little")
            + self.updated_at.to_bytes(8, "little")
        )


class HostStatus:
    """gantry_primitives::types::hosts::HostStatus.

    One of `HostStatusUnverified`, `HostStatusVerified`, `HostStatusOnline`, `HostStatusOffline`, `HostStatusDraining`, `HostStatusSuspended`, `HostStatusRetired`.
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
    """HostStatus: Unverified."""

    tag: ClassVar[str] = "Unverified"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class HostStatusVerified(HostStatus):
    """HostStatus: Verified."""

    tag: ClassVar[str] = "Verified"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class HostStatusOnline(HostStatus):
    """HostStatus: Online."""

    tag: ClassVar[str] = "Online"

    def scale(self) -> bytes:
        return bytes([2])


@dataclass(frozen=True, slots=True)
class HostStatusOffline(HostStatus):
    """HostStatus: Offline."""

    tag: ClassVar[str] = "Offline"

    def scale(self) -> bytes:
        return bytes([3])


@dataclass(frozen=True, slots=True)
class HostStatusDraining(HostStatus):
    """HostStatus: Draining."""

    tag: ClassVar[str] = "Draining"

    def scale(self) -> bytes:
        return bytes([4])


@dataclass(frozen=True, slots=True)
class HostStatusSuspended(HostStatus):
    """HostStatus: Suspended."""

    tag: ClassVar[str] = "Suspended"
    value: SuspendReason

    def encode(self) -> Any:
        return {"Suspended": self.value.value}

    def scale(self) -> bytes:
        return bytes([5]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class HostStatusRetired(HostStatus):
    """HostStatus: Retired."""

    tag: ClassVar[str] = "Retired"

    def scale(self) -> bytes:
        return bytes([6])


_HOST_STATUS: Final[dict[str, Callable[[Any], HostStatus]]] = {
    "Unverified": lambda _: HostStatusUnverified(),
    "Verified": lambda _: HostStatusVerified(),
    "Online": lambda _: HostStatusOnline(),
    "Offline": lambda _: HostStatusOffline(),
    "Draining": lambda _: HostStatusDraining(),
    "Suspended": lambda p: HostStatusSuspended(value=SuspendReason.decode(p)),
    "Retired": lambda _: HostStatusRetired(),
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
    """pallet_gantry_hosts::types::Params."""

    bond_per_device: int
    heartbeat_period_ms: int
    absence_limit_ms: int
    absence_bounty: int
    allow_simulated: bool
    verification_required: bool

    @classmethod
    def decode(cls, plain: Any) -> HostsParams:
        return cls(
            bond_per_device=plain["bond_per_device"],
            heartbeat_period_ms=plain["heartbeat_period_ms"],
            absence_limit_ms=plain["absence_limit_ms"],
            absence_bounty=plain["absence_bounty"],
            allow_simulated=plain["allow_simulated"],
            verification_required=plain["verification_required"],
        )

    def encode(self) -> Any:
        return {
            "bond_per_device": self.bond_per_device,
            "heartbeat_period_ms": self.heartbeat_period_ms,
            "absence_limit_ms": self.absence_limit_ms,
            "absence_bounty": self.absence_bounty,
            "allow_simulated": self.allow_simulated,
            "verification_required": self.verification_required,
        }

    def scale(self) -> bytes:
        return (
            self.bond_per_device.to_bytes(16, "little")
            + self.heartbeat_period_ms.to_bytes(8, "little")
            + self.absence_limit_ms.to_bytes(8, "little")
            + self.absence_bounty.to_bytes(16, "little")
            + bytes([self.allow_simulated])
            + bytes([self.verification_required])
        )


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """gantry_primitives::types::leases::LeaseRecord."""

    task: int
    pod: int
    attempt: int
    host: AccountId
    provider: AccountId
    tenant: AccountId
    devices: bytes
    resources: Resources
    rate_per_hour: int
    state: LeaseState
    created_at: int
    started_at: int | None
    ended_at: int | None
    result: PodResult | None

    @classmethod
    def decode(cls, plain: Any) -> LeaseRecord:
        return cls(
            task=plain["task"],
            pod=plain["pod"],
            attempt=plain["attempt"],
            host=plain["host"],
            provider=plain["provider"],
            tenant=plain["tenant"],
            devices=plain["devices"],
            resources=Resources.decode(plain["resources"]),
            rate_per_hour=plain["rate_per_hour"],
            state=LeaseState.decode(plain["state"]),
            created_at=plain["created_at"],
            started_at=plain["started_at"],
            ended_at=plain["ended_at"],
            result=None if plain["result"] is None else PodResult.decode(plain["result"]),
        )

    def encode(self) -> Any:
        return {
            "task": self.task,
            "pod": self.pod,
            "attempt": self.attempt,
            "host": self.host,
            "provider": self.provider,
            "tenant": self.tenant,
            "devices": self.devices,
            "resources": self.resources.encode(),
            "rate_per_hour": self.rate_per_hour,
            "state": self.state.encode(),
            "created_at": self.created_at,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "result": None if self.result is None else self.result.encode(),
        }


class LeaseState:
    """gantry_primitives::types::leases::LeaseState.

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
    """LeaseState: Pending."""

    tag: ClassVar[str] = "Pending"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class LeaseStateActive(LeaseState):
    """LeaseState: Active."""

    tag: ClassVar[str] = "Active"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class LeaseStateSuspended(LeaseState):
    """LeaseState: Suspended."""

    tag: ClassVar[str] = "Suspended"

    def scale(self) -> bytes:
        return bytes([2])


@dataclass(frozen=True, slots=True)
class LeaseStateEnded(LeaseState):
    """LeaseState: Ended."""

    tag: ClassVar[str] = "Ended"
    value: EndReason

    def encode(self) -> Any:
        return {"Ended": self.value.encode()}

    def scale(self) -> bytes:
        return bytes([3]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class LeaseStateRetained(LeaseState):
    """LeaseState: Retained."""

    tag: ClassVar[str] = "Retained"
    value: int

    def encode(self) -> Any:
        return {"Retained": self.value}

    def scale(self) -> bytes:
        return bytes([4]) + self.value.to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class LeaseStatePurged(LeaseState):
    """LeaseState: Purged."""

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
class Placement:
    """gantry_primitives::types::tasks::Placement."""

    regions: tuple[bytes, ...]
    hosts: tuple[AccountId, ...]
    allow_simulated: bool

    @classmethod
    def decode(cls, plain: Any) -> Placement:
        return cls(
            regions=tuple(plain["regions"]),
            hosts=tuple(plain["hosts"]),
            allow_simulated=plain["allow_simulated"],
        )

    def encode(self) -> Any:
        return {"regions": list(self.regions), "hosts": list(self.hosts), "allow_simulated": self.allow_simulated}


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """gantry_primitives::types::tasks::PodPlacement."""

    pod: int
    host: AccountId
    devices: bytes

    @classmethod
    def decode(cls, plain: Any) -> PodPlacement:
        return cls(pod=plain["pod"], host=plain["host"], devices=plain["devices"])

    def encode(self) -> Any:
        return {"pod": self.pod, "host": self.host, "devices": self.devices}


@dataclass(frozen=True, slots=True)
class PodResult:
    """gantry_primitives::types::tasks::PodResult."""

    digest: bytes
    exit_code: int
    usage: Usage

    @classmethod
    def decode(cls, plain: Any) -> PodResult:
        return cls(digest=plain["digest"], exit_code=plain["exit_code"], usage=Usage.decode(plain["usage"]))

    def encode(self) -> Any:
        return {"digest": self.digest, "exit_code": self.exit_code, "usage": self.usage.encode()}

    def scale(self) -> bytes:
        return self.digest + self.exit_code.to_bytes(4, "little", signed=True) + self.usage.scale()


class RequeueReason:
    """gantry_primitives::types::tasks::RequeueReason.

    One of `RequeueReasonHostRefused`, `RequeueReasonStartTimeout`, `RequeueReasonHostLost`.
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
    """RequeueReason: HostRefused."""

    tag: ClassVar[str] = "HostRefused"
    value: HostFailure

    def encode(self) -> Any:
        return {"HostRefused": self.value.value}

    def scale(self) -> bytes:
        return bytes([0]) + self.value.scale()


@dataclass(frozen=True, slots=True)
class RequeueReasonStartTimeout(RequeueReason):
    """RequeueReason: StartTimeout."""

    tag: ClassVar[str] = "StartTimeout"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class RequeueReasonHostLost(RequeueReason):
    """RequeueReason: HostLost."""

    tag: ClassVar[str] = "HostLost"

    def scale(self) -> bytes:
        return bytes([2])


_REQUEUE_REASON: Final[dict[str, Callable[[Any], RequeueReason]]] = {
    "HostRefused": lambda p: RequeueReasonHostRefused(value=HostFailure.decode(p)),
    "StartTimeout": lambda _: RequeueReasonStartTimeout(),
    "HostLost": lambda _: RequeueReasonHostLost(),
}


@dataclass(frozen=True, slots=True)
class Resources:
    """gantry_primitives::types::tasks::Resources."""

    cpu_milli: int
    memory_mib: int
    disk_gib: int
    gpus: GpuRequest

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


class SuspendReason(StrEnum):
    """gantry_primitives::types::hosts::SuspendReason."""

    BY_ROOT = "ByRoot"

    @classmethod
    def decode(cls, plain: Any) -> SuspendReason:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"ByRoot": 0}[self.value]])


class TaskKind(StrEnum):
    """gantry_primitives::types::tasks::TaskKind."""

    JOB = "Job"
    SERVICE = "Service"
    RENTAL = "Rental"

    @classmethod
    def decode(cls, plain: Any) -> TaskKind:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Job": 0, "Service": 1, "Rental": 2}[self.value]])


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """gantry_primitives::types::tasks::TaskRecord."""

    tenant: AccountId
    spec: TaskSpec
    state: TaskState
    attempts: int
    submitted_at: int
    leases: tuple[int, ...]
    pods_started: int
    pods_reported: int
    reported_at: int | None
    deposit: int

    @classmethod
    def decode(cls, plain: Any) -> TaskRecord:
        return cls(
            tenant=plain["tenant"],
            spec=TaskSpec.decode(plain["spec"]),
            state=TaskState.decode(plain["state"]),
            attempts=plain["attempts"],
            submitted_at=plain["submitted_at"],
            leases=tuple(plain["leases"]),
            pods_started=plain["pods_started"],
            pods_reported=plain["pods_reported"],
            reported_at=plain["reported_at"],
            deposit=plain["deposit"],
        )

    def encode(self) -> Any:
        return {
            "tenant": self.tenant,
            "spec": self.spec.encode(),
            "state": self.state.encode(),
            "attempts": self.attempts,
            "submitted_at": self.submitted_at,
            "leases": list(self.leases),
            "pods_started": self.pods_started,
            "pods_reported": self.pods_reported,
            "reported_at": self.reported_at,
            "deposit": self.deposit,
        }


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """gantry_primitives::types::tasks::TaskSpec."""

    kind: TaskKind
    manifest_digest: bytes
    resources: Resources
    pods_min: int
    pods_max: int
    max_rate_per_hour: int
    unit: BillingUnit
    max_duration_ms: int
    deadline: int | None
    priority: int
    queue: bytes
    verification: VerificationPolicy
    placement: Placement

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
            "verification": self.verification.value,
            "placement": self.placement.encode(),
        }


class TaskState:
    """gantry_primitives::types::tasks::TaskState.

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
    """TaskState: Queued."""

    tag: ClassVar[str] = "Queued"

    def scale(self) -> bytes:
        return bytes([0])


@dataclass(frozen=True, slots=True)
class TaskStateAssigned(TaskState):
    """TaskState: Assigned."""

    tag: ClassVar[str] = "Assigned"

    def scale(self) -> bytes:
        return bytes([1])


@dataclass(frozen=True, slots=True)
class TaskStateRunning(TaskState):
    """TaskState: Running."""

    tag: ClassVar[str] = "Running"

    def scale(self) -> bytes:
        return bytes([2])


@dataclass(frozen=True, slots=True)
class TaskStateReported(TaskState):
    """TaskState: Reported."""

    tag: ClassVar[str] = "Reported"

    def scale(self) -> bytes:
        return bytes([3])


@dataclass(frozen=True, slots=True)
class TaskStateVerified(TaskState):
    """TaskState: Verified."""

    tag: ClassVar[str] = "Verified"

    def scale(self) -> bytes:
        return bytes([4])


@dataclass(frozen=True, slots=True)
class TaskStateSettled(TaskState):
    """TaskState: Settled."""

    tag: ClassVar[str] = "Settled"

    def scale(self) -> bytes:
        return bytes([5])


@dataclass(frozen=True, slots=True)
class TaskStateDisputed(TaskState):
    """TaskState: Disputed."""

    tag: ClassVar[str] = "Disputed"

    def scale(self) -> bytes:
        return bytes([6])


@dataclass(frozen=True, slots=True)
class TaskStateExpired(TaskState):
    """TaskState: Expired."""

    tag: ClassVar[str] = "Expired"

    def scale(self) -> bytes:
        return bytes([7])


@dataclass(frozen=True, slots=True)
class TaskStateCancelled(TaskState):
    """TaskState: Cancelled."""

    tag: ClassVar[str] = "Cancelled"

    def scale(self) -> bytes:
        return bytes([8])


@dataclass(frozen=True, slots=True)
class TaskStateFailed(TaskState):
    """TaskState: Failed."""

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


class TaskStateTag(StrEnum):
    """gantry_primitives::types::tasks::TaskStateTag."""

    QUEUED = "Queued"
    ASSIGNED = "Assigned"
    RUNNING = "Running"
    REPORTED = "Reported"
    VERIFIED = "Verified"
    SETTLED = "Settled"
    DISPUTED = "Disputed"
    EXPIRED = "Expired"
    CANCELLED = "Cancelled"
    FAILED = "Failed"

    @classmethod
    def decode(cls, plain: Any) -> TaskStateTag:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Queued": 0, "Assigned": 1, "Running": 2, "Reported": 3, "Verified": 4, "Settled": 5, "Disputed": 6, "Expired": 7, "Cancelled": 8, "Failed": 9}[self.value]])


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
    """pallet_gantry_tasks::types::Params."""

    start_timeout_ms: int
    dispute_window_ms: int
    max_attempts: int
    scheduler_bond: int
    deposit_base: int
    deposit_per_byte: int
    max_duration_ms: int

    @classmethod
    def decode(cls, plain: Any) -> TasksParams:
        return cls(
            start_timeout_ms=plain["start_timeout_ms"],
            dispute_window_ms=plain["dispute_window_ms"],
            max_attempts=plain["max_attempts"],
            scheduler_bond=plain["scheduler_bond"],
            deposit_base=plain["deposit_base"],
            deposit_per_byte=plain["deposit_per_byte"],
            max_duration_ms=plain["max_duration_ms"],
        )

    def encode(self) -> Any:
        return {
            "start_timeout_ms": self.start_timeout_ms,
            "dispute_window_ms": self.dispute_window_ms,
            "max_attempts": self.max_attempts,
            "scheduler_bond": self.scheduler_bond,
            "deposit_base": self.deposit_base,
            "deposit_per_byte": self.deposit_per_byte,
            "max_duration_ms": self.max_duration_ms,
        }

    def scale(self) -> bytes:
        return (
            self.start_timeout_ms.to_bytes(8, "little")
            + self.dispute_window_ms.to_bytes(8, "little")
            + self.max_attempts.to_bytes(1, "little")
            + self.scheduler_bond.to_bytes(16, "little")
            + self.deposit_base.to_bytes(16, "little")
            + self.deposit_per_byte.to_bytes(16, "little")
            + self.max_duration_ms.to_bytes(8, "little")
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """gantry_primitives::types::tasks::Usage."""

    wall_ms: int
    cpu_ms: int
    memory_peak_mib: int

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
    """gantry_primitives::types::hosts::Vendor."""

    NVIDIA = "Nvidia"
    AMD = "Amd"
    OTHER = "Other"

    @classmethod
    def decode(cls, plain: Any) -> Vendor:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Nvidia": 0, "Amd": 1, "Other": 2}[self.value]])


class VerificationPolicy(StrEnum):
    """gantry_primitives::types::tasks::VerificationPolicy."""

    ACCEPTANCE = "Acceptance"

    @classmethod
    def decode(cls, plain: Any) -> VerificationPolicy:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Acceptance": 0}[self.value]])


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
class TasksSubmitted(GantryEvent):
    """A tenant submitted a task."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Submitted"
    task: int
    """The task."""
    tenant: AccountId
    """Who pays."""
    kind: TaskKind
    """The sort of work."""
    manifest_digest: bytes
    """SHA-256 of its manifest."""


@dataclass(frozen=True, slots=True)
class TasksAssigned(GantryEvent):
    """A task has a lease for each pod."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Assigned"
    task: int
    """The task."""
    attempt: int
    """Which attempt this is, counted from 0."""
    leases: tuple[tuple[int, AccountId], ...]
    """The leases in the order of the pods, each with its host."""


@dataclass(frozen=True, slots=True)
class TasksPodStarted(GantryEvent):
    """A pod started."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "PodStarted"
    task: int
    """The task."""
    lease: int
    """The lease of the pod."""


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


@dataclass(frozen=True, slots=True)
class TasksStateChanged(GantryEvent):
    """A task changed its state."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "StateChanged"
    task: int
    """The task."""
    from_: TaskState
    """What it was."""
    to: TaskState
    """What it is."""


@dataclass(frozen=True, slots=True)
class TasksRequeued(GantryEvent):
    """An attempt came to nothing and the task waits again."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Requeued"
    task: int
    """The task."""
    attempts: int
    """How many attempts have come to nothing."""
    reason: RequeueReason
    """Why."""


@dataclass(frozen=True, slots=True)
class TasksSettled(GantryEvent):
    """A task is settled and everyone is paid."""

    pallet: ClassVar[str] = "Tasks"
    name: ClassVar[str] = "Settled"
    task: int
    """The task."""
    paid: int
    """What its leases cost the tenant, fees included."""


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
class LeasesOpened(GantryEvent):
    """A lease was opened."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Opened"
    lease: int
    """The lease."""
    task: int
    """The task it is for."""
    host: AccountId
    """The host it is on."""


@dataclass(frozen=True, slots=True)
class LeasesStarted(GantryEvent):
    """The pod of a lease started."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Started"
    lease: int
    """The lease."""


@dataclass(frozen=True, slots=True)
class LeasesEnded(GantryEvent):
    """A lease ended."""

    pallet: ClassVar[str] = "Leases"
    name: ClassVar[str] = "Ended"
    lease: int
    """The lease."""
    reason: EndReason
    """Why."""


@dataclass(frozen=True, slots=True)
class BillingEscrowOpened(GantryEvent):
    """Coins of a tenant are held for a lease."""

    pallet: ClassVar[str] = "Billing"
    name: ClassVar[str] = "EscrowOpened"
    lease: int
    """The lease."""
    tenant: AccountId
    """Whose coins they are."""
    deposit: int
    """How many."""
    rate_per_hour: int
    """What the lease costs, in base units an hour."""


@dataclass(frozen=True, slots=True)
class BillingEscrowStarted(GantryEvent):
    """Billing of a lease began."""

    pallet: ClassVar[str] = "Billing"
    name: ClassVar[str] = "EscrowStarted"
    lease: int
    """The lease."""
    depletes_at: int
    """When it has used what was deposited."""


@dataclass(frozen=True, slots=True)
class BillingEscrowClosed(GantryEvent):
    """A lease is paid and its coins are no longer held."""

    pallet: ClassVar[str] = "Billing"
    name: ClassVar[str] = "EscrowClosed"
    lease: int
    """The lease."""
    paid: int
    """What left the tenant, the fee included."""
    fee: int
    """The part of it that went to the treasury."""
    refunded: int
    """What went back to the tenant."""


@dataclass(frozen=True, slots=True)
class BillingParamsChanged(GantryEvent):
    """The amounts of this pallet were changed."""

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
    ("Tasks", "Submitted"): lambda f: TasksSubmitted(
        task=f["task"],
        tenant=f["tenant"],
        kind=TaskKind.decode(f["kind"]),
        manifest_digest=f["manifest_digest"],
    ),
    ("Tasks", "Assigned"): lambda f: TasksAssigned(task=f["task"], attempt=f["attempt"], leases=tuple(f["leases"])),
    ("Tasks", "PodStarted"): lambda f: TasksPodStarted(task=f["task"], lease=f["lease"]),
    ("Tasks", "PodReported"): lambda f: TasksPodReported(
        task=f["task"],
        lease=f["lease"],
        result=PodResult.decode(f["result"]),
    ),
    ("Tasks", "StateChanged"): lambda f: TasksStateChanged(
        task=f["task"],
        from_=TaskState.decode(f["from"]),
        to=TaskState.decode(f["to"]),
    ),
    ("Tasks", "Requeued"): lambda f: TasksRequeued(
        task=f["task"],
        attempts=f["attempts"],
        reason=RequeueReason.decode(f["reason"]),
    ),
    ("Tasks", "Settled"): lambda f: TasksSettled(task=f["task"], paid=f["paid"]),
    ("Tasks", "SchedulerBonded"): lambda f: TasksSchedulerBonded(who=f["who"]),
    ("Tasks", "SchedulerUnbonded"): lambda f: TasksSchedulerUnbonded(who=f["who"]),
    ("Tasks", "ParamsChanged"): lambda _: TasksParamsChanged(),
    ("Leases", "Opened"): lambda f: LeasesOpened(lease=f["lease"], task=f["task"], host=f["host"]),
    ("Leases", "Started"): lambda f: LeasesStarted(lease=f["lease"]),
    ("Leases", "Ended"): lambda f: LeasesEnded(lease=f["lease"], reason=EndReason.decode(f["reason"])),
    ("Billing", "EscrowOpened"): lambda f: BillingEscrowOpened(
        lease=f["lease"],
        tenant=f["tenant"],
        deposit=f["deposit"],
        rate_per_hour=f["rate_per_hour"],
    ),
    ("Billing", "EscrowStarted"): lambda f: BillingEscrowStarted(lease=f["lease"], depletes_at=f["depletes_at"]),
    ("Billing", "EscrowClosed"): lambda f: BillingEscrowClosed(
        lease=f["lease"],
        paid=f["paid"],
        fee=f["fee"],
        refunded=f["refunded"],
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
        """Register a machine. The caller becomes its provider and its bond is held; `host_signature` is by the
        host's key over the content (see docs/protocol.md).
        """
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
        """The calling host says that it is there. Free of charge for the first time and when half a heartbeat
        period has passed since the last.
        """
        return Call("Hosts", "heartbeat", {})

    @staticmethod
    def hosts_set_endpoint(*, endpoint: bytes) -> Call:
        """The calling host says how it is reached. Free of charge when it differs and a heartbeat period has passed
        since the last change.
        """
        return Call("Hosts", "set_endpoint", {"endpoint": endpoint})

    @staticmethod
    def hosts_set_ask(*, host: AccountId, ask: Ask) -> Call:
        """Give a host of the caller another price list. Leases keep the rate they were opened at."""
        return Call("Hosts", "set_ask", {"host": host, "ask": ask.encode()})

    @staticmethod
    def hosts_drain(*, host: AccountId) -> Call:
        """A host of the caller finishes what it has and takes nothing new."""
        return Call("Hosts", "drain", {"host": host})

    @staticmethod
    def hosts_undrain(*, host: AccountId) -> Call:
        """A draining host of the caller takes new leases again."""
        return Call("Hosts", "undrain", {"host": host})

    @staticmethod
    def hosts_retire(*, host: AccountId) -> Call:
        """Take a host of the caller off the network for ever and get its bond back. It must have no live leases."""
        return Call("Hosts", "retire", {"host": host})

    @staticmethod
    def hosts_report_absent(*, host: AccountId) -> Call:
        """Report a host that was silent for longer than the absence limit. The caller gets a bounty from its bond."""
        return Call("Hosts", "report_absent", {"host": host})

    @staticmethod
    def hosts_verify(*, host: AccountId) -> Call:
        """Let an unverified host come online. By root."""
        return Call("Hosts", "verify", {"host": host})

    @staticmethod
    def hosts_suspend(*, host: AccountId) -> Call:
        """Keep a host from taking leases. Those it has go on. By root."""
        return Call("Hosts", "suspend", {"host": host})

    @staticmethod
    def hosts_unsuspend(*, host: AccountId) -> Call:
        """Let a suspended host come online again with its next heartbeat. By root."""
        return Call("Hosts", "unsuspend", {"host": host})

    @staticmethod
    def hosts_set_params(*, params: HostsParams) -> Call:
        """Change the periods and amounts of this pallet. By root."""
        return Call("Hosts", "set_params", {"params": params.encode()})

    @staticmethod
    def tasks_submit(*, spec: TaskSpec, manifest: bytes) -> Call:
        """Submit a task. A deposit is held until it is final; what its pods may cost must be there, too."""
        return Call("Tasks", "submit", {"spec": spec.encode(), "manifest": manifest})

    @staticmethod
    def tasks_assign(*, task: int, pods: Sequence[PodPlacement]) -> Call:
        """Place every pod of a waiting task on a host: all or nothing. By a bonded scheduler, or by the tenant."""
        return Call("Tasks", "assign", {"task": task, "pods": [i0.encode() for i0 in pods]})

    @staticmethod
    def tasks_report_started(*, lease: int) -> Call:
        """The calling host started the pod of a lease. Free of charge when valid."""
        return Call("Tasks", "report_started", {"lease": lease})

    @staticmethod
    def tasks_report_result(*, lease: int, result: PodResult) -> Call:
        """The pod of a lease on the calling host ended with a result. Free of charge when valid."""
        return Call("Tasks", "report_result", {"lease": lease, "result": result.encode()})

    @staticmethod
    def tasks_report_failed(*, lease: int, reason: HostFailure) -> Call:
        """The calling host cannot run the pod of a lease. The attempt ends. Free of charge when valid."""
        return Call("Tasks", "report_failed", {"lease": lease, "reason": reason.value})

    @staticmethod
    def tasks_requeue(*, lease: int) -> Call:
        """End the attempt that a lease belongs to, because its pod did not start in time or its host is lost. By
        anyone.
        """
        return Call("Tasks", "requeue", {"lease": lease})

    @staticmethod
    def tasks_expire_lease(*, lease: int) -> Call:
        """End the task of a lease whose pod ran for longer than the task allows. By anyone."""
        return Call("Tasks", "expire_lease", {"lease": lease})

    @staticmethod
    def tasks_cancel(*, task: int) -> Call:
        """Call off a task of the caller. Pods that ran are paid."""
        return Call("Tasks", "cancel", {"task": task})

    @staticmethod
    def tasks_expire(*, task: int) -> Call:
        """End a task that still waits after its deadline. By anyone."""
        return Call("Tasks", "expire", {"task": task})

    @staticmethod
    def tasks_accept_result(*, task: int) -> Call:
        """Accept the result of a task of the caller before the dispute window passes."""
        return Call("Tasks", "accept_result", {"task": task})

    @staticmethod
    def tasks_settle(*, task: int) -> Call:
        """Pay everyone of a task whose result is accepted, or whose dispute window has passed. By anyone."""
        return Call("Tasks", "settle", {"task": task})

    @staticmethod
    def tasks_bond_scheduler() -> Call:
        """Become a scheduler: the bond is held, and the caller may assign tasks of others."""
        return Call("Tasks", "bond_scheduler", {})

    @staticmethod
    def tasks_unbond_scheduler() -> Call:
        """Cease to be a scheduler and get the bond back."""
        return Call("Tasks", "unbond_scheduler", {})

    @staticmethod
    def tasks_set_params(*, params: TasksParams) -> Call:
        """Change the periods and amounts of this pallet. By root."""
        return Call("Tasks", "set_params", {"params": params.encode()})

    @staticmethod
    def billing_set_params(*, params: BillingParams) -> Call:
        """Change the amounts of this pallet. By root."""
        return Call("Billing", "set_params", {"params": params.encode()})


class storage:
    """Storage items of our pallets with the decoders of their values."""

    hosts_hosts: Final[StorageItem[HostRecord]] = StorageItem("Hosts", "Hosts", HostRecord.decode)
    """Every host that was ever registered."""

    hosts_hosts_by_provider: Final[StorageItem[tuple[()]]] = StorageItem("Hosts", "HostsByProvider", _same)
    """The hosts of a provider, except retired ones."""

    hosts_endpoint_changed_at: Final[StorageItem[int]] = StorageItem("Hosts", "EndpointChangedAt", _same)
    """When a host last changed its endpoint, where it ever did."""

    hosts_params: Final[StorageItem[HostsParams]] = StorageItem("Hosts", "Params", HostsParams.decode)
    """The periods and amounts in force."""

    tasks_next_task_id: Final[StorageItem[int]] = StorageItem("Tasks", "NextTaskId", _same)
    """The number of the next task."""

    tasks_tasks: Final[StorageItem[TaskRecord]] = StorageItem("Tasks", "Tasks", TaskRecord.decode)
    """Every task that was ever submitted."""

    tasks_manifests: Final[StorageItem[bytes]] = StorageItem("Tasks", "Manifests", _same)
    """The manifest of every task that is not final."""

    tasks_by_state: Final[StorageItem[tuple[()]]] = StorageItem("Tasks", "ByState", _same)
    """The tasks in each state."""

    tasks_by_tenant: Final[StorageItem[tuple[()]]] = StorageItem("Tasks", "ByTenant", _same)
    """The tasks of each tenant."""

    tasks_schedulers: Final[StorageItem[int]] = StorageItem("Tasks", "Schedulers", _same)
    """Who may assign tasks of others, each with the bond that is held for it."""

    tasks_params: Final[StorageItem[TasksParams]] = StorageItem("Tasks", "Params", TasksParams.decode)
    """The periods and amounts in force."""

    leases_next_lease_id: Final[StorageItem[int]] = StorageItem("Leases", "NextLeaseId", _same)
    """The number of the next lease."""

    leases_leases: Final[StorageItem[LeaseRecord]] = StorageItem("Leases", "Leases", LeaseRecord.decode)
    """Every lease that was ever opened."""

    leases_by_host: Final[StorageItem[tuple[()]]] = StorageItem("Leases", "ByHost", _same)
    """The live leases of a host: those pending, active or suspended."""

    billing_escrows: Final[StorageItem[Escrow]] = StorageItem("Billing", "Escrows", Escrow.decode)
    """The escrow of every lease that was ever opened."""

    billing_total_escrowed: Final[StorageItem[int]] = StorageItem("Billing", "TotalEscrowed", _same)
    """What is held for all open escrows together."""

    billing_params: Final[StorageItem[BillingParams]] = StorageItem("Billing", "Params", BillingParams.decode)
    """The amounts in force."""

    reputation_host_scores: Final[StorageItem[HostScore]] = StorageItem("Reputation", "HostScores", HostScore.decode)
    """The evidence about each host that ever had a lease."""


ERRORS: Final[dict[str, dict[str, str]]] = {
    "Hosts": {
        "AlreadyRegistered": "The host is registered already; a key is used once, retired or not.",
        "NoSuchHost": "No such host is registered.",
        "NotProvider": "The caller is not the provider of the host.",
        "BadHostSignature": "The signature is not by the host's key, or not for this chain, provider and content.",
        "HardwareEmpty": "The hardware has no processor or no memory.",
        "SimulatedDevicesRefused": "The hardware has a simulated device, and this chain takes real ones only.",
        "ProviderCannotPay": "The provider cannot pay the bond.",
        "HostRetired": "The host is retired.",
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
    },
    "Tasks": {
        "NoSuchTask": "No such task was submitted.",
        "TransitionNotAllowed": "A task in this state cannot go to the wanted one.",
        "KindNotSupported": "Only jobs are supported for now.",
        "ManifestDigestMismatch": "The SHA-256 of the manifest is not the digest in the spec.",
        "ManifestEmpty": "The manifest is empty.",
        "ResourcesEmpty": "A pod needs some processor and some memory.",
        "GpuRequestInvalid": "A pod may need at most 16 devices, and 1 to 1000 thousandths of each.",
        "PodRangeInvalid": "A task has 1 to 16 pods, at most as many as at least.",
        "DurationInvalid": "The duration is zero or longer than the chain allows.",
        "DeadlinePassed": "The deadline has passed.",
        "DeadlineNotPassed": "The deadline has not passed, or there is none.",
        "TenantCannotPay": "The tenant cannot pay the deposits for the task and for its pods at the highest rate.",
        "CostTooHigh": "The cost is greater than any number of coins.",
        "NotSchedulerOrTenant": "The caller is neither a bonded scheduler nor the tenant of the task.",
        "NotTenant": "The caller is not the tenant of the task.",
        "NotHostOfLease": "The caller is not the host of the lease.",
        "NotQueued": "The task does not wait for hosts: another scheduler may have been faster.",
        "NotReported": "The task has no result that waits to be accepted.",
        "NotSettleable": "The task cannot be settled in its state.",
        "DisputeWindowOpen": "The dispute window has not passed.",
        "WrongPodCount": "There are fewer or more pods than the task wants.",
        "PodOutOfRange": "Pods must be numbered from 0 without a gap.",
        "PodRepeated": "A pod is placed twice.",
        "HostNotWanted": "The task does not want this host.",
        "RegionNotWanted": "The task does not want the region of this host.",
        "RateTooHigh": "The host asks for more than the task's highest rate.",
        "LeaseNotPending": "The pod of this lease has started already, or the lease has ended.",
        "LeaseNotActive": "The pod of this lease has not started, or the lease has ended.",
        "LeaseEnded": "The lease has ended.",
        "LeaseNotStuck": "The pod of this lease is not late, and its host is not lost.",
        "LeaseNotDepleted": "The lease has not used its duration yet.",
        "HostIsLost": "The host of the lease is lost: requeue it.",
        "AlreadyScheduler": "The account is bonded as a scheduler already.",
        "NotScheduler": "The account is not bonded as a scheduler.",
        "SchedulerCannotPay": "The account cannot pay the bond of a scheduler.",
        "ParamsInvalid": "A task must be allowed at least one attempt.",
        "Overflow": "A sum or product does not fit its type.",
    },
    "Leases": {
        "NoSuchLease": "No such lease was opened.",
        "TransitionNotAllowed": "A lease in this state cannot go to the wanted one.",
        "Overflow": "There are no more numbers for leases.",
    },
    "Billing": {
        "NoSuchEscrow": "The lease has no escrow.",
        "EscrowExists": "The lease has an escrow already.",
        "EscrowIsClosed": "The escrow is closed.",
        "EscrowHasStarted": "The escrow has started already.",
        "TenantCannotPay": "The tenant cannot pay the deposit of a lease.",
        "FeeTooHigh": "The fee would be more than all that is paid.",
        "Overflow": "A sum or product does not fit its type.",
    },
    "Reputation": {
    },
}
"""What each refusal of our pallets means: pallet, error, documentation."""
