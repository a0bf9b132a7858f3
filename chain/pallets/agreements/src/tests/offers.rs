//! Offers, until they are accepted.

use frame_support::{assert_noop, assert_ok};

use crate::{mock::*, *};

fn propose(terms: OfferTerms, until: u64) -> sp_runtime::DispatchResult {
    Agreements::propose(signed(TENANT), account(PROVIDER), Box::new(terms), until)
}

fn proposed() -> OfferId {
    assert_ok!(propose(terms(), START + HOUR));
    last_offer()
}

#[test]
fn an_accepted_offer_binds_both_sides_and_reserves_the_place() {
    run(|| {
        let offer = proposed();
        assert_eq!((held(TENANT, HoldReason::AgreementBond), held(PROVIDER, HoldReason::AgreementBond)), (BOND, 0));
        assert_eq!(held(TENANT, HoldReason::OfferDeposit), GTY / 10);
        assert_ok!(Agreements::accept(signed(PROVIDER), offer, Some(place())));
        assert_eq!(held(PROVIDER, HoldReason::AgreementBond), BOND);
        assert_eq!(world(|state| state.reserved[&account(HOST)]), 1);
        assert_noop!(Agreements::decline(signed(TENANT), offer), Error::<Test>::OfferNotOpen);
        assert_noop!(Agreements::decline(signed(PROVIDER), offer), Error::<Test>::OfferNotOpen);
    });
}

#[test]
fn a_side_cannot_answer_its_own_terms() {
    run(|| {
        let offer = proposed();
        assert_noop!(Agreements::accept(signed(TENANT), offer, None), Error::<Test>::NotYourTurn);
        assert_noop!(Agreements::accept(signed(ANYONE), offer, None), Error::<Test>::NotParty);
        let dearer = OfferTerms { rate_per_hour: 3 * GTY, ..terms() };
        let counter =
            |who, place| Agreements::counter(signed(who), offer, Box::new(dearer.clone()), place, START + HOUR);
        assert_noop!(counter(PROVIDER, None), Error::<Test>::PlaceMissing);
        assert_ok!(counter(PROVIDER, Some(place())));
        assert_eq!((held(TENANT, HoldReason::AgreementBond), held(PROVIDER, HoldReason::AgreementBond)), (0, 9 * GTY));
        assert_noop!(counter(PROVIDER, Some(place())), Error::<Test>::NotYourTurn);
        assert_noop!(Agreements::accept(signed(TENANT), offer, Some(place())), Error::<Test>::PlaceNotYours);
        assert_ok!(Agreements::accept(signed(TENANT), offer, None));
        assert_eq!(held(TENANT, HoldReason::AgreementBond), 9 * GTY);
    });
}

#[test]
fn terms_are_countered_so_often_and_not_more() {
    run(|| {
        let offer = proposed();
        for round in 0..=MAX_COUNTERS {
            let (who, place) = if round % 2 == 0 { (PROVIDER, Some(place())) } else { (TENANT, None) };
            let answer = Agreements::counter(signed(who), offer, Box::new(terms()), place, START + HOUR);
            match round {
                MAX_COUNTERS => assert_eq!(answer, Err(Error::<Test>::TooManyCounters.into())),
                _ => {
                    assert_ok!(answer);
                }
            }
        }
    });
}

#[test]
fn an_offer_that_nobody_answers_expires_and_gives_everything_back() {
    run(|| {
        let offer = proposed();
        wait_past(HOUR);
        assert_noop!(Agreements::accept(signed(PROVIDER), offer, Some(place())), Error::<Test>::NoSuchOffer);
        assert_eq!((worth(TENANT), held(TENANT, HoldReason::AgreementBond)), (COINS, 0));
        assert_eq!((OffersOf::<Test>::get(account(TENANT)), Agenda::<Test>::iter().count()), (0, 0));
        let outcome = OfferOutcome::NotAccepted;
        assert_eq!(events().last(), Some(&Event::OfferClosed { offer, outcome, compensation: 0 }));
    });
}

#[test]
fn each_side_may_decline_an_open_offer() {
    run(|| {
        for who in [TENANT, PROVIDER] {
            let offer = proposed();
            assert_noop!(Agreements::decline(signed(ANYONE), offer), Error::<Test>::NotParty);
            assert_ok!(Agreements::decline(signed(who), offer));
            assert_eq!(held(TENANT, HoldReason::AgreementBond) + held(TENANT, HoldReason::OfferDeposit), 0);
        }
    });
}

#[test]
fn a_tenant_has_a_bounded_number_of_offers() {
    run(|| {
        proposed();
        proposed();
        assert_noop!(propose(terms(), START + HOUR), Error::<Test>::TooManyOffers);
        assert_ok!(Agreements::decline(signed(TENANT), 0));
        proposed();
    });
}

#[test]
fn unsound_terms_are_refused_with_their_own_reason() {
    run(|| {
        let refused = |change: fn(&mut OfferTerms), error: Error<Test>| {
            let mut changed = terms();
            change(&mut changed);
            assert_noop!(propose(changed, START + HOUR), error);
        };
        refused(|terms| terms.hosts = Default::default(), Error::HostsInvalid);
        refused(|terms| terms.hosts = vec![account(HOST); 2].try_into().expect("two fit"), Error::HostsInvalid);
        let strange = |terms: &mut OfferTerms| terms.hosts = vec![account(STRANGE_HOST)].try_into().expect("one fits");
        refused(strange, Error::NotHostOfProvider);
        refused(|terms| terms.duration_ms = 0, Error::DurationIsZero);
        refused(|terms| terms.start_until = START + 4 * HOUR, Error::StartInvalid);
        refused(|terms| terms.start_until = terms.start_from, Error::StartInvalid);
        refused(|terms| terms.start_until = START, Error::StartInvalid);
        refused(|terms| terms.rate_per_hour = u128::MAX, Error::BondTooHigh);
        refused(|terms| terms.rate_per_hour = 1_000 * GTY, Error::CannotPay);
        assert_noop!(propose(terms(), START), Error::<Test>::AnswerTimeInvalid);
        assert_noop!(propose(terms(), START + HOUR + 1), Error::<Test>::AnswerTimeInvalid);
        let own = Agreements::propose(signed(PROVIDER), account(PROVIDER), Box::new(terms()), START + HOUR);
        assert_eq!(own, Err(Error::<Test>::OfferToOneself.into()));
    });
}

#[test]
fn an_offer_of_nothing_has_the_least_bond() {
    run(|| {
        assert_ok!(propose(OfferTerms { rate_per_hour: 0, ..terms() }, START + HOUR));
        assert_eq!(held(TENANT, HoldReason::AgreementBond), GTY);
    });
}

#[test]
fn an_offer_whose_place_is_taken_is_not_accepted_and_stays_open() {
    run(|| {
        let (first, second) = (proposed(), proposed());
        assert_ok!(Agreements::accept(signed(PROVIDER), first, Some(place())));
        let elsewhere = Place { host: account(STRANGE_HOST), ..place() };
        assert_noop!(Agreements::accept(signed(PROVIDER), second, Some(elsewhere)), Error::<Test>::PlaceElsewhere);
        assert_eq!(
            Agreements::accept(signed(PROVIDER), second, Some(place())),
            Err(sp_runtime::DispatchError::Exhausted)
        );
        let other = Place { host: account(OTHER_HOST), ..place() };
        assert_ok!(Agreements::accept(signed(PROVIDER), second, Some(other)));
    });
}
