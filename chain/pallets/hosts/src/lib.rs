//! # Hosts
//!
//! The machines that providers offer, their prices and their availability. This file declares the pallet;
//! `dispatchables.rs` implements the calls, `capacity.rs` the allocation of resources to leases, `bonds.rs` bonds and
//! slashes, `free_calls.rs` the allowance of free calls, `types.rs` the parameters, and `errors.rs` the conversion of
//! errors of the pure rules.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod bonds;
mod capacity;
mod dispatchables;
mod errors;
mod free_calls;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use free_calls::{FreeCall, UsedWeight};
pub use pallet::*;
pub use types::{Params, ParamsError, MAX_HEARTBEATS};
pub use weights::WeightInfo;

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use crate::free_calls::FreeWeightInBlock;
    use frame_support::{
        pallet_prelude::*,
        traits::{fungible::MutateHold, Time},
    };
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{
        faults::Fault, AccountId, Ask, Balance, DeviceIndices, Endpoint, Halts, HardwareSpec, HostId, HostRecord,
        HostStatus, Moment, RegionName, SuspendReason, UpTo,
    };
    use pallet_gantry_reputation as reputation;

    /// The version of the storage of this pallet; that of release 1 is 0.
    const STORAGE_VERSION: StorageVersion = StorageVersion::new(2);

    /// The types that the runtime provides.
    #[pallet::config]
    pub trait Config:
        frame_system::Config<AccountId = AccountId, Hash: Into<[u8; 32]>, RuntimeEvent: From<Event<Self>>>
        + reputation::Config
    {
        /// Who verifies and suspends hosts and sets the parameters.
        type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
        /// The coins in which bonds are held.
        type Currency: MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>;
        /// The runtime's reasons to hold coins.
        type RuntimeHoldReason: From<HoldReason>;
        /// The chain's clock, in milliseconds.
        type Time: Time<Moment = Moment>;
        /// When the slot of this block began, which is known before the clock is set.
        type SlotTime: Get<Moment>;
        /// Where slashed coins go.
        type Treasury: Get<AccountId>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// The machines that providers offer, their prices and their availability.
    #[pallet::pallet]
    #[pallet::storage_version(STORAGE_VERSION)]
    pub struct Pallet<T>(_);

    /// Every host that was ever registered.
    #[pallet::storage]
    pub type Hosts<T: Config> = StorageMap<_, Blake2_128Concat, HostId, HostRecord>;

    /// The hosts of a provider, except retired ones.
    #[pallet::storage]
    pub type HostsByProvider<T: Config> =
        StorageDoubleMap<_, Blake2_128Concat, AccountId, Blake2_128Concat, HostId, ()>;

    /// When a host last changed its endpoint, if it ever did.
    #[pallet::storage]
    pub type EndpointChangedAt<T: Config> = StorageMap<_, Blake2_128Concat, HostId, Moment>;

    /// When a host last reported which of its devices are unhealthy, if it ever did.
    #[pallet::storage]
    pub type HealthChangedAt<T: Config> = StorageMap<_, Blake2_128Concat, HostId, Moment>;

    /// When a host last reported the speed of its network, if it ever did.
    #[pallet::storage]
    pub type NetworkMeasuredAt<T: Config> = StorageMap<_, Blake2_128Concat, HostId, Moment>;

    /// The part of its allowance of free weight that a host has used. Removed when its bond is released.
    #[pallet::storage]
    pub type FreeWeightUsed<T: Config> = StorageMap<_, Blake2_128Concat, HostId, UsedWeight, ValueQuery>;

    /// How often a host was named as the standby of a lease, modulo 2^32. A change tells its agent to look for the lease.
    /// Removed when its bond is given back.
    #[pallet::storage]
    pub type StandbyNamings<T: Config> = StorageMap<_, Blake2_128Concat, HostId, u32, ValueQuery>;

    /// A block, and the `ref_time` that free calls have used in it.
    #[pallet::storage]
    #[pallet::whitelist_storage]
    pub type FreeWeightOfBlock<T: Config> = StorageValue<_, FreeWeightInBlock<T>, ValueQuery>;

    /// When the chain made no blocks for longer than `Params.halt_after_ms`.
    #[pallet::storage]
    #[pallet::storage_prefix = "Halts"]
    pub type CountedHalts<T: Config> = StorageValue<_, Halts, ValueQuery>;

    /// The periods and amounts in force.
    #[pallet::storage]
    #[pallet::whitelist_storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// The reasons for which the pallet holds coins.
    #[pallet::composite_enum]
    pub enum HoldReason {
        /// The bond of a provider's hosts.
        Bond,
    }

    /// The genesis configuration.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The periods and amounts.
        pub params: Params,
        /// Marker of the runtime.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            let checked = self.params.check();
            assert!(checked.is_ok(), "the genesis parameters of the hosts pallet are refused: {checked:?}");
            CurrentParams::<T>::put(&self.params);
        }
    }

    /// The events of the pallet.
    #[pallet::event]
    #[pallet::generate_deposit(pub(crate) fn deposit_event)]
    pub enum Event<T: Config> {
        /// A provider registered a host.
        Registered {
            /// The host.
            host: HostId,
            /// Who owns it.
            provider: AccountId,
        },
        /// A host changed its status.
        StatusChanged {
            /// The host.
            host: HostId,
            /// What it was.
            from: HostStatus,
            /// What it is.
            to: HostStatus,
        },
        /// A host has a new price list.
        AskChanged {
            /// The host.
            host: HostId,
            /// The new price list.
            ask: Ask,
        },
        /// A host changed its endpoint.
        EndpointChanged {
            /// The host.
            host: HostId,
        },
        /// The periods and amounts of this pallet were changed.
        ParamsChanged,
        /// A host has other hardware, and none of it is attested.
        HardwareChanged {
            /// The host.
            host: HostId,
            /// How often its hardware was changed.
            generation: u32,
            /// What its bond must be now.
            bond_required: Balance,
        },
        /// A host reported which of its devices are unhealthy; all others are healthy.
        DeviceHealthChanged {
            /// The host.
            host: HostId,
            /// The devices that take no new lease.
            unhealthy: DeviceIndices,
        },
        /// A host measured its network: what it offers, as `Placement.min_network_mbps` and `max_latency_ms` ask for it.
        NetworkMeasured {
            /// The host.
            host: HostId,
            /// Megabits a second to the host.
            down_mbps: u32,
            /// Megabits a second from the host.
            up_mbps: u32,
            /// Its round trip in milliseconds; 0 where it is not known.
            latency_ms: u16,
        },
        /// A challenge proved that a device is real, or did not.
        DeviceAttested {
            /// The host.
            host: HostId,
            /// The device.
            device: u8,
            /// Whether it was proved.
            attested: bool,
        },
        /// A host was reported absent.
        AbsenceReported {
            /// The host.
            host: HostId,
            /// Who reported it.
            reporter: AccountId,
            /// What the reporter got for it, out of the bond.
            bounty: Balance,
            /// What the treasury got, out of the bond as well.
            forfeited: Balance,
        },
        /// A host paid for a fault out of its bond.
        Slashed {
            /// The host.
            host: HostId,
            /// What it did.
            fault: Fault,
            /// What was taken of its bond.
            amount: Balance,
        },
        /// A provider added to the bond of a host.
        BondToppedUp {
            /// The host.
            host: HostId,
            /// What was added.
            amount: Balance,
        },
        /// A provider has the bond of a retired host back.
        BondWithdrawn {
            /// The host.
            host: HostId,
            /// What was left of it.
            amount: Balance,
        },
        /// A device takes no new lease until the host has answered a challenge of it.
        DeviceChallenged {
            /// The host.
            host: HostId,
            /// The device; none: the host has answered, or the challenge is over.
            device: Option<u8>,
        },
    }

    /// The errors of the pallet's calls.
    #[pallet::error]
    pub enum Error<T> {
        /// The host is registered already; a key is used once, retired or not.
        AlreadyRegistered,
        /// No such host is registered.
        NoSuchHost,
        /// The caller is not the provider of the host.
        NotProvider,
        /// The signature is not by the host's key, or not for this chain, provider and content.
        BadHostSignature,
        /// The hardware has no processor or no memory.
        HardwareEmpty,
        /// The hardware has a simulated device, and this chain takes real ones only.
        SimulatedDevicesRefused,
        /// The provider cannot pay the bond.
        ProviderCannotPay,
        /// The host is retiring or retired.
        HostRetired,
        /// A host in this status cannot change to the requested one.
        TransitionNotAllowed,
        /// The host has live leases.
        HasLiveLeases,
        /// The host was heard of within the absence limit.
        NotAbsent,
        /// The host takes no leases now.
        HostNotOnline,
        /// Less processor is free on the host than the pod needs.
        NotEnoughCpu,
        /// Less memory is free on the host than the pod needs.
        NotEnoughMemory,
        /// Less disk is free on the host than the pod needs.
        NotEnoughDisk,
        /// Not as many devices are named as the pod needs.
        WrongDeviceCount,
        /// A named device does not exist.
        NoSuchDevice,
        /// A device is named twice.
        DeviceRepeated,
        /// A named device is simulated, and the task allows real ones only.
        SimulatedNotAllowed,
        /// A named device is of a model that the task does not want.
        WrongModel,
        /// A named device has less memory than the pod needs.
        NotEnoughVram,
        /// Less of a named device is free than the pod needs.
        DeviceBusy,
        /// More would be free on the host than it has. A bug: please report it.
        MoreFreeThanTotal,
        /// A sum or product does not fit its type.
        Overflow,
        /// The task names other hosts.
        HostNotWanted,
        /// The task wants other regions.
        RegionNotWanted,
        /// The task does not allow the host's provider, or denies it.
        ProviderNotWanted,
        /// The task wants another class of machine.
        TierNotWanted,
        /// The host can send or receive less than the task wants.
        NotEnoughNetwork,
        /// The host cannot run something that the task wants.
        CapabilityMissing,
        /// A named device is not attested, and the task allows attested ones only.
        NotAttested,
        /// A named device is unhealthy.
        DeviceUnhealthy,
        /// The price list prices a model twice.
        AskModelRepeated,
        /// The price list has a factor of more than ten times the list price.
        AskFactorTooGreat,
        /// Governance suspended the host, and only governance ends that.
        SuspendedByRoot,
        /// The unbonding period of the host is not over.
        StillUnbonding,
        /// The host has less than half of the bond that it must have.
        BondTooLow,
        /// An amount of zero changes nothing.
        AmountZero,
        /// The heartbeat period is zero.
        HeartbeatPeriodZero,
        /// The absence limit is less than five quarters of a heartbeat period.
        AbsenceLimitTooShort,
        /// A period is longer than a year.
        PeriodTooLong,
        /// A bond for a device is too great to be added up.
        BondTooGreat,
        /// The bounty for an absence is more than half of a bond for a device.
        AbsenceBountyTooGreat,
        /// The host's round trip is longer than the task wants, or it has measured none.
        LatencyTooHigh,
        /// The pod needs a share of a device of which another tenant holds shares.
        DeviceShared,
        /// The task wants its pods in a sandbox, and those of the host use the kernel of the machine.
        NotSandboxed,
        /// The time without blocks that counts as a halt is zero or longer than the absence limit.
        HaltAfterInvalid,
        /// Free calls have used up their share of this block.
        NoRoomForFreeCalls,
        /// Hosts do not have an allowance of free weight.
        FreeWeightZero,
        /// The hosts of a batch are not in ascending order, or one is named twice.
        HostsNotSorted,
        /// Another account is the provider of a host of the batch.
        NotProviderOfAll,
        /// The host must prove first that a named device is real: a challenge of it waits for its answer.
        DeviceChallenged,
        /// The host promises less than the terms that the task demands.
        TermsTooWeak,
        /// The terms promise more than all of the time, or more notice or penalty than the chain allows.
        TermsInvalid,
        /// The greatest penalty of a price list is more than the whole price.
        PenaltyTooGreat,
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
        /// Notes a halt of the chain before any call can make use of it.
        fn on_initialize(_now: BlockNumberFor<T>) -> Weight {
            Self::note_halt()
        }

        #[cfg(feature = "try-runtime")]
        fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
            Self::do_try_state()
        }
    }

    #[pallet::call]
    impl<T: Config> Pallet<T> {
        /// Register a machine. The caller becomes its provider and its bond is held; `host_signature` is by the
        /// host's key over the content (see docs/protocol.md).
        #[pallet::call_index(0)]
        #[pallet::weight(T::WeightInfo::register())]
        pub fn register(
            origin: OriginFor<T>,
            host: HostId,
            hardware: HardwareSpec,
            endpoint: Endpoint,
            region: RegionName,
            ask: Ask,
            host_signature: [u8; 64],
        ) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_register(provider, host, hardware, endpoint, region, ask, host_signature)
        }

        /// A heartbeat of the calling host. Free of charge for the first time and when half a heartbeat period has
        /// passed since the last.
        #[pallet::call_index(1)]
        #[pallet::weight(T::WeightInfo::heartbeat_after_absence())]
        #[pallet::feeless_if(|origin: &OriginFor<T>| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::heartbeat_is_due(&host))
        })]
        pub fn heartbeat(origin: OriginFor<T>) -> DispatchResultWithPostInfo {
            let host = ensure_signed(origin)?;
            let was_offline = Self::do_heartbeat(host)?;
            Ok((!was_offline).then(T::WeightInfo::heartbeat).into())
        }

        /// Heartbeats of these hosts, in ascending order, by their provider. Free of charge if a heartbeat of each of
        /// them is due.
        #[pallet::call_index(17)]
        #[pallet::weight(T::WeightInfo::heartbeat_after_absence().saturating_mul(hosts.len() as u64))]
        #[pallet::feeless_if(|origin: &OriginFor<T>, hosts: &UpTo<HostId, MAX_HEARTBEATS>| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|provider| Pallet::<T>::heartbeats_are_due(&provider, hosts))
        })]
        pub fn heartbeat_batch(
            origin: OriginFor<T>,
            hosts: UpTo<HostId, MAX_HEARTBEATS>,
        ) -> DispatchResultWithPostInfo {
            let provider = ensure_signed(origin)?;
            let (present, absent) = Self::do_heartbeat_batch(&provider, &hosts)?;
            let weight = T::WeightInfo::heartbeat().saturating_mul(present);
            Ok(Some(T::WeightInfo::heartbeat_after_absence().saturating_mul(absent).saturating_add(weight)).into())
        }

        /// Change the endpoint of the calling host. Free of charge if it differs and a heartbeat period has passed
        /// since the last change.
        #[pallet::call_index(2)]
        #[pallet::weight(T::WeightInfo::set_endpoint())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, endpoint: &Endpoint| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::endpoint_change_is_free(&host, endpoint))
        })]
        pub fn set_endpoint(origin: OriginFor<T>, endpoint: Endpoint) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_set_endpoint(host, endpoint)
        }

        /// Give a host of the caller another price list. Leases keep the rate they were opened at.
        #[pallet::call_index(3)]
        #[pallet::weight(T::WeightInfo::set_ask())]
        pub fn set_ask(origin: OriginFor<T>, host: HostId, ask: Ask) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_set_ask(provider, host, ask)
        }

        /// Drain a host of the caller: it finishes its leases and takes no new ones.
        #[pallet::call_index(4)]
        #[pallet::weight(T::WeightInfo::drain())]
        pub fn drain(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_drain(provider, host)
        }

        /// A draining host of the caller takes new leases again.
        #[pallet::call_index(5)]
        #[pallet::weight(T::WeightInfo::undrain())]
        pub fn undrain(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_undrain(provider, host)
        }

        /// Retire a host of the caller. It must have no live leases, and its bond is held for the unbonding period: see
        /// `withdraw_bond`.
        #[pallet::call_index(6)]
        #[pallet::weight(T::WeightInfo::retire())]
        pub fn retire(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_retire(provider, host)
        }

        /// Report a host that was silent for longer than the absence limit. The caller gets a bounty from its bond,
        /// unless it is its provider; as much again goes to the treasury.
        #[pallet::call_index(7)]
        #[pallet::weight(T::WeightInfo::report_absent())]
        pub fn report_absent(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            let reporter = ensure_signed(origin)?;
            Self::do_report_absent(reporter, host)
        }

        /// Let an unverified host come online. By the admin origin.
        #[pallet::call_index(8)]
        #[pallet::weight(T::WeightInfo::verify_host())]
        pub fn verify(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            Self::do_verify(host)
        }

        /// Suspend a host: it takes no new leases, and its present leases continue. By the admin origin.
        #[pallet::call_index(9)]
        #[pallet::weight(T::WeightInfo::suspend())]
        pub fn suspend(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            Self::suspend_for(&host, SuspendReason::ByRoot)
        }

        /// Let a suspended host come online again with its next heartbeat. By the admin origin.
        #[pallet::call_index(10)]
        #[pallet::weight(T::WeightInfo::unsuspend())]
        pub fn unsuspend(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            Self::do_unsuspend(host)
        }

        /// Change the periods and amounts of this pallet. By the admin origin.
        #[pallet::call_index(11)]
        #[pallet::weight(T::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            T::AdminOrigin::ensure_origin(origin)?;
            params.check().map_err(Error::<T>::from)?;
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }

        /// The provider of a retiring host gets its bond back when the unbonding period is over. The host is retired
        /// then, and its key is not used again.
        #[pallet::call_index(12)]
        #[pallet::weight(T::WeightInfo::withdraw_bond())]
        pub fn withdraw_bond(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_withdraw_bond(provider, host)
        }

        /// Add to the bond of a host of the caller. A host that was suspended because slashes left too little may come
        /// online again once its bond is whole.
        #[pallet::call_index(13)]
        #[pallet::weight(T::WeightInfo::top_up_bond())]
        pub fn top_up_bond(origin: OriginFor<T>, host: HostId, amount: Balance) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_top_up_bond(provider, host, amount)
        }

        /// The calling host says which of its devices are out of order and take no new lease; all others are in order.
        /// Free of charge when that changes something and a heartbeat period has passed since the last change.
        #[pallet::call_index(14)]
        #[pallet::weight(T::WeightInfo::set_device_health())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, unhealthy: &DeviceIndices| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::health_change_is_free(&host, unhealthy))
        })]
        pub fn set_device_health(origin: OriginFor<T>, unhealthy: DeviceIndices) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_set_device_health(host, unhealthy)
        }

        /// Register a host of the caller as it is now. It must have no live leases; what its bond lacks is held, and it
        /// must be verified again. `host_signature` is by the host's key over the content (see docs/protocol.md).
        #[pallet::call_index(15)]
        #[pallet::weight(T::WeightInfo::change_hardware())]
        pub fn change_hardware(
            origin: OriginFor<T>,
            host: HostId,
            hardware: HardwareSpec,
            host_signature: [u8; 64],
        ) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_change_hardware(provider, host, hardware, host_signature)
        }

        /// The calling host says how fast its network is, as it measured it; `latency_ms` is 0 where it knows none. Free
        /// of charge when one differs by more than a tenth from what the chain has and a heartbeat period has passed
        /// since the last time.
        #[pallet::call_index(16)]
        #[pallet::weight(T::WeightInfo::set_network())]
        #[pallet::feeless_if(|origin: &OriginFor<T>, down_mbps: &u32, up_mbps: &u32, latency_ms: &u16| -> bool {
            ensure_signed(origin.clone())
                .is_ok_and(|host| Pallet::<T>::network_change_is_free(&host, *down_mbps, *up_mbps, *latency_ms))
        })]
        pub fn set_network(origin: OriginFor<T>, down_mbps: u32, up_mbps: u32, latency_ms: u16) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_set_network(host, down_mbps, up_mbps, latency_ms)
        }
    }

    #[pallet::view_functions]
    impl<T: Config> Pallet<T> {
        /// What a provider would have to post now for a host with this hardware. None where that does not fit its type.
        pub fn bond_needed(provider: AccountId, hardware: HardwareSpec) -> Option<Balance> {
            Self::bond_for(&provider, &hardware).ok()
        }
    }
}
