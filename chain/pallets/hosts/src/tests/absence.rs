use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{faults::slash_ppm, Fault, HostStatus, SuspendReason};

use crate::{mock::*, Error, Event};

/// The host of [`PROVIDER`] goes silent and is reported.
fn reported_by(reporter: u8) {
    advance(ABSENCE_LIMIT + 1);
    assert_ok!(Hosts::report_absent(signed(reporter), host(HOST)));
}

#[test]
fn a_silent_host_is_reported_absent_for_a_bounty() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT);
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::NotAbsent);
        advance(1);
        let before = (wealth(ANYONE), wealth(TREASURY));
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
        assert_eq!(status(), HostStatus::Offline);
        assert_eq!((wealth(ANYONE), wealth(TREASURY)), (before.0 + BOUNTY, before.1 + BOUNTY));
        assert_eq!(
            (record().bond, held(PROVIDER)),
            (2 * BOND_PER_DEVICE - 2 * BOUNTY, 2 * BOND_PER_DEVICE - 2 * BOUNTY)
        );
        let (host, reporter) = (host(HOST), account(ANYONE));
        let event = Event::AbsenceReported { host, reporter, bounty: BOUNTY, forfeited: BOUNTY };
        System::assert_last_event(event.into());
    });
}

#[test]
fn one_absence_is_worth_one_bounty() {
    on_chain(|| {
        online();
        reported_by(ANYONE);
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::HostNotOnline);
        advance(ABSENCE_LIMIT + 1);
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::HostNotOnline);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::NotAbsent);
    });
}

#[test]
fn a_provider_gets_no_bounty_for_its_own_host() {
    on_chain(|| {
        online();
        let before = wealth(PROVIDER);
        reported_by(PROVIDER);
        assert_eq!(wealth(PROVIDER), before - BOUNTY, "and pays to the treasury as for any other reporter");
    });
}

#[test]
fn going_silent_for_the_bounties_of_an_accomplice_is_a_loss_each_time() {
    on_chain(|| {
        online();
        let mut together = wealth(PROVIDER) + wealth(ANYONE);
        let mut bond = record().bond;
        let mut cycles = 0;
        while status() == HostStatus::Online {
            reported_by(ANYONE);
            let _ = Hosts::heartbeat(by_host(HOST));
            let now_together = wealth(PROVIDER) + wealth(ANYONE);
            assert!(now_together <= together - BOUNTY, "cycle {cycles}: both have {now_together} of {together}");
            assert!(record().bond < bond);
            (together, bond, cycles) = (now_together, record().bond, cycles + 1);
        }
        // It ends soon: a bond of 10 stands for five absences at 1 each, besides what the time away costs.
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::Slashed));
        assert!(cycles <= 6, "{cycles} cycles");
        advance(ABSENCE_LIMIT + 1);
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::HostNotOnline);
    });
}

#[test]
fn the_time_away_is_paid_for_on_return() {
    on_chain(|| {
        online();
        reported_by(ANYONE);
        let bond = record().bond;
        advance(10 * 3_600_000);
        let away_ms = ABSENCE_LIMIT + 1 + 10 * 3_600_000;
        let treasury = wealth(TREASURY);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        let slashed = 2 * BOND_PER_DEVICE * u128::from(slash_ppm(Fault::Absent, away_ms)) / 1_000_000;
        assert!(slashed > 0);
        assert_eq!((record().bond, wealth(TREASURY)), (bond - slashed, treasury + slashed));
        System::assert_has_event(Event::Slashed { host: host(HOST), fault: Fault::Absent, amount: slashed }.into());
        assert_eq!(status(), HostStatus::Online);
    });
}

#[test]
fn the_time_away_is_paid_for_by_who_leaves_instead_of_coming_back() {
    on_chain(|| {
        online();
        reported_by(ANYONE);
        let bond = record().bond;
        advance(10 * 3_600_000);
        assert_ok!(Hosts::retire(signed(PROVIDER), host(HOST)));
        assert!(record().bond < bond);
    });
}

#[test]
fn a_host_that_comes_back_with_too_little_bond_stays_suspended() {
    on_chain(|| {
        online();
        reported_by(ANYONE);
        // Just more than half is left, and the way back costs the rest.
        let mut taken = record();
        let all_but_half = taken.bond - BOND_PER_DEVICE;
        Hosts::charge_bond(&host(HOST), &mut taken, all_but_half, &account(TREASURY));
        Hosts::store(&host(HOST), &taken);
        assert_eq!(status(), HostStatus::Offline);
        advance(3_600_000);
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::Slashed));
        assert_eq!(record().last_heartbeat, Hosts::now());
    });
}

#[test]
fn a_bounty_that_cannot_be_credited_stays_in_the_bond() {
    let mut builder = ExtBuilder::default();
    builder.params.absence_bounty = ED - 1;
    builder.build_and_execute(|| {
        online();
        reported_by(NOBODY);
        assert_eq!(status(), HostStatus::Offline);
        assert_eq!(held(PROVIDER), 2 * BOND_PER_DEVICE - (ED - 1), "the treasury has its part");
        assert_eq!(wealth(NOBODY), 0);
    });
}

#[test]
fn a_bounty_is_never_more_than_the_bond() {
    on_chain(|| {
        online();
        let mut poor = record();
        let (rest, owed) = (BOUNTY + BOUNTY / 2, poor.bond);
        Hosts::charge_bond(&host(HOST), &mut poor, owed - rest, &account(TREASURY));
        // As a chain would have it where the bounty was raised after the host was registered.
        poor.bond_required = rest;
        poor.status = HostStatus::Online;
        Hosts::store(&host(HOST), &poor);
        let before = wealth(ANYONE);
        reported_by(ANYONE);
        assert_eq!((record().bond, held(PROVIDER), wealth(ANYONE)), (0, 0, before + BOUNTY / 2));
        assert_eq!(status(), HostStatus::Suspended(SuspendReason::Slashed));
    });
}
