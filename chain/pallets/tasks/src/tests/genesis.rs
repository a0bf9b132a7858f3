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
            "auditSurchargePpm",
            "checkpointMinMs",
            "depositBase",
            "depositPerByte",
            "depositPerPod",
            "depositPerTask",
            "disputeWindowMs",
            "evidenceMs",
            "maxAttempts",
            "maxDurationMs",
            "maxRefusals",
            "maxReplicas",
            "minChargeMs",
            "offerKnownMs",
            "poorPpm",
            "preemptionNoticeMs",
            "refusalFee",
            "refusedItemFine",
            "reportGraceMs",
            "schedulerBond",
            "schedulerPenaltyPpm",
            "schedulerUnbondingMs",
            "startTimeoutMs"
        ]
    );
    assert!(json["schedulers"].is_array());
}
