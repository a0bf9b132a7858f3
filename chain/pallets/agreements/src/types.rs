//! The records of offers, tickets and attestations, and the parameters.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use gantry_primitives::{
    AccountId, Balance, BillingUnit, Bytes, DeviceIndices, Digest, HostId, LeaseId, Moment, Resources, UpTo,
};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

/// The number of an offer.
pub type OfferId = u64;
/// The number of a ticket.
pub type TicketId = u64;
/// The number of an attestation.
pub type AttestationId = u64;

/// The most hosts that an offer names.
pub const MAX_OFFER_HOSTS: u32 = 8;
/// The most messages of a ticket.
pub const MAX_MESSAGES: u32 = 16;
/// The most tickets of one lease that are kept.
pub const MAX_TICKETS_PER_LEASE: u32 = 4;
/// The most counters of an offer.
pub const MAX_COUNTERS: u8 = 8;
/// The most attestations of one auditor about one subject.
pub const MAX_ATTESTATIONS_OF_AUDITOR: u32 = 4;
/// The most attestations about one subject.
pub const MAX_ATTESTATIONS: u32 = 16;
/// No period may be longer: 366 days.
pub const MAX_PERIOD_MS: u64 = 366 * 24 * 3_600_000;

/// A party of an offer or a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Side {
    /// The account that pays.
    Tenant,
    /// The owner of the hosts.
    Provider,
}

impl Side {
    /// The other party.
    pub const fn other(self) -> Self {
        match self {
            Self::Tenant => Self::Provider,
            Self::Provider => Self::Tenant,
        }
    }
}

/// The terms of a lease of one pod.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct OfferTerms {
    /// The acceptable hosts, at least one; all of the provider.
    pub hosts: UpTo<HostId, MAX_OFFER_HOSTS>,
    /// The resources of the pod.
    pub resources: Resources,
    /// Whether simulated devices are acceptable.
    pub allow_simulated: bool,
    /// The price of the pod in base units an hour, whatever the ask of the host says.
    pub rate_per_hour: Balance,
    /// The unit by which the lease is billed.
    pub unit: BillingUnit,
    /// The duration of the lease in milliseconds.
    pub duration_ms: u64,
    /// The earliest begin of the lease.
    pub start_from: Moment,
    /// The latest begin of the lease.
    pub start_until: Moment,
}

/// The place that is reserved for the pod of an agreement.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Place {
    /// One of the hosts of the terms.
    pub host: HostId,
    /// Its devices.
    pub devices: DeviceIndices,
}

/// The state of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum OfferState {
    /// Waits for an answer of the other side until then.
    Open(Moment),
    /// Binds both sides; the place is reserved for the tenant.
    Accepted {
        /// Whether the tenant reported while it could begin that the host could not take the pod.
        unavailable: bool,
    },
    /// The pod has its lease.
    Begun {
        /// The lease.
        lease: LeaseId,
        /// Both sides are bound until then.
        ends_at: Moment,
    },
}

/// An offer of a long lease, or the agreement that it became.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct OfferRecord {
    /// The account that would pay.
    pub tenant: AccountId,
    /// The owner of the hosts.
    pub provider: AccountId,
    /// The side that proposed the present terms. While the offer is open the other side answers.
    pub proposer: Side,
    /// The terms.
    pub terms: OfferTerms,
    /// The place, once the provider has named it.
    pub place: Option<Place>,
    /// How often terms were countered.
    pub counters: u8,
    /// Its state.
    pub state: OfferState,
    /// The coins held of the proposer, and after the acceptance of each side.
    pub bond: Balance,
    /// The coins held of the tenant for the storage.
    pub deposit: Balance,
    /// When the agenda processes it next.
    pub due_at: Moment,
}

/// How an offer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum OfferOutcome {
    /// A side withdrew or refused it, or it expired, before it was accepted.
    NotAccepted,
    /// The agreed time is over, or the lease ended by nobody's fault.
    Kept,
    /// This side broke the agreement.
    BrokenBy(Side),
    /// The lease did not begin, and the chain cannot know by whose fault.
    NotBegun,
}

/// The status of the lease of an agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStatus {
    /// It has not ended.
    Live,
    /// It has ended, or a side has given it up.
    Ended {
        /// The time of the end; the present if it is not known.
        at: Moment,
        /// The side whose act or fault it was. None if it was nobody's fault or is not known.
        by: Option<Side>,
    },
}

/// A message of a ticket. Its text is not on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Message {
    /// The side that wrote it.
    pub by: Side,
    /// SHA-256 of the text.
    pub digest: Digest,
    /// When it was sent.
    pub at: Moment,
}

/// A support ticket on a lease.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct TicketRecord {
    /// The lease.
    pub lease: LeaseId,
    /// The tenant, who opened it.
    pub tenant: AccountId,
    /// The host of the lease when the ticket was opened.
    pub host: HostId,
    /// The owner of the host.
    pub provider: AccountId,
    /// The messages in their order; the first is the tenant's.
    pub messages: UpTo<Message, MAX_MESSAGES>,
    /// The side that closed it, if it is closed.
    pub closed: Option<Side>,
    /// A provider that answers until then has responded in time.
    pub respond_until: Moment,
    /// Whether the response to it is evidence about the host: it is the only kept ticket of its lease that is.
    pub counts: bool,
    /// Whether the provider responded in time, once that was written down as evidence.
    pub in_time: Option<bool>,
    /// The coins held of the tenant.
    pub deposit: Balance,
    /// When the agenda processes it next.
    pub due_at: Moment,
}

/// The subject of an attestation.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Subject {
    /// A provider, with all its hosts.
    Provider(AccountId),
    /// One host.
    Host(HostId),
}

/// An attribute that is attested.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Attribute {
    /// The subject has this certificate, such as `iso-27001`.
    Certificate(Bytes<64>),
    /// The subject is in this region.
    Region {
        /// The region, as hosts write it.
        region: Bytes<32>,
        /// The longest round trip to the auditor's probes in that region, in milliseconds.
        max_latency_ms: u16,
    },
}

/// A statement of an auditor.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct AttestationRecord {
    /// The auditor.
    pub auditor: AccountId,
    /// The provider or host.
    pub subject: Subject,
    /// The attribute.
    pub attribute: Attribute,
    /// SHA-256 of the evidence that the auditor keeps.
    pub evidence: Digest,
    /// When it was given.
    pub attested_at: Moment,
    /// It is in force until then.
    pub expires_at: Moment,
    /// The coins held of the auditor for it.
    pub stake: Balance,
    /// The contest, while there is one.
    pub contest: Option<Contest>,
    /// When the agenda processes it next.
    pub due_at: Moment,
}

/// The contest of an attestation.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Contest {
    /// The account that contests it.
    pub by: AccountId,
    /// SHA-256 of the evidence.
    pub evidence: Digest,
    /// The coins held of that account.
    pub stake: Balance,
    /// Without a decision until then the attestation stays in force.
    pub until: Moment,
}

/// Why an attestation is no longer in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum VoidReason {
    /// Its time is over.
    Expired,
    /// Its auditor revoked it.
    Revoked,
    /// The chain's governance revoked it.
    ByGovernance,
    /// It was contested and found wrong.
    FoundWrong,
}

/// An account that may attest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct AuditorRecord {
    /// Its bond.
    pub bond: Balance,
    /// How many of its attestations are in force.
    pub attestations: u32,
    /// If it has left: the time until which its bond is held.
    pub leaves_at: Option<Moment>,
}

/// An entry of the agenda.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub enum Due {
    /// An offer.
    Offer(OfferId),
    /// A ticket.
    Ticket(TicketId),
    /// An attestation.
    Attestation(AttestationId),
}

/// The periods (milliseconds), amounts (base units) and limits of the agreements pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// What is held of a tenant for the storage of an offer.
    pub offer_deposit: Balance,
    /// The most offers of one tenant that are kept.
    pub max_offers: u32,
    /// The longest time for an answer to an offer.
    pub max_offer_ms: u64,
    /// The longest time from an offer to the latest begin of the lease. The place may be reserved for so long.
    pub max_lead_ms: u64,
    /// The least time in which the tenant may begin.
    pub min_start_ms: u64,
    /// The price of so much of the lease is part of the bond of each side.
    pub bond_ms: u64,
    /// The least bond of each side.
    pub min_bond: Balance,
    /// The time between two checks whether the lease of an agreement has ended. Shorter than tasks are stored after their
    /// end.
    pub watch_ms: u64,
    /// What is held of a tenant for a ticket until the chain forgets it.
    pub ticket_deposit: Balance,
    /// A provider that answers within this time has responded.
    pub response_ms: u64,
    /// The chain keeps a ticket for so long after the time for the response. One ticket of a lease counts in that time.
    pub ticket_kept_ms: u64,
    /// What is held of an auditor. One that has less than half of it left may not attest.
    pub auditor_bond: Balance,
    /// How long the bond of an auditor that leaves is held.
    pub auditor_unbonding_ms: u64,
    /// What is held of an auditor for each attestation.
    pub attestation_stake: Balance,
    /// The part of its bond that an auditor loses besides for a wrong attestation, in parts per million.
    pub auditor_slash_ppm: u32,
    /// The longest time for which an attestation is in force.
    pub max_attestation_ms: u64,
    /// The coins held of an account that contests an attestation.
    pub contest_stake: Balance,
    /// The time within which governance may decide a contest.
    pub contest_ms: u64,
}

impl Default for Params {
    fn default() -> Self {
        const SECOND: u64 = 1_000;
        const HOUR: u64 = 3_600 * SECOND;
        const DAY: u64 = 24 * HOUR;
        const GTY: Balance = 1_000_000_000_000;
        Self {
            offer_deposit: GTY / 10,
            max_offers: 64,
            max_offer_ms: 7 * DAY,
            max_lead_ms: 14 * DAY,
            min_start_ms: HOUR,
            bond_ms: DAY,
            min_bond: GTY,
            watch_ms: HOUR,
            ticket_deposit: GTY / 10,
            response_ms: DAY,
            ticket_kept_ms: 30 * DAY,
            auditor_bond: 500 * GTY,
            auditor_unbonding_ms: 30 * DAY,
            attestation_stake: 5 * GTY,
            auditor_slash_ppm: 100_000,
            max_attestation_ms: 366 * DAY,
            contest_stake: 10 * GTY,
            contest_ms: 14 * DAY,
        }
    }
}

/// Why parameters are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// A period is zero, or longer than [`MAX_PERIOD_MS`].
    PeriodInvalid,
    /// The least bond, the bond of an auditor or a stake is zero.
    BondOrStakeZero,
    /// An auditor would lose more than its bond.
    SlashTooHigh,
    /// The bond of an auditor that leaves would be free before a contest of its attestations is decided.
    UnbondingTooShort,
}

impl Params {
    /// Checks the parameters. Fails with the first [`ParamsError`].
    pub fn check(&self) -> Result<(), ParamsError> {
        let periods = [
            self.max_offer_ms,
            self.max_lead_ms,
            self.min_start_ms,
            self.bond_ms,
            self.watch_ms,
            self.response_ms,
            self.ticket_kept_ms,
            self.auditor_unbonding_ms,
            self.max_attestation_ms,
            self.contest_ms,
        ];
        if !periods.into_iter().all(|period| (1..=MAX_PERIOD_MS).contains(&period)) {
            return Err(ParamsError::PeriodInvalid);
        }
        if [self.min_bond, self.auditor_bond, self.attestation_stake, self.contest_stake].contains(&0) {
            return Err(ParamsError::BondOrStakeZero);
        }
        if self.auditor_slash_ppm > 1_000_000 {
            return Err(ParamsError::SlashTooHigh);
        }
        if self.auditor_unbonding_ms < self.contest_ms {
            return Err(ParamsError::UnbondingTooShort);
        }
        Ok(())
    }
}
