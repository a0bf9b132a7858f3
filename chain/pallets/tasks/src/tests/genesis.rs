use crate::mock::*;

#[test]
fn genesis_bonds_its_schedulers() {
    on_chain(|| {
        assert_eq!(crate::Schedulers::<Test>::get(account(SCHEDULER)), Some(SCHEDULER_BOND));
        assert_eq!(Tasks::scheduler_bond_held(&account(SCHEDULER)), SCHEDULER_BOND);
    });
}

#[test]
#[should_panic(expected = "tasks.schedulers")]
fn genesis_with_a_scheduler_who_cannot_pay_is_refused() {
    let mut builder = ExtBuilder::default();
    builder.tasks.scheduler_bond = 1_001 * GTY;
    builder.build();
}

#[test]
fn genesis_names_its_fields_as_the_documentation_does() {
    let json = serde_json::to_value(crate::GenesisConfig::<Test>::default()).expect("it can be written");
    let params = json["params"].as_object().expect("params is an object");
    let mut names: Vec<_> = params.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "archiveAfterMs",
            "checkpointMinMs",
            "depositBase",
            "depositPerByte",
            "depositPerTask",
            "disputeWindowMs",
            "maxAttempts",
            "maxDurationMs",
            "maxReplicas",
            "minChargeMs",
            "poorPpm",
            "preemptionNoticeMs",
            "refusedItemFine",
            "schedulerBond",
            "startTimeoutMs"
        ]
    );
    assert!(json["schedulers"].is_array());
}

#[test]
fn an_upgrade_adds_the_minimum_charge_to_stored_parameters_once() {
    use codec::Encode;
    use frame_support::{storage::unhashed, traits::OnRuntimeUpgrade};

    on_chain(|| {
        let now = crate::CurrentParams::<Test>::get();
        let key = crate::CurrentParams::<Test>::hashed_key();
        let mut before = now.encode();
        before.truncate(before.len() - 9);
        unhashed::put_raw(&key, &before);
        crate::migration::AddMinimumCharge::<Test>::on_runtime_upgrade();
        let crate::Params { min_charge_ms, max_replicas, .. } = crate::Params::default();
        let expected = crate::Params { min_charge_ms, max_replicas, ..now.clone() };
        assert_eq!(crate::CurrentParams::<Test>::get(), expected);
        crate::CurrentParams::<Test>::put(&now);
        crate::migration::AddMinimumCharge::<Test>::on_runtime_upgrade();
        assert_eq!(crate::CurrentParams::<Test>::get(), now, "parameters of today stay");
    });
}
