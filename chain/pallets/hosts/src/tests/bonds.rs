use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{Fault, HostStatus, SuspendReason};

use crate::{mock::*, Error, Event};

/// Moves up to `amount` of the bond of [`HOST`] to `to`. Returns what was moved.
fn charge(amount: u128, to: u8) -> u128 {
    let mut record = record();
    let moved = Hosts::charge_bond(&host(HOST), &mut record, amount, &account(to));
    Hosts::store(&host(HOST), &record);
    moved
}

#[test]
fn a_fault_costs_what_the_table_says() {
    on_chain(|| {
        online();
        let treasury = wealth(TREASURY);
        assert_eq!(slash_for_fault(Fault::FailedChallenge, 0), GTY);
        assert_eq!((record().bond, held(PROVIDER)), (9 * GTY, 9 * GTY));
        assert_eq!(wealth(TREASURY), treasury + GTY);
        System::assert_last_event(
            Event::Slashed { host: host(HOST), fault: Fault::FailedChallenge, amount: GTY }.into(),
        );
        assert_eq!(
            slash_for_fault(Fault::FailedChallenge, 0),
            GTY,
            "it goes by what the bond must be, not by what is left"
        );
        assert_eq!(slash_for_fault(Fault::LostPod, 0), 0);
        assert_eq!(slash_for_fault(Fault::LostPod, 2 * 3_600_000), 3 * GTY / 100);
        assert_eq!(status(), HostStatus::Online);
    });
}

#[test]
fn half_of_the_bond_is_enough_and_less_suspends_the_host() {
    on_chain(|| {
        online();
        assert_eq!(charge(5 * GTY, ANYONE), 5 * GTY);
        assert_eq!(status(), HostStatus::Online);
        assert_eq!(charge(1, ANYONE), 1);
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::Slashed));
        assert_noop!(Hosts::mark_verified(&host(HOST)), Error::<Test>::TransitionNotAllowed);
        assert_noop!(Hosts::unsuspend(RuntimeOrigin::root(), host(HOST)), Error::<Test>::BondTooLow);
    });
}

#[test]
fn no_more_is_taken_than_there_is() {
    on_chain(|| {
        online();
        assert_eq!(charge(u128::MAX, ANYONE), 10 * GTY);
        assert_eq!((record().bond, held(PROVIDER)), (0, 0));
        assert_eq!(charge(1, ANYONE), 0);
        assert_eq!(slash_for_fault(Fault::WrongResult, 0), 0);
        assert_eq!(charge(0, ANYONE), 0);
    });
}

#[test]
fn what_cannot_be_credited_stays_in_the_bond() {
    on_chain(|| {
        online();
        assert_eq!(charge(ED - 1, NOBODY), 0);
        assert_eq!((record().bond, wealth(NOBODY)), (10 * GTY, 0));
        assert_eq!(charge(ED, NOBODY), ED);
        assert_eq!(charge(1, NOBODY), 1, "now there is an account to credit");
    });
}

#[test]
fn a_slash_is_taken_where_all_other_coins_are_locked() {
    on_chain(|| {
        assert_ok!(register(SMALL_PROVIDER, 11, hardware(1)));
        let mut record = Hosts::host(&host(11)).expect("it is registered");
        let taken = Hosts::slash_for_fault(&host(11), &mut record, Fault::WrongResult, 0, Hosts::now());
        Hosts::store(&host(11), &record);
        assert_eq!(taken, BOND_PER_DEVICE * 3 / 10);
    });
}

#[test]
fn a_topped_up_bond_ends_the_suspension_once_it_is_whole() {
    on_chain(|| {
        online();
        charge(6 * GTY, TREASURY);
        let top_up = |amount| Hosts::top_up_bond(signed(PROVIDER), host(HOST), amount);
        assert_noop!(top_up(0), Error::<Test>::AmountZero);
        assert_noop!(top_up(1_000 * GTY), Error::<Test>::ProviderCannotPay);
        assert_noop!(top_up(u128::MAX), Error::<Test>::Overflow);
        assert_noop!(Hosts::top_up_bond(signed(ANYONE), host(HOST), GTY / 2), Error::<Test>::NotProvider);
        assert_ok!(top_up(6 * GTY - 1));
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::Slashed));
        assert_ok!(top_up(1));
        assert_eq!(status(), HostStatus::Verified);
        System::assert_last_event(Event::BondToppedUp { host: host(HOST), amount: 1 }.into());
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!((status(), held(PROVIDER)), (HostStatus::Online, 10 * GTY));
    });
}

#[test]
fn a_topped_up_bond_ends_no_other_suspension() {
    on_chain(|| {
        online();
        assert_ok!(Hosts::suspend_for(&host(HOST), SuspendReason::FailedChallenge));
        charge(6 * GTY, TREASURY);
        assert_noop!(Hosts::mark_verified(&host(HOST)), Error::<Test>::BondTooLow);
        assert_ok!(Hosts::top_up_bond(signed(PROVIDER), host(HOST), 6 * GTY));
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::FailedChallenge));
        assert_ok!(Hosts::mark_verified(&host(HOST)));
        assert_eq!(status(), HostStatus::Verified);
    });
}

#[test]
fn a_fault_of_one_of_many_hosts_weighs_little_against_their_provider() {
    on_chain(|| {
        online();
        for number in 11..20 {
            assert_ok!(register(PROVIDER, number, hardware(2)));
        }
        slash_for_fault(Fault::FailedChallenge, 0);
        assert_eq!(Reputation::bond_factor_ppm(&account(PROVIDER), Hosts::now()), 1_025_000);
    });
}

/// Slashes [`HOST`] for a wrong result. Returns what the rewards came to.
fn slash_for_result(amount: u128, rewards: &[(u8, u128)]) -> Vec<u128> {
    let rewards: Vec<_> = rewards.iter().map(|(who, amount)| (account(*who), *amount)).collect();
    let mut record = record();
    let paid = Hosts::slash_for_result(&host(HOST), &mut record, amount, &rewards, Hosts::now());
    Hosts::store(&host(HOST), &record);
    paid
}

/// The factor on the bonds of [`PROVIDER`] above one.
fn bond_rise_ppm() -> u32 {
    pallet_gantry_reputation::Pallet::<Test>::bond_factor_ppm(&account(PROVIDER), Hosts::now()) - 1_000_000
}

#[test]
fn a_wrong_result_costs_an_amount_of_which_others_get_a_part() {
    on_chain(|| {
        online();
        let before = (wealth(ANYONE), wealth(TREASURY));
        assert_eq!(slash_for_result(3 * GTY, &[(ANYONE, GTY), (NOBODY, ED - 1)]), [GTY, 0]);
        assert_eq!(record().bond, 7 * GTY);
        assert_eq!((wealth(ANYONE), wealth(TREASURY)), (before.0 + GTY, before.1 + 2 * GTY));
        let slashed = Event::Slashed { host: host(HOST), fault: Fault::WrongResult, amount: 3 * GTY };
        System::assert_last_event(slashed.into());
    });
}

#[test]
fn a_slash_for_a_result_is_at_most_the_bond_and_suspends_the_host() {
    on_chain(|| {
        online();
        assert_eq!(slash_for_result(u128::MAX, &[(ANYONE, 4 * GTY), (TREASURY, 9 * GTY)]), [4 * GTY, 6 * GTY]);
        assert_eq!((record().bond, status()), (0, HostStatus::Suspended(SuspendReason::Slashed)));
    });
}

#[test]
fn a_small_slash_is_held_against_the_provider_less_than_what_the_table_says() {
    let rise = |amount| {
        let mut rise = 0;
        on_chain(|| {
            online();
            slash_for_result(amount, &[]);
            rise = bond_rise_ppm();
        });
        rise
    };
    let whole = rise(3 * GTY);
    assert!(whole > 0);
    assert_eq!(rise(3 * GTY / 100), whole / 100);
    assert_eq!(rise(9 * GTY), whole, "no more than a wrong result of any other task");
}
