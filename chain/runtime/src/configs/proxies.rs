//! Who may act for whom.

use super::system::deposit;
use crate::{Balance, Balances, Runtime, RuntimeCall, RuntimeEvent, System};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::{
    parameter_types,
    traits::{ConstU32, InstanceFilter},
};
use pallet_gantry_hosts::Call as HostsCall;
use pallet_gantry_leases::Call as LeasesCall;
use pallet_gantry_tasks::Call as TasksCall;
use scale_info::TypeInfo;
use sp_runtime::traits::BlakeTwo256;

/// What a proxy may do in its principal's name.
#[derive(
    Clone,
    Copy,
    Eq,
    PartialEq,
    Ord,
    PartialOrd,
    Encode,
    Decode,
    DecodeWithMemTracking,
    MaxEncodedLen,
    TypeInfo,
    Debug,
    Default,
)]
pub enum ProxyType {
    /// Everything.
    #[default]
    Any,
    /// Everything but moving coins.
    NonTransfer,
    /// A tenant's tasks: submit, accept, cancel. Coins leave the principal only into the escrows of its own tasks.
    Tenant,
    /// A provider's hosts: register, price, drain, retire.
    Provider,
}

impl InstanceFilter<RuntimeCall> for ProxyType {
    fn filter(&self, call: &RuntimeCall) -> bool {
        match self {
            ProxyType::Any => true,
            ProxyType::NonTransfer => matches!(
                call,
                RuntimeCall::System(..)
                    | RuntimeCall::Session(..)
                    | RuntimeCall::Utility(..)
                    | RuntimeCall::Multisig(..)
                    | RuntimeCall::Proxy(..)
                    | RuntimeCall::Hosts(..)
                    | RuntimeCall::Tasks(..)
                    | RuntimeCall::Leases(..)
                    | RuntimeCall::Verification(..)
            ),
            ProxyType::Tenant => matches!(
                call,
                RuntimeCall::Tasks(
                    TasksCall::submit { .. }
                        | TasksCall::assign { .. }
                        | TasksCall::cancel { .. }
                        | TasksCall::accept_result { .. }
                        | TasksCall::submit_array { .. }
                        | TasksCall::scale { .. }
                        | TasksCall::end { .. }
                        | TasksCall::rate { .. }
                ) | RuntimeCall::Leases(
                    LeasesCall::extend { .. }
                        | LeasesCall::top_up { .. }
                        | LeasesCall::suspend { .. }
                        | LeasesCall::resume { .. }
                        | LeasesCall::keep { .. }
                        | LeasesCall::release_data { .. }
                )
            ),
            ProxyType::Provider => matches!(
                call,
                RuntimeCall::Hosts(
                    HostsCall::register { .. }
                        | HostsCall::set_ask { .. }
                        | HostsCall::drain { .. }
                        | HostsCall::undrain { .. }
                        | HostsCall::retire { .. }
                        | HostsCall::change_hardware { .. }
                        | HostsCall::top_up_bond { .. }
                ) | RuntimeCall::Leases(LeasesCall::reclaim { .. })
            ),
        }
    }

    fn is_superset(&self, other: &Self) -> bool {
        match (self, other) {
            (ProxyType::Any, _) => true,
            (_, ProxyType::Any) => false,
            (ProxyType::NonTransfer, _) => true,
            (one, two) => one == two,
        }
    }
}

parameter_types! {
    pub const ProxyDepositBase: Balance = deposit(1, 8);
    pub const ProxyDepositFactor: Balance = deposit(0, 33);
    pub const AnnouncementDepositBase: Balance = deposit(1, 8);
    pub const AnnouncementDepositFactor: Balance = deposit(0, 66);
}

impl pallet_proxy::Config for Runtime {
    type RuntimeEvent = RuntimeEvent;
    type RuntimeCall = RuntimeCall;
    type Currency = Balances;
    type ProxyType = ProxyType;
    type ProxyDepositBase = ProxyDepositBase;
    type ProxyDepositFactor = ProxyDepositFactor;
    type MaxProxies = ConstU32<32>;
    type WeightInfo = pallet_proxy::weights::SubstrateWeight<Runtime>;
    type MaxPending = ConstU32<32>;
    type CallHasher = BlakeTwo256;
    type AnnouncementDepositBase = AnnouncementDepositBase;
    type AnnouncementDepositFactor = AnnouncementDepositFactor;
    type BlockNumberProvider = System;
}
