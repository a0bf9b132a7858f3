"""The chain's types, calls, errors and storage. Made by scripts/gen-chain-types; do not edit."""

# fmt: off
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final

from offchain.schema.chain_types.values import Call, StorageItem, compact

AccountId = str
"""An account as its SS58 address."""

METADATA_SHA256: Final = "d39bc6a973a29a8d28c19c5a1c9906f163d317b8962259b7ea5d7cce17234c3d"
SPEC_NAME: Final = "gantry"
SPEC_VERSION: Final = 4
TRANSACTION_VERSION: Final = 4


def _same(plain: Any) -> Any:
    return plain


def _bytes(value: bytes) -> bytes:
    return compact(len(value)) + value


def _variant(plain: Any) -> tuple[str, Any]:
    if isinstance(plain, str):
        return plain, None
    ((name, payload),) = plain.items()
    return name, payload


class AgreementsHoldReason(StrEnum):
    """pallet_gantry_agreements::pallet::HoldReason."""

    OFFER_DEPOSIT = "OfferDeposit"
    AGREEMENT_BOND = "AgreementBond"
    TICKET_DEPOSIT = "TicketDeposit"
    AUDITOR_BOND = "AuditorBond"
    ATTESTATION_STAKE = "AttestationStake"
    CONTEST_STAKE = "ContestStake"

    @classmethod
    def decode(cls, plain: Any) -> AgreementsHoldReason:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class AgreementsParams:
    """pallet_gantry_agreements::types::Params."""

    offer_deposit: int
    max_offers: int
    max_offer_ms: int
    max_lead_ms: int
    min_start_ms: int
    bond_ms: int
    min_bond: int
    watch_ms: int
    ticket_deposit: int
    response_ms: int
    ticket_kept_ms: int
    auditor_bond: int
    auditor_unbonding_ms: int
    attestation_stake: int
    auditor_slash_ppm: int
    max_attestation_ms: int
    contest_stake: int
    contest_ms: int

    @classmethod
    def decode(cls, plain: Any) -> AgreementsParams:
        return cls(
            offer_deposit=plain["offer_deposit"],
            max_offers=plain["max_offers"],
            max_offer_ms=plain["max_offer_ms"],
            max_lead_ms=plain["max_lead_ms"],
            min_start_ms=plain["min_start_ms"],
            bond_ms=plain["bond_ms"],
            min_bond=plain["min_bond"],
            watch_ms=plain["watch_ms"],
            ticket_deposit=plain["ticket_deposit"],
            response_ms=plain["response_ms"],
            ticket_kept_ms=plain["ticket_kept_ms"],
            auditor_bond=plain["auditor_bond"],
            auditor_unbonding_ms=plain["auditor_unbonding_ms"],
            attestation_stake=plain["attestation_stake"],
            auditor_slash_ppm=plain["auditor_slash_ppm"],
            max_attestation_ms=plain["max_attestation_ms"],
            contest_stake=plain["contest_stake"],
            contest_ms=plain["contest_ms"],
        )

    def encode(self) -> Any:
        return {
            "offer_deposit": self.offer_deposit,
            "max_offers": self.max_offers,
            "max_offer_ms": self.max_offer_ms,
            "max_lead_ms": self.max_lead_ms,
            "min_start_ms": self.min_start_ms,
            "bond_ms": self.bond_ms,
            "min_bond": self.min_bond,
            "watch_ms": self.watch_ms,
            "ticket_deposit": self.ticket_deposit,
            "response_ms": self.response_ms,
            "ticket_kept_ms": self.ticket_kept_ms,
            "auditor_bond": self.auditor_bond,
            "auditor_unbonding_ms": self.auditor_unbonding_ms,
            "attestation_stake": self.attestation_stake,
            "auditor_slash_ppm": self.auditor_slash_ppm,
            "max_attestation_ms": self.max_attestation_ms,
            "contest_stake": self.contest_stake,
            "contest_ms": self.contest_ms,
        }


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """pallet_gantry_tasks::types::ArchivePage."""

    digest: bytes
    count: int

    @classmethod
    def decode(cls, plain: Any) -> ArchivePage:
        return cls(digest=plain["digest"], count=plain["count"])

    def encode(self) -> Any:
        return {"digest": self.digest, "count": self.count}


@dataclass(frozen=True, slots=True)
class Ask:
    """gantry_primitives::types::hosts::Ask."""

    gpu: tuple[GpuPrice, ...]
    gpu_per_hour: int
    cpu_core_per_hour: int
    memory_gib_per_hour: int
    disk_gib_per_hour: int
    network_gib: int
    storage_gib_per_hour: int
    second_ppm: int
    hour_ppm: int
    day_ppm: int
    terms: SlaTerms

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
            terms=SlaTerms.decode(plain["terms"]),
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
            "terms": self.terms.encode(),
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
            + self.terms.scale()
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """gantry_primitives::types::attempts::Attempt."""

    host: AccountId
    provider: AccountId
    refused: bool

    @classmethod
    def decode(cls, plain: Any) -> Attempt:
        return cls(host=plain["host"], provider=plain["provider"], refused=plain["refused"])

    def encode(self) -> Any:
        return {"host": self.host, "provider": self.provider, "refused": self.refused}


@dataclass(frozen=True, slots=True)
class AttestationRecord:
    """pallet_gantry_agreements::types::AttestationRecord."""

    auditor: AccountId
    subject: Subject
    attribute: Attribute
    evidence: bytes
    attested_at: int
    expires_at: int
    stake: int
    contest: Contest | None
    due_at: int

    @classmethod
    def decode(cls, plain: Any) -> AttestationRecord:
        return cls(
            auditor=plain["auditor"],
            subject=Subject.decode(plain["subject"]),
            attribute=Attribute.decode(plain["attribute"]),
            evidence=plain["evidence"],
            attested_at=plain["attested_at"],
            expires_at=plain["expires_at"],
            stake=plain["stake"],
            contest=None if plain["contest"] is None else Contest.decode(plain["contest"]),
            due_at=plain["due_at"],
        )

    def encode(self) -> Any:
        return {
            "auditor": self.auditor,
            "subject": self.subject.encode(),
            "attribute": self.attribute.encode(),
            "evidence": self.evidence,
            "attested_at": self.attested_at,
            "expires_at": self.expires_at,
            "stake": self.stake,
            "contest": None if self.contest is None else self.contest.encode(),
            "due_at": self.due_at,
        }


class Attribute:
    """pallet_gantry_agreements::types::Attribute.

    One of `AttributeCertificate`, `AttributeRegion`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> Attribute:
        tag, payload = _variant(plain)
        return _ATTRIBUTE[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class AttributeCertificate(Attribute):
    """Attribute: Certificate."""

    tag: ClassVar[str] = "Certificate"
    value: bytes

    def encode(self) -> Any:
        return {"Certificate": self.value}


@dataclass(frozen=True, slots=True)
class AttributeRegion(Attribute):
    """Attribute: Region."""

    tag: ClassVar[str] = "Region"
    region: bytes
    max_latency_ms: int

    def encode(self) -> Any:
        return {"Region": {"region": self.region, "max_latency_ms": self.max_latency_ms}}


_ATTRIBUTE: Final[dict[str, Callable[[Any], Attribute]]] = {
    "Certificate": lambda p: AttributeCertificate(value=p),
    "Region": lambda p: AttributeRegion(region=p["region"], max_latency_ms=p["max_latency_ms"]),
}


class AuditState:
    """gantry_primitives::types::verification::AuditState.

    One of `AuditStateNotDrawn`, `AuditStateAwaited`, `AuditStateRepeated`, `AuditStateSingle`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> AuditState:
        tag, payload = _variant(plain)
        return _AUDIT_STATE[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class AuditStateNotDrawn(AuditState):
    """AuditState: NotDrawn."""

    tag: ClassVar[str] = "NotDrawn"


@dataclass(frozen=True, slots=True)
class AuditStateAwaited(AuditState):
    """AuditState: Awaited."""

    tag: ClassVar[str] = "Awaited"


@dataclass(frozen=True, slots=True)
class AuditStateRepeated(AuditState):
    """AuditState: Repeated."""

    tag: ClassVar[str] = "Repeated"
    lease: int

    def encode(self) -> Any:
        return {"Repeated": {"lease": self.lease}}


@dataclass(frozen=True, slots=True)
class AuditStateSingle(AuditState):
    """AuditState: Single."""

    tag: ClassVar[str] = "Single"


_AUDIT_STATE: Final[dict[str, Callable[[Any], AuditState]]] = {
    "NotDrawn": lambda _: AuditStateNotDrawn(),
    "Awaited": lambda _: AuditStateAwaited(),
    "Repeated": lambda p: AuditStateRepeated(lease=p["lease"]),
    "Single": lambda _: AuditStateSingle(),
}


@dataclass(frozen=True, slots=True)
class AuditorRecord:
    """pallet_gantry_agreements::types::AuditorRecord."""

    bond: int
    attestations: int
    leaves_at: int | None

    @classmethod
    def decode(cls, plain: Any) -> AuditorRecord:
        return cls(bond=plain["bond"], attestations=plain["attestations"], leaves_at=plain["leaves_at"])

    def encode(self) -> Any:
        return {"bond": self.bond, "attestations": self.attestations, "leaves_at": self.leaves_at}


@dataclass(frozen=True, slots=True)
class Ballot:
    """gantry_primitives::types::verification::Ballot."""

    round: int
    asked_in: int
    seed: bytes | None
    seats: tuple[Seat, ...]
    former: tuple[AccountId, ...]

    @classmethod
    def decode(cls, plain: Any) -> Ballot:
        return cls(
            round=plain["round"],
            asked_in=plain["asked_in"],
            seed=plain["seed"],
            seats=tuple(Seat.decode(i0) for i0 in plain["seats"]),
            former=tuple(plain["former"]),
        )

    def encode(self) -> Any:
        return {
            "round": self.round,
            "asked_in": self.asked_in,
            "seed": self.seed,
            "seats": [i0.encode() for i0 in self.seats],
            "former": list(self.former),
        }


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


class BillingHoldReason(StrEnum):
    """pallet_gantry_billing::pallet::HoldReason."""

    ESCROW = "Escrow"

    @classmethod
    def decode(cls, plain: Any) -> BillingHoldReason:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class BillingParams:
    """pallet_gantry_billing::types::Params."""

    fee_ppm: int
    held_back_ms: int
    depletion_bounty: int
    scheduler_share_ppm: int
    settler_share_ppm: int

    @classmethod
    def decode(cls, plain: Any) -> BillingParams:
        return cls(
            fee_ppm=plain["fee_ppm"],
            held_back_ms=plain["held_back_ms"],
            depletion_bounty=plain["depletion_bounty"],
            scheduler_share_ppm=plain["scheduler_share_ppm"],
            settler_share_ppm=plain["settler_share_ppm"],
        )

    def encode(self) -> Any:
        return {
            "fee_ppm": self.fee_ppm,
            "held_back_ms": self.held_back_ms,
            "depletion_bounty": self.depletion_bounty,
            "scheduler_share_ppm": self.scheduler_share_ppm,
            "settler_share_ppm": self.settler_share_ppm,
        }


class BillingUnit(StrEnum):
    """gantry_primitives::types::tasks::BillingUnit."""

    SECOND = "Second"
    HOUR = "Hour"
    DAY = "Day"

    @classmethod
    def decode(cls, plain: Any) -> BillingUnit:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """gantry_primitives::types::hosts::Capabilities."""

    docker: bool
    kvm: bool
    kubernetes: bool
    cdi: bool
    mig: bool
    shares: bool
    sandboxed: bool

    @classmethod
    def decode(cls, plain: Any) -> Capabilities:
        return cls(
            docker=plain["docker"],
            kvm=plain["kvm"],
            kubernetes=plain["kubernetes"],
            cdi=plain["cdi"],
            mig=plain["mig"],
            shares=plain["shares"],
            sandboxed=plain["sandboxed"],
        )

    def encode(self) -> Any:
        return {
            "docker": self.docker,
            "kvm": self.kvm,
            "kubernetes": self.kubernetes,
            "cdi": self.cdi,
            "mig": self.mig,
            "shares": self.shares,
            "sandboxed": self.sandboxed,
        }

    def scale(self) -> bytes:
        return (
            bytes([self.docker])
            + bytes([self.kvm])
            + bytes([self.kubernetes])
            + bytes([self.cdi])
            + bytes([self.mig])
            + bytes([self.shares])
            + bytes([self.sandboxed])
        )


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


@dataclass(frozen=True, slots=True)
class ChallengeAnswer:
    """gantry_primitives::types::verification::ChallengeAnswer."""

    digest: bytes
    at: int

    @classmethod
    def decode(cls, plain: Any) -> ChallengeAnswer:
        return cls(digest=plain["digest"], at=plain["at"])

    def encode(self) -> Any:
        return {"digest": self.digest, "at": self.at}


class ChallengeOutcome(StrEnum):
    """gantry_primitives::types::verification::ChallengeOutcome."""

    PASSED = "Passed"
    FAILED = "Failed"
    NOT_ANSWERED = "NotAnswered"
    NO_VERDICT = "NoVerdict"
    TOO_FEW_VERIFIERS = "TooFewVerifiers"
    HARDWARE_CHANGED = "HardwareChanged"
    MISSED = "Missed"

    @classmethod
    def decode(cls, plain: Any) -> ChallengeOutcome:
        return cls(plain)


class ChallengePhase(StrEnum):
    """gantry_primitives::types::verification::ChallengePhase."""

    WAITING = "Waiting"
    ANSWERING = "Answering"
    COMMITTING = "Committing"
    REVEALING = "Revealing"
    CLOSED = "Closed"

    @classmethod
    def decode(cls, plain: Any) -> ChallengePhase:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class ChallengeRecord:
    """gantry_primitives::types::verification::ChallengeRecord."""

    host: AccountId
    provider: AccountId
    device: int
    claim: DeviceSpec
    opener: AccountId | None
    fee: int
    phase: ChallengePhase
    until: int
    opened_at: int
    answer: ChallengeAnswer | None
    role: CommitteeRole
    ballot: Ballot

    @classmethod
    def decode(cls, plain: Any) -> ChallengeRecord:
        return cls(
            host=plain["host"],
            provider=plain["provider"],
            device=plain["device"],
            claim=DeviceSpec.decode(plain["claim"]),
            opener=plain["opener"],
            fee=plain["fee"],
            phase=ChallengePhase.decode(plain["phase"]),
            until=plain["until"],
            opened_at=plain["opened_at"],
            answer=None if plain["answer"] is None else ChallengeAnswer.decode(plain["answer"]),
            role=CommitteeRole.decode(plain["role"]),
            ballot=Ballot.decode(plain["ballot"]),
        )

    def encode(self) -> Any:
        return {
            "host": self.host,
            "provider": self.provider,
            "device": self.device,
            "claim": self.claim.encode(),
            "opener": self.opener,
            "fee": self.fee,
            "phase": self.phase.value,
            "until": self.until,
            "opened_at": self.opened_at,
            "answer": None if self.answer is None else self.answer.encode(),
            "role": self.role.encode(),
            "ballot": self.ballot.encode(),
        }


class CommitteeRole:
    """gantry_primitives::types::verification::CommitteeRole.

    One of `CommitteeRoleFirst`, `CommitteeRoleSecond`, `CommitteeRoleConfirming`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> CommitteeRole:
        tag, payload = _variant(plain)
        return _COMMITTEE_ROLE[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class CommitteeRoleFirst(CommitteeRole):
    """CommitteeRole: First."""

    tag: ClassVar[str] = "First"


@dataclass(frozen=True, slots=True)
class CommitteeRoleSecond(CommitteeRole):
    """CommitteeRole: Second."""

    tag: ClassVar[str] = "Second"


@dataclass(frozen=True, slots=True)
class CommitteeRoleConfirming(CommitteeRole):
    """CommitteeRole: Confirming."""

    tag: ClassVar[str] = "Confirming"
    paid: int

    def encode(self) -> Any:
        return {"Confirming": {"paid": self.paid}}


_COMMITTEE_ROLE: Final[dict[str, Callable[[Any], CommitteeRole]]] = {
    "First": lambda _: CommitteeRoleFirst(),
    "Second": lambda _: CommitteeRoleSecond(),
    "Confirming": lambda p: CommitteeRoleConfirming(paid=p["paid"]),
}


@dataclass(frozen=True, slots=True)
class Contest:
    """pallet_gantry_agreements::types::Contest."""

    by: AccountId
    evidence: bytes
    stake: int
    until: int

    @classmethod
    def decode(cls, plain: Any) -> Contest:
        return cls(by=plain["by"], evidence=plain["evidence"], stake=plain["stake"], until=plain["until"])

    def encode(self) -> Any:
        return {"by": self.by, "evidence": self.evidence, "stake": self.stake, "until": self.until}


@dataclass(frozen=True, slots=True)
class Device:
    """gantry_primitives::types::hosts::Device."""

    spec: DeviceSpec
    milli_free: int
    shared_by: AccountId | None
    attested: bool
    healthy: bool

    @classmethod
    def decode(cls, plain: Any) -> Device:
        return cls(
            spec=DeviceSpec.decode(plain["spec"]),
            milli_free=plain["milli_free"],
            shared_by=plain["shared_by"],
            attested=plain["attested"],
            healthy=plain["healthy"],
        )

    def encode(self) -> Any:
        return {
            "spec": self.spec.encode(),
            "milli_free": self.milli_free,
            "shared_by": self.shared_by,
            "attested": self.attested,
            "healthy": self.healthy,
        }


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


class DisputeOutcome(StrEnum):
    """gantry_primitives::types::verification::DisputeOutcome."""

    UPHELD = "Upheld"
    REJECTED = "Rejected"
    NO_VERDICT = "NoVerdict"

    @classmethod
    def decode(cls, plain: Any) -> DisputeOutcome:
        return cls(plain)


class DisputePhase(StrEnum):
    """gantry_primitives::types::verification::DisputePhase."""

    HEARING = "Hearing"
    WAITING = "Waiting"
    COMMITTING = "Committing"
    REVEALING = "Revealing"
    DECIDED = "Decided"
    CLOSED = "Closed"

    @classmethod
    def decode(cls, plain: Any) -> DisputePhase:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class DisputeRecord:
    """gantry_primitives::types::verification::DisputeRecord."""

    opener: AccountId
    tenant: AccountId
    accused: tuple[int, ...]
    providers: tuple[AccountId, ...]
    opened_at: int
    phase: DisputePhase
    until: int
    level: int
    retried: bool
    verdict: Vote | None
    stakes: tuple[Stake, ...]
    evidence: tuple[Evidence, ...]
    ballot: Ballot

    @classmethod
    def decode(cls, plain: Any) -> DisputeRecord:
        return cls(
            opener=plain["opener"],
            tenant=plain["tenant"],
            accused=tuple(plain["accused"]),
            providers=tuple(plain["providers"]),
            opened_at=plain["opened_at"],
            phase=DisputePhase.decode(plain["phase"]),
            until=plain["until"],
            level=plain["level"],
            retried=plain["retried"],
            verdict=None if plain["verdict"] is None else Vote.decode(plain["verdict"]),
            stakes=tuple(Stake.decode(i0) for i0 in plain["stakes"]),
            evidence=tuple(Evidence.decode(i0) for i0 in plain["evidence"]),
            ballot=Ballot.decode(plain["ballot"]),
        )

    def encode(self) -> Any:
        return {
            "opener": self.opener,
            "tenant": self.tenant,
            "accused": list(self.accused),
            "providers": list(self.providers),
            "opened_at": self.opened_at,
            "phase": self.phase.value,
            "until": self.until,
            "level": self.level,
            "retried": self.retried,
            "verdict": None if self.verdict is None else self.verdict.value,
            "stakes": [i0.encode() for i0 in self.stakes],
            "evidence": [i0.encode() for i0 in self.evidence],
            "ballot": self.ballot.encode(),
        }


class Due:
    """pallet_gantry_agreements::types::Due.

    One of `DueOffer`, `DueTicket`, `DueAttestation`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> Due:
        tag, payload = _variant(plain)
        return _DUE[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class DueOffer(Due):
    """Due: Offer."""

    tag: ClassVar[str] = "Offer"
    value: int

    def encode(self) -> Any:
        return {"Offer": self.value}


@dataclass(frozen=True, slots=True)
class DueTicket(Due):
    """Due: Ticket."""

    tag: ClassVar[str] = "Ticket"
    value: int

    def encode(self) -> Any:
        return {"Ticket": self.value}


@dataclass(frozen=True, slots=True)
class DueAttestation(Due):
    """Due: Attestation."""

    tag: ClassVar[str] = "Attestation"
    value: int

    def encode(self) -> Any:
        return {"Attestation": self.value}


_DUE: Final[dict[str, Callable[[Any], Due]]] = {
    "Offer": lambda p: DueOffer(value=p),
    "Ticket": lambda p: DueTicket(value=p),
    "Attestation": lambda p: DueAttestation(value=p),
}


class EndReason:
    """gantry_primitives::types::leases::EndReason.

    One of `EndReasonCompleted`, `EndReasonCancelled`, `EndReasonHostRefused`, `EndReasonStartTimeout`, `EndReasonHostLost`, `EndReasonDurationExceeded`, `EndReasonGangAborted`, `EndReasonTenantEnded`, `EndReasonExpired`, `EndReasonReclaimed`, `EndReasonScaledDown`, `EndReasonDepleted`, `EndReasonDisputeLost`, `EndReasonDataMoved`, `EndReasonPreempted`, `EndReasonMoved`.
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


@dataclass(frozen=True, slots=True)
class EndReasonCompleted(EndReason):
    """EndReason: Completed."""

    tag: ClassVar[str] = "Completed"


@dataclass(frozen=True, slots=True)
class EndReasonCancelled(EndReason):
    """EndReason: Cancelled."""

    tag: ClassVar[str] = "Cancelled"


@dataclass(frozen=True, slots=True)
class EndReasonHostRefused(EndReason):
    """EndReason: HostRefused."""

    tag: ClassVar[str] = "HostRefused"
    value: HostFailure

    def encode(self) -> Any:
        return {"HostRefused": self.value.value}


@dataclass(frozen=True, slots=True)
class EndReasonStartTimeout(EndReason):
    """EndReason: StartTimeout."""

    tag: ClassVar[str] = "StartTimeout"


@dataclass(frozen=True, slots=True)
class EndReasonHostLost(EndReason):
    """EndReason: HostLost."""

    tag: ClassVar[str] = "HostLost"


@dataclass(frozen=True, slots=True)
class EndReasonDurationExceeded(EndReason):
    """EndReason: DurationExceeded."""

    tag: ClassVar[str] = "DurationExceeded"


@dataclass(frozen=True, slots=True)
class EndReasonGangAborted(EndReason):
    """EndReason: GangAborted."""

    tag: ClassVar[str] = "GangAborted"


@dataclass(frozen=True, slots=True)
class EndReasonTenantEnded(EndReason):
    """EndReason: TenantEnded."""

    tag: ClassVar[str] = "TenantEnded"


@dataclass(frozen=True, slots=True)
class EndReasonExpired(EndReason):
    """EndReason: Expired."""

    tag: ClassVar[str] = "Expired"


@dataclass(frozen=True, slots=True)
class EndReasonReclaimed(EndReason):
    """EndReason: Reclaimed."""

    tag: ClassVar[str] = "Reclaimed"


@dataclass(frozen=True, slots=True)
class EndReasonScaledDown(EndReason):
    """EndReason: ScaledDown."""

    tag: ClassVar[str] = "ScaledDown"


@dataclass(frozen=True, slots=True)
class EndReasonDepleted(EndReason):
    """EndReason: Depleted."""

    tag: ClassVar[str] = "Depleted"


@dataclass(frozen=True, slots=True)
class EndReasonDisputeLost(EndReason):
    """EndReason: DisputeLost."""

    tag: ClassVar[str] = "DisputeLost"


@dataclass(frozen=True, slots=True)
class EndReasonDataMoved(EndReason):
    """EndReason: DataMoved."""

    tag: ClassVar[str] = "DataMoved"


@dataclass(frozen=True, slots=True)
class EndReasonPreempted(EndReason):
    """EndReason: Preempted."""

    tag: ClassVar[str] = "Preempted"


@dataclass(frozen=True, slots=True)
class EndReasonMoved(EndReason):
    """EndReason: Moved."""

    tag: ClassVar[str] = "Moved"


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
    "Preempted": lambda _: EndReasonPreempted(),
    "Moved": lambda _: EndReasonMoved(),
}


@dataclass(frozen=True, slots=True)
class Escrow:
    """gantry_primitives::types::billing::Escrow."""

    deposit: int
    rate_per_hour: int
    unit: BillingUnit
    accrued: int
    since: int | None
    downtime_mark: int
    until: int | None
    paid: int
    fee: int
    open: bool
    fee_ppm: int
    scheduler_ppm: int
    scheduler_fee: int
    settler_fee: int
    storage: StorageDeposit | None

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
            fee_ppm=plain["fee_ppm"],
            scheduler_ppm=plain["scheduler_ppm"],
            scheduler_fee=plain["scheduler_fee"],
            settler_fee=plain["settler_fee"],
            storage=None if plain["storage"] is None else StorageDeposit.decode(plain["storage"]),
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
            "fee_ppm": self.fee_ppm,
            "scheduler_ppm": self.scheduler_ppm,
            "scheduler_fee": self.scheduler_fee,
            "settler_fee": self.settler_fee,
            "storage": None if self.storage is None else self.storage.encode(),
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """gantry_primitives::types::verification::Evidence."""

    by: AccountId
    digest: bytes
    level: int

    @classmethod
    def decode(cls, plain: Any) -> Evidence:
        return cls(by=plain["by"], digest=plain["digest"], level=plain["level"])

    def encode(self) -> Any:
        return {"by": self.by, "digest": self.digest, "level": self.level}


class FailReason(StrEnum):
    """gantry_primitives::types::tasks::FailReason."""

    ATTEMPTS_EXHAUSTED = "AttemptsExhausted"
    DURATION_EXCEEDED = "DurationExceeded"
    DISPUTE_LOST = "DisputeLost"
    NO_AGREEMENT = "NoAgreement"

    @classmethod
    def decode(cls, plain: Any) -> FailReason:
        return cls(plain)


class Fault(StrEnum):
    """gantry_primitives::faults::Fault."""

    ABSENT = "Absent"
    START_TIMEOUT = "StartTimeout"
    LOST_POD = "LostPod"
    FAILED_CHALLENGE = "FailedChallenge"
    WRONG_RESULT = "WrongResult"
    DATA_LOST = "DataLost"
    VERIFIER_ABSENT = "VerifierAbsent"
    BAD_BATCH_ITEM = "BadBatchItem"

    @classmethod
    def decode(cls, plain: Any) -> Fault:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """gantry_primitives::types::reputation::FaultRecord."""

    weight: int
    updated_at: int

    @classmethod
    def decode(cls, plain: Any) -> FaultRecord:
        return cls(weight=plain["weight"], updated_at=plain["updated_at"])

    def encode(self) -> Any:
        return {"weight": self.weight, "updated_at": self.updated_at}


@dataclass(frozen=True, slots=True)
class GovernanceParams:
    """pallet_gantry_governance::types::Params."""

    delay_blocks: int

    @classmethod
    def decode(cls, plain: Any) -> GovernanceParams:
        return cls(delay_blocks=plain["delay_blocks"])

    def encode(self) -> Any:
        return {"delay_blocks": self.delay_blocks}


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """gantry_primitives::types::hosts::GpuPrice."""

    model: bytes
    per_hour: int

    @classmethod
    def decode(cls, plain: Any) -> GpuPrice:
        return cls(model=plain["model"], per_hour=plain["per_hour"])

    def encode(self) -> Any:
        return {"model": self.model, "per_hour": self.per_hour}

    def scale(self) -> bytes:
        return _bytes(self.model) + self.per_hour.to_bytes(16, "little")


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


@dataclass(frozen=True, slots=True)
class Halt:
    """gantry_primitives::halts::Halt."""

    end: int
    ms: int

    @classmethod
    def decode(cls, plain: Any) -> Halt:
        return cls(end=plain["end"], ms=plain["ms"])

    def encode(self) -> Any:
        return {"end": self.end, "ms": self.ms}


@dataclass(frozen=True, slots=True)
class HardwareSpec:
    """gantry_primitives::types::hosts::HardwareSpec."""

    tier: Tier
    capabilities: Capabilities
    answers_challenges: bool
    cpu_milli: int
    memory_mib: int
    disk_gib: int
    network_mbps_down: int
    network_mbps_up: int
    devices: tuple[DeviceSpec, ...]

    @classmethod
    def decode(cls, plain: Any) -> HardwareSpec:
        return cls(
            tier=Tier.decode(plain["tier"]),
            capabilities=Capabilities.decode(plain["capabilities"]),
            answers_challenges=plain["answers_challenges"],
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
            "answers_challenges": self.answers_challenges,
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
            + bytes([self.answers_challenges])
            + self.cpu_milli.to_bytes(4, "little")
            + self.memory_mib.to_bytes(4, "little")
            + self.disk_gib.to_bytes(4, "little")
            + self.network_mbps_down.to_bytes(4, "little")
            + self.network_mbps_up.to_bytes(4, "little")
            + compact(len(self.devices)) + b"".join(i0.scale() for i0 in self.devices)
        )


@dataclass(frozen=True, slots=True)
class HostChallenges:
    """gantry_primitives::types::verification::HostChallenges."""

    open: int | None
    by_verifier_at: int | None
    by_provider_at: int | None
    by_tenant_at: int | None
    missed_at: int | None

    @classmethod
    def decode(cls, plain: Any) -> HostChallenges:
        return cls(
            open=plain["open"],
            by_verifier_at=plain["by_verifier_at"],
            by_provider_at=plain["by_provider_at"],
            by_tenant_at=plain["by_tenant_at"],
            missed_at=plain["missed_at"],
        )

    def encode(self) -> Any:
        return {
            "open": self.open,
            "by_verifier_at": self.by_verifier_at,
            "by_provider_at": self.by_provider_at,
            "by_tenant_at": self.by_tenant_at,
            "missed_at": self.missed_at,
        }


class HostFailure(StrEnum):
    """gantry_primitives::types::tasks::HostFailure."""

    IMAGE_UNAVAILABLE = "ImageUnavailable"
    IMAGE_INVALID = "ImageInvalid"
    MANIFEST_INVALID = "ManifestInvalid"
    RESOURCES_UNAVAILABLE = "ResourcesUnavailable"
    DRIVER_ERROR = "DriverError"
    INPUT_MISSING = "InputMissing"
    IMAGE_CANNOT_RUN = "ImageCannotRun"
    IMAGE_TOO_SLOW = "ImageTooSlow"

    @classmethod
    def decode(cls, plain: Any) -> HostFailure:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class HostRecord:
    """gantry_primitives::types::hosts::HostRecord."""

    provider: AccountId
    status: HostStatus
    tier: Tier
    capabilities: Capabilities
    network_mbps_down: int
    network_mbps_up: int
    latency_ms: int
    total: Capacity
    free: Capacity
    devices: tuple[Device, ...]
    ask: Ask
    endpoint: bytes
    region: bytes
    bond: int
    bond_required: int
    generation: int
    registered_at: int
    last_heartbeat: int
    downtime_ms: int
    live_leases: int
    answers_challenges: bool
    challenged: int | None
    offered_since: int

    @classmethod
    def decode(cls, plain: Any) -> HostRecord:
        return cls(
            provider=plain["provider"],
            status=HostStatus.decode(plain["status"]),
            tier=Tier.decode(plain["tier"]),
            capabilities=Capabilities.decode(plain["capabilities"]),
            network_mbps_down=plain["network_mbps_down"],
            network_mbps_up=plain["network_mbps_up"],
            latency_ms=plain["latency_ms"],
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
            answers_challenges=plain["answers_challenges"],
            challenged=plain["challenged"],
            offered_since=plain["offered_since"],
        )

    def encode(self) -> Any:
        return {
            "provider": self.provider,
            "status": self.status.encode(),
            "tier": self.tier.value,
            "capabilities": self.capabilities.encode(),
            "network_mbps_down": self.network_mbps_down,
            "network_mbps_up": self.network_mbps_up,
            "latency_ms": self.latency_ms,
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
            "answers_challenges": self.answers_challenges,
            "challenged": self.challenged,
            "offered_since": self.offered_since,
        }


@dataclass(frozen=True, slots=True)
class HostScore:
    """gantry_primitives::types::reputation::HostScore."""

    completed: Beta
    verified: Beta
    uptime: Beta
    start_latency: Beta
    rating: Beta
    sla: Sla
    settled_leases: int
    updated_at: int

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


class HostStatus:
    """gantry_primitives::types::hosts::HostStatus.

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


@dataclass(frozen=True, slots=True)
class HostStatusUnverified(HostStatus):
    """HostStatus: Unverified."""

    tag: ClassVar[str] = "Unverified"


@dataclass(frozen=True, slots=True)
class HostStatusVerified(HostStatus):
    """HostStatus: Verified."""

    tag: ClassVar[str] = "Verified"


@dataclass(frozen=True, slots=True)
class HostStatusOnline(HostStatus):
    """HostStatus: Online."""

    tag: ClassVar[str] = "Online"


@dataclass(frozen=True, slots=True)
class HostStatusOffline(HostStatus):
    """HostStatus: Offline."""

    tag: ClassVar[str] = "Offline"


@dataclass(frozen=True, slots=True)
class HostStatusDraining(HostStatus):
    """HostStatus: Draining."""

    tag: ClassVar[str] = "Draining"


@dataclass(frozen=True, slots=True)
class HostStatusSuspended(HostStatus):
    """HostStatus: Suspended."""

    tag: ClassVar[str] = "Suspended"
    value: SuspendReason

    def encode(self) -> Any:
        return {"Suspended": self.value.value}


@dataclass(frozen=True, slots=True)
class HostStatusRetired(HostStatus):
    """HostStatus: Retired."""

    tag: ClassVar[str] = "Retired"


@dataclass(frozen=True, slots=True)
class HostStatusRetiring(HostStatus):
    """HostStatus: Retiring."""

    tag: ClassVar[str] = "Retiring"
    value: int

    def encode(self) -> Any:
        return {"Retiring": self.value}


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


@dataclass(frozen=True, slots=True)
class HostsParams:
    """pallet_gantry_hosts::types::Params."""

    bond_consumer: int
    bond_professional: int
    bond_datacenter: int
    heartbeat_period_ms: int
    absence_limit_ms: int
    absence_bounty: int
    unbonding_ms: int
    allow_simulated: bool
    verification_required: bool
    halt_after_ms: int
    free_weight_us: int

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
            halt_after_ms=plain["halt_after_ms"],
            free_weight_us=plain["free_weight_us"],
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
            "halt_after_ms": self.halt_after_ms,
            "free_weight_us": self.free_weight_us,
        }


class IndexTag(StrEnum):
    """gantry_primitives::types::tasks::IndexTag."""

    QUEUED = "Queued"
    ASSIGNED = "Assigned"
    RUNNING = "Running"
    REPORTED = "Reported"
    VERIFIED = "Verified"
    DISPUTED = "Disputed"
    SHORT = "Short"

    @classmethod
    def decode(cls, plain: Any) -> IndexTag:
        return cls(plain)


class Layout(StrEnum):
    """gantry_primitives::types::hosts::Layout."""

    ANY = "Any"
    HOSTS = "Hosts"
    PROVIDERS = "Providers"
    PACKED = "Packed"

    @classmethod
    def decode(cls, plain: Any) -> Layout:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class Lease:
    """gantry_primitives::types::leases::Lease."""

    pod: int
    generation: int
    host: AccountId
    devices: bytes
    state: LeaseState
    created_at: int
    started_at: int | None
    ended_at: int | None
    escrow: Escrow
    resume_rate: int | None
    reclaim_at: int | None
    due_at: int | None
    result: PodResult | None
    rated: bool
    standby: StandbyPlace | None
    assigned_by: AccountId | None
    self_assigned_ppm: int | None

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
            standby=None if plain["standby"] is None else StandbyPlace.decode(plain["standby"]),
            assigned_by=plain["assigned_by"],
            self_assigned_ppm=plain["self_assigned_ppm"],
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
            "standby": None if self.standby is None else self.standby.encode(),
            "assigned_by": self.assigned_by,
            "self_assigned_ppm": self.self_assigned_ppm,
        }


@dataclass(frozen=True, slots=True)
class LeaseBill:
    """gantry_primitives::types::tasks::LeaseBill."""

    lease: int
    paid: int
    fee: int
    scheduler_fee: int
    settler_fee: int
    refunded: int

    @classmethod
    def decode(cls, plain: Any) -> LeaseBill:
        return cls(
            lease=plain["lease"],
            paid=plain["paid"],
            fee=plain["fee"],
            scheduler_fee=plain["scheduler_fee"],
            settler_fee=plain["settler_fee"],
            refunded=plain["refunded"],
        )

    def encode(self) -> Any:
        return {
            "lease": self.lease,
            "paid": self.paid,
            "fee": self.fee,
            "scheduler_fee": self.scheduler_fee,
            "settler_fee": self.settler_fee,
            "refunded": self.refunded,
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


@dataclass(frozen=True, slots=True)
class LeaseStatePending(LeaseState):
    """LeaseState: Pending."""

    tag: ClassVar[str] = "Pending"


@dataclass(frozen=True, slots=True)
class LeaseStateActive(LeaseState):
    """LeaseState: Active."""

    tag: ClassVar[str] = "Active"


@dataclass(frozen=True, slots=True)
class LeaseStateSuspended(LeaseState):
    """LeaseState: Suspended."""

    tag: ClassVar[str] = "Suspended"


@dataclass(frozen=True, slots=True)
class LeaseStateEnded(LeaseState):
    """LeaseState: Ended."""

    tag: ClassVar[str] = "Ended"
    value: EndReason

    def encode(self) -> Any:
        return {"Ended": self.value.encode()}


@dataclass(frozen=True, slots=True)
class LeaseStateRetained(LeaseState):
    """LeaseState: Retained."""

    tag: ClassVar[str] = "Retained"
    value: int

    def encode(self) -> Any:
        return {"Retained": self.value}


@dataclass(frozen=True, slots=True)
class LeaseStatePurged(LeaseState):
    """LeaseState: Purged."""

    tag: ClassVar[str] = "Purged"


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
    """pallet_gantry_leases::types::Params."""

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


class LeaveReason(StrEnum):
    """gantry_primitives::types::verification::LeaveReason."""

    UNBONDED = "Unbonded"
    BOND_TOO_LOW = "BondTooLow"

    @classmethod
    def decode(cls, plain: Any) -> LeaveReason:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class LeavingScheduler:
    """pallet_gantry_tasks::types::LeavingScheduler."""

    bond: int
    until: int

    @classmethod
    def decode(cls, plain: Any) -> LeavingScheduler:
        return cls(bond=plain["bond"], until=plain["until"])

    def encode(self) -> Any:
        return {"bond": self.bond, "until": self.until}


@dataclass(frozen=True, slots=True)
class ListedVerifier:
    """gantry_primitives::types::verification::ListedVerifier."""

    who: AccountId
    since: int

    @classmethod
    def decode(cls, plain: Any) -> ListedVerifier:
        return cls(who=plain["who"], since=plain["since"])

    def encode(self) -> Any:
        return {"who": self.who, "since": self.since}


class Matter:
    """gantry_primitives::types::verification::Matter.

    One of `MatterChallenge`, `MatterDispute`, `MatterResults`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> Matter:
        tag, payload = _variant(plain)
        return _MATTER[tag](payload)

    def encode(self) -> Any:
        return self.tag

    def scale(self) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class MatterChallenge(Matter):
    """Matter: Challenge."""

    tag: ClassVar[str] = "Challenge"
    value: int

    def encode(self) -> Any:
        return {"Challenge": self.value}

    def scale(self) -> bytes:
        return bytes([0]) + self.value.to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class MatterDispute(Matter):
    """Matter: Dispute."""

    tag: ClassVar[str] = "Dispute"
    value: int

    def encode(self) -> Any:
        return {"Dispute": self.value}

    def scale(self) -> bytes:
        return bytes([1]) + self.value.to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class MatterResults(Matter):
    """Matter: Results."""

    tag: ClassVar[str] = "Results"
    value: int

    def encode(self) -> Any:
        return {"Results": self.value}

    def scale(self) -> bytes:
        return bytes([2]) + self.value.to_bytes(8, "little")


_MATTER: Final[dict[str, Callable[[Any], Matter]]] = {
    "Challenge": lambda p: MatterChallenge(value=p),
    "Dispute": lambda p: MatterDispute(value=p),
    "Results": lambda p: MatterResults(value=p),
}


@dataclass(frozen=True, slots=True)
class Message:
    """pallet_gantry_agreements::types::Message."""

    by: Side
    digest: bytes
    at: int

    @classmethod
    def decode(cls, plain: Any) -> Message:
        return cls(by=Side.decode(plain["by"]), digest=plain["digest"], at=plain["at"])

    def encode(self) -> Any:
        return {"by": self.by.value, "digest": self.digest, "at": self.at}


class Misconduct(StrEnum):
    """gantry_primitives::types::verification::Misconduct."""

    FAILED_CHALLENGE = "FailedChallenge"
    CHALLENGE_NOT_ANSWERED = "ChallengeNotAnswered"
    WRONG_RESULT = "WrongResult"
    RESULT_NOT_REVEALED = "ResultNotRevealed"
    DISPUTE_LOST = "DisputeLost"

    @classmethod
    def decode(cls, plain: Any) -> Misconduct:
        return cls(plain)


class NoticeState:
    """gantry_primitives::types::tasks::NoticeState.

    One of `NoticeStateAbsent`, `NoticeStateStanding`, `NoticeStateWithdrawn`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> NoticeState:
        tag, payload = _variant(plain)
        return _NOTICE_STATE[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class NoticeStateAbsent(NoticeState):
    """NoticeState: Absent."""

    tag: ClassVar[str] = "Absent"


@dataclass(frozen=True, slots=True)
class NoticeStateStanding(NoticeState):
    """NoticeState: Standing."""

    tag: ClassVar[str] = "Standing"
    value: int

    def encode(self) -> Any:
        return {"Standing": self.value}


@dataclass(frozen=True, slots=True)
class NoticeStateWithdrawn(NoticeState):
    """NoticeState: Withdrawn."""

    tag: ClassVar[str] = "Withdrawn"
    value: int

    def encode(self) -> Any:
        return {"Withdrawn": self.value}


_NOTICE_STATE: Final[dict[str, Callable[[Any], NoticeState]]] = {
    "Absent": lambda _: NoticeStateAbsent(),
    "Standing": lambda p: NoticeStateStanding(value=p),
    "Withdrawn": lambda p: NoticeStateWithdrawn(value=p),
}


class OfferOutcome:
    """pallet_gantry_agreements::types::OfferOutcome.

    One of `OfferOutcomeNotAccepted`, `OfferOutcomeKept`, `OfferOutcomeBrokenBy`, `OfferOutcomeNotBegun`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> OfferOutcome:
        tag, payload = _variant(plain)
        return _OFFER_OUTCOME[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class OfferOutcomeNotAccepted(OfferOutcome):
    """OfferOutcome: NotAccepted."""

    tag: ClassVar[str] = "NotAccepted"


@dataclass(frozen=True, slots=True)
class OfferOutcomeKept(OfferOutcome):
    """OfferOutcome: Kept."""

    tag: ClassVar[str] = "Kept"


@dataclass(frozen=True, slots=True)
class OfferOutcomeBrokenBy(OfferOutcome):
    """OfferOutcome: BrokenBy."""

    tag: ClassVar[str] = "BrokenBy"
    value: Side

    def encode(self) -> Any:
        return {"BrokenBy": self.value.value}


@dataclass(frozen=True, slots=True)
class OfferOutcomeNotBegun(OfferOutcome):
    """OfferOutcome: NotBegun."""

    tag: ClassVar[str] = "NotBegun"


_OFFER_OUTCOME: Final[dict[str, Callable[[Any], OfferOutcome]]] = {
    "NotAccepted": lambda _: OfferOutcomeNotAccepted(),
    "Kept": lambda _: OfferOutcomeKept(),
    "BrokenBy": lambda p: OfferOutcomeBrokenBy(value=Side.decode(p)),
    "NotBegun": lambda _: OfferOutcomeNotBegun(),
}


@dataclass(frozen=True, slots=True)
class OfferRecord:
    """pallet_gantry_agreements::types::OfferRecord."""

    tenant: AccountId
    provider: AccountId
    proposer: Side
    terms: OfferTerms
    place: Place | None
    counters: int
    state: OfferState
    bond: int
    deposit: int
    due_at: int

    @classmethod
    def decode(cls, plain: Any) -> OfferRecord:
        return cls(
            tenant=plain["tenant"],
            provider=plain["provider"],
            proposer=Side.decode(plain["proposer"]),
            terms=OfferTerms.decode(plain["terms"]),
            place=None if plain["place"] is None else Place.decode(plain["place"]),
            counters=plain["counters"],
            state=OfferState.decode(plain["state"]),
            bond=plain["bond"],
            deposit=plain["deposit"],
            due_at=plain["due_at"],
        )

    def encode(self) -> Any:
        return {
            "tenant": self.tenant,
            "provider": self.provider,
            "proposer": self.proposer.value,
            "terms": self.terms.encode(),
            "place": None if self.place is None else self.place.encode(),
            "counters": self.counters,
            "state": self.state.encode(),
            "bond": self.bond,
            "deposit": self.deposit,
            "due_at": self.due_at,
        }


class OfferState:
    """pallet_gantry_agreements::types::OfferState.

    One of `OfferStateOpen`, `OfferStateAccepted`, `OfferStateBegun`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> OfferState:
        tag, payload = _variant(plain)
        return _OFFER_STATE[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class OfferStateOpen(OfferState):
    """OfferState: Open."""

    tag: ClassVar[str] = "Open"
    value: int

    def encode(self) -> Any:
        return {"Open": self.value}


@dataclass(frozen=True, slots=True)
class OfferStateAccepted(OfferState):
    """OfferState: Accepted."""

    tag: ClassVar[str] = "Accepted"
    unavailable: bool

    def encode(self) -> Any:
        return {"Accepted": {"unavailable": self.unavailable}}


@dataclass(frozen=True, slots=True)
class OfferStateBegun(OfferState):
    """OfferState: Begun."""

    tag: ClassVar[str] = "Begun"
    lease: int
    ends_at: int

    def encode(self) -> Any:
        return {"Begun": {"lease": self.lease, "ends_at": self.ends_at}}


_OFFER_STATE: Final[dict[str, Callable[[Any], OfferState]]] = {
    "Open": lambda p: OfferStateOpen(value=p),
    "Accepted": lambda p: OfferStateAccepted(unavailable=p["unavailable"]),
    "Begun": lambda p: OfferStateBegun(lease=p["lease"], ends_at=p["ends_at"]),
}


@dataclass(frozen=True, slots=True)
class OfferTerms:
    """pallet_gantry_agreements::types::OfferTerms."""

    hosts: tuple[AccountId, ...]
    resources: Resources
    allow_simulated: bool
    rate_per_hour: int
    unit: BillingUnit
    duration_ms: int
    start_from: int
    start_until: int

    @classmethod
    def decode(cls, plain: Any) -> OfferTerms:
        return cls(
            hosts=tuple(plain["hosts"]),
            resources=Resources.decode(plain["resources"]),
            allow_simulated=plain["allow_simulated"],
            rate_per_hour=plain["rate_per_hour"],
            unit=BillingUnit.decode(plain["unit"]),
            duration_ms=plain["duration_ms"],
            start_from=plain["start_from"],
            start_until=plain["start_until"],
        )

    def encode(self) -> Any:
        return {
            "hosts": list(self.hosts),
            "resources": self.resources.encode(),
            "allow_simulated": self.allow_simulated,
            "rate_per_hour": self.rate_per_hour,
            "unit": self.unit.value,
            "duration_ms": self.duration_ms,
            "start_from": self.start_from,
            "start_until": self.start_until,
        }


class PenaltyReason(StrEnum):
    """gantry_primitives::types::verification::PenaltyReason."""

    ABSENT = "Absent"
    MINORITY = "Minority"

    @classmethod
    def decode(cls, plain: Any) -> PenaltyReason:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class Place:
    """pallet_gantry_agreements::types::Place."""

    host: AccountId
    devices: bytes

    @classmethod
    def decode(cls, plain: Any) -> Place:
        return cls(host=plain["host"], devices=plain["devices"])

    def encode(self) -> Any:
        return {"host": self.host, "devices": self.devices}


@dataclass(frozen=True, slots=True)
class Placement:
    """gantry_primitives::types::hosts::Placement."""

    regions: tuple[bytes, ...]
    hosts: tuple[AccountId, ...]
    providers_allowed: tuple[AccountId, ...]
    providers_denied: tuple[AccountId, ...]
    tiers: tuple[Tier, ...]
    verified_only: bool
    allow_simulated: bool
    min_network_mbps: int
    max_latency_ms: int
    capabilities: Capabilities
    layout: Layout
    min_terms: SlaTerms

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
            max_latency_ms=plain["max_latency_ms"],
            capabilities=Capabilities.decode(plain["capabilities"]),
            layout=Layout.decode(plain["layout"]),
            min_terms=SlaTerms.decode(plain["min_terms"]),
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
            "max_latency_ms": self.max_latency_ms,
            "capabilities": self.capabilities.encode(),
            "layout": self.layout.value,
            "min_terms": self.min_terms.encode(),
        }


@dataclass(frozen=True, slots=True)
class PodCheckpoint:
    """gantry_primitives::types::tasks::PodCheckpoint."""

    pod: int
    digest: bytes
    bytes_: int
    host: AccountId
    at: int

    @classmethod
    def decode(cls, plain: Any) -> PodCheckpoint:
        return cls(pod=plain["pod"], digest=plain["digest"], bytes_=plain["bytes"], host=plain["host"], at=plain["at"])

    def encode(self) -> Any:
        return {"pod": self.pod, "digest": self.digest, "bytes": self.bytes_, "host": self.host, "at": self.at}


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """gantry_primitives::types::tasks::PodPlacement."""

    pod: int
    host: AccountId
    devices: bytes
    rate_per_hour: int

    @classmethod
    def decode(cls, plain: Any) -> PodPlacement:
        return cls(pod=plain["pod"], host=plain["host"], devices=plain["devices"], rate_per_hour=plain["rate_per_hour"])

    def encode(self) -> Any:
        return {"pod": self.pod, "host": self.host, "devices": self.devices, "rate_per_hour": self.rate_per_hour}


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


@dataclass(frozen=True, slots=True)
class Preemption:
    """gantry_primitives::types::tasks::Preemption."""

    wanting: int
    ends_at: int

    @classmethod
    def decode(cls, plain: Any) -> Preemption:
        return cls(wanting=plain["wanting"], ends_at=plain["ends_at"])

    def encode(self) -> Any:
        return {"wanting": self.wanting, "ends_at": self.ends_at}


@dataclass(frozen=True, slots=True)
class PreemptionNotice:
    """gantry_primitives::types::tasks::PreemptionNotice."""

    victims: tuple[int, ...]
    pods: tuple[PodPlacement, ...]
    scheduler: AccountId
    ends_at: int

    @classmethod
    def decode(cls, plain: Any) -> PreemptionNotice:
        return cls(
            victims=tuple(plain["victims"]),
            pods=tuple(PodPlacement.decode(i0) for i0 in plain["pods"]),
            scheduler=plain["scheduler"],
            ends_at=plain["ends_at"],
        )

    def encode(self) -> Any:
        return {
            "victims": list(self.victims),
            "pods": [i0.encode() for i0 in self.pods],
            "scheduler": self.scheduler,
            "ends_at": self.ends_at,
        }


class Queue(StrEnum):
    """gantry_primitives::types::verification::Queue."""

    SEED = "Seed"
    ANSWER = "Answer"
    CHALLENGE_COMMIT = "ChallengeCommit"
    CHALLENGE_REVEAL = "ChallengeReveal"
    HEARING = "Hearing"
    DISPUTE_COMMIT = "DisputeCommit"
    DISPUTE_REVEAL = "DisputeReveal"
    APPEAL = "Appeal"
    RESULT_COMMIT = "ResultCommit"
    RESULT_REVEAL = "ResultReveal"

    @classmethod
    def decode(cls, plain: Any) -> Queue:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class QueueEnds:
    """gantry_primitives::types::verification::QueueEnds."""

    head: int
    tail: int

    @classmethod
    def decode(cls, plain: Any) -> QueueEnds:
        return cls(head=plain["head"], tail=plain["tail"])

    def encode(self) -> Any:
        return {"head": self.head, "tail": self.tail}


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """gantry_primitives::types::verification::QueueEntry."""

    matter: Matter
    due: int

    @classmethod
    def decode(cls, plain: Any) -> QueueEntry:
        return cls(matter=Matter.decode(plain["matter"]), due=plain["due"])

    def encode(self) -> Any:
        return {"matter": self.matter.encode(), "due": self.due}


class RemovalReason(StrEnum):
    """pallet_gantry_validators::types::RemovalReason."""

    BY_ADMIN = "ByAdmin"
    EQUIVOCATED = "Equivocated"

    @classmethod
    def decode(cls, plain: Any) -> RemovalReason:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class Replica:
    """gantry_primitives::types::verification::Replica."""

    lease: int
    host: AccountId
    commitment: bytes
    tag: bytes | None
    result: PodResult | None

    @classmethod
    def decode(cls, plain: Any) -> Replica:
        return cls(
            lease=plain["lease"],
            host=plain["host"],
            commitment=plain["commitment"],
            tag=plain["tag"],
            result=None if plain["result"] is None else PodResult.decode(plain["result"]),
        )

    def encode(self) -> Any:
        return {
            "lease": self.lease,
            "host": self.host,
            "commitment": self.commitment,
            "tag": self.tag,
            "result": None if self.result is None else self.result.encode(),
        }


class Report:
    """gantry_primitives::types::tasks::Report.

    One of `ReportStarted`, `ReportResult`, `ReportFailed`, `ReportPurged`, `ReportDataLost`, `ReportCheckpoint`.
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


@dataclass(frozen=True, slots=True)
class ReportStarted(Report):
    """Report: Started."""

    tag: ClassVar[str] = "Started"


@dataclass(frozen=True, slots=True)
class ReportResult(Report):
    """Report: Result."""

    tag: ClassVar[str] = "Result"
    value: PodResult

    def encode(self) -> Any:
        return {"Result": self.value.encode()}


@dataclass(frozen=True, slots=True)
class ReportFailed(Report):
    """Report: Failed."""

    tag: ClassVar[str] = "Failed"
    value: HostFailure

    def encode(self) -> Any:
        return {"Failed": self.value.value}


@dataclass(frozen=True, slots=True)
class ReportPurged(Report):
    """Report: Purged."""

    tag: ClassVar[str] = "Purged"
    receipt: bytes

    def encode(self) -> Any:
        return {"Purged": {"receipt": self.receipt}}


@dataclass(frozen=True, slots=True)
class ReportDataLost(Report):
    """Report: DataLost."""

    tag: ClassVar[str] = "DataLost"


@dataclass(frozen=True, slots=True)
class ReportCheckpoint(Report):
    """Report: Checkpoint."""

    tag: ClassVar[str] = "Checkpoint"
    digest: bytes
    bytes_: int

    def encode(self) -> Any:
        return {"Checkpoint": {"digest": self.digest, "bytes": self.bytes_}}


_REPORT: Final[dict[str, Callable[[Any], Report]]] = {
    "Started": lambda _: ReportStarted(),
    "Result": lambda p: ReportResult(value=PodResult.decode(p)),
    "Failed": lambda p: ReportFailed(value=HostFailure.decode(p)),
    "Purged": lambda p: ReportPurged(receipt=p["receipt"]),
    "DataLost": lambda _: ReportDataLost(),
    "Checkpoint": lambda p: ReportCheckpoint(digest=p["digest"], bytes_=p["bytes"]),
}


class RequeueReason:
    """gantry_primitives::types::tasks::RequeueReason.

    One of `RequeueReasonHostRefused`, `RequeueReasonStartTimeout`, `RequeueReasonHostLost`, `RequeueReasonReclaimed`, `RequeueReasonNoResult`.
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


@dataclass(frozen=True, slots=True)
class RequeueReasonHostRefused(RequeueReason):
    """RequeueReason: HostRefused."""

    tag: ClassVar[str] = "HostRefused"
    value: HostFailure

    def encode(self) -> Any:
        return {"HostRefused": self.value.value}


@dataclass(frozen=True, slots=True)
class RequeueReasonStartTimeout(RequeueReason):
    """RequeueReason: StartTimeout."""

    tag: ClassVar[str] = "StartTimeout"


@dataclass(frozen=True, slots=True)
class RequeueReasonHostLost(RequeueReason):
    """RequeueReason: HostLost."""

    tag: ClassVar[str] = "HostLost"


@dataclass(frozen=True, slots=True)
class RequeueReasonReclaimed(RequeueReason):
    """RequeueReason: Reclaimed."""

    tag: ClassVar[str] = "Reclaimed"


@dataclass(frozen=True, slots=True)
class RequeueReasonNoResult(RequeueReason):
    """RequeueReason: NoResult."""

    tag: ClassVar[str] = "NoResult"


_REQUEUE_REASON: Final[dict[str, Callable[[Any], RequeueReason]]] = {
    "HostRefused": lambda p: RequeueReasonHostRefused(value=HostFailure.decode(p)),
    "StartTimeout": lambda _: RequeueReasonStartTimeout(),
    "HostLost": lambda _: RequeueReasonHostLost(),
    "Reclaimed": lambda _: RequeueReasonReclaimed(),
    "NoResult": lambda _: RequeueReasonNoResult(),
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


class ResultsOutcome:
    """gantry_primitives::types::verification::ResultsOutcome.

    One of `ResultsOutcomeAgreed`, `ResultsOutcomeNoAgreement`, `ResultsOutcomeOvertaken`, `ResultsOutcomeNotRepeated`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> ResultsOutcome:
        tag, payload = _variant(plain)
        return _RESULTS_OUTCOME[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class ResultsOutcomeAgreed(ResultsOutcome):
    """ResultsOutcome: Agreed."""

    tag: ClassVar[str] = "Agreed"
    digest: bytes
    exit_code: int

    def encode(self) -> Any:
        return {"Agreed": {"digest": self.digest, "exit_code": self.exit_code}}


@dataclass(frozen=True, slots=True)
class ResultsOutcomeNoAgreement(ResultsOutcome):
    """ResultsOutcome: NoAgreement."""

    tag: ClassVar[str] = "NoAgreement"


@dataclass(frozen=True, slots=True)
class ResultsOutcomeOvertaken(ResultsOutcome):
    """ResultsOutcome: Overtaken."""

    tag: ClassVar[str] = "Overtaken"


@dataclass(frozen=True, slots=True)
class ResultsOutcomeNotRepeated(ResultsOutcome):
    """ResultsOutcome: NotRepeated."""

    tag: ClassVar[str] = "NotRepeated"


_RESULTS_OUTCOME: Final[dict[str, Callable[[Any], ResultsOutcome]]] = {
    "Agreed": lambda p: ResultsOutcomeAgreed(digest=p["digest"], exit_code=p["exit_code"]),
    "NoAgreement": lambda _: ResultsOutcomeNoAgreement(),
    "Overtaken": lambda _: ResultsOutcomeOvertaken(),
    "NotRepeated": lambda _: ResultsOutcomeNotRepeated(),
}


class ResultsPhase(StrEnum):
    """gantry_primitives::types::verification::ResultsPhase."""

    COMMITTING = "Committing"
    REVEALING = "Revealing"
    CLOSED = "Closed"
    TAGGING = "Tagging"
    DRAWING = "Drawing"

    @classmethod
    def decode(cls, plain: Any) -> ResultsPhase:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class ResultsRecord:
    """gantry_primitives::types::verification::ResultsRecord."""

    phase: ResultsPhase
    until: int
    opened_at: int
    wanted: int
    extended: bool
    audit: AuditState
    replicas: tuple[Replica, ...]

    @classmethod
    def decode(cls, plain: Any) -> ResultsRecord:
        return cls(
            phase=ResultsPhase.decode(plain["phase"]),
            until=plain["until"],
            opened_at=plain["opened_at"],
            wanted=plain["wanted"],
            extended=plain["extended"],
            audit=AuditState.decode(plain["audit"]),
            replicas=tuple(Replica.decode(i0) for i0 in plain["replicas"]),
        )

    def encode(self) -> Any:
        return {
            "phase": self.phase.value,
            "until": self.until,
            "opened_at": self.opened_at,
            "wanted": self.wanted,
            "extended": self.extended,
            "audit": self.audit.encode(),
            "replicas": [i0.encode() for i0 in self.replicas],
        }


@dataclass(frozen=True, slots=True)
class Seat:
    """gantry_primitives::types::verification::Seat."""

    who: AccountId
    commitment: bytes | None
    vote: Vote | None

    @classmethod
    def decode(cls, plain: Any) -> Seat:
        return cls(
            who=plain["who"],
            commitment=plain["commitment"],
            vote=None if plain["vote"] is None else Vote.decode(plain["vote"]),
        )

    def encode(self) -> Any:
        return {"who": self.who, "commitment": self.commitment, "vote": None if self.vote is None else self.vote.value}


class Side(StrEnum):
    """pallet_gantry_agreements::types::Side."""

    TENANT = "Tenant"
    PROVIDER = "Provider"

    @classmethod
    def decode(cls, plain: Any) -> Side:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class Sla:
    """gantry_primitives::types::reputation::Sla."""

    promised_ms: int
    met_ms: int

    @classmethod
    def decode(cls, plain: Any) -> Sla:
        return cls(promised_ms=plain["promised_ms"], met_ms=plain["met_ms"])

    def encode(self) -> Any:
        return {"promised_ms": self.promised_ms, "met_ms": self.met_ms}


@dataclass(frozen=True, slots=True)
class SlaTerms:
    """gantry_primitives::types::hosts::SlaTerms."""

    uptime_ppm: int
    start_ms: int
    notice_ms: int
    penalty_ppm: int

    @classmethod
    def decode(cls, plain: Any) -> SlaTerms:
        return cls(
            uptime_ppm=plain["uptime_ppm"],
            start_ms=plain["start_ms"],
            notice_ms=plain["notice_ms"],
            penalty_ppm=plain["penalty_ppm"],
        )

    def encode(self) -> Any:
        return {
            "uptime_ppm": self.uptime_ppm,
            "start_ms": self.start_ms,
            "notice_ms": self.notice_ms,
            "penalty_ppm": self.penalty_ppm,
        }

    def scale(self) -> bytes:
        return compact(self.uptime_ppm) + compact(self.start_ms) + compact(self.notice_ms) + compact(self.penalty_ppm)


@dataclass(frozen=True, slots=True)
class SpecRecord:
    """gantry_primitives::types::tasks::SpecRecord."""

    tenant: AccountId
    spec: TaskSpec
    count: int
    open: int
    kept: int
    manifest_deposit: int
    task_deposit: int

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


@dataclass(frozen=True, slots=True)
class Stake:
    """gantry_primitives::types::verification::Stake."""

    who: AccountId
    amount: int
    fee_paid: int
    side: Vote

    @classmethod
    def decode(cls, plain: Any) -> Stake:
        return cls(
            who=plain["who"],
            amount=plain["amount"],
            fee_paid=plain["fee_paid"],
            side=Vote.decode(plain["side"]),
        )

    def encode(self) -> Any:
        return {"who": self.who, "amount": self.amount, "fee_paid": self.fee_paid, "side": self.side.value}


@dataclass(frozen=True, slots=True)
class StandbyPlace:
    """gantry_primitives::types::leases::StandbyPlace."""

    host: AccountId
    devices: bytes
    rate_per_hour: int

    @classmethod
    def decode(cls, plain: Any) -> StandbyPlace:
        return cls(host=plain["host"], devices=plain["devices"], rate_per_hour=plain["rate_per_hour"])

    def encode(self) -> Any:
        return {"host": self.host, "devices": self.devices, "rate_per_hour": self.rate_per_hour}


@dataclass(frozen=True, slots=True)
class StorageDeposit:
    """gantry_primitives::types::billing::StorageDeposit."""

    held: int
    since: int

    @classmethod
    def decode(cls, plain: Any) -> StorageDeposit:
        return cls(held=plain["held"], since=plain["since"])

    def encode(self) -> Any:
        return {"held": self.held, "since": self.since}


class Subject:
    """pallet_gantry_agreements::types::Subject.

    One of `SubjectProvider`, `SubjectHost`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> Subject:
        tag, payload = _variant(plain)
        return _SUBJECT[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class SubjectProvider(Subject):
    """Subject: Provider."""

    tag: ClassVar[str] = "Provider"
    value: AccountId

    def encode(self) -> Any:
        return {"Provider": self.value}


@dataclass(frozen=True, slots=True)
class SubjectHost(Subject):
    """Subject: Host."""

    tag: ClassVar[str] = "Host"
    value: AccountId

    def encode(self) -> Any:
        return {"Host": self.value}


_SUBJECT: Final[dict[str, Callable[[Any], Subject]]] = {
    "Provider": lambda p: SubjectProvider(value=p),
    "Host": lambda p: SubjectHost(value=p),
}


class Survival(StrEnum):
    """gantry_primitives::types::tasks::Survival."""

    RESTART = "Restart"
    MOVE = "Move"
    STANDBY = "Standby"

    @classmethod
    def decode(cls, plain: Any) -> Survival:
        return cls(plain)


class SuspendReason(StrEnum):
    """gantry_primitives::types::hosts::SuspendReason."""

    BY_ROOT = "ByRoot"
    FAILED_CHALLENGE = "FailedChallenge"
    SLASHED = "Slashed"
    HARDWARE_CHANGED = "HardwareChanged"

    @classmethod
    def decode(cls, plain: Any) -> SuspendReason:
        return cls(plain)


class TaskKind(StrEnum):
    """gantry_primitives::types::tasks::TaskKind."""

    JOB = "Job"
    SERVICE = "Service"
    RENTAL = "Rental"

    @classmethod
    def decode(cls, plain: Any) -> TaskKind:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """gantry_primitives::types::tasks::TaskRecord."""

    first: int
    tenant: AccountId
    state: TaskState
    generation: int
    attempts: tuple[Attempt, ...]
    pods_wanted: int
    submitted_at: int
    changed_at: int
    preemption: Preemption | None
    notice: NoticeState
    leases: tuple[Lease, ...]
    checkpoints: tuple[PodCheckpoint, ...]

    @classmethod
    def decode(cls, plain: Any) -> TaskRecord:
        return cls(
            first=plain["first"],
            tenant=plain["tenant"],
            state=TaskState.decode(plain["state"]),
            generation=plain["generation"],
            attempts=tuple(Attempt.decode(i0) for i0 in plain["attempts"]),
            pods_wanted=plain["pods_wanted"],
            submitted_at=plain["submitted_at"],
            changed_at=plain["changed_at"],
            preemption=None if plain["preemption"] is None else Preemption.decode(plain["preemption"]),
            notice=NoticeState.decode(plain["notice"]),
            leases=tuple(Lease.decode(i0) for i0 in plain["leases"]),
            checkpoints=tuple(PodCheckpoint.decode(i0) for i0 in plain["checkpoints"]),
        )

    def encode(self) -> Any:
        return {
            "first": self.first,
            "tenant": self.tenant,
            "state": self.state.encode(),
            "generation": self.generation,
            "attempts": [i0.encode() for i0 in self.attempts],
            "pods_wanted": self.pods_wanted,
            "submitted_at": self.submitted_at,
            "changed_at": self.changed_at,
            "preemption": None if self.preemption is None else self.preemption.encode(),
            "notice": self.notice.encode(),
            "leases": [i0.encode() for i0 in self.leases],
            "checkpoints": [i0.encode() for i0 in self.checkpoints],
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
    data_from: int | None
    spot: bool
    survival: Survival

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
            spot=plain["spot"],
            survival=Survival.decode(plain["survival"]),
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
            "spot": self.spot,
            "survival": self.survival.value,
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


@dataclass(frozen=True, slots=True)
class TaskStateQueued(TaskState):
    """TaskState: Queued."""

    tag: ClassVar[str] = "Queued"


@dataclass(frozen=True, slots=True)
class TaskStateAssigned(TaskState):
    """TaskState: Assigned."""

    tag: ClassVar[str] = "Assigned"


@dataclass(frozen=True, slots=True)
class TaskStateRunning(TaskState):
    """TaskState: Running."""

    tag: ClassVar[str] = "Running"


@dataclass(frozen=True, slots=True)
class TaskStateReported(TaskState):
    """TaskState: Reported."""

    tag: ClassVar[str] = "Reported"


@dataclass(frozen=True, slots=True)
class TaskStateVerified(TaskState):
    """TaskState: Verified."""

    tag: ClassVar[str] = "Verified"


@dataclass(frozen=True, slots=True)
class TaskStateSettled(TaskState):
    """TaskState: Settled."""

    tag: ClassVar[str] = "Settled"


@dataclass(frozen=True, slots=True)
class TaskStateDisputed(TaskState):
    """TaskState: Disputed."""

    tag: ClassVar[str] = "Disputed"


@dataclass(frozen=True, slots=True)
class TaskStateExpired(TaskState):
    """TaskState: Expired."""

    tag: ClassVar[str] = "Expired"


@dataclass(frozen=True, slots=True)
class TaskStateCancelled(TaskState):
    """TaskState: Cancelled."""

    tag: ClassVar[str] = "Cancelled"


@dataclass(frozen=True, slots=True)
class TaskStateFailed(TaskState):
    """TaskState: Failed."""

    tag: ClassVar[str] = "Failed"
    value: FailReason

    def encode(self) -> Any:
        return {"Failed": self.value.value}


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


@dataclass(frozen=True, slots=True)
class TasksParams:
    """pallet_gantry_tasks::types::Params."""

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
    preemption_notice_ms: int
    poor_ppm: int
    checkpoint_min_ms: int
    min_charge_ms: int
    max_replicas: int
    report_grace_ms: int
    max_refusals: int
    refusal_fee: int
    scheduler_unbonding_ms: int
    scheduler_penalty_ppm: int
    evidence_ms: int
    offer_known_ms: int
    deposit_per_pod: int
    audit_surcharge_ppm: int

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
            preemption_notice_ms=plain["preemption_notice_ms"],
            poor_ppm=plain["poor_ppm"],
            checkpoint_min_ms=plain["checkpoint_min_ms"],
            min_charge_ms=plain["min_charge_ms"],
            max_replicas=plain["max_replicas"],
            report_grace_ms=plain["report_grace_ms"],
            max_refusals=plain["max_refusals"],
            refusal_fee=plain["refusal_fee"],
            scheduler_unbonding_ms=plain["scheduler_unbonding_ms"],
            scheduler_penalty_ppm=plain["scheduler_penalty_ppm"],
            evidence_ms=plain["evidence_ms"],
            offer_known_ms=plain["offer_known_ms"],
            deposit_per_pod=plain["deposit_per_pod"],
            audit_surcharge_ppm=plain["audit_surcharge_ppm"],
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
            "preemption_notice_ms": self.preemption_notice_ms,
            "poor_ppm": self.poor_ppm,
            "checkpoint_min_ms": self.checkpoint_min_ms,
            "min_charge_ms": self.min_charge_ms,
            "max_replicas": self.max_replicas,
            "report_grace_ms": self.report_grace_ms,
            "max_refusals": self.max_refusals,
            "refusal_fee": self.refusal_fee,
            "scheduler_unbonding_ms": self.scheduler_unbonding_ms,
            "scheduler_penalty_ppm": self.scheduler_penalty_ppm,
            "evidence_ms": self.evidence_ms,
            "offer_known_ms": self.offer_known_ms,
            "deposit_per_pod": self.deposit_per_pod,
            "audit_surcharge_ppm": self.audit_surcharge_ppm,
        }


@dataclass(frozen=True, slots=True)
class TenantScore:
    """gantry_primitives::types::reputation::TenantScore."""

    settled: Beta
    disputes: Beta
    updated_at: int

    @classmethod
    def decode(cls, plain: Any) -> TenantScore:
        return cls(
            settled=Beta.decode(plain["settled"]),
            disputes=Beta.decode(plain["disputes"]),
            updated_at=plain["updated_at"],
        )

    def encode(self) -> Any:
        return {"settled": self.settled.encode(), "disputes": self.disputes.encode(), "updated_at": self.updated_at}


@dataclass(frozen=True, slots=True)
class TicketRecord:
    """pallet_gantry_agreements::types::TicketRecord."""

    lease: int
    tenant: AccountId
    host: AccountId
    provider: AccountId
    messages: tuple[Message, ...]
    closed: Side | None
    respond_until: int
    counts: bool
    in_time: bool | None
    deposit: int
    due_at: int

    @classmethod
    def decode(cls, plain: Any) -> TicketRecord:
        return cls(
            lease=plain["lease"],
            tenant=plain["tenant"],
            host=plain["host"],
            provider=plain["provider"],
            messages=tuple(Message.decode(i0) for i0 in plain["messages"]),
            closed=None if plain["closed"] is None else Side.decode(plain["closed"]),
            respond_until=plain["respond_until"],
            counts=plain["counts"],
            in_time=plain["in_time"],
            deposit=plain["deposit"],
            due_at=plain["due_at"],
        )

    def encode(self) -> Any:
        return {
            "lease": self.lease,
            "tenant": self.tenant,
            "host": self.host,
            "provider": self.provider,
            "messages": [i0.encode() for i0 in self.messages],
            "closed": None if self.closed is None else self.closed.value,
            "respond_until": self.respond_until,
            "counts": self.counts,
            "in_time": self.in_time,
            "deposit": self.deposit,
            "due_at": self.due_at,
        }


class Tier(StrEnum):
    """gantry_primitives::types::hosts::Tier."""

    CONSUMER = "Consumer"
    PROFESSIONAL = "Professional"
    DATACENTER = "Datacenter"

    @classmethod
    def decode(cls, plain: Any) -> Tier:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Consumer": 0, "Professional": 1, "Datacenter": 2}[self.value]])


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


@dataclass(frozen=True, slots=True)
class UsedWeight:
    """pallet_gantry_hosts::free_calls::UsedWeight."""

    period: int
    ref_time: int

    @classmethod
    def decode(cls, plain: Any) -> UsedWeight:
        return cls(period=plain["period"], ref_time=plain["ref_time"])

    def encode(self) -> Any:
        return {"period": self.period, "ref_time": self.ref_time}


@dataclass(frozen=True, slots=True)
class ValidResults:
    """gantry_primitives::types::verification::ValidResults."""

    generation: int
    count: int

    @classmethod
    def decode(cls, plain: Any) -> ValidResults:
        return cls(generation=plain["generation"], count=plain["count"])

    def encode(self) -> Any:
        return {"generation": self.generation, "count": self.count}


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


class VerificationHoldReason(StrEnum):
    """pallet_gantry_verification::pallet::HoldReason."""

    VERIFIER_BOND = "VerifierBond"
    CHALLENGE_FEE = "ChallengeFee"
    DISPUTE_STAKE = "DisputeStake"

    @classmethod
    def decode(cls, plain: Any) -> VerificationHoldReason:
        return cls(plain)


@dataclass(frozen=True, slots=True)
class VerificationParams:
    """pallet_gantry_verification::types::Params."""

    verifier_bond: int
    unbonding_ms: int
    absence_penalty: int
    minority_penalty: int
    committee_size: int
    challenge_fee: int
    challenge_rest_ms: int
    answer_ms: int
    challenge_commit_ms: int
    challenge_reveal_ms: int
    result_commit_ms: int
    result_reveal_ms: int
    jury_size: int
    appeal_jury_size: int
    dispute_stake: int
    jury_fee: int
    hearing_ms: int
    dispute_commit_ms: int
    dispute_reveal_ms: int
    appeal_ms: int
    miss_period_ms: int
    min_verifiers: int
    replica_slash_deposits: int
    slash_to_tenant_ppm: int
    slash_to_hosts_ppm: int
    audit_valid_results: int
    audit_min_ppm: int
    audit_slash_deposits: int

    @classmethod
    def decode(cls, plain: Any) -> VerificationParams:
        return cls(
            verifier_bond=plain["verifier_bond"],
            unbonding_ms=plain["unbonding_ms"],
            absence_penalty=plain["absence_penalty"],
            minority_penalty=plain["minority_penalty"],
            committee_size=plain["committee_size"],
            challenge_fee=plain["challenge_fee"],
            challenge_rest_ms=plain["challenge_rest_ms"],
            answer_ms=plain["answer_ms"],
            challenge_commit_ms=plain["challenge_commit_ms"],
            challenge_reveal_ms=plain["challenge_reveal_ms"],
            result_commit_ms=plain["result_commit_ms"],
            result_reveal_ms=plain["result_reveal_ms"],
            jury_size=plain["jury_size"],
            appeal_jury_size=plain["appeal_jury_size"],
            dispute_stake=plain["dispute_stake"],
            jury_fee=plain["jury_fee"],
            hearing_ms=plain["hearing_ms"],
            dispute_commit_ms=plain["dispute_commit_ms"],
            dispute_reveal_ms=plain["dispute_reveal_ms"],
            appeal_ms=plain["appeal_ms"],
            miss_period_ms=plain["miss_period_ms"],
            min_verifiers=plain["min_verifiers"],
            replica_slash_deposits=plain["replica_slash_deposits"],
            slash_to_tenant_ppm=plain["slash_to_tenant_ppm"],
            slash_to_hosts_ppm=plain["slash_to_hosts_ppm"],
            audit_valid_results=plain["audit_valid_results"],
            audit_min_ppm=plain["audit_min_ppm"],
            audit_slash_deposits=plain["audit_slash_deposits"],
        )

    def encode(self) -> Any:
        return {
            "verifier_bond": self.verifier_bond,
            "unbonding_ms": self.unbonding_ms,
            "absence_penalty": self.absence_penalty,
            "minority_penalty": self.minority_penalty,
            "committee_size": self.committee_size,
            "challenge_fee": self.challenge_fee,
            "challenge_rest_ms": self.challenge_rest_ms,
            "answer_ms": self.answer_ms,
            "challenge_commit_ms": self.challenge_commit_ms,
            "challenge_reveal_ms": self.challenge_reveal_ms,
            "result_commit_ms": self.result_commit_ms,
            "result_reveal_ms": self.result_reveal_ms,
            "jury_size": self.jury_size,
            "appeal_jury_size": self.appeal_jury_size,
            "dispute_stake": self.dispute_stake,
            "jury_fee": self.jury_fee,
            "hearing_ms": self.hearing_ms,
            "dispute_commit_ms": self.dispute_commit_ms,
            "dispute_reveal_ms": self.dispute_reveal_ms,
            "appeal_ms": self.appeal_ms,
            "miss_period_ms": self.miss_period_ms,
            "min_verifiers": self.min_verifiers,
            "replica_slash_deposits": self.replica_slash_deposits,
            "slash_to_tenant_ppm": self.slash_to_tenant_ppm,
            "slash_to_hosts_ppm": self.slash_to_hosts_ppm,
            "audit_valid_results": self.audit_valid_results,
            "audit_min_ppm": self.audit_min_ppm,
            "audit_slash_deposits": self.audit_slash_deposits,
        }


class VerificationPolicy:
    """gantry_primitives::types::tasks::VerificationPolicy.

    One of `VerificationPolicyAcceptance`, `VerificationPolicyRedundant`, `VerificationPolicyAudit`.
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


@dataclass(frozen=True, slots=True)
class VerificationPolicyAcceptance(VerificationPolicy):
    """VerificationPolicy: Acceptance."""

    tag: ClassVar[str] = "Acceptance"


@dataclass(frozen=True, slots=True)
class VerificationPolicyRedundant(VerificationPolicy):
    """VerificationPolicy: Redundant."""

    tag: ClassVar[str] = "Redundant"
    replicas: int

    def encode(self) -> Any:
        return {"Redundant": {"replicas": self.replicas}}


@dataclass(frozen=True, slots=True)
class VerificationPolicyAudit(VerificationPolicy):
    """VerificationPolicy: Audit."""

    tag: ClassVar[str] = "Audit"


_VERIFICATION_POLICY: Final[dict[str, Callable[[Any], VerificationPolicy]]] = {
    "Acceptance": lambda _: VerificationPolicyAcceptance(),
    "Redundant": lambda p: VerificationPolicyRedundant(replicas=p["replicas"]),
    "Audit": lambda _: VerificationPolicyAudit(),
}


@dataclass(frozen=True, slots=True)
class VerifierRecord:
    """gantry_primitives::types::verification::VerifierRecord."""

    bond: int
    status: VerifierStatus
    duties: int

    @classmethod
    def decode(cls, plain: Any) -> VerifierRecord:
        return cls(bond=plain["bond"], status=VerifierStatus.decode(plain["status"]), duties=plain["duties"])

    def encode(self) -> Any:
        return {"bond": self.bond, "status": self.status.encode(), "duties": self.duties}


class VerifierStatus:
    """gantry_primitives::types::verification::VerifierStatus.

    One of `VerifierStatusActive`, `VerifierStatusLeaving`.
    """

    __slots__ = ()
    tag: ClassVar[str]
    """The variant's name on the chain."""

    @staticmethod
    def decode(plain: Any) -> VerifierStatus:
        tag, payload = _variant(plain)
        return _VERIFIER_STATUS[tag](payload)

    def encode(self) -> Any:
        return self.tag


@dataclass(frozen=True, slots=True)
class VerifierStatusActive(VerifierStatus):
    """VerifierStatus: Active."""

    tag: ClassVar[str] = "Active"


@dataclass(frozen=True, slots=True)
class VerifierStatusLeaving(VerifierStatus):
    """VerifierStatus: Leaving."""

    tag: ClassVar[str] = "Leaving"
    value: int

    def encode(self) -> Any:
        return {"Leaving": self.value}


_VERIFIER_STATUS: Final[dict[str, Callable[[Any], VerifierStatus]]] = {
    "Active": lambda _: VerifierStatusActive(),
    "Leaving": lambda p: VerifierStatusLeaving(value=p),
}


class VoidReason(StrEnum):
    """pallet_gantry_agreements::types::VoidReason."""

    EXPIRED = "Expired"
    REVOKED = "Revoked"
    BY_GOVERNANCE = "ByGovernance"
    FOUND_WRONG = "FoundWrong"

    @classmethod
    def decode(cls, plain: Any) -> VoidReason:
        return cls(plain)


class Vote(StrEnum):
    """gantry_primitives::types::verification::Vote."""

    YES = "Yes"
    NO = "No"

    @classmethod
    def decode(cls, plain: Any) -> Vote:
        return cls(plain)

    def scale(self) -> bytes:
        return bytes([{"Yes": 0, "No": 1}[self.value]])


class calls:
    """Calls of our pallets: `calls.pallet_function(argument=...)`."""

    @staticmethod
    def validators_add(*, who: AccountId) -> Call:
        """Add an account that has session keys to the list. It validates from the session after the next on."""
        return Call("Validators", "add", {"who": who})

    @staticmethod
    def validators_remove(*, who: AccountId) -> Call:
        """Remove an account from the list. It validates until the session after the next begins."""
        return Call("Validators", "remove", {"who": who})

    @staticmethod
    def governance_enact(*, call: Any) -> Call:
        """Have a call carried out as root once the delay is over."""
        return Call("Governance", "enact", {"call": call})

    @staticmethod
    def governance_cancel(*, id: int) -> Call:
        """Stop a call that waits."""
        return Call("Governance", "cancel", {"id": id})

    @staticmethod
    def governance_set_params(*, params: GovernanceParams) -> Call:
        """Change the periods of this pallet. By root alone, so that the delay cannot be shortened without waiting for it."""
        return Call("Governance", "set_params", {"params": params.encode()})

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
        """A heartbeat of the calling host. Free of charge for the first time and when half a heartbeat period has
        passed since the last.
        """
        return Call("Hosts", "heartbeat", {})

    @staticmethod
    def hosts_heartbeat_batch(*, hosts: Sequence[AccountId]) -> Call:
        """Heartbeats of these hosts, in ascending order, by their provider. Free of charge if a heartbeat of each of
        them is due.
        """
        return Call("Hosts", "heartbeat_batch", {"hosts": list(hosts)})

    @staticmethod
    def hosts_set_endpoint(*, endpoint: bytes) -> Call:
        """Change the endpoint of the calling host. Free of charge if it differs and a heartbeat period has passed
        since the last change.
        """
        return Call("Hosts", "set_endpoint", {"endpoint": endpoint})

    @staticmethod
    def hosts_set_ask(*, host: AccountId, ask: Ask) -> Call:
        """Give a host of the caller another price list. Leases keep the rate they were opened at."""
        return Call("Hosts", "set_ask", {"host": host, "ask": ask.encode()})

    @staticmethod
    def hosts_drain(*, host: AccountId) -> Call:
        """Drain a host of the caller: it finishes its leases and takes no new ones."""
        return Call("Hosts", "drain", {"host": host})

    @staticmethod
    def hosts_undrain(*, host: AccountId) -> Call:
        """A draining host of the caller takes new leases again."""
        return Call("Hosts", "undrain", {"host": host})

    @staticmethod
    def hosts_retire(*, host: AccountId) -> Call:
        """Retire a host of the caller. It must have no live leases, and its bond is held for the unbonding period: see
        `withdraw_bond`.
        """
        return Call("Hosts", "retire", {"host": host})

    @staticmethod
    def hosts_report_absent(*, host: AccountId) -> Call:
        """Report a host that was silent for longer than the absence limit. The caller gets a bounty from its bond,
        unless it is its provider; as much again goes to the treasury.
        """
        return Call("Hosts", "report_absent", {"host": host})

    @staticmethod
    def hosts_verify(*, host: AccountId) -> Call:
        """Let an unverified host come online. By the admin origin."""
        return Call("Hosts", "verify", {"host": host})

    @staticmethod
    def hosts_suspend(*, host: AccountId) -> Call:
        """Suspend a host: it takes no new leases, and its present leases continue. By the admin origin."""
        return Call("Hosts", "suspend", {"host": host})

    @staticmethod
    def hosts_unsuspend(*, host: AccountId) -> Call:
        """Let a suspended host come online again with its next heartbeat. By the admin origin."""
        return Call("Hosts", "unsuspend", {"host": host})

    @staticmethod
    def hosts_set_params(*, params: HostsParams) -> Call:
        """Change the periods and amounts of this pallet. By the admin origin."""
        return Call("Hosts", "set_params", {"params": params.encode()})

    @staticmethod
    def hosts_withdraw_bond(*, host: AccountId) -> Call:
        """The provider of a retiring host gets its bond back when the unbonding period is over. The host is retired
        then, and its key is not used again.
        """
        return Call("Hosts", "withdraw_bond", {"host": host})

    @staticmethod
    def hosts_top_up_bond(*, host: AccountId, amount: int) -> Call:
        """Add to the bond of a host of the caller. A host that was suspended because slashes left too little may come
        online again once its bond is whole.
        """
        return Call("Hosts", "top_up_bond", {"host": host, "amount": amount})

    @staticmethod
    def hosts_set_device_health(*, unhealthy: bytes) -> Call:
        """The calling host says which of its devices are out of order and take no new lease; all others are in order.
        Free of charge when that changes something and a heartbeat period has passed since the last change.
        """
        return Call("Hosts", "set_device_health", {"unhealthy": unhealthy})

    @staticmethod
    def hosts_change_hardware(*, host: AccountId, hardware: HardwareSpec, host_signature: bytes) -> Call:
        """Register a host of the caller as it is now. It must have no live leases; what its bond lacks is held, and it
        must be verified again. `host_signature` is by the host's key over the content (see docs/protocol.md).
        """
        return Call("Hosts", "change_hardware", {
            "host": host,
            "hardware": hardware.encode(),
            "host_signature": host_signature,
        })

    @staticmethod
    def hosts_set_network(*, down_mbps: int, up_mbps: int, latency_ms: int) -> Call:
        """The calling host says how fast its network is, as it measured it; `latency_ms` is 0 where it knows none. Free
        of charge when one differs by more than a tenth from what the chain has and a heartbeat period has passed
        since the last time.
        """
        return Call("Hosts", "set_network", {"down_mbps": down_mbps, "up_mbps": up_mbps, "latency_ms": latency_ms})

    @staticmethod
    def tasks_submit(*, spec: TaskSpec, manifest: bytes) -> Call:
        """Submit a task. Deposits are held for its manifest until it is final and for itself until it is pruned; what
        its pods may cost must be there, too.
        """
        return Call("Tasks", "submit", {"spec": spec.encode(), "manifest": manifest})

    @staticmethod
    def tasks_assign(*, task: int, pods: Sequence[PodPlacement]) -> Call:
        """Assign pods to hosts: all of a queued task, or any that a service or replicas miss. All that are named are
        assigned or none, and none at a higher rate than its placement names. By a bonded scheduler, or by the
        tenant.
        """
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
        """The calling host cannot run the pod of a lease. Free of charge when valid."""
        return Call("Tasks", "report_failed", {"lease": lease, "reason": reason.value})

    @staticmethod
    def tasks_requeue(*, lease: int) -> Call:
        """Requeue the pod of a lease that did not start in time or whose host is lost. By any account."""
        return Call("Tasks", "requeue", {"lease": lease})

    @staticmethod
    def tasks_expire_lease(*, lease: int) -> Call:
        """End a lease that has used its duration or its deposit. By any account. The pod of a job then has no result
        and is not paid, and the call is possible only after `report_grace_ms`.
        """
        return Call("Tasks", "expire_lease", {"lease": lease})

    @staticmethod
    def tasks_cancel(*, task: int) -> Call:
        """Cancel a task of the caller. Pods that ran are paid."""
        return Call("Tasks", "cancel", {"task": task})

    @staticmethod
    def tasks_expire(*, task: int) -> Call:
        """End a task that is still queued after its deadline. By any account."""
        return Call("Tasks", "expire", {"task": task})

    @staticmethod
    def tasks_accept_result(*, task: int) -> Call:
        """Accept the result of a task of the caller before the dispute window passes."""
        return Call("Tasks", "accept_result", {"task": task})

    @staticmethod
    def tasks_settle(*, task: int) -> Call:
        """Settle a task whose result is accepted, or whose dispute window has passed: all parties are paid. By any
        account.
        """
        return Call("Tasks", "settle", {"task": task})

    @staticmethod
    def tasks_bond_scheduler() -> Call:
        """Become a scheduler: the bond is held, and the caller may assign tasks of others. A scheduler that is leaving
        becomes active again.
        """
        return Call("Tasks", "bond_scheduler", {})

    @staticmethod
    def tasks_unbond_scheduler() -> Call:
        """Cease to be a scheduler. The bond stays held for the unbonding period; the same call releases it afterwards."""
        return Call("Tasks", "unbond_scheduler", {})

    @staticmethod
    def tasks_set_params(*, params: TasksParams) -> Call:
        """Change the periods and amounts of this pallet. By whoever governs the chain."""
        return Call("Tasks", "set_params", {"params": params.encode()})

    @staticmethod
    def tasks_submit_array(*, spec: TaskSpec, manifest: bytes, count: int) -> Call:
        """Submit `count` jobs of one spec and manifest, 1 to 4,096. They get numbers that follow one another; each is
        a task of its own.
        """
        return Call("Tasks", "submit_array", {"spec": spec.encode(), "manifest": manifest, "count": count})

    @staticmethod
    def tasks_assign_batch(*, assignments: Sequence[tuple[int, Sequence[PodPlacement]]]) -> Call:
        """Assign the pods of many tasks. Each task succeeds or is refused independently. By a bonded scheduler."""
        return Call("Tasks", "assign_batch", {"assignments": [(i0[0], [i1.encode() for i1 in i0[1]]) for i0 in assignments]})

    @staticmethod
    def tasks_report_batch(*, reports: Sequence[tuple[int, Report]]) -> Call:
        """Reports of the calling host about many of its leases. Each report succeeds or is refused independently; a
        refused one is fined. Free of charge if the batch is not longer than the list of the host's leases and its
        bond covers the fines for all.
        """
        return Call("Tasks", "report_batch", {"reports": [(i0[0], i0[1].encode()) for i0 in reports]})

    @staticmethod
    def tasks_settle_batch(*, tasks: Sequence[int]) -> Call:
        """Settle many tasks. Each task succeeds or is refused independently. By any account."""
        return Call("Tasks", "settle_batch", {"tasks": list(tasks)})

    @staticmethod
    def tasks_prune(*, tasks: Sequence[int]) -> Call:
        """Prune final tasks: only a digest of them remains, and their deposits are released. Each task succeeds or is
        refused independently. By any account.
        """
        return Call("Tasks", "prune", {"tasks": list(tasks)})

    @staticmethod
    def tasks_scale(*, task: int, pods: int) -> Call:
        """Scale a service of the caller to another number of pods, within the limits of its spec."""
        return Call("Tasks", "scale", {"task": task, "pods": pods})

    @staticmethod
    def tasks_end(*, task: int) -> Call:
        """End a running service or rental of the caller. It is paid for after the dispute window; the data of a rental
        is retained for a while.
        """
        return Call("Tasks", "end", {"task": task})

    @staticmethod
    def tasks_rate(*, lease: int, stars: int) -> Call:
        """Rate a lease of a settled task of the caller with 1 to 5 stars, once."""
        return Call("Tasks", "rate", {"lease": lease, "stars": stars})

    @staticmethod
    def tasks_report(*, lease: int, report: Report) -> Call:
        """A report of the calling host about a lease of its own. Free of charge when valid."""
        return Call("Tasks", "report", {"lease": lease, "report": report.encode()})

    @staticmethod
    def tasks_preempt(*, wanting: int, victims: Sequence[int], pods: Sequence[PodPlacement]) -> Call:
        """Give running spot tasks of lower priority a preemption notice in favour of a queued task, whose pods fit in
        their place. They continue until the notice is over. By a bonded scheduler.
        """
        return Call("Tasks", "preempt", {
            "wanting": wanting,
            "victims": list(victims),
            "pods": [i0.encode() for i0 in pods],
        })

    @staticmethod
    def tasks_finish_preemption(*, wanting: int) -> Call:
        """Finish a preemption whose notice is over: the victims are paid until now and queued again, and the queued
        task is assigned in their place. If its pods do not fit, the notice is void and no task is evicted. By any
        account.
        """
        return Call("Tasks", "finish_preemption", {"wanting": wanting})

    @staticmethod
    def tasks_name_standby(*, lease: int, host: AccountId, devices: bytes, rate_per_hour: int) -> Call:
        """Name the standby of a live lease, to which its pod migrates if its host fails: a host of another provider,
        where it fits now at no higher rate than is named. By a bonded scheduler, or by the tenant.
        """
        return Call("Tasks", "name_standby", {
            "lease": lease,
            "host": host,
            "devices": devices,
            "rate_per_hour": rate_per_hour,
        })

    @staticmethod
    def tasks_move_pod(*, lease: int, host: AccountId, devices: bytes, rate_per_hour: int) -> Call:
        """Move the pod of a live lease to another host: the lease is paid, and the rest of its deposit becomes that of
        a new one. By the tenant; or by a bonded scheduler while the host is not healthy. The rate of the other host
        must not be above that which is named.
        """
        return Call("Tasks", "move_pod", {
            "lease": lease,
            "host": host,
            "devices": devices,
            "rate_per_hour": rate_per_hour,
        })

    @staticmethod
    def tasks_report_self_assignment(*, lease: int, host: AccountId, devices: bytes) -> Call:
        """Prove that the scheduler of a lease placed the only pod of a task on a host of its own although it would have
        fitted on another, on these devices, where it costs at least a tenth less and the score is no lower. The
        scheduler loses a part of its bond: half of it goes to the tenant. By anyone.
        """
        return Call("Tasks", "report_self_assignment", {"lease": lease, "host": host, "devices": devices})

    @staticmethod
    def tasks_publish_queues(*, digest: bytes | None) -> Call:
        """Publish the digest of the queue definitions by which the caller orders tasks, or withdraw it. By a bonded
        scheduler.
        """
        return Call("Tasks", "publish_queues", {"digest": digest})

    @staticmethod
    def leases_extend(*, lease: int, ms: int) -> Call:
        """Buy `ms` milliseconds more for a service or rental of the caller, at its present rate."""
        return Call("Leases", "extend", {"lease": lease, "ms": ms})

    @staticmethod
    def leases_top_up(*, lease: int, amount: int) -> Call:
        """Deposit more coins for a service or rental of the caller. It continues until they are used up."""
        return Call("Leases", "top_up", {"lease": lease, "amount": amount})

    @staticmethod
    def leases_suspend(*, lease: int) -> Call:
        """Stop the machine of a rental of the caller. Its disk is retained at the host's storage price; its other
        resources are released.
        """
        return Call("Leases", "suspend", {"lease": lease})

    @staticmethod
    def leases_resume(*, lease: int) -> Call:
        """Start the machine of a suspended rental of the caller again, at its former rate. Fails if the resources of
        the host are not free.
        """
        return Call("Leases", "resume", {"lease": lease})

    @staticmethod
    def leases_reclaim(*, lease: int) -> Call:
        """Give notice that the provider reclaims the resources of a service or rental. By the provider of its host."""
        return Call("Leases", "reclaim", {"lease": lease})

    @staticmethod
    def leases_finish_reclaim(*, lease: int) -> Call:
        """End a lease whose provider's notice is over. By any account. The agenda does it, too."""
        return Call("Leases", "finish_reclaim", {"lease": lease})

    @staticmethod
    def leases_settle(*, lease: int) -> Call:
        """Pay the amount that a running service or rental owes, or the amount due for its retained data, except for
        the last period, which is held back. By any account.
        """
        return Call("Leases", "settle", {"lease": lease})

    @staticmethod
    def leases_close_depleted(*, lease: int) -> Call:
        """End a service or rental whose deposit is used up. By any account; there is a bounty if the agenda had a
        minute to do it and the caller is none of the parties.
        """
        return Call("Leases", "close_depleted", {"lease": lease})

    @staticmethod
    def leases_keep(*, lease: int, ms: int, max_rate_per_hour: int) -> Call:
        """Extend the retention of the data of an ended rental of the caller by `ms` milliseconds, at the host's
        present storage price, which must be at most `max_rate_per_hour`. The coins are held, and paid as the time
        passes.
        """
        return Call("Leases", "keep", {"lease": lease, "ms": ms, "max_rate_per_hour": max_rate_per_hour})

    @staticmethod
    def leases_release_data(*, lease: int) -> Call:
        """The data of an ended rental of the caller is no longer needed: the host may purge it."""
        return Call("Leases", "release_data", {"lease": lease})

    @staticmethod
    def leases_crank(*, limit: int) -> Call:
        """Process up to `limit` due entries of the agenda, at most 256. By any account."""
        return Call("Leases", "crank", {"limit": limit})

    @staticmethod
    def leases_set_params(*, params: LeasesParams) -> Call:
        """Change the periods of this pallet. By the admin origin."""
        return Call("Leases", "set_params", {"params": params.encode()})

    @staticmethod
    def billing_set_params(*, params: BillingParams) -> Call:
        """Change the amounts and periods of this pallet. By the admin origin."""
        return Call("Billing", "set_params", {"params": params.encode()})

    @staticmethod
    def verification_bond_verifier() -> Call:
        """Become a verifier, come back as one, or bring the caller's bond up to what is asked for."""
        return Call("Verification", "bond_verifier", {})

    @staticmethod
    def verification_unbond_verifier() -> Call:
        """Leave the list of verifiers. The present duties of the caller continue."""
        return Call("Verification", "unbond_verifier", {})

    @staticmethod
    def verification_withdraw_verifier_bond() -> Call:
        """Release the bond, after its period has passed and if no duties are left."""
        return Call("Verification", "withdraw_verifier_bond", {})

    @staticmethod
    def verification_open_challenge(*, host: AccountId, device: int, lease: int | None) -> Call:
        """Ask a host that answers challenges to prove that a device of it is real. By a verifier or by the host's
        provider, who pays the committee, or by root. A device that is leased is challenged only by the tenant, who
        names the `lease` and agrees that the host takes the device away from the pod while it computes its proof.
        """
        return Call("Verification", "open_challenge", {"host": host, "device": device, "lease": lease})

    @staticmethod
    def verification_answer(*, challenge: int, digest: bytes, not_after: int) -> Call:
        """The calling host answers a challenge with the SHA-256 of its proof. Free of charge when valid. Refused after
        `not_after`, in milliseconds of the chain's clock: so a call that waited for too long is a missed challenge, and
        not an answer that is judged as late.
        """
        return Call("Verification", "answer", {"challenge": challenge, "digest": digest, "not_after": not_after})

    @staticmethod
    def verification_commit_vote(*, matter: Matter, commitment: bytes) -> Call:
        """A member of the committee of a challenge or of the jury of a dispute binds itself to a vote."""
        return Call("Verification", "commit_vote", {"matter": matter.encode(), "commitment": commitment})

    @staticmethod
    def verification_reveal_vote(*, matter: Matter, vote: Vote, salt: bytes) -> Call:
        """A member of a committee or jury reveals its vote. The last one to do so closes the ballot."""
        return Call("Verification", "reveal_vote", {"matter": matter.encode(), "vote": vote.value, "salt": salt})

    @staticmethod
    def verification_commit_result(*, lease: int, commitment: bytes) -> Call:
        """The calling host binds itself to the result of a pod that is compared with others. Free of charge when
        valid.
        """
        return Call("Verification", "commit_result", {"lease": lease, "commitment": commitment})

    @staticmethod
    def verification_reveal_result(*, lease: int, result: PodResult, salt: bytes) -> Call:
        """The calling host reveals the result that it has committed to. Free of charge when valid."""
        return Call("Verification", "reveal_result", {"lease": lease, "result": result.encode(), "salt": salt})

    @staticmethod
    def verification_open_dispute(*, task: int, accused: Sequence[int], evidence: bytes) -> Call:
        """Open a dispute about the results of these leases of a reported task. By its tenant, or by a verifier whose
        hosts had no part in the task. The caller stakes coins on it.
        """
        return Call("Verification", "open_dispute", {"task": task, "accused": list(accused), "evidence": evidence})

    @staticmethod
    def verification_add_evidence(*, task: int, digest: bytes) -> Call:
        """Name a piece of evidence in a dispute. By its opener, the tenant, or a provider of an accused host."""
        return Call("Verification", "add_evidence", {"task": task, "digest": digest})

    @staticmethod
    def verification_appeal(*, task: int) -> Call:
        """Ask another jury, with twice the stake. By the side that the verdict is against."""
        return Call("Verification", "appeal", {"task": task})

    @staticmethod
    def verification_advance(*, matter: Matter) -> Call:
        """Execute the due steps of a matter that the chain has not executed yet. By anyone."""
        return Call("Verification", "advance", {"matter": matter.encode()})

    @staticmethod
    def verification_set_params(*, params: VerificationParams) -> Call:
        """Change the parameters of this pallet."""
        return Call("Verification", "set_params", {"params": params.encode()})

    @staticmethod
    def verification_tag_result(*, lease: int, tag: bytes) -> Call:
        """The calling host shows the tag of the result that it is bound to, once all have committed. Free of charge when
        valid.
        """
        return Call("Verification", "tag_result", {"lease": lease, "tag": tag})

    @staticmethod
    def agreements_propose(*, provider: AccountId, terms: OfferTerms, until: int) -> Call:
        """Offer a provider a long lease of one pod. The bond of the caller and a deposit for the storage are held."""
        return Call("Agreements", "propose", {"provider": provider, "terms": terms.encode(), "until": until})

    @staticmethod
    def agreements_counter(*, offer: int, terms: OfferTerms, place: Place | None, until: int) -> Call:
        """Answer an open offer with other terms. By the side whose turn it is; a provider names the place."""
        return Call("Agreements", "counter", {
            "offer": offer,
            "terms": terms.encode(),
            "place": None if place is None else place.encode(),
            "until": until,
        })

    @staticmethod
    def agreements_accept(*, offer: int, place: Place | None) -> Call:
        """Accept an open offer: the place is reserved, and both sides are bound. By the side whose turn it is; a provider
        names the place.
        """
        return Call("Agreements", "accept", {"offer": offer, "place": None if place is None else place.encode()})

    @staticmethod
    def agreements_decline(*, offer: int) -> Call:
        """Withdraw or refuse an open offer. By either side."""
        return Call("Agreements", "decline", {"offer": offer})

    @staticmethod
    def agreements_begin(*, offer: int, spec: TaskSpec, manifest: bytes) -> Call:
        """Submit the task of an accepted offer, and open its lease at the reserved place for the agreed price. By the
        tenant, within the agreed time.
        """
        return Call("Agreements", "begin", {"offer": offer, "spec": spec.encode(), "manifest": manifest})

    @staticmethod
    def agreements_report_unavailable(*, offer: int) -> Call:
        """Report that the host of an accepted offer cannot take the pod now. By the tenant, within the time for the
        begin: then the tenant has not broken the agreement.
        """
        return Call("Agreements", "report_unavailable", {"offer": offer})

    @staticmethod
    def agreements_conclude(*, offer: int) -> Call:
        """Close an agreement whose lease has ended, and move the bond of the side that ended it early. By anyone; the
        agenda does it, too.
        """
        return Call("Agreements", "conclude", {"offer": offer})

    @staticmethod
    def agreements_open_ticket(*, lease: int, digest: bytes) -> Call:
        """Open a ticket on a lease of the caller. A deposit is held until it is removed."""
        return Call("Agreements", "open_ticket", {"lease": lease, "digest": digest})

    @staticmethod
    def agreements_answer_ticket(*, ticket: int, digest: bytes) -> Call:
        """Write a message to an open ticket. By its tenant or its provider."""
        return Call("Agreements", "answer_ticket", {"ticket": ticket, "digest": digest})

    @staticmethod
    def agreements_close_ticket(*, ticket: int) -> Call:
        """Close a ticket. By its tenant or its provider."""
        return Call("Agreements", "close_ticket", {"ticket": ticket})

    @staticmethod
    def agreements_bond_auditor() -> Call:
        """Become an auditor, return as one, or top up the caller's bond."""
        return Call("Agreements", "bond_auditor", {})

    @staticmethod
    def agreements_unbond_auditor() -> Call:
        """Stop attesting. The attestations of the caller stay in force."""
        return Call("Agreements", "unbond_auditor", {})

    @staticmethod
    def agreements_withdraw_auditor_bond() -> Call:
        """Release the bond, after its time and when no attestation of the caller is in force."""
        return Call("Agreements", "withdraw_auditor_bond", {})

    @staticmethod
    def agreements_attest(*, subject: Subject, attribute: Attribute, evidence: bytes, expires_at: int) -> Call:
        """Attest an attribute of a provider or host. By an auditor, of whom a stake is held for it."""
        return Call("Agreements", "attest", {
            "subject": subject.encode(),
            "attribute": attribute.encode(),
            "evidence": evidence,
            "expires_at": expires_at,
        })

    @staticmethod
    def agreements_revoke(*, attestation: int) -> Call:
        """Revoke an attestation that is not contested. By its auditor, or by governance."""
        return Call("Agreements", "revoke", {"attestation": attestation})

    @staticmethod
    def agreements_contest(*, attestation: int, evidence: bytes) -> Call:
        """Contest an attestation. By anyone, of whom a stake is held; governance decides."""
        return Call("Agreements", "contest", {"attestation": attestation, "evidence": evidence})

    @staticmethod
    def agreements_decide_contest(*, attestation: int, is_wrong: bool) -> Call:
        """Decide whether a contested attestation is wrong. By governance."""
        return Call("Agreements", "decide_contest", {"attestation": attestation, "is_wrong": is_wrong})

    @staticmethod
    def agreements_set_params(*, params: AgreementsParams) -> Call:
        """Change the parameters of this pallet. By governance."""
        return Call("Agreements", "set_params", {"params": params.encode()})


class storage:
    """Storage items of our pallets with the decoders of their values."""

    validators_list: Final[StorageItem[tuple[AccountId, ...]]] = StorageItem("Validators", "List", lambda x: tuple(x))
    """Who makes and finalizes blocks from the session after the next on, in the order in which they joined."""

    validators_epoch_slots: Final[StorageItem[int]] = StorageItem("Validators", "EpochSlots", _same)
    """Slots of a session, which is a BABE epoch. Written at genesis and never again: BABE computes the epoch of a slot
    from it.
    """

    validators_slot_ms: Final[StorageItem[int]] = StorageItem("Validators", "SlotMs", _same)
    """Length of a slot, and so the time between two blocks, in milliseconds. Written at genesis and never again: BABE
    computes the slot of a block from it.
    """

    governance_next_enactment_id: Final[StorageItem[int]] = StorageItem("Governance", "NextEnactmentId", _same)
    """The id of the next enactment."""

    governance_params: Final[StorageItem[GovernanceParams]] = StorageItem(
        "Governance",
        "Params",
        GovernanceParams.decode,
    )
    """The periods in force."""

    hosts_hosts: Final[StorageItem[HostRecord]] = StorageItem("Hosts", "Hosts", HostRecord.decode)
    """Every host that was ever registered."""

    hosts_hosts_by_provider: Final[StorageItem[tuple[()]]] = StorageItem("Hosts", "HostsByProvider", _same)
    """The hosts of a provider, except retired ones."""

    hosts_endpoint_changed_at: Final[StorageItem[int]] = StorageItem("Hosts", "EndpointChangedAt", _same)
    """When a host last changed its endpoint, if it ever did."""

    hosts_health_changed_at: Final[StorageItem[int]] = StorageItem("Hosts", "HealthChangedAt", _same)
    """When a host last reported which of its devices are unhealthy, if it ever did."""

    hosts_network_measured_at: Final[StorageItem[int]] = StorageItem("Hosts", "NetworkMeasuredAt", _same)
    """When a host last reported the speed of its network, if it ever did."""

    hosts_free_weight_used: Final[StorageItem[UsedWeight]] = StorageItem("Hosts", "FreeWeightUsed", UsedWeight.decode)
    """The part of its allowance of free weight that a host has used. Removed when its bond is released."""

    hosts_standby_namings: Final[StorageItem[int]] = StorageItem("Hosts", "StandbyNamings", _same)
    """How often a host was named as the standby of a lease, modulo 2^32. A change tells its agent to look for the lease.
    Removed when its bond is given back.
    """

    hosts_free_weight_of_block: Final[StorageItem[tuple[int, int]]] = StorageItem("Hosts", "FreeWeightOfBlock", _same)
    """A block, and the `ref_time` that free calls have used in it."""

    hosts_halts: Final[StorageItem[tuple[Halt, ...]]] = StorageItem(
        "Hosts",
        "Halts",
        lambda x: tuple(Halt.decode(i0) for i0 in x),
    )
    """When the chain made no blocks for longer than `Params.halt_after_ms`."""

    hosts_params: Final[StorageItem[HostsParams]] = StorageItem("Hosts", "Params", HostsParams.decode)
    """The periods and amounts in force."""

    tasks_next_task_id: Final[StorageItem[int]] = StorageItem("Tasks", "NextTaskId", _same)
    """The number of the next task."""

    tasks_tasks: Final[StorageItem[TaskRecord]] = StorageItem("Tasks", "Tasks", TaskRecord.decode)
    """Every task that was submitted and not pruned, with its leases."""

    tasks_specs: Final[StorageItem[SpecRecord]] = StorageItem("Tasks", "Specs", SpecRecord.decode)
    """The values that tasks submitted together share, under the number of the first, until the last is pruned."""

    tasks_manifests: Final[StorageItem[bytes]] = StorageItem("Tasks", "Manifests", _same)
    """The manifest of tasks submitted together, under the number of the first, until all are final."""

    tasks_by_state: Final[StorageItem[bytes]] = StorageItem("Tasks", "ByState", _same)
    """The lists of tasks by state, in pages of 256: bit `task % 8` of byte `task % 256 / 8` is set if a task is on the
    list.
    """

    tasks_by_tenant: Final[StorageItem[int]] = StorageItem("Tasks", "ByTenant", _same)
    """The submissions of each tenant: the first of the tasks submitted together, and their number. Until the last is
    pruned.
    """

    tasks_archive: Final[StorageItem[ArchivePage]] = StorageItem("Tasks", "Archive", ArchivePage.decode)
    """The archive of pruned tasks, by their number divided by 4,096."""

    tasks_schedulers: Final[StorageItem[int]] = StorageItem("Tasks", "Schedulers", _same)
    """The accounts that may assign tasks of others, each with its bond on hold."""

    tasks_leaving_schedulers: Final[StorageItem[LeavingScheduler]] = StorageItem(
        "Tasks",
        "LeavingSchedulers",
        LeavingScheduler.decode,
    )
    """Schedulers that have left, each with its bond, which is still on hold, and the time of its release."""

    tasks_queue_digests: Final[StorageItem[bytes]] = StorageItem("Tasks", "QueueDigests", _same)
    """The digest of the queue definitions by which a scheduler orders tasks, if it has published one."""

    tasks_punished_until: Final[StorageItem[int]] = StorageItem("Tasks", "PunishedUntil", _same)
    """For schedulers that were penalised: the time of the assignment. Their assignments until then cannot be penalised
    again.
    """

    tasks_preemption_notices: Final[StorageItem[PreemptionNotice]] = StorageItem(
        "Tasks",
        "PreemptionNotices",
        PreemptionNotice.decode,
    )
    """The preemption notices, by the queued task in whose favour they were given. While that task is queued."""

    tasks_params: Final[StorageItem[TasksParams]] = StorageItem("Tasks", "Params", TasksParams.decode)
    """The periods and amounts in force."""

    leases_by_host: Final[StorageItem[tuple[int, ...]]] = StorageItem("Leases", "ByHost", lambda x: tuple(x))
    """The leases of each host: those pending, active or suspended, and those whose data is retained."""

    leases_agenda: Final[StorageItem[tuple[int, ...]]] = StorageItem("Leases", "Agenda", lambda x: tuple(x))
    """The leases that are due, by bucket of time and page."""

    leases_agenda_pages: Final[StorageItem[int]] = StorageItem("Leases", "AgendaPages", _same)
    """How many pages each bucket of the agenda has."""

    leases_agenda_emptied: Final[StorageItem[bytes]] = StorageItem("Leases", "AgendaEmptied", _same)
    """The bucket of the agenda that was emptied last: neither it nor an earlier one has entries."""

    leases_params: Final[StorageItem[LeasesParams]] = StorageItem("Leases", "Params", LeasesParams.decode)
    """The periods in force."""

    billing_total_escrowed: Final[StorageItem[int]] = StorageItem("Billing", "TotalEscrowed", _same)
    """The total amount on hold for all open escrows."""

    billing_params: Final[StorageItem[BillingParams]] = StorageItem("Billing", "Params", BillingParams.decode)
    """The amounts and periods in force."""

    reputation_host_scores: Final[StorageItem[HostScore]] = StorageItem("Reputation", "HostScores", HostScore.decode)
    """The evidence about each host that ever had a lease."""

    reputation_tenant_scores: Final[StorageItem[TenantScore]] = StorageItem(
        "Reputation",
        "TenantScores",
        TenantScore.decode,
    )
    """The evidence about each tenant that ever had a lease."""

    reputation_provider_faults: Final[StorageItem[FaultRecord]] = StorageItem(
        "Reputation",
        "ProviderFaults",
        FaultRecord.decode,
    )
    """What is held against each provider that was ever slashed."""

    verification_verifiers: Final[StorageItem[VerifierRecord]] = StorageItem(
        "Verification",
        "Verifiers",
        VerifierRecord.decode,
    )
    """The accounts with a verifier's bond."""

    verification_verifier_list: Final[StorageItem[tuple[ListedVerifier, ...]]] = StorageItem(
        "Verification",
        "VerifierList",
        lambda x: tuple(ListedVerifier.decode(i0) for i0 in x),
    )
    """The verifiers that may be drawn."""

    verification_next_challenge_id: Final[StorageItem[int]] = StorageItem("Verification", "NextChallengeId", _same)
    """The number of the next challenge."""

    verification_challenges: Final[StorageItem[ChallengeRecord]] = StorageItem(
        "Verification",
        "Challenges",
        ChallengeRecord.decode,
    )
    """The challenges that are open."""

    verification_by_host: Final[StorageItem[HostChallenges]] = StorageItem(
        "Verification",
        "ByHost",
        HostChallenges.decode,
    )
    """When each host was challenged."""

    verification_results: Final[StorageItem[ResultsRecord]] = StorageItem(
        "Verification",
        "Results",
        ResultsRecord.decode,
    )
    """The tasks whose results are being compared."""

    verification_valid: Final[StorageItem[ValidResults]] = StorageItem("Verification", "Valid", ValidResults.decode)
    """How many results of each host were valid one after the other, with its present hardware or some before."""

    verification_disputes: Final[StorageItem[DisputeRecord]] = StorageItem(
        "Verification",
        "Disputes",
        DisputeRecord.decode,
    )
    """The tasks that are in dispute."""

    verification_queued: Final[StorageItem[QueueEntry]] = StorageItem("Verification", "Queued", QueueEntry.decode)
    """The entries of the queues, by queue and position."""

    verification_ends: Final[StorageItem[tuple[QueueEnds, ...]]] = StorageItem(
        "Verification",
        "Ends",
        lambda x: tuple(QueueEnds.decode(i0) for i0 in x),
    )
    """The positions of the entries of each queue, in the order of [`Queue::ALL`]."""

    verification_retries: Final[StorageItem[tuple[Queue, QueueEntry]]] = StorageItem(
        "Verification",
        "Retries",
        lambda x: (Queue.decode(x[0]), QueueEntry.decode(x[1])),
    )
    """The failed entries that are retried, by their position, with their queue. All entries wait equally long."""

    verification_retry_ends: Final[StorageItem[QueueEnds]] = StorageItem("Verification", "RetryEnds", QueueEnds.decode)
    """The positions of the entries of [`Retries`]."""

    verification_seen_randomness: Final[StorageItem[tuple[bytes, int]]] = StorageItem(
        "Verification",
        "SeenRandomness",
        _same,
    )
    """The randomness that was there when a block began, and that block's number. Kept while a matter waits for a seed,
    to tell randomness of the block before from older.
    """

    verification_params: Final[StorageItem[VerificationParams]] = StorageItem(
        "Verification",
        "Params",
        VerificationParams.decode,
    )
    """The periods, sizes and amounts in force."""

    agreements_next_offer_id: Final[StorageItem[int]] = StorageItem("Agreements", "NextOfferId", _same)
    """The number of the next offer."""

    agreements_offers: Final[StorageItem[OfferRecord]] = StorageItem("Agreements", "Offers", OfferRecord.decode)
    """The open offers and the agreements."""

    agreements_offers_of: Final[StorageItem[int]] = StorageItem("Agreements", "OffersOf", _same)
    """The number of stored offers and agreements of each tenant."""

    agreements_next_ticket_id: Final[StorageItem[int]] = StorageItem("Agreements", "NextTicketId", _same)
    """The number of the next ticket."""

    agreements_tickets: Final[StorageItem[TicketRecord]] = StorageItem("Agreements", "Tickets", TicketRecord.decode)
    """The stored tickets."""

    agreements_tickets_of: Final[StorageItem[tuple[int, ...]]] = StorageItem(
        "Agreements",
        "TicketsOf",
        lambda x: tuple(x),
    )
    """The stored tickets of each lease."""

    agreements_auditors: Final[StorageItem[AuditorRecord]] = StorageItem("Agreements", "Auditors", AuditorRecord.decode)
    """The accounts with the bond of an auditor."""

    agreements_next_attestation_id: Final[StorageItem[int]] = StorageItem("Agreements", "NextAttestationId", _same)
    """The number of the next attestation."""

    agreements_attestations: Final[StorageItem[AttestationRecord]] = StorageItem(
        "Agreements",
        "Attestations",
        AttestationRecord.decode,
    )
    """The attestations that are in force."""

    agreements_attestations_of: Final[StorageItem[tuple[int, ...]]] = StorageItem(
        "Agreements",
        "AttestationsOf",
        lambda x: tuple(x),
    )
    """The attestations about each provider and host."""

    agreements_agenda: Final[StorageItem[Due]] = StorageItem("Agreements", "Agenda", Due.decode)
    """The records that are due, by time, kind and number. The first key is due first."""

    agreements_agenda_taken: Final[StorageItem[bytes]] = StorageItem("Agreements", "AgendaTaken", _same)
    """The entry of the agenda that was processed last: there is none before it."""

    agreements_params: Final[StorageItem[AgreementsParams]] = StorageItem(
        "Agreements",
        "Params",
        AgreementsParams.decode,
    )
    """The periods, amounts and limits in force. Not whitelisted for benchmarks: few blocks have calls of this pallet."""


ERRORS: Final[dict[str, dict[str, str]]] = {
    "Validators": {
        "AlreadyListed": "The account is on the list of validators already.",
        "NotListed": "The account is not on the list of validators.",
        "NoSessionKeys": "The account has set no session keys. It does so with session.setKeys.",
        "TooManyValidators": "The list of validators is full.",
        "TooFewValidators": "The list of validators would become shorter than it may be.",
    },
    "Governance": {
        "NotPending": "No call of this id waits: it was carried out, cancelled, or never was.",
        "CallTooHeavy": "The call is too heavy to be carried out in one block.",
        "Overflow": "There are no ids left.",
    },
    "Hosts": {
        "AlreadyRegistered": "The host is registered already; a key is used once, retired or not.",
        "NoSuchHost": "No such host is registered.",
        "NotProvider": "The caller is not the provider of the host.",
        "BadHostSignature": "The signature is not by the host's key, or not for this chain, provider and content.",
        "HardwareEmpty": "The hardware has no processor or no memory.",
        "SimulatedDevicesRefused": "The hardware has a simulated device, and this chain takes real ones only.",
        "ProviderCannotPay": "The provider cannot pay the bond.",
        "HostRetired": "The host is retiring or retired.",
        "TransitionNotAllowed": "A host in this status cannot change to the requested one.",
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
        "DeviceUnhealthy": "A named device is unhealthy.",
        "AskModelRepeated": "The price list prices a model twice.",
        "AskFactorTooGreat": "The price list has a factor of more than ten times the list price.",
        "SuspendedByRoot": "Governance suspended the host, and only governance ends that.",
        "StillUnbonding": "The unbonding period of the host is not over.",
        "BondTooLow": "The host has less than half of the bond that it must have.",
        "AmountZero": "An amount of zero changes nothing.",
        "HeartbeatPeriodZero": "The heartbeat period is zero.",
        "AbsenceLimitTooShort": "The absence limit is less than five quarters of a heartbeat period.",
        "PeriodTooLong": "A period is longer than a year.",
        "BondTooGreat": "A bond for a device is too great to be added up.",
        "AbsenceBountyTooGreat": "The bounty for an absence is more than half of a bond for a device.",
        "LatencyTooHigh": "The host's round trip is longer than the task wants, or it has measured none.",
        "DeviceShared": "The pod needs a share of a device of which another tenant holds shares.",
        "NotSandboxed": "The task wants its pods in a sandbox, and those of the host use the kernel of the machine.",
        "HaltAfterInvalid": "The time without blocks that counts as a halt is zero or longer than the absence limit.",
        "NoRoomForFreeCalls": "Free calls have used up their share of this block.",
        "FreeWeightZero": "Hosts do not have an allowance of free weight.",
        "HostsNotSorted": "The hosts of a batch are not in ascending order, or one is named twice.",
        "NotProviderOfAll": "Another account is the provider of a host of the batch.",
        "DeviceChallenged": "The host must prove first that a named device is real: a challenge of it waits for its answer.",
    },
    "Tasks": {
        "NoSuchTask": "There is no such task: it was not submitted, or it is pruned.",
        "NoSuchLease": "The task has no such lease now.",
        "TransitionNotAllowed": "A task in this state cannot change to the requested one.",
        "LeaseTransitionNotAllowed": "A lease in this state cannot change to the requested one.",
        "CountInvalid": "One call submits 1 to 4,096 tasks.",
        "OnlyJobsInArrays": "Only jobs can be submitted many at a time.",
        "NoTaskIdsLeft": "The chain has run out of numbers for tasks.",
        "ManifestDigestMismatch": "The SHA-256 of the manifest is not the digest in the spec.",
        "ManifestEmpty": "The manifest is empty.",
        "ResourcesEmpty": "A pod needs some processor and some memory.",
        "GpuRequestInvalid": "A pod may need at most 16 devices, and 1 to 1000 thousandths of each.",
        "PodRangeInvalid": "A task has 1 to 16 pods, and its minimum is not above its maximum; a service scales between the two.",
        "RentalHasOnePod": "A rental has exactly one pod.",
        "OnlyRentalsTakeData": "Only rentals take over the data of another lease.",
        "ReplicasInvalid": "Results are compared of jobs only, with 2 or 3 replicas and as many pods; audited jobs have one pod.",
        "ReplicasNotSpot": "A task whose results are compared cannot be spot.",
        "SurvivalInvalid": "Pods of rentals, and of tasks whose results are compared, do not migrate.",
        "DurationInvalid": "The duration is shorter than `min_charge_ms`, or longer than the chain allows.",
        "DeadlinePassed": "The deadline has passed.",
        "DeadlineNotPassed": "The deadline has not passed, or there is none.",
        "TenantCannotPay": "The tenant cannot pay the deposits for the task and for its pods at the highest rate.",
        "CostTooHigh": "The cost does not fit its type.",
        "NotSchedulerOrTenant": "The caller is neither a bonded scheduler nor the tenant of the task.",
        "NotTenant": "The caller is not the tenant of the task.",
        "NotHostOfLease": "The caller is not the host of the lease.",
        "NotQueued": "The task is not queued: another scheduler may have been faster.",
        "NotRunning": "The task does not run.",
        "NotReported": "The task has no result that waits to be accepted.",
        "NotSettleable": "The task cannot be settled in its state.",
        "NotSettled": "The task is not settled.",
        "NotFinal": "The task is not final.",
        "TooEarlyToPrune": "The task became final too short a time ago to be pruned.",
        "DataRetained": "A host still retains data of the task.",
        "NotDisputed": "The result of the task is not disputed.",
        "DisputeWindowOpen": "The dispute window has not passed.",
        "DisputeWindowClosed": "The dispute window has passed.",
        "NotService": "The task is no service.",
        "JobsAreCancelled": "A job is not ended but cancelled.",
        "ResultsAreCompared": "The results of this task are compared: they are committed and revealed, not reported.",
        "NotRedundant": "The results of this task are not compared.",
        "NothingRight": "There is no right result.",
        "PodsStillRun": "A replica still runs, or waits for its start.",
        "WrongPodCount": "There are fewer or more pods than the task wants.",
        "PodOutOfRange": "Pods must be numbered from 0 without a gap.",
        "PodRepeated": "A pod is placed twice, or has a lease already.",
        "HostRepeated": "The layout of the task requires a separate host for each pod, and another of its pods is on this one.",
        "ProviderRepeated": "Replicas must be on hosts of different providers, and so must pods whose layout says so.",
        "ModelDiffers": "A further replica must have devices of the same models as the others.",
        "RateTooHigh": "The host asks for more than the task's highest rate.",
        "UnitNotOffered": "The host does not offer leases in this billing unit.",
        "DataNotRetained": "The lease has no retained data.",
        "DataElsewhere": "The data that the rental is to take over is on another host.",
        "DataStillKept": "The data must be retained until the end of its period, or until the tenant releases it.",
        "LeaseNotPending": "The pod of this lease has started already, or the lease has ended.",
        "LeaseNotActive": "The pod of this lease has not started, or the lease has ended.",
        "LeaseEnded": "The lease has ended.",
        "LeaseNotStuck": "The pod of this lease is not late, and its host is not lost.",
        "LeaseNotDepleted": "The lease has not used its duration yet, or the host of a job may still report its result.",
        "HostIsLost": "The host of the lease is lost: requeue it.",
        "StarsInvalid": "A lease is rated with 1 to 5 stars.",
        "NeverStarted": "The pod of this lease never started.",
        "AlreadyRated": "The lease is rated already.",
        "OwnHost": "The caller owns the host of the lease.",
        "BatchTooHeavy": "The batch touches more leases than were paid for: send tasks of several pods one by one.",
        "AlreadyScheduler": "The account is bonded as a scheduler already.",
        "NotScheduler": "The account is not bonded as a scheduler.",
        "SchedulerCannotPay": "The account cannot pay the bond of a scheduler.",
        "VictimsInvalid": "A preemption notice names 1 to 16 tasks, each once.",
        "NotSpot": "The task is not spot: it is not preempted.",
        "PriorityNotLower": "The priority of the task is not below that of the queued task.",
        "AlreadyNoticed": "The task has a preemption notice already.",
        "WasPreempted": "The task was preempted itself, and preempts no others until it runs again.",
        "NotNoticed": "There is no preemption notice in favour of the task.",
        "NoticeNotOver": "The notice is not over.",
        "NotMovable": "The task does not allow that its pods migrate.",
        "NoStandbyWanted": "The task wants no standbys.",
        "StandbyStands": "The lease has a standby that is healthy and has free resources.",
        "StandbyOfSameProvider": "The standby of a pod must belong to another provider than the host of its lease.",
        "SameHost": "The pod is on that host already.",
        "HostInOrder": "The host of the lease is healthy: only the tenant may move the pod.",
        "HostDeteriorates": "The new host is not healthy: it is not online, is silent, or has a poor score.",
        "DepositUsedUp": "Nothing is left of the deposit of the lease.",
        "CheckpointTooSoon": "The last checkpoint of the pod is too short a time ago.",
        "StartTimeoutZero": "A pod must have some time to start.",
        "DisputeWindowZero": "There must be some time for disputes.",
        "MaxAttemptsZero": "A task must be allowed at least one attempt.",
        "MaxDurationZero": "A task must be allowed some duration.",
        "ArchiveAfterZero": "Final tasks must be kept for some time.",
        "RefusedItemFineZero": "A refused report of a batch must cost something.",
        "PreemptionNoticeZero": "The notice of a preemption must have some length.",
        "PoorPpmTooHigh": "A score is at most 1,000,000 parts per million.",
        "CheckpointMinZero": "There must be some time between the checkpoints of a pod.",
        "Overflow": "A sum or product does not fit its type.",
        "SharesNotAskedFor": "A task that needs shares of devices must ask for hosts that hand them out: `placement.capabilities.shares`.",
        "ReplicasNotOffered": "The chain lets no task have the results of so many replicas compared: `Params.max_replicas`.",
        "MaxReplicasTooHigh": "Results of more than 3 replicas cannot be compared.",
        "ReportGraceZero": "Hosts must have some time to report results after the time of their pods was over.",
        "MaxRefusalsZero": "A task must be allowed at least one refusal.",
        "TooManyAttempts": "A task stores at most 16 attempts.",
        "HostRefusedTask": "This host has refused a pod of the task, or has not started it in time.",
        "RateAbovePlan": "The host asks for more than the rate with which the pod was to be placed there.",
        "StillUnbonding": "The account has left the schedulers, and its bond is held until the unbonding period is over.",
        "NoticeStands": "There is a preemption notice in favour of the task already.",
        "NoticeTooSoon": "The pods of the task did not fit at the end of its preemption notice: it may preempt others later.",
        "VictimElsewhere": "A task that would be preempted has no pod on the hosts of the placement.",
        "FitsWithoutVictims": "The queued task fits there without preemption.",
        "SchedulerUnbondingTooLong": "The unbonding period of schedulers is longer than a year.",
        "SchedulerPenaltyTooHigh": "A scheduler loses at most its bond.",
        "EvidenceOutlivesBond": "The bond of a scheduler could be released before the time for evidence is over.",
        "NotSelfAssigned": "The lease was not opened by a scheduler that placed the only pod of a task of another on a host of its own.",
        "EvidenceTooOld": "The assignment is too long ago for evidence.",
        "AlreadyPunished": "The scheduler was punished for this assignment, or for a later one.",
        "NotCheaper": "The other host is not at least a tenth cheaper.",
        "NotAsGood": "The score of the other host is lower than that of the host was at the assignment, or has changed since.",
        "OfferTooRecent": "What the other host offers has changed since the assignment, or capacity has become free.",
        "AuditSurchargeTooHigh": "The surcharge for audits must not be more than the price.",
        "AuditTooExpensive": "A host that repeats the work of another must not ask for more than that one is paid.",
    },
    "Leases": {
        "NotTenant": "The caller is not the tenant of the lease.",
        "NotProvider": "The caller is not the provider of the lease's host.",
        "LeaseOfJob": "The lease is that of a job: it ends with its result, and its deposit covers its longest duration.",
        "NotRental": "The lease is not that of a rental.",
        "LeaseNotRunning": "The lease has not started, or has ended.",
        "LeaseNotActive": "The lease is not active.",
        "LeaseNotSuspended": "The lease is not suspended.",
        "LeaseNotRetained": "No data is retained for this lease.",
        "ReclaimNoticed": "The provider has given notice already: the lease gets no more time.",
        "ReclaimNotNoticed": "The provider has given no notice.",
        "NoticeNotOver": "The provider's notice is not over.",
        "LeaseNotDepleted": "The lease has not used up what was paid for.",
        "DepositUsedUp": "What is deposited does not cover any time at the full rate: top it up first.",
        "DurationIsZero": "The duration is zero.",
        "AmountIsZero": "The amount is zero.",
        "KeptTooLong": "The data would be retained for longer than the chain allows.",
        "StorageNotOffered": "The host does not offer storage in the billing unit of this lease.",
        "StorageTooDear": "The host asks for more for storage than the caller accepts, or than the tenant pays at most for the machine.",
        "NothingDue": "Nothing is due that could be paid now.",
        "NothingOnAgenda": "No entry of the agenda is due.",
        "TooManyLeasesOnHost": "The host has the most leases that the chain stores for one.",
        "CostTooHigh": "The cost does not fit its type.",
        "ReclaimNoticeIsZero": "The period of notice must not be zero.",
        "RetentionIsZero": "The period for which data is kept must not be zero.",
        "PurgeGraceIsZero": "The period for a receipt of a purge must not be zero.",
        "RetentionTooLong": "The free period of retention is longer than the longest one.",
    },
    "Billing": {
        "TenantCannotPay": "The tenant cannot pay the deposits of its leases.",
        "FeeTooHigh": "The fee would be more than a tenth of what is paid.",
        "SharesTooHigh": "The shares of scheduler and settler would be more than half of the fee.",
        "Overflow": "A sum or product does not fit its type.",
    },
    "Reputation": {
    },
    "Verification": {
        "NotVerifier": "The caller is not a verifier that may be drawn.",
        "AlreadyBonded": "The caller has the whole bond of a verifier already.",
        "HostCannotVerify": "A host's account cannot be a verifier.",
        "TooManyVerifiers": "There are as many verifiers as there may be.",
        "CannotPayBond": "The caller cannot pay the bond of a verifier.",
        "StillBonded": "The verifier has not left, or must wait for its bond.",
        "OnDuty": "The verifier sits on a committee or jury that is not done.",
        "NotVerifierNorProvider": "The caller is neither a verifier nor the provider of the host, and names no lease.",
        "HostNotListed": "The host is not there, or may not be challenged in its status.",
        "NoSuchDevice": "The host has no such device.",
        "ChallengeOpen": "A challenge of the host is open.",
        "ChallengedLately": "The host was challenged too short a time ago.",
        "CannotPayFee": "The caller cannot pay the committee.",
        "NoSuchChallenge": "No such challenge is open.",
        "NotChallengedHost": "The caller is not the host that is challenged.",
        "NotAnswering": "The challenge does not wait for an answer.",
        "NotCommitting": "No votes are committed now.",
        "NotRevealing": "Nothing is revealed now.",
        "TooLate": "The last moment for it has passed.",
        "NotOnCommittee": "The caller is not a member of the committee or jury.",
        "AlreadyCommitted": "It was committed already; a commitment cannot be changed.",
        "NotCommitted": "Nothing was committed that could be revealed.",
        "AlreadyRevealed": "It was revealed already.",
        "CommitmentMismatch": "What is revealed is not what was committed to.",
        "NoVoteOnResults": "Nobody votes on the results of a task.",
        "NotReplicated": "The results of the task are not compared.",
        "CommitmentsClosed": "As many results as are wanted were committed.",
        "NoSuchResults": "The results of the task are not being compared.",
        "NotHostOfLease": "The caller is not the host of the lease.",
        "LeaseNotCurrent": "The lease was replaced or has failed.",
        "NoSuchTask": "No such task was submitted.",
        "AlreadyDisputed": "The task is in dispute already.",
        "NoSuchDispute": "The task is not in dispute.",
        "NotTenantNorVerifier": "The caller is neither the tenant of the task nor a verifier.",
        "OpenerIsParty": "A provider cannot dispute a task that its own hosts worked on.",
        "NobodyAccused": "A dispute is about at least one lease.",
        "AccusedTwice": "A dispute names each lease once.",
        "CannotPayStake": "The caller cannot pay the stake.",
        "NotParty": "The caller is no party of the dispute.",
        "NotHearing": "The dispute takes no evidence now.",
        "TooMuchEvidence": "The caller has named as much evidence as it may in one hearing.",
        "NotAppealable": "The dispute has no verdict that may be appealed.",
        "NotLosingSide": "Only those against whom a verdict is may appeal it.",
        "WaitsForSeed": "It waits for randomness, which the chain alone draws.",
        "NotDue": "Its time has not passed.",
        "TransitionNotAllowed": "A phase does not follow the present one. A bug: please report it.",
        "SeatsInvalid": "The size of a committee or jury must be odd and at most 7.",
        "AppealJuryTooSmall": "The jury of an appeal must not be smaller than the first.",
        "BondOrStakeZero": "The bond of a verifier and the stake of a dispute must not be zero.",
        "PenaltyTooHigh": "A penalty must not be more than half of a verifier's bond.",
        "AbsenceTooCheap": "The penalty for absence must not be lower than that for voting against the majority.",
        "JuryFeeTooHigh": "The fee of a jury must not be more than the stake.",
        "StakeTooHigh": "Four times the stake does not fit its type.",
        "PeriodInvalid": "A period must be 1 millisecond to 366 days.",
        "Overflow": "A sum or product does not fit its type.",
        "ChallengesNotAnswered": "The host does not answer challenges, as its record says (`answers_challenges`).",
        "DeviceLeased": "A lease holds some of the device. Only the tenant of that lease may have it challenged, and names the lease.",
        "NotTenantOfLease": "The caller is not the tenant of the lease, or the lease does not hold the device now.",
        "MissPeriodTooShort": "The period of missed challenges must not be shorter than the rest between challenges.",
        "MinVerifiersTooLow": "The list must have more verifiers than two committees, or no verdict against a host could be confirmed.",
        "MinVerifiersTooHigh": "More verifiers are asked for than the list can have.",
        "AnswerExpired": "The answer waited beyond the moment up to which its host wanted it judged (`not_after`). Nothing changed.",
        "ResultSlashZero": "A wrong result must cost its host at least one deposit of its lease.",
        "RewardsTooHigh": "The parts of a slash that do not go to the treasury must not be more than half of it.",
        "NotTagging": "The hosts do not show the tags of their results now.",
        "AlreadyTagged": "The tag of the result was shown already.",
        "TagMismatch": "The result is not that whose tag was shown.",
        "AuditProbabilityInvalid": "The least probability of an audit must be 1 to 1,000,000 parts per million.",
    },
    "Agreements": {
        "NoSuchOffer": "There is no such offer: it ended, or never existed.",
        "NotParty": "The caller is no party of the offer, the lease or the ticket.",
        "NotYourTurn": "The other side has to answer the offer.",
        "OfferNotOpen": "The offer is not open: it was accepted, or its time is over.",
        "OfferNotAccepted": "The offer was not accepted, or its lease has begun.",
        "LeaseNotBegun": "The lease of the agreement has not begun.",
        "OfferToOneself": "Tenant and provider are one account.",
        "HostsInvalid": "The terms name no host, or a host twice.",
        "NotHostOfProvider": "A host of the terms is not of the provider.",
        "DurationIsZero": "The duration is zero.",
        "StartInvalid": "The time for the begin is too short, too late or over.",
        "AnswerTimeInvalid": "The time for an answer is zero, too long, or ends after the latest begin.",
        "TooManyOffers": "The tenant has the most offers that the chain stores of one.",
        "TooManyCounters": "The terms were countered as often as they may be.",
        "PlaceMissing": "The provider has to name the host and the devices.",
        "PlaceNotYours": "Only the provider names the host and the devices.",
        "PlaceElsewhere": "The place is not on a host of the terms.",
        "BondTooHigh": "The bond does not fit its type.",
        "CannotPay": "The caller or the proposer cannot pay the deposit or bond.",
        "NotStartTime": "The time in which the lease may begin has not come, or is over.",
        "TaskDiffers": "The task is not what was agreed: kind, pods, resources, unit, duration, price limit, spot or survival differ.",
        "HostAvailable": "The host of the agreement can take the pod.",
        "LeaseLives": "The lease of the agreement has not ended.",
        "NoSuchLease": "There is no such lease, or it has ended.",
        "TooManyTickets": "The lease has the most tickets that the chain stores of one.",
        "NoSuchTicket": "There is no such ticket: it was removed, or never existed.",
        "TicketIsClosed": "The ticket is closed.",
        "TooManyMessages": "The ticket has the most messages that it may have.",
        "NotAuditor": "The caller is no auditor that may attest.",
        "AlreadyBonded": "The caller is an auditor with the whole bond already.",
        "StillBonded": "The auditor has not left, or must wait for its bond.",
        "HasAttestations": "The auditor has attestations in force: revoke them, or wait until they expire.",
        "AuditsItself": "The auditor is the provider, or the provider of the host.",
        "NoSuchHost": "The host is not registered.",
        "ExpiryInvalid": "The attestation would be in force for no time, or for too long.",
        "AttributeEmpty": "The name of the certificate or of the region is empty.",
        "TooManyAttestations": "The subject has the most attestations that the chain stores of one, or of one auditor.",
        "NoSuchAttestation": "There is no such attestation: it is no longer in force, or never existed.",
        "NotYourAttestation": "The caller is not the auditor of the attestation.",
        "IsContested": "The attestation is contested.",
        "NotContested": "The attestation is not contested.",
        "PeriodInvalid": "A period must be 1 millisecond to 366 days.",
        "BondOrStakeZero": "The least bond, the bond of an auditor and stakes must not be zero.",
        "SlashTooHigh": "An auditor cannot lose more than its bond.",
        "UnbondingTooShort": "The bond of an auditor must be held for at least as long as a contest may last.",
        "Overflow": "A sum or product does not fit its type.",
    },
}
"""What each refusal of our pallets means: pallet, error, documentation."""
