//! Proxies and the calls that they may make.

use super::system::deposit;
use crate::{Balance, Balances, Runtime, RuntimeCall, RuntimeEvent, System};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::{
    parameter_types,
    traits::{ConstU32, InstanceFilter},
};
use pallet_gantry_agreements::Call as AgreementsCall;
use pallet_gantry_hosts::Call as HostsCall;
use pallet_gantry_leases::Call as LeasesCall;
use pallet_gantry_tasks::Call as TasksCall;
use pallet_gantry_verification::Call as VerificationCall;
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
    /// What neither moves coins of the principal nor holds any, and acts in no other account's name.
    NonTransfer,
    /// A tenant's tasks: submit, accept, cancel, dispute; its agreements and tickets. Coins leave the principal only into the
    /// escrows of its own tasks, the bonds of its agreements, the deposits of its tickets and the stakes of disputes.
    Tenant,
    /// A provider's hosts: register, price, drain, retire; its agreements and tickets.
    Provider,
}

impl InstanceFilter<RuntimeCall> for ProxyType {
    fn filter(&self, call: &RuntimeCall) -> bool {
        match self {
            ProxyType::Any => true,
            // Calls are named one by one, so that a new one is refused until somebody has judged it. Not here are those
            // that hold coins (submissions, assignments, bonds, stakes), and multisig and proxy: they reach other accounts.
            // What a batch contains is filtered again.
            ProxyType::NonTransfer => matches!(
                call,
                RuntimeCall::System(..)
                    | RuntimeCall::Session(..)
                    | RuntimeCall::Utility(..)
                    | RuntimeCall::Hosts(
                        HostsCall::set_ask { .. }
                            | HostsCall::drain { .. }
                            | HostsCall::undrain { .. }
                            | HostsCall::retire { .. }
                            | HostsCall::withdraw_bond { .. }
                            | HostsCall::report_absent { .. }
                    )
                    | RuntimeCall::Tasks(
                        TasksCall::cancel { .. }
                            | TasksCall::accept_result { .. }
                            | TasksCall::end { .. }
                            | TasksCall::rate { .. }
                            | TasksCall::requeue { .. }
                            | TasksCall::expire { .. }
                            | TasksCall::expire_lease { .. }
                            | TasksCall::settle { .. }
                            | TasksCall::settle_batch { .. }
                            | TasksCall::prune { .. }
                            | TasksCall::finish_preemption { .. }
                            | TasksCall::unbond_scheduler { .. }
                            | TasksCall::publish_queues { .. }
                    )
                    | RuntimeCall::Leases(
                        LeasesCall::suspend { .. }
                            | LeasesCall::resume { .. }
                            | LeasesCall::release_data { .. }
                            | LeasesCall::reclaim { .. }
                            | LeasesCall::finish_reclaim { .. }
                            | LeasesCall::settle { .. }
                            | LeasesCall::close_depleted { .. }
                            | LeasesCall::crank { .. }
                    )
                    | RuntimeCall::Verification(
                        VerificationCall::unbond_verifier { .. }
                            | VerificationCall::withdraw_verifier_bond { .. }
                            | VerificationCall::commit_vote { .. }
                            | VerificationCall::reveal_vote { .. }
                            | VerificationCall::add_evidence { .. }
                            | VerificationCall::advance { .. }
                    )
                    | RuntimeCall::Agreements(
                        AgreementsCall::decline { .. }
                            | AgreementsCall::report_unavailable { .. }
                            | AgreementsCall::conclude { .. }
                            | AgreementsCall::answer_ticket { .. }
                            | AgreementsCall::close_ticket { .. }
                            | AgreementsCall::unbond_auditor { .. }
                            | AgreementsCall::withdraw_auditor_bond { .. }
                            | AgreementsCall::revoke { .. }
                    )
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
                        | TasksCall::name_standby { .. }
                        | TasksCall::move_pod { .. }
                ) | RuntimeCall::Leases(
                    LeasesCall::extend { .. }
                        | LeasesCall::top_up { .. }
                        | LeasesCall::suspend { .. }
                        | LeasesCall::resume { .. }
                        | LeasesCall::keep { .. }
                        | LeasesCall::release_data { .. }
                ) | RuntimeCall::Verification(
                    VerificationCall::open_dispute { .. }
                        | VerificationCall::add_evidence { .. }
                        | VerificationCall::appeal { .. }
                        | VerificationCall::open_service_check { .. }
                ) | RuntimeCall::Agreements(
                    AgreementsCall::propose { .. }
                        | AgreementsCall::counter { .. }
                        | AgreementsCall::accept { .. }
                        | AgreementsCall::decline { .. }
                        | AgreementsCall::begin { .. }
                        | AgreementsCall::report_unavailable { .. }
                        | AgreementsCall::conclude { .. }
                        | AgreementsCall::open_ticket { .. }
                        | AgreementsCall::answer_ticket { .. }
                        | AgreementsCall::close_ticket { .. }
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
                    | RuntimeCall::Agreements(
                        AgreementsCall::counter { .. }
                            | AgreementsCall::accept { .. }
                            | AgreementsCall::decline { .. }
                            | AgreementsCall::conclude { .. }
                            | AgreementsCall::answer_ticket { .. }
                            | AgreementsCall::close_ticket { .. }
                    )
            ),
        }
    }

    fn is_superset(&self, other: &Self) -> bool {
        match (self, other) {
            (ProxyType::Any, _) => true,
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
