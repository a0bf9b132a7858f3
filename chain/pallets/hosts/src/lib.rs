//! # Hosts
//!
//! Who offers which machine, at which price, and whether it is there. This file declares; `dispatchables.rs` does,
//! `capacity.rs` is what the tasks pallet takes from hosts and gives back to them.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "runtime-benchmarks")]
mod benchmarking;
mod capacity;
mod dispatchables;
mod try_state;
mod types;
pub mod weights;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

pub use pallet::*;
pub use types::Params;
pub use weights::WeightInfo;

#[frame_support::pallet]
pub mod pallet {
    use super::*;
    use frame_support::{
        pallet_prelude::*,
        traits::{fungible::MutateHold, Time},
    };
    use frame_system::pallet_prelude::*;
    use gantry_primitives::{
        AccountId, Ask, Balance, Endpoint, HardwareSpec, HostId, HostRecord, HostStatus, Moment, RegionName,
    };

    /// What the pallet needs of its runtime.
    #[pallet::config]
    pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
        /// The coins in which bonds are held.
        type Currency: MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason>;
        /// The runtime's reasons to hold coins.
        type RuntimeHoldReason: From<HoldReason>;
        /// The chain's clock, in milliseconds.
        type Time: Time<Moment = Moment>;
        /// The weight of each call.
        type WeightInfo: WeightInfo;
    }

    /// Who offers which machine, at which price, and whether it is there.
    #[pallet::pallet]
    pub struct Pallet<T>(_);

    /// Every host that was ever registered.
    #[pallet::storage]
    pub type Hosts<T: Config> = StorageMap<_, Blake2_128Concat, HostId, HostRecord>;

    /// The hosts of a provider, except retired ones.
    #[pallet::storage]
    pub type HostsByProvider<T: Config> =
        StorageDoubleMap<_, Blake2_128Concat, AccountId, Blake2_128Concat, HostId, ()>;

    /// When a host last changed its endpoint, where it ever did.
    #[pallet::storage]
    pub type EndpointChangedAt<T: Config> = StorageMap<_, Blake2_128Concat, HostId, Moment>;

    /// The periods and amounts in force.
    #[pallet::storage]
    #[pallet::storage_prefix = "Params"]
    pub type CurrentParams<T: Config> = StorageValue<_, Params, ValueQuery>;

    /// Why coins are held.
    #[pallet::composite_enum]
    pub enum HoldReason {
        /// The bond of a provider's hosts.
        Bond,
    }

    /// What the chain starts with.
    #[pallet::genesis_config]
    #[derive(frame_support::DefaultNoBound)]
    pub struct GenesisConfig<T: Config> {
        /// The periods and amounts.
        pub params: Params,
        /// Nothing.
        #[serde(skip)]
        pub _config: core::marker::PhantomData<T>,
    }

    #[pallet::genesis_build]
    impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
        fn build(&self) {
            CurrentParams::<T>::put(&self.params);
        }
    }

    /// What happened.
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
        /// A host is reached in another way.
        EndpointChanged {
            /// The host.
            host: HostId,
        },
        /// The periods and amounts of this pallet were changed.
        ParamsChanged,
    }

    /// Why a call was refused.
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
        /// The host is retired.
        HostRetired,
        /// A host in this status cannot go to the wanted one.
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
    }

    #[pallet::hooks]
    impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
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

        /// The calling host says that it is there. Free of charge for the first time and when half a heartbeat
        /// period has passed since the last.
        #[pallet::call_index(1)]
        #[pallet::weight(T::WeightInfo::heartbeat())]
        #[pallet::feeless_if(|origin: &OriginFor<T>| -> bool {
            ensure_signed(origin.clone()).is_ok_and(|host| Pallet::<T>::heartbeat_is_due(&host))
        })]
        pub fn heartbeat(origin: OriginFor<T>) -> DispatchResult {
            let host = ensure_signed(origin)?;
            Self::do_heartbeat(host)
        }

        /// The calling host says how it is reached. Free of charge when it differs and a heartbeat period has passed
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

        /// A host of the caller finishes what it has and takes nothing new.
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

        /// Take a host of the caller off the network for ever and get its bond back. It must have no live leases.
        #[pallet::call_index(6)]
        #[pallet::weight(T::WeightInfo::retire())]
        pub fn retire(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            let provider = ensure_signed(origin)?;
            Self::do_retire(provider, host)
        }

        /// Report a host that was silent for longer than the absence limit. The caller gets a bounty from its bond.
        #[pallet::call_index(7)]
        #[pallet::weight(T::WeightInfo::report_absent())]
        pub fn report_absent(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            let reporter = ensure_signed(origin)?;
            Self::do_report_absent(reporter, host)
        }

        /// Let an unverified host come online. By root.
        #[pallet::call_index(8)]
        #[pallet::weight(T::WeightInfo::verify_host())]
        pub fn verify(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            ensure_root(origin)?;
            Self::do_verify(host)
        }

        /// Keep a host from taking leases. Those it has go on. By root.
        #[pallet::call_index(9)]
        #[pallet::weight(T::WeightInfo::suspend())]
        pub fn suspend(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            ensure_root(origin)?;
            Self::do_suspend(host)
        }

        /// Let a suspended host come online again with its next heartbeat. By root.
        #[pallet::call_index(10)]
        #[pallet::weight(T::WeightInfo::unsuspend())]
        pub fn unsuspend(origin: OriginFor<T>, host: HostId) -> DispatchResult {
            ensure_root(origin)?;
            Self::do_unsuspend(host)
        }

        /// Change the periods and amounts of this pallet. By root.
        #[pallet::call_index(11)]
        #[pallet::weight(T::WeightInfo::set_params())]
        pub fn set_params(origin: OriginFor<T>, params: Params) -> DispatchResult {
            ensure_root(origin)?;
            CurrentParams::<T>::put(params);
            Self::deposit_event(Event::ParamsChanged);
            Ok(())
        }
    }
}
