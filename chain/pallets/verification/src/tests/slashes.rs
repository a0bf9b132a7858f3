//! What wrong and missing results cost, and who gets it.

use frame_support::assert_ok;
use gantry_primitives::{AccountId, Balance, Misconduct, ResultsOutcome};

use super::results::{agreed, outcome, punished, reveal, reveal_all, tag_all};
use crate::{mock::*, CurrentParams, Event};

/// What is left of the bond of the host of this number from [`HOST`] on.
fn bond(number: u8) -> Balance {
    MockNetwork::get().hosts[&account(HOST + number)].bond
}

fn shared() -> Vec<(AccountId, Balance)> {
    let of = |event| match event {
        Event::SlashShared { who, amount, .. } => Some((who, amount)),
        _ => None,
    };
    events().into_iter().filter_map(of).collect()
}

#[test]
fn a_wrong_result_costs_deposits_of_the_lease_and_the_others_get_a_part_of_the_fees() {
    on_chain(|| {
        replicated(3);
        let before = (
            bond(1),
            total_balance(TENANT),
            total_balance(PROVIDER),
            total_balance(OTHER_PROVIDER),
            total_balance(TREASURY),
        );
        tag_all([1, 2, 1]);
        reveal_all([1, 2, 1]);
        let slash = DEPOSIT * Balance::from(SLASH_DEPOSITS);
        let fees = 2 * LEASE_FEE;
        // 30 % for the tenant and 20 % for the hosts that agree, which are both of one provider here.
        let (to_tenant, to_hosts) = (fees * 3 / 10, fees / 5);
        assert_eq!(bond(1), before.0 - slash);
        assert_eq!(total_balance(TENANT), before.1 + to_tenant);
        assert_eq!(total_balance(PROVIDER), before.2 + to_hosts);
        assert_eq!(total_balance(OTHER_PROVIDER), before.3 - slash);
        assert_eq!(total_balance(TREASURY), before.4 + slash - to_tenant - to_hosts);
        let provider = (account(PROVIDER), to_hosts / 2);
        assert_eq!(shared(), [(account(TENANT), to_tenant), provider.clone(), provider]);
    });
}

#[test]
fn nobody_is_paid_for_what_its_own_host_did() {
    on_chain(|| {
        replicated(3);
        network(|network| network.tasks.get_mut(&TASK).expect("it exists").tenant = account(OTHER_PROVIDER));
        tag_all([1, 2, 1]);
        reveal_all([1, 2, 1]);
        assert!(shared().iter().all(|(who, _)| *who == account(PROVIDER)) && !shared().is_empty());
    });
}

#[test]
fn what_is_lost_where_nothing_agrees_goes_to_the_treasury() {
    on_chain(|| {
        replicated(2);
        tag_all([1, 1]);
        let before = total_balance(TREASURY);
        wait_past(RESULT_REVEAL);
        assert_eq!(outcome(), Some(ResultsOutcome::NoAgreement));
        assert_eq!((shared(), total_balance(TREASURY)), (vec![], before + 2 * DEPOSIT * Balance::from(SLASH_DEPOSITS)));
    });
}

#[test]
fn two_that_are_slashed_share_the_fees_of_the_others() {
    on_chain(|| {
        CurrentParams::<Test>::mutate(|params| params.slash_to_hosts_ppm = 0);
        replicated(4);
        tag_all([1, 2, 1, 1]);
        for number in [0, 1, 2] {
            assert_ok!(reveal(number, result([1, 2, 1][usize::from(number)])));
        }
        wait_past(RESULT_REVEAL);
        assert_eq!((punished(1), punished(3)), (vec![Misconduct::WrongResult], vec![Misconduct::ResultNotRevealed]));
        let each = (account(TENANT), LEASE_FEE * 3 / 10);
        assert_eq!(shared(), [each.clone(), each]);
    });
}

#[test]
fn a_bond_that_is_too_small_pays_what_it_has() {
    on_chain(|| {
        network(|network| network.hosts.get_mut(&account(HOST + 1)).expect("it exists").bond = DEPOSIT);
        replicated(3);
        tag_all([1, 2, 1]);
        reveal_all([1, 2, 1]);
        assert_eq!((bond(1), outcome()), (0, agreed(1)));
    });
}
