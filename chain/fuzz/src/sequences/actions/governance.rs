//! The calls of the billing, governance and validators pallets, and transfers.

use gantry_runtime::{Runtime, RuntimeCall, GTY};
use sp_keyring::Sr25519Keyring;

use super::{actions, call};
use crate::sequences::{chain::*, subjects::*};

type BillingCall = pallet_gantry_billing::Call<Runtime>;
type GovernanceCall = pallet_gantry_governance::Call<Runtime>;
type ValidatorsCall = pallet_gantry_validators::Call<Runtime>;
type HostsCall = pallet_gantry_hosts::Call<Runtime>;
type BalancesCall = pallet_balances::Call<Runtime>;

actions! {
    "Billing.set_params" 8 |choices| {
        let mut params = pallet_gantry_billing::CurrentParams::<Runtime>::get();
        params.fee_ppm = choices.pick(&[20_000, 0, 1, 99_999, 100_000, 100_001]);
        params.scheduler_share_ppm = choices.pick(&[200_000, 0, 1, 400_000]);
        params.settler_share_ppm = choices.pick(&[100_000, 0, 1, 100_001]);
        params.held_back_ms = choices.pick(&[MINUTE, 0, HOUR]);
        params.depletion_bounty = choices.pick(&[GTY / 100, 0, 100 * GTY]);
        call(BillingCall::set_params { params }, admin(choices))
    };
    "Governance.enact" 12 |choices| {
        let number = any_host(choices);
        let inner: RuntimeCall = match choices.below(5) {
            0 => HostsCall::suspend { host: host(number) }.into(),
            1 => HostsCall::unsuspend { host: host(number) }.into(),
            2 => GovernanceCall::cancel { id: 0 }.into(),
            3 => GovernanceCall::set_params { params: pallet_gantry_governance::Params { delay_blocks: 3 } }.into(),
            _ => BalancesCall::force_transfer {
                source: account(TENANT).into(),
                dest: account(ANYONE).into(),
                value: GTY,
            }
            .into(),
        };
        call(GovernanceCall::enact { call: Box::new(inner) }, admin(choices))
    };
    "Governance.cancel" 6 |choices| {
        let next = pallet_gantry_governance::NextEnactmentId::<Runtime>::get();
        let id = next.saturating_sub(1 + u32::from(choices.byte()));
        call(GovernanceCall::cancel { id }, admin(choices))
    };
    "Governance.set_params" 4 |choices| {
        let delay_blocks = choices.pick(&[1, 0, 5, u32::MAX]);
        call(GovernanceCall::set_params { params: pallet_gantry_governance::Params { delay_blocks } }, admin(choices))
    };
    "Validators.add" 6 |choices| {
        let who = choices.pick(&[Sr25519Keyring::Bob, Sr25519Keyring::Alice, Sr25519Keyring::Eve]).to_account_id();
        call(ValidatorsCall::add { who }, admin(choices))
    };
    "Validators.remove" 6 |choices| {
        let who = choices.pick(&[Sr25519Keyring::Bob, Sr25519Keyring::Eve]).to_account_id();
        call(ValidatorsCall::remove { who }, admin(choices))
    };
    "Balances.transfer_allow_death" 10 |choices| {
        let value = u128::from(choices.byte()) * GTY;
        let dest = account(choices.pick(&[NOBODY, TENANT, ANYONE])).into();
        let from = choices.pick(&[ANYONE, POOR_TENANT, NOBODY]);
        call(BalancesCall::transfer_allow_death { dest, value }, signed(from))
    };
    "Balances.transfer_all" 6 |choices| {
        let from = choices.pick(&[NOBODY, POOR_TENANT, VERIFIERS.start, 3]);
        let dest = account(ANYONE).into();
        call(BalancesCall::transfer_all { dest, keep_alive: false }, signed(from))
    };
}
