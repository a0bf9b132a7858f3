//! What must be true after each step.

use frame_support::dispatch::{DispatchErrorWithPostInfo, GetDispatchInfo, PostDispatchInfo};
use gantry_primitives::Balance;
use gantry_runtime::{
    Agreements, Balances, Billing, Governance, Hosts, Leases, Reputation, Runtime, RuntimeCall, RuntimeEvent, System,
    Tasks, Validators, Verification,
};
use pallet_gantry_tasks::Call as TasksCall;
use pallet_gantry_verification::Call as VerificationCall;
use sp_runtime::DispatchError;

/// Whether a call is accepted exactly when it is free of charge. Others that are free are accepted, and more besides.
fn is_free_or_refused(call: &RuntimeCall) -> bool {
    matches!(
        call,
        RuntimeCall::Tasks(
            TasksCall::report_started { .. }
                | TasksCall::report_result { .. }
                | TasksCall::report_failed { .. }
                | TasksCall::report { .. }
        ) | RuntimeCall::Verification(
            VerificationCall::answer { .. }
                | VerificationCall::commit_result { .. }
                | VerificationCall::tag_result { .. }
                | VerificationCall::reveal_result { .. }
        )
    )
}

/// Checks how a call was answered that was free of charge or not.
pub fn check_answer(
    call: &RuntimeCall,
    free: bool,
    answer: &Result<PostDispatchInfo, DispatchErrorWithPostInfo>,
) -> Result<(), String> {
    if free && !gantry_runtime::charging::may_be_free(call) {
        return Err("FREE-3: free of charge by its pallet, and not listed by `charging::may_be_free`".into());
    }
    let post_info = match answer {
        Ok(_) if !free && is_free_or_refused(call) => return Err("FREE-1: accepted and not free of charge".into()),
        Ok(post_info) => post_info,
        Err(refused) if free => return Err(format!("FREE-2: free of charge and refused: {:?}", refused.error)),
        Err(refused) => {
            if refused.error == DispatchError::Corruption || is_bug(refused.error) {
                return Err(format!("ERROR-1: refused for a reason that cannot be: {:?}", refused.error));
            }
            &refused.post_info
        }
    };
    let declared = call.get_dispatch_info().call_weight;
    match post_info.actual_weight {
        Some(actual) if actual.any_gt(declared) => Err("WEIGHT-1: heavier than declared".into()),
        _ => Ok(()),
    }
}

/// Whether an error is documented as one that only a bug causes.
fn is_bug(error: DispatchError) -> bool {
    error == pallet_gantry_hosts::Error::<Runtime>::MoreFreeThanTotal.into()
        || error == pallet_gantry_verification::Error::<Runtime>::TransitionNotAllowed.into()
}

/// Checks every pallet's invariants, and that no coin was made or lost since `issued` were issued.
pub fn check_state(issued: Balance) -> Result<(), String> {
    let all = [
        ("hosts", Hosts::do_try_state()),
        ("tasks", Tasks::do_try_state()),
        ("leases", Leases::do_try_state()),
        ("billing", Billing::do_try_state()),
        ("reputation", Reputation::do_try_state()),
        ("verification", Verification::do_try_state()),
        ("governance", Governance::do_try_state()),
        ("validators", Validators::do_try_state()),
        ("agreements", Agreements::do_try_state()),
    ];
    for (pallet, sound) in all {
        sound.map_err(|broken| format!("{pallet}: {}", <&str>::from(broken)))?;
    }
    let mut lost: Balance = 0;
    for record in System::read_events_no_consensus() {
        match record.event {
            // Less than the existential deposit of an account that is no more.
            RuntimeEvent::Balances(pallet_balances::Event::DustLost { amount, .. }) => lost += amount,
            RuntimeEvent::Verification(event @ pallet_gantry_verification::Event::StepFailed { .. }) => {
                return Err(format!("EVENT-1: {event:?}"));
            }
            RuntimeEvent::Leases(event @ pallet_gantry_leases::Event::DueFailed { .. }) => {
                return Err(format!("EVENT-2: {event:?}"));
            }
            RuntimeEvent::Agreements(event @ pallet_gantry_agreements::Event::DueFailed { .. }) => {
                return Err(format!("EVENT-3: {event:?}"));
            }
            _ => {}
        }
    }
    let total = Balances::total_issuance();
    if total != issued - lost {
        return Err(format!("COINS-1: {issued} were issued, {lost} of them lost as dust, and the total is {total}"));
    }
    let owned =
        frame_system::Account::<Runtime>::iter_values().map(|account| account.data.free + account.data.reserved);
    if owned.sum::<Balance>() != total {
        return Err("COINS-2: the sum of all accounts is not the total issuance".into());
    }
    Ok(())
}
