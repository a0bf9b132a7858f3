//! Auditors, what they attest, and how it is contested.

use frame_support::{assert_noop, assert_ok, dispatch::DispatchResult};

use crate::{mock::*, *};

const ATTESTED: AttestationId = 0;

fn certificate() -> Attribute {
    Attribute::Certificate(bytes("iso-27001"))
}

fn attest_about(subject: Subject, attribute: Attribute) -> DispatchResult {
    Agreements::attest(signed(AUDITOR), subject, attribute, [1; 32], START + 5 * HOUR)
}

fn attest() -> DispatchResult {
    attest_about(Subject::Host(account(HOST)), certificate())
}

fn attested() {
    assert_ok!(Agreements::bond_auditor(signed(AUDITOR)));
    assert_ok!(attest());
}

fn contest() -> DispatchResult {
    Agreements::contest(signed(ANYONE), ATTESTED, [2; 32])
}

fn decide(is_wrong: bool) -> DispatchResult {
    Agreements::decide_contest(RuntimeOrigin::root(), ATTESTED, is_wrong)
}

#[test]
fn only_bonded_auditors_attest_and_not_about_themselves() {
    run(|| {
        assert_noop!(attest(), Error::<Test>::NotAuditor);
        attested();
        assert_eq!(
            (held(AUDITOR, HoldReason::AuditorBond), held(AUDITOR, HoldReason::AttestationStake)),
            (100 * GTY, 4 * GTY)
        );
        assert_noop!(Agreements::bond_auditor(signed(AUDITOR)), Error::<Test>::AlreadyBonded);
        let about = |subject| attest_about(subject, certificate());
        assert_noop!(about(Subject::Provider(account(AUDITOR))), Error::<Test>::AuditsItself);
        assert_noop!(about(Subject::Host(account(ANYONE))), Error::<Test>::NoSuchHost);
        let empty = Attribute::Certificate(Default::default());
        assert_noop!(attest_about(Subject::Host(account(HOST)), empty), Error::<Test>::AttributeEmpty);
        let nowhere = Attribute::Region { region: bytes("eu"), max_latency_ms: 0 };
        assert_noop!(attest_about(Subject::Host(account(HOST)), nowhere), Error::<Test>::AttributeEmpty);
        let forever = Agreements::attest(
            signed(AUDITOR),
            Subject::Host(account(HOST)),
            certificate(),
            [1; 32],
            START + 11 * HOUR,
        );
        assert_eq!(forever, Err(Error::<Test>::ExpiryInvalid.into()));
    });
}

#[test]
fn one_auditor_fills_no_more_than_a_part_of_what_is_kept_about_a_subject() {
    run(|| {
        attested();
        for _ in 1..MAX_ATTESTATIONS_OF_AUDITOR {
            assert_ok!(attest());
        }
        assert_noop!(attest(), Error::<Test>::TooManyAttestations);
        assert_ok!(attest_about(Subject::Host(account(OTHER_HOST)), certificate()));
    });
}

#[test]
fn an_attestation_expires_and_its_stake_goes_back() {
    run(|| {
        attested();
        wait_past(5 * HOUR);
        assert_eq!(events().last(), Some(&Event::Voided { attestation: ATTESTED, reason: VoidReason::Expired }));
        assert_eq!((held(AUDITOR, HoldReason::AttestationStake), Agenda::<Test>::iter().count()), (0, 0));
        assert_eq!(AttestationsOf::<Test>::iter().count(), 0);
    });
}

#[test]
fn its_auditor_and_governance_revoke_an_attestation_and_nobody_else() {
    run(|| {
        attested();
        assert_ok!(attest());
        assert_noop!(Agreements::revoke(signed(ANYONE), ATTESTED), Error::<Test>::NotYourAttestation);
        assert_ok!(Agreements::revoke(signed(AUDITOR), ATTESTED));
        assert_ok!(Agreements::revoke(RuntimeOrigin::root(), ATTESTED + 1));
        assert_eq!(events().last(), Some(&Event::Voided { attestation: 1, reason: VoidReason::ByGovernance }));
        assert_eq!(worth(AUDITOR), COINS);
    });
}

#[test]
fn a_wrong_attestation_costs_its_auditor_stake_and_bond_and_half_goes_to_who_found_it() {
    run(|| {
        attested();
        assert_ok!(contest());
        assert_noop!(contest(), Error::<Test>::IsContested);
        assert_noop!(Agreements::revoke(signed(AUDITOR), ATTESTED), Error::<Test>::IsContested);
        assert_noop!(Agreements::decide_contest(signed(ANYONE), ATTESTED, true), sp_runtime::DispatchError::BadOrigin);
        assert_ok!(decide(true));
        // 4 GTY of the stake, and a tenth of the bond.
        assert_eq!((worth(AUDITOR), worth(ANYONE), worth(TREASURY)), (COINS - 14 * GTY, COINS + 7 * GTY, 8 * GTY));
        assert!(!Attestations::<Test>::contains_key(ATTESTED));
        assert_noop!(decide(true), Error::<Test>::NoSuchAttestation);
    });
}

#[test]
fn an_auditor_that_contests_itself_by_another_account_loses() {
    run(|| {
        attested();
        assert_ok!(contest());
        assert_ok!(decide(true));
        assert!(worth(AUDITOR) + worth(ANYONE) < 2 * COINS);
    });
}

#[test]
fn who_contests_a_right_attestation_loses_the_stake_and_half_goes_to_the_auditor() {
    run(|| {
        attested();
        assert_ok!(contest());
        assert_ok!(decide(false));
        assert_eq!((worth(ANYONE), worth(AUDITOR), worth(TREASURY)), (COINS - 2 * GTY, COINS + GTY, 2 * GTY));
        assert_noop!(decide(true), Error::<Test>::NotContested);
        wait_past(5 * HOUR);
        assert!(!Attestations::<Test>::contains_key(ATTESTED), "it expires at its time");
    });
}

#[test]
fn a_contest_that_nobody_decides_changes_nothing() {
    run(|| {
        attested();
        assert_ok!(contest());
        wait_past(HOUR);
        assert_eq!(events().last(), Some(&Event::ContestRejected { attestation: ATTESTED, decided: false }));
        assert_eq!((worth(ANYONE), held(ANYONE, HoldReason::ContestStake)), (COINS, 0));
        assert!(Attestations::<Test>::contains_key(ATTESTED));
    });
}

#[test]
fn an_attestation_does_not_expire_before_its_contest_is_decided() {
    run(|| {
        attested();
        wait_past(5 * HOUR - MINUTE);
        assert_ok!(contest());
        wait_past(MINUTE);
        assert!(Attestations::<Test>::contains_key(ATTESTED));
        wait_past(HOUR);
        assert_eq!(events().last(), Some(&Event::Voided { attestation: ATTESTED, reason: VoidReason::Expired }));
    });
}

#[test]
fn an_auditor_does_not_leave_while_its_attestations_are_in_force() {
    run(|| {
        attested();
        assert_noop!(Agreements::withdraw_auditor_bond(signed(AUDITOR)), Error::<Test>::StillBonded);
        assert_ok!(Agreements::unbond_auditor(signed(AUDITOR)));
        assert_noop!(Agreements::unbond_auditor(signed(AUDITOR)), Error::<Test>::NotAuditor);
        assert_noop!(attest(), Error::<Test>::NotAuditor);
        wait_past(2 * HOUR);
        assert_noop!(Agreements::withdraw_auditor_bond(signed(AUDITOR)), Error::<Test>::HasAttestations);
        assert_ok!(Agreements::revoke(signed(AUDITOR), ATTESTED));
        assert_ok!(Agreements::withdraw_auditor_bond(signed(AUDITOR)));
        assert_eq!((worth(AUDITOR), held(AUDITOR, HoldReason::AuditorBond)), (COINS, 0));
    });
}

#[test]
fn unsound_parameters_are_refused() {
    run(|| {
        let refused = |change: fn(&mut Params), error: Error<Test>| {
            let mut changed = params();
            change(&mut changed);
            assert_noop!(Agreements::set_params(RuntimeOrigin::root(), changed), error);
        };
        refused(|params| params.watch_ms = 0, Error::PeriodInvalid);
        refused(|params| params.min_bond = 0, Error::BondOrStakeZero);
        refused(|params| params.auditor_slash_ppm = 1_000_001, Error::SlashTooHigh);
        refused(|params| params.auditor_unbonding_ms = HOUR - 1, Error::UnbondingTooShort);
        assert_noop!(Agreements::set_params(signed(ANYONE), params()), sp_runtime::DispatchError::BadOrigin);
        assert_ok!(Agreements::set_params(RuntimeOrigin::root(), Params::default()));
    });
}

#[test]
fn the_genesis_names_each_parameter_and_no_other() {
    let mut value = serde_json::to_value(params()).expect("it serialises");
    assert_eq!(value["contestMs"], HOUR);
    assert_eq!(serde_json::from_value::<Params>(value.clone()).expect("it is whole"), params());
    value["contestMS"] = value["contestMs"].clone();
    assert!(serde_json::from_value::<Params>(value).is_err());
}
