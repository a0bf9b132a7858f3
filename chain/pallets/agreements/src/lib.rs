//! # Agreements
//!
//! Statements of tenants, providers and auditors beyond a single lease: offers of long leases that bind both sides once they
//! are accepted, support tickets on leases, and attributes of providers and hosts that bonded auditors attest.
//!
//! This file declares the pallet. `offers.rs` implements offers until they are accepted, `agreements.rs` accepted offers,
//! `tickets.rs` tickets, `auditors.rs` auditors, `attestations.rs` attestations and contests, `agenda.rs` the processing of
//! due records, `holds.rs` coins on hold, and `ports.rs` the port to hosts and tasks. docs/agreements.md states who pays.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod agenda;
mod agreements;
mod attestations;
mod auditors;
#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod errors;
mod holds;
mod offers;
mod ports;
mod tickets;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use agenda::{AgendaKey, BUCKET_MS, RETRY_MS};
pub use pallet::*;
pub use ports::{LeaseParties, Network};
pub use types::*;
pub use weights::WeightInfo;

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use alloc::boxed::Box;
    use frame_support::{
        migrations::MultiStepMigrator,
        pallet_prelude::*,
        traits::{fungible::MutateHold, Time},
    };
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{AccountId, Balance, Digest, HostId, LeaseId, Manifest, Moment, TaskSpec, UpTo};

    /// The version of the storage of this pallet.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

    /// The types that the runtime provides.
    #[pallet::config]
    pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
        /// The coins in which deposits, bonds and stakes are held.
        type Currency: MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>;
        /// The runtime's reasons to hold coins.
        type RuntimeHoldReason: From<HoldReason>;
        /// The chain's clock, in milliseconds.
        type Time: Time<Moment = Moment>;
        /// The hosts and tasks of the network.
        type Network: Network;
        /// The account that gets the parts of lost bonds and stakes that no party gets.
        type Treasury: Get<AccountId>;
        /// Who may decide contests, revoke attestations and change the parameters.
        type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// The most weight of a block for due entries of the agenda.
        type HookWeight: Get<Weight>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// Offers of long leases, support tickets and attested attributes.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// The number of the next offer.
    #[pallet::storage]
    pub type NextOfferId<T: Config> = StorageValue<_, OfferId, ValueQuery>;

    /// The open offers and the agreements.
    #[pallet::storage]
    pub type Offers<T: Config> = StorageMap<_, Twox64Concat, OfferId, OfferRecord>;

    /// The number of stored offers and agreements of each tenant.
    #[pallet::storage]
    pub type OffersOf<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, u32, ValueQuery>;

    /// The number of the next ticket.
    #[pallet::storage]
    pub type NextTicketId<T: Config> = StorageValue<_, TicketId, ValueQuery>;

    /// The stored tickets.
    #[pallet::storage]
    pub type Tickets<T: Config> = StorageMap<_, Twox64Concat, TicketId, TicketRecord>;

    /// The stored tickets of each lease.
    #[pallet::storage]
    pub type TicketsOf<T: Config> =
        StorageMap<_, Twox64Concat, LeaseId, UpTo<TicketId, MAX_TICKETS_PER_LEASE>, ValueQuery>;

    /// The accounts with the bond of an auditor.
    #[pallet::storage]
    pub type Auditors<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, AuditorRecord>;

    /// The number of the next attestation.
    #[pallet::storage]
    pub type NextAttestationId<T: Config> = StorageValue<_, AttestationId, ValueQuery>;

    /// The attestations that are in force.
    #[pallet::storage]
    pub type Attestations<T: Config> = StorageMap<_, Twox64Concat, AttestationId, AttestationRecord>;

    /// The attestations about each provider and host.
    #[pallet::storage]
    pub type AttestationsOf<T: Config> =
        StorageMap<_, Blake2_128Concat, Subject, UpTo<AttestationId, MAX_ATTESTATIONS>, ValueQuery>;

    /// The records that are due, by time, kind and number. The first key is due first.
    #[pallet::storage]
    pub type Agenda<T: Config> = StorageMap<_, Identity, AgendaKey, Due>;

    /// The entry of the agenda that was processed last: there is none before it.
    #[pallet::storage]
    pub type AgendaTaken<T: Config> = StorageValue<_, AgendaKey>;

    /// The periods, amounts and limits in force. Not whitelisted for benchmarks: few blocks have calls of this pallet.
    #[pallet::storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// The reasons for which the pallet holds coins.
    #[pallet::composite_enum]
    pub enum HoldReason {
        /// Deposits for stored offers.
        OfferDeposit,
        /// Bonds of the sides of offers and agreements.
        AgreementBond,
        /// Deposits for stored tickets.
        TicketDeposit,
        /// Bonds of auditors.
        AuditorBond,
        /// Stakes of auditors for attestations.
        AttestationStake,
        /// Stakes of accounts that contest attestations.
        ContestStake,
    }

    /// The genesis configuration.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The periods, amounts and limits.
        pub params: Params,
        /// Marker of the runtime.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            if let Err(error) = self.params.check() {
                panic!("agreements.params are invalid: {error:?}");
            }
            CurrentParams::<T>::put(&self.params);
        }
    }

    /// The events of the pallet.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A tenant offered a provider a long lease.
        Proposed {
            /// The offer.
            offer: OfferId,
            /// The account that would pay.
            tenant: AccountId,
            /// The owner of the hosts.
            provider: AccountId,
            /// The price in base units an hour.
            rate_per_hour: Balance,
            /// The duration of the lease in milliseconds.
            duration_ms: u64,
            /// The provider may answer until then.
            until: Moment,
        },
        /// A side answered an offer with other terms.
        Countered {
            /// The offer.
            offer: OfferId,
            /// The side whose terms they are.
            by: Side,
            /// The price in base units an hour.
            rate_per_hour: Balance,
            /// The duration of the lease in milliseconds.
            duration_ms: u64,
            /// The other side may answer until then.
            until: Moment,
        },
        /// An offer was accepted. The place is reserved, and both sides are bound.
        Accepted {
            /// The offer.
            offer: OfferId,
            /// The host.
            host: HostId,
            /// The bond that is held of each side.
            bond: Balance,
            /// The tenant may begin until then.
            start_until: Moment,
        },
        /// A tenant reported that the host of an agreement could not take the pod.
        UnavailableReported {
            /// The offer.
            offer: OfferId,
            /// The host.
            host: HostId,
        },
        /// The lease of an agreement began.
        Begun {
            /// The offer.
            offer: OfferId,
            /// The lease.
            lease: LeaseId,
            /// Both sides are bound until then.
            ends_at: Moment,
        },
        /// An offer or agreement is over.
        OfferClosed {
            /// The offer.
            offer: OfferId,
            /// How it ended.
            outcome: OfferOutcome,
            /// The part of the bond of the side that broke it that went to the other.
            compensation: Balance,
        },
        /// A tenant opened a ticket.
        TicketOpened {
            /// The ticket.
            ticket: TicketId,
            /// The lease that it is about.
            lease: LeaseId,
            /// The host of the lease.
            host: HostId,
            /// SHA-256 of the text.
            digest: Digest,
            /// A provider that answers until then has responded in time.
            respond_until: Moment,
        },
        /// A side of a ticket wrote a message.
        TicketAnswered {
            /// The ticket.
            ticket: TicketId,
            /// The side.
            by: Side,
            /// SHA-256 of the text.
            digest: Digest,
        },
        /// A side closed a ticket.
        TicketClosed {
            /// The ticket.
            ticket: TicketId,
            /// The side.
            by: Side,
        },
        /// The provider of a host responded to the ticket of a lease in time, or did not.
        ResponseCounted {
            /// The ticket.
            ticket: TicketId,
            /// The host.
            host: HostId,
            /// Whether it was in time.
            in_time: bool,
        },
        /// A ticket was removed, and its deposit released.
        TicketForgotten {
            /// The ticket.
            ticket: TicketId,
        },
        /// An account became an auditor, or topped up its bond.
        AuditorBonded {
            /// The account.
            who: AccountId,
            /// Its bond now.
            bond: Balance,
        },
        /// An auditor may no longer attest.
        AuditorLeaving {
            /// The account.
            who: AccountId,
            /// Its bond is held at least until then.
            until: Moment,
        },
        /// The bond of a former auditor was released.
        AuditorLeft {
            /// The account.
            who: AccountId,
            /// The released amount.
            bond: Balance,
        },
        /// An auditor lost some of its bond for a wrong attestation.
        AuditorSlashed {
            /// The account.
            who: AccountId,
            /// The amount, of its bond and of the stake of the attestation.
            amount: Balance,
        },
        /// An auditor attested an attribute.
        Attested {
            /// The attestation.
            attestation: AttestationId,
            /// The auditor.
            auditor: AccountId,
            /// The provider or host.
            subject: Subject,
            /// The attribute.
            attribute: Attribute,
            /// It is void from then on.
            expires_at: Moment,
        },
        /// An account contested an attestation.
        Contested {
            /// The attestation.
            attestation: AttestationId,
            /// The account.
            by: AccountId,
            /// SHA-256 of the evidence.
            evidence: Digest,
            /// Without a decision until then the attestation stays in force.
            until: Moment,
        },
        /// A contest ended, and the attestation stays in force.
        ContestRejected {
            /// The attestation.
            attestation: AttestationId,
            /// Whether governance decided it. Otherwise there was no decision in time.
            decided: bool,
        },
        /// An attestation is no longer in force.
        Voided {
            /// The attestation.
            attestation: AttestationId,
            /// Why.
            reason: VoidReason,
        },
        /// A due entry of the agenda failed; nothing changed, and it is retried later. A bug: please report it.
        DueFailed {
            /// The entry.
            due: Due,
            /// Why.
            error: DispatchError,
        },
        /// The parameters of this pallet were changed.
        ParamsChanged,
    }

    /// The errors of the pallet's calls.
    #[pallet::error]
    pub enum Error<T> {
        /// There is no such offer: it ended, or never existed.
        NoSuchOffer,
        /// The caller is no party of the offer, the lease or the ticket.
        NotParty,
        /// The other side has to answer the offer.
        NotYourTurn,
        /// The offer is not open: it was accepted, or its time is over.
        OfferNotOpen,
        /// The offer was not accepted, or its lease has begun.
        OfferNotAccepted,
        /// The lease of the agreement has not begun.
        LeaseNotBegun,
        /// Tenant and provider are one account.
        OfferToOneself,
        /// The terms name no host, or a host twice.
        HostsInvalid,
        /// A host of the terms is not of the provider.
        NotHostOfProvider,
        /// The duration is zero.
        DurationIsZero,
        /// The time for the begin is too short, too late or over.
        StartInvalid,
        /// The time for an answer is zero, too long, or ends after the latest begin.
        AnswerTimeInvalid,
        /// The tenant has the most offers that the chain stores of one.
        TooManyOffers,
        /// The terms were countered as often as they may be.
        TooManyCounters,
        /// The provider has to name the host and the devices.
        PlaceMissing,
        /// Only the provider names the host and the devices.
        PlaceNotYours,
        /// The place is not on a host of the terms.
        PlaceElsewhere,
        /// The bond does not fit its type.
        BondTooHigh,
        /// The caller or the proposer cannot pay the deposit or bond.
        CannotPay,
        /// The time in which the lease may begin has not come, or is over.
        NotStartTime,
        /// The task is not what was agreed: kind, pods, resources, unit, duration, price limit, spot or survival differ.
        TaskDiffers,
        /// The host of the agreement can take the pod.
        HostAvailable,
        /// The lease of the agreement has not ended.
        LeaseLives,
        /// There is no such lease, or it has ended.
        NoSuchLease,
        /// The lease has the most tickets that the chain stores of one.
        TooManyTickets,
        /// There is no such ticket: it was removed, or never existed.
        NoSuchTicket,
        /// The ticket is closed.
        TicketIsClosed,
        /// The ticket has the most messages that it may have.
        TooManyMessages,
        /// The caller is no auditor that may attest.
        NotAuditor,
        /// The caller is an auditor with the whole bond already.
        AlreadyBonded,
        /// The auditor has not left, or must wait for its bond.
        StillBonded,
        /// The auditor has attestations in force: revoke them, or wait until they expire.
        HasAttestations,
        /// The auditor is the provider, or the provider of the host.
        AuditsItself,
        /// The host is not registered.
        NoSuchHost,
        /// The attestation would be in force for no time, or for too long.
        ExpiryInvalid,
        /// The name of the certificate or of the region is empty.
        AttributeEmpty,
        /// The subject has the most attestations that the chain stores of one, or of one auditor.
        TooManyAttestations,
        /// There is no such attestation: it is no longer in force, or never existed.
        NoSuchAttestation,
        /// The caller is not the auditor of the attestation.
        NotYourAttestation,
        /// The attestation is contested.
        IsContested,
        /// The attestation is not contested.
        NotContested,
        /// A period must be 1 millisecond to 366 days.
        PeriodInvalid,
        /// The least bond, the bond of an auditor and stakes must not be zero.
        BondOrStakeZero,
        /// An auditor cannot lose more than its bond.
        SlashTooHigh,
        /// The bond of an auditor must be held for at least as long as a contest may last.
        UnbondingTooShort,
        /// A sum or product does not fit its type.
        Overflow,
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        /// Not while a migration runs: it changes the form of hosts and tasks.
        fn on_initialize(_now: BlockNumberFor<T>) -> Weight {
            if T::MultiBlockMigrator::ongoing() {
                return T::DbWeight::get().reads(1);
            }
            Self::run_agenda(T::HookWeight::get())
        }

        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Self::do_try_state()
        }
    }

    #[pallet::call]
    impl<T: Config> Pallet<T> {
        /// Offer a provider a long lease of one pod. The bond of the caller and a deposit for the storage are held.
        #[pallet::call_index(0)]
        #[pallet::weight(T::WeightInfo::propose())]
        pub fn propose(
            origin: OriginFor<T>,
            provider: AccountId,
            terms: Box<OfferTerms>,
            until: Moment,
        ) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_propose(tenant, provider, *terms, until)
        }

        /// Answer an open offer with other terms. By the side whose turn it is; a provider names the place.
        #[pallet::call_index(1)]
        #[pallet::weight(T::WeightInfo::counter())]
        pub fn counter(
            origin: OriginFor<T>,
            offer: OfferId,
            terms: Box<OfferTerms>,
            place: Option<Place>,
            until: Moment,
        ) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_counter(who, offer, *terms, place, until)
        }

        /// Accept an open offer: the place is reserved, and both sides are bound. By the side whose turn it is; a provider
        /// names the place.
        #[pallet::call_index(2)]
        #[pallet::weight(T::WeightInfo::accept())]
        pub fn accept(origin: OriginFor<T>, offer: OfferId, place: Option<Place>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_accept(who, offer, place)
        }

        /// Withdraw or refuse an open offer. By either side.
        #[pallet::call_index(3)]
        #[pallet::weight(T::WeightInfo::decline())]
        pub fn decline(origin: OriginFor<T>, offer: OfferId) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_decline(who, offer)
        }

        /// Submit the task of an accepted offer, and open its lease at the reserved place for the agreed price. By the
        /// tenant, within the agreed time.
        #[pallet::call_index(4)]
        #[pallet::weight(T::WeightInfo::begin())]
        pub fn begin(origin: OriginFor<T>, offer: OfferId, spec: Box<TaskSpec>, manifest: Manifest) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_begin(tenant, offer, *spec, manifest)
        }

        /// Report that the host of an accepted offer cannot take the pod now. By the tenant, within the time for the
        /// begin: then the tenant has not broken the agreement.
        #[pallet::call_index(5)]
        #[pallet::weight(T::WeightInfo::report_unavailable())]
        pub fn report_unavailable(origin: OriginFor<T>, offer: OfferId) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_report_unavailable(tenant, offer)
        }

        /// Close an agreement whose lease has ended, and move the bond of the side that ended it early. By anyone; the
        /// agenda does it, too.
        #[pallet::call_index(6)]
        #[pallet::weight(T::WeightInfo::conclude())]
        pub fn conclude(origin: OriginFor<T>, offer: OfferId) -> DispatchResult {
            ensure_signed(origin)?;
            Self::do_conclude(offer)
        }

        /// Open a ticket on a lease of the caller. A deposit is held until it is removed.
        #[pallet::call_index(7)]
        #[pallet::weight(T::WeightInfo::open_ticket())]
        pub fn open_ticket(origin: OriginFor<T>, lease: LeaseId, digest: Digest) -> DispatchResult {
            let tenant = ensure_signed(origin)?;
            Self::do_open_ticket(tenant, lease, digest)
        }

        /// Write a message to an open ticket. By its tenant or its provider.
        #[pallet::call_index(8)]
        #[pallet::weight(T::WeightInfo::answer_ticket())]
        pub fn answer_ticket(origin: OriginFor<T>, ticket: TicketId, digest: Digest) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_answer_ticket(who, ticket, digest)
        }

        /// Close a ticket. By its tenant or its provider.
        #[pallet::call_index(9)]
        #[pallet::weight(T::WeightInfo::close_ticket())]
        pub fn close_ticket(origin: OriginFor<T>, ticket: TicketId) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_close_ticket(who, ticket)
        }

        /// Become an auditor, return as one, or top up the caller's bond.
        #[pallet::call_index(10)]
        #[pallet::weight(T::WeightInfo::bond_auditor())]
        pub fn bond_auditor(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_bond_auditor(who)
        }

        /// Stop attesting. The attestations of the caller stay in force.
        #[pallet::call_index(11)]
        #[pallet::weight(T::WeightInfo::unbond_auditor())]
        pub fn unbond_auditor(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_unbond_auditor(who)
        }

        /// Release the bond, after its time and when no attestation of the caller is in force.
        #[pallet::call_index(12)]
        #[pallet::weight(T::WeightInfo::withdraw_auditor_bond())]
        pub fn withdraw_auditor_bond(origin: OriginFor<T>) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_withdraw_auditor_bond(who)
        }

        /// Attest an attribute of a provider or host. By an auditor, of whom a stake is held for it.
        #[pallet::call_index(13)]
        #[pallet::weight(T::WeightInfo::attest())]
        pub fn attest(
            origin: OriginFor<T>,
            subject: Subject,
            attribute: Attribute,
            evidence: Digest,
            expires_at: Moment,
        ) -> DispatchResult {
            let auditor = ensure_signed(origin)?;
            Self::do_attest(auditor, subject, attribute, evidence, expires_at)
        }

        /// Revoke an attestation that is not contested. By its auditor, or by governance.
        #[pallet::call_index(14)]
        #[pallet::weight(T::WeightInfo::revoke())]
        pub fn revoke(origin: OriginFor<T>, attestation: AttestationId) -> DispatchResult {
            let auditor = match T::AdminOrigin::try_origin(origin) {
                Ok(_) => None,
                Err(origin) => Some(ensure_signed(origin)?),
            };
            Self::do_revoke(auditor, attestation)
        }

        /// Contest an attestation. By anyone, of whom a stake is held; governance decides.
        #[pallet::call_index(15)]
        #[pallet::weight(T::WeightInfo::contest())]
        pub fn contest(origin: OriginFor<T>, attestation: AttestationId, evidence: Digest) -> DispatchResult {
            let who = ensure_signed(origin)?;
            Self::do_contest(who, attestation, evidence)
        }

        /// Decide whether a contested attestation is wrong. By governance.
        #[pallet::call_index(16)]
        #[pallet::weight(T::WeightInfo::decide_contest())]
        pub fn decide_contest(origin: OriginFor<T>, attestation: AttestationId, is_wrong: bool) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            Self::do_decide_contest(attestation, is_wrong)
        }

        /// Change the parameters of this pallet. By governance.
        #[pallet::call_index(17)]
        #[pallet::weight(T::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            params.check().map_err(Error::<T>::from)?;
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }
    }
}
