use frame_support::{assert_noop, assert_ok};
use gantry_primitives::Balance;
use sp_runtime::DispatchError;

use crate::{mock::*, CurrentParams, Error, Event, Params};

#[test]
fn root_changes_the_parameters() {
    on_chain(|| {
        let new = Params { answer_ms: 5, ..params() };
        assert_noop!(Verification::set_params(signed(OPENER), new.clone()), DispatchError::BadOrigin);
        assert_ok!(Verification::set_params(RuntimeOrigin::root(), new.clone()));
        assert_eq!(CurrentParams::<Test>::get(), new);
        System::assert_has_event(Event::ParamsChanged.into());
    });
}

#[test]
fn unsound_parameters_are_refused_by_name() {
    on_chain(|| {
        let refused = |change: fn(&mut Params), error: Error<Test>| {
            let mut new = params();
            change(&mut new);
            assert_noop!(Verification::set_params(RuntimeOrigin::root(), new), error);
        };
        refused(|params| params.committee_size = 2, Error::SeatsInvalid);
        refused(|params| params.appeal_jury_size = 1, Error::AppealJuryTooSmall);
        refused(|params| params.dispute_stake = 0, Error::BondOrStakeZero);
        refused(|params| params.absence_penalty = BOND, Error::PenaltyTooHigh);
        refused(|params| params.minority_penalty = ABSENCE + 1, Error::AbsenceTooCheap);
        refused(|params| params.jury_fee = STAKE + 1, Error::JuryFeeTooHigh);
        refused(|params| params.dispute_stake = Balance::MAX, Error::StakeTooHigh);
        refused(|params| params.hearing_ms = 0, Error::PeriodInvalid);
        refused(|params| params.miss_period_ms = REST - 1, Error::MissPeriodTooShort);
        refused(|params| params.min_verifiers = 6, Error::MinVerifiersTooLow);
        refused(|params| params.min_verifiers = 513, Error::MinVerifiersTooHigh);
        refused(|params| params.replica_slash_deposits = 0, Error::ResultSlashZero);
        refused(|params| params.slash_to_tenant_ppm = 500_000, Error::RewardsTooHigh);
    });
}

#[test]
#[should_panic(expected = "verification.params are unsound: SeatsInvalid")]
fn a_chain_does_not_start_with_unsound_parameters() {
    ExtBuilder { params: Params { jury_size: 0, ..params() }, ..Default::default() }.build();
}
