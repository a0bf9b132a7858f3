//! The calls of the hosts pallet.

use gantry_primitives::{HostRecord, HostStatus, SlaTerms};
use gantry_runtime::{Hosts, Runtime, GTY};
use pallet_gantry_hosts::{Call, CurrentParams};

use super::{actions, call};
use crate::sequences::{arguments::*, chain::*, subjects::*};

type HostsCall = Call<Runtime>;

actions! {
    "Hosts.register" 10 |choices| {
        let number = HOSTS.end - 1 - choices.pick(&[1, 0, 2]);
        let hardware = hardware_of(choices, number);
        let provider = choices.pick(&[provider_of(number), POOR_TENANT, NOBODY]);
        let host_signature = registration_signature(provider, number, &hardware, &ask());
        let (endpoint, region, ask) = (bytes("here"), bytes("eu"), ask());
        let call_of = HostsCall::register { host: host(number), hardware, endpoint, region, ask, host_signature };
        call(call_of, signed(provider))
    };
    "Hosts.heartbeat" 60 |choices| {
        let away = |host: &HostRecord| matches!(host.status, HostStatus::Offline | HostStatus::Verified);
        let number = host_where(choices, away);
        call(HostsCall::heartbeat {}, by(choices, host(number)))
    };
    "Hosts.heartbeat_batch" 15 |choices| {
        let away = |host: &HostRecord| matches!(host.status, HostStatus::Offline | HostStatus::Verified);
        let number = host_where(choices, away);
        let hosts = vec![host(number)].try_into().expect("one fits");
        call(HostsCall::heartbeat_batch { hosts }, by(choices, account(provider_of(number))))
    };
    "Hosts.set_endpoint" 6 |choices| {
        let number = any_host(choices);
        let endpoint = bytes(choices.pick(&["there", "here"]));
        call(HostsCall::set_endpoint { endpoint }, by(choices, host(number)))
    };
    "Hosts.set_device_health" 12 |choices| {
        let number = any_host(choices);
        call(HostsCall::set_device_health { unhealthy: unhealthy(choices) }, by(choices, host(number)))
    };
    "Hosts.set_network" 6 |choices| {
        let number = any_host(choices);
        let [down_mbps, up_mbps] = [choices.pick(&[100, 0, u32::MAX]), choices.pick(&[100, 0, u32::MAX])];
        let latency_ms = choices.pick(&[1, 0, u16::MAX]);
        call(HostsCall::set_network { down_mbps, up_mbps, latency_ms }, by(choices, host(number)))
    };
    "Hosts.set_ask" 12 |choices| {
        let (host, provider) = host_and_provider(choices, |_| true);
        let mut ask = ask();
        ask.gpu_per_hour = choices.pick(&[2 * GTY, 0, 1, 8 * GTY]);
        ask.storage_gib_per_hour = choices.pick(&[GTY / 50, 0, 3, 4 * GTY]);
        ask.second_ppm = choices.pick(&[1_000_000, 0, 500_000, 10_000_001]);
        ask.hour_ppm = choices.pick(&[1_000_000, 0]);
        let penalty_ppm = choices.pick(&[500_000, 0, 1, 500_001]);
        ask.terms = SlaTerms { uptime_ppm: 999_000, start_ms: 1, notice_ms: MINUTE, penalty_ppm };
        call(HostsCall::set_ask { host, ask }, provider)
    };
    "Hosts.drain" 10 |choices| {
        let (host, provider) = host_and_provider(choices, |host| host.status == HostStatus::Online);
        call(HostsCall::drain { host }, provider)
    };
    "Hosts.undrain" 12 |choices| {
        let (host, provider) = host_and_provider(choices, |host| host.status == HostStatus::Draining);
        call(HostsCall::undrain { host }, provider)
    };
    "Hosts.retire" 8 |choices| {
        let (host, provider) = host_and_provider(choices, |host| host.live_leases == 0);
        call(HostsCall::retire { host }, provider)
    };
    "Hosts.withdraw_bond" 10 |choices| {
        let (host, provider) = host_and_provider(choices, |host| matches!(host.status, HostStatus::Retiring(_)));
        call(HostsCall::withdraw_bond { host }, provider)
    };
    "Hosts.top_up_bond" 10 |choices| {
        let (host, provider) = host_and_provider(choices, |host| host.bond < host.bond_required);
        call(HostsCall::top_up_bond { host, amount: choices.pick(&[10 * GTY, 1, 0, u128::MAX]) }, provider)
    };
    "Hosts.change_hardware" 10 |choices| {
        let number = host_where(choices, |host| host.live_leases == 0);
        let hardware = hardware_of(choices, number);
        let generation = Hosts::host(&host(number)).map_or(1, |record| record.generation + 1);
        let host_signature = hardware_signature(number, generation, &hardware);
        let origin = by(choices, account(provider_of(number)));
        call(HostsCall::change_hardware { host: host(number), hardware, host_signature }, origin)
    };
    "Hosts.report_absent" 30 |choices| {
        let silent = |host: &HostRecord| {
            matches!(host.status, HostStatus::Online | HostStatus::Draining) && Hosts::is_silent(host)
        };
        let host = host(host_where(choices, silent));
        call(HostsCall::report_absent { host }, anyone(choices))
    };
    "Hosts.verify" 15 |choices| {
        let host = host(host_where(choices, |host| host.status == HostStatus::Unverified));
        call(HostsCall::verify { host }, admin(choices))
    };
    "Hosts.suspend" 6 |choices| {
        call(HostsCall::suspend { host: host(any_host(choices)) }, admin(choices))
    };
    "Hosts.unsuspend" 15 |choices| {
        let host = host(host_where(choices, |host| matches!(host.status, HostStatus::Suspended(_))));
        call(HostsCall::unsuspend { host }, admin(choices))
    };
    "Hosts.set_params" 6 |choices| {
        let mut params = CurrentParams::<Runtime>::get();
        params.absence_bounty = choices.pick(&[GTY / 10, 0, 5 * GTY, 50 * GTY]);
        params.verification_required = choices.pick(&[true, false]);
        params.bond_consumer = choices.pick(&[10 * GTY, 20 * GTY, 0]);
        params.unbonding_ms = choices.pick(&[MINUTE, 0, 365 * 24 * HOUR]);
        params.allow_simulated = choices.pick(&[true, false]);
        call(HostsCall::set_params { params }, admin(choices))
    };
}
