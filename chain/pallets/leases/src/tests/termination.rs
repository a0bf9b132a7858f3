//! Reclaim notice, payments of running leases, and the end of a lease with a depleted deposit.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    BillingUnit::{Hour, Second},
    EndReason, HostStatus, LeaseState,
    TaskKind::{Rental, Service},
};

use crate::{mock::*, Error, Event};

#[test]
fn a_provider_gives_notice_and_is_paid_through_it_and_no_longer() {
    on_chain(|| {
        open(1, Service, Second, DAY);
        advance(HOUR);
        assert_ok!(Leases::reclaim(signed(PROVIDER), 1));
        let reclaim_at = START + HOUR + NOTICE;
        assert_eq!(events(), [Event::ReclaimNoticed { lease: 1, reclaim_at }]);
        advance(NOTICE - 1);
        assert_noop!(Leases::finish_reclaim(signed(ANYONE), 1), Error::<Test>::NoticeNotOver);
        advance(HOUR);
        assert_ok!(Leases::finish_reclaim(signed(ANYONE), 1));
        assert_eq!(lease(1).state, LeaseState::Ended(EndReason::Reclaimed));
        assert_eq!(lease(1).escrow.paid, 3 * RATE);
    });
}

#[test]
fn a_reclaimed_hour_is_not_paid_whole() {
    on_chain(|| {
        open(1, Service, Hour, DAY);
        advance(HOUR / 2);
        assert_ok!(Leases::reclaim(signed(PROVIDER), 1));
        advance(NOTICE);
        assert_ok!(Leases::finish_reclaim(signed(ANYONE), 1));
        assert_eq!(lease(1).escrow.paid, 5 * RATE / 2);
    });
}

#[test]
fn the_agenda_ends_a_lease_whose_notice_is_over() {
    on_chain(|| {
        open(1, Service, Second, DAY);
        assert_ok!(Leases::reclaim(signed(PROVIDER), 1));
        advance(NOTICE + 6_000);
        next_block();
        assert_eq!(lease(1).state, LeaseState::Ended(EndReason::Reclaimed));
        assert_noop!(Leases::finish_reclaim(signed(ANYONE), 1), Error::<Test>::LeaseNotRunning);
    });
}

#[test]
fn a_lease_that_is_over_before_the_notice_expires() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        assert_ok!(Leases::reclaim(signed(PROVIDER), 1));
        advance(HOUR + 6_000);
        next_block();
        assert_eq!(lease(1).state, LeaseState::Ended(EndReason::Expired));
    });
}

#[test]
fn notice_is_given_once_by_the_provider_of_the_host() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        assert_noop!(Leases::finish_reclaim(signed(ANYONE), 1), Error::<Test>::ReclaimNotNoticed);
        for who in [TENANT, ANYONE, HOST] {
            assert_noop!(Leases::reclaim(signed(who), 1), Error::<Test>::NotProvider);
        }
        assert_ok!(Leases::reclaim(signed(PROVIDER), 1));
        assert_noop!(Leases::reclaim(signed(PROVIDER), 1), Error::<Test>::ReclaimNoticed);
    });
}

#[test]
fn anyone_settles_a_running_lease_but_for_what_is_held_back() {
    on_chain(|| {
        open(1, Service, Second, DAY);
        advance(HELD_BACK);
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::NothingDue);
        advance(HOUR);
        assert_ok!(Leases::settle(signed(ANYONE), 1));
        assert_eq!(
            events(),
            [Event::Paid {
                lease: 1,
                until: START + HOUR,
                share: 9 * RATE / 10,
                fee: RATE / 10,
                scheduler_fee: RATE / 50,
                settler_fee: RATE / 100,
            }]
        );
        assert_eq!((lease(1).escrow.paid, lease(1).escrow.fee), (RATE, RATE / 10));
        assert_eq!(total_balance(PROVIDER), 100_000 * GTY + 9 * RATE / 10);
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::NothingDue);
        advance(DAY);
        next_block();
        assert_eq!((lease(1).escrow.paid, lease(1).escrow.open), (24 * RATE, false), "the rest is paid at the end");
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::LeaseNotRunning);
    });
}

#[test]
fn nothing_is_settled_for_a_time_in_which_the_host_was_away() {
    on_chain(|| {
        open(1, Service, Second, DAY);
        advance(HOUR);
        change_host(|host| {
            host.status = HostStatus::Offline;
            host.last_heartbeat = START + HOUR;
        });
        advance(10 * HOUR);
        assert_ok!(Leases::settle(signed(ANYONE), 1));
        assert_eq!(lease(1).escrow.paid, RATE / 2, "the hour before, less what is held back");
    });
}

#[test]
fn a_settlement_that_one_of_the_two_cannot_be_credited_with_waits() {
    on_chain(|| {
        open_at(1, Service, Second, DAY, ED);
        change_host(|host| host.provider = account(NOBODY));
        advance(HOUR);
        assert_noop!(Leases::settle(signed(ANYONE), 1), Error::<Test>::NothingDue);
        advance(HOUR);
        assert_ok!(Leases::settle(signed(ANYONE), 1));
        assert_eq!(total_balance(NOBODY), 3 * ED / 2 * 9 / 10);
    });
}

#[test]
fn nothing_is_settled_past_the_provider_s_notice() {
    on_chain(|| {
        open(1, Service, Second, DAY);
        assert_ok!(Leases::reclaim(signed(PROVIDER), 1));
        advance(10 * HOUR);
        assert_ok!(Leases::settle(signed(ANYONE), 1));
        assert_eq!(lease(1).escrow.paid, RATE * u128::from(NOTICE - HELD_BACK) / u128::from(HOUR));
    });
}

#[test]
fn a_used_up_lease_is_closed_by_anyone_for_a_bounty_out_of_the_provider_s_share() {
    on_chain(|| {
        open(1, Rental, Second, HOUR);
        advance(HOUR - 1);
        assert_noop!(Leases::close_depleted(signed(ANYONE), 1), Error::<Test>::LeaseNotDepleted);
        advance(60_001);
        assert_ok!(Leases::close_depleted(signed(ANYONE), 1));
        assert_eq!(
            events(),
            [Event::BountyPaid {
                lease: 1,
                who: account(ANYONE),
                bounty: BOUNTY,
                fee: BOUNTY / 9,
                scheduler_fee: BOUNTY / 45,
                settler_fee: BOUNTY / 90,
            }]
        );
        let settler_fee = lease(1).escrow.settler_fee;
        assert_eq!(settler_fee, RATE / 100 - 1, "of both payments, each rounded down");
        assert_eq!(total_balance(ANYONE), 100_000 * GTY + BOUNTY + settler_fee);
        assert_eq!(lease(1).escrow.paid, RATE, "the tenant pays no more for it");
        // Each of the two fees is rounded down, in the provider's favour.
        assert_eq!(lease(1).escrow.fee, RATE / 10 - 1, "nor has the treasury less");
        assert_eq!(total_balance(PROVIDER), 100_000 * GTY + 9 * RATE / 10 - BOUNTY + 1);
        assert_noop!(Leases::close_depleted(signed(ANYONE), 1), Error::<Test>::LeaseNotRunning);
    });
}

#[test]
fn there_is_no_bounty_before_the_agenda_had_a_minute() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        advance(HOUR + 59_999);
        assert_ok!(Leases::close_depleted(signed(ANYONE), 1));
        assert_eq!(
            (events(), total_balance(ANYONE)),
            (vec![], 100_000 * GTY + RATE / 100),
            "the settler's share alone"
        );
        assert_eq!(lease(1).state, LeaseState::Ended(EndReason::Depleted));
    });
}

#[test]
fn the_parties_of_a_lease_get_no_bounty() {
    for who in [TENANT, PROVIDER, HOST] {
        on_chain(|| {
            open(1, Service, Second, HOUR);
            advance(2 * HOUR);
            assert_ok!(Leases::close_depleted(signed(who), 1));
            assert_eq!(events(), []);
            assert_eq!(total_balance(PROVIDER), 100_000 * GTY + 9 * RATE / 10);
        });
    }
}

#[test]
fn a_bounty_is_never_more_than_the_provider_s_share() {
    on_chain(|| {
        open_at(1, Service, Second, HOUR, 10);
        advance(2 * HOUR);
        assert_ok!(Leases::close_depleted(signed(ANYONE), 1));
        assert_eq!(total_balance(ANYONE), 100_000 * GTY + 9);
        assert_eq!(total_balance(PROVIDER), 100_000 * GTY);
    });
}

#[test]
fn a_lease_of_a_host_that_was_away_is_not_closed_before_the_tenant_has_had_its_time() {
    on_chain(|| {
        open(1, Service, Second, HOUR);
        change_host(|host| host.downtime_ms = HOUR);
        advance(HOUR);
        assert_noop!(Leases::close_depleted(signed(ANYONE), 1), Error::<Test>::LeaseNotDepleted);
        advance(HOUR);
        assert_ok!(Leases::close_depleted(signed(ANYONE), 1));
        assert_eq!(lease(1).escrow.paid, RATE);
    });
}
