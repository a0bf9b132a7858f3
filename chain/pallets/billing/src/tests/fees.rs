//! The fee, and the shares of scheduler and settler.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{
    fees::{MAX_FEE_PPM, MAX_SHARES_PPM},
    Balance, HostId, Lease,
};
use sp_runtime::DispatchError;

use super::{any_amount, owing, settlement, Coins};
use crate::{mock::*, CurrentParams, Error, Params, Payees, TotalEscrowed};

#[test]
fn only_root_changes_the_fee_and_its_shares_and_never_above_their_bounds() {
    on_chain(|| {
        let params = |fee_ppm, scheduler_share_ppm, settler_share_ppm| Params {
            fee_ppm,
            scheduler_share_ppm,
            settler_share_ppm,
            ..Default::default()
        };
        let by_tenant = RuntimeOrigin::signed(account(TENANT));
        assert_noop!(Billing::set_params(by_tenant, params(1, 1, 1)), DispatchError::BadOrigin);
        for (changed, error) in [
            (params(MAX_FEE_PPM + 1, 0, 0), Error::<Test>::FeeTooHigh),
            (params(1, MAX_SHARES_PPM, 1), Error::<Test>::SharesTooHigh),
            (params(1, 0, MAX_SHARES_PPM + 1), Error::<Test>::SharesTooHigh),
            (params(1, u32::MAX, u32::MAX), Error::<Test>::SharesTooHigh),
        ] {
            assert_noop!(Billing::set_params(RuntimeOrigin::root(), changed), error);
        }
        let highest = params(MAX_FEE_PPM, MAX_SHARES_PPM - 1, 1);
        assert_ok!(Billing::set_params(RuntimeOrigin::root(), highest.clone()));
        assert_eq!(CurrentParams::<Test>::get(), highest);
    });
}

/// A lease of a host with the account of [`NOBODY`], opened by `scheduler`.
fn lease_of(scheduler: Option<u8>) -> Lease {
    let escrow = owing(GTY);
    let lease = Lease::new(0, 0, HostId::from(account(NOBODY)), Default::default(), 0, escrow);
    Lease { assigned_by: scheduler.map(account), ..lease }
}

/// Closes a lease by a call of `settler`. Returns how the fee was divided: scheduler and settler.
fn close_lease(scheduler: Option<u8>, settler: Option<u8>) -> (Balance, Balance) {
    let mut lease = lease_of(scheduler);
    let settler = settler.map(|who| Billing::settler(account(who)));
    let payees = Payees::for_lease(&lease, &account(TENANT), &account(PROVIDER), settler.as_ref());
    let mut ledger = Coins::default();
    let closed = ledger.close(&account(TENANT), &payees, &mut lease.escrow);
    assert_ok!(ledger.commit());
    assert_eq!((closed.paid, closed.fee, closed.refunded), (GTY, GTY / 10, GTY), "the fee is the same for all");
    assert_eq!(lease.escrow.treasury_fee(), closed.fee - closed.scheduler_fee - closed.settler_fee);
    (closed.scheduler_fee, closed.settler_fee)
}

#[test]
fn scheduler_and_settler_have_shares_of_the_fee() {
    on_chain(|| {
        assert_eq!(close_lease(Some(SCHEDULER), Some(SETTLER)), (GTY / 50, GTY / 100));
        assert_eq!(total_balance(&account(SCHEDULER)), GTY + GTY / 50);
        assert_eq!(total_balance(&account(SETTLER)), GTY + GTY / 100);
        assert_eq!(total_balance(&account(PROVIDER)), GTY + 9 * GTY / 10);
        assert_eq!(total_balance(&Billing::treasury()), ED + GTY / 10 - GTY / 50 - GTY / 100);
        assert_eq!(close_lease(Some(SCHEDULER), Some(SCHEDULER)), (GTY / 50, GTY / 100), "one may be both");
    });
}

#[test]
fn no_party_of_a_lease_has_a_share_of_its_fee() {
    on_chain(|| {
        for party in [TENANT, PROVIDER, NOBODY] {
            assert_eq!(close_lease(Some(SCHEDULER), Some(party)), (GTY / 50, 0));
            assert_eq!(close_lease(Some(party), Some(SETTLER)), (0, GTY / 100));
        }
        assert_eq!(close_lease(None, None), (0, 0), "the chain itself settles a lease that its tenant placed");
        assert_eq!(total_balance(&Billing::treasury()), ED + 7 * GTY / 10 - 3 * (GTY / 50) - 3 * (GTY / 100));
    });
}

#[test]
fn a_share_that_nobody_can_be_credited_with_goes_to_the_treasury() {
    on_chain(|| {
        let mut escrow = owing(ED);
        let settler = Some(Billing::settler(account(NOBODY)));
        let payees = Payees { provider: account(PROVIDER), scheduler: Some(account(21)), settler };
        let mut ledger = Coins::default();
        let closed = ledger.close(&account(TENANT), &payees, &mut escrow);
        assert_ok!(ledger.commit());
        assert_eq!(closed, settlement(ED, ED / 10, 2 * GTY - ED));
        assert_eq!(total_balance(&Billing::treasury()), ED + ED / 10);
        assert_eq!(total_balance(&account(NOBODY)) + total_balance(&account(21)), 0);
    });
}

#[test]
fn the_fee_of_an_escrow_and_the_schedulers_share_are_those_of_its_opening() {
    on_chain(|| {
        let lease = lease_of(Some(SCHEDULER));
        let params = Params { fee_ppm: MAX_FEE_PPM / 2, scheduler_share_ppm: 0, ..CurrentParams::<Test>::get() };
        assert_ok!(Billing::set_params(RuntimeOrigin::root(), params));
        let mut escrow = lease.escrow.clone();
        let payees = Payees::for_lease(&lease, &account(TENANT), &account(PROVIDER), None);
        let mut ledger = Coins::default();
        let closed = ledger.close(&account(TENANT), &payees, &mut escrow);
        assert_ok!(ledger.commit());
        assert_eq!((closed.fee, closed.scheduler_fee), (GTY / 10, GTY / 50));
    });
}

#[test]
fn payments_of_any_amount_with_any_shares_come_to_what_is_due() {
    for seed in 0..60 {
        on_chain(|| {
            let mut rng = SplitMix64(seed);
            let anyone = [PROVIDER, NOBODY, SCHEDULER, SETTLER, 20, 21, 22];
            for step in 0..30 {
                let scheduler = (rng.below(3) > 0).then(|| account(rng.pick(&anyone)));
                let settler_share_ppm = rng.below(u64::from(MAX_SHARES_PPM) + 1) as u32;
                CurrentParams::<Test>::mutate(|params| {
                    (params.scheduler_share_ppm, params.settler_share_ppm) = (0, settler_share_ppm);
                });
                let settler = (rng.below(3) > 0).then(|| Billing::settler(account(rng.pick(&anyone))));
                let payees = Payees { provider: account(rng.pick(&anyone)), scheduler, settler };
                let due = any_amount(&mut rng).min(2 * GTY);
                let (fee_ppm, scheduler_ppm) = (rng.pick(&[0, 1, 20_000, MAX_FEE_PPM]), rng.below(500_001) as u32);
                if !Billing::can_hold(&account(TENANT), 2 * GTY) {
                    break;
                }
                let mut escrow = owing(due).with_fee(fee_ppm, scheduler_ppm);
                let total = TotalEscrowed::<Test>::get();
                let mut ledger = Coins::default();
                let closed = ledger.close(&account(TENANT), &payees, &mut escrow);
                assert_ok!(ledger.commit());
                let about = format!("seed {seed}, step {step}: {closed:?} of {due}");
                assert!(closed.paid <= due && closed.paid + closed.refunded == 2 * GTY, "{about}");
                assert!(closed.scheduler_fee + closed.settler_fee <= closed.fee, "{about}");
                assert!(closed.fee <= gantry_primitives::rate::fee(due, fee_ppm), "{about}");
                assert!(escrow.treasury_fee() >= closed.scheduler_fee + closed.settler_fee, "{about}");
                assert_eq!(TotalEscrowed::<Test>::get() + 2 * GTY, total, "{about}");
            }
        });
    }
}
