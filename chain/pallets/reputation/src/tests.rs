use gantry_primitives::{
    score::{FEE_UNIT, HALF_LIFE_MS},
    Beta, Conduct, Fault, Sla, TenantConduct,
};

use crate::{mock::*, Event, HostScores, ProviderFaults, TenantScores};

#[test]
fn whom_nobody_knows_stands_in_the_middle() {
    on_chain(|| {
        assert_eq!(Reputation::host_priority_ppm(&account(1)), 500_000);
        assert_eq!(Reputation::tenant_priority(&account(1)), 5);
        assert_eq!(Reputation::bond_factor_ppm(&account(1), 10), 1_000_000);
    });
}

#[test]
fn conduct_is_written_down_and_told() {
    on_chain(|| {
        Reputation::observe_host(&account(1), Conduct::Started, 1, FEE_UNIT, 10);
        Reputation::observe_host(&account(1), Conduct::Completed, 2, 6 * FEE_UNIT, 10);
        let score = HostScores::<Test>::get(account(1)).expect("it is written");
        assert_eq!(score.start_latency, Beta { positive: 1_000_000, negative: 0 });
        assert_eq!(score.completed, Beta { positive: 4_000_000, negative: 0 });
        assert_eq!((score.settled_leases, score.updated_at), (2, 10));
        let score_ppm = Reputation::host_priority_ppm(&account(1));
        System::assert_last_event(Event::Scored { host: account(1), score_ppm }.into());
        assert!(score_ppm > 600_000, "{score_ppm}");
        assert_eq!(Reputation::host_priority_ppm(&account(2)), 500_000, "another host is not concerned");
    });
}

#[test]
fn old_evidence_counts_for_less() {
    on_chain(|| {
        Reputation::observe_host(&account(1), Conduct::NotCompleted, 1, FEE_UNIT, 0);
        let low = Reputation::host_priority_ppm(&account(1));
        Reputation::observe_host(&account(1), Conduct::Started, 1, FEE_UNIT, HALF_LIFE_MS);
        let score = HostScores::<Test>::get(account(1)).expect("it is written");
        assert_eq!(score.completed.negative, 500_000);
        assert!(Reputation::host_priority_ppm(&account(1)) > low);
    });
}

#[test]
fn what_a_host_promised_and_kept_is_counted() {
    on_chain(|| {
        for down_ms in [0, 300] {
            Reputation::observe_host(
                &account(1),
                Conduct::Uptime { up_ms: 1_000 - down_ms, down_ms },
                1,
                3 * FEE_UNIT,
                10,
            );
        }
        let score = HostScores::<Test>::get(account(1)).expect("it is written");
        assert_eq!(score.sla, Sla { promised_ms: 2_000, met_ms: 1_700 });
        assert_eq!(score.uptime, Beta { positive: 3_400_000, negative: 600_000 });
    });
}

#[test]
fn a_tenant_moves_through_the_queue_by_what_it_does() {
    on_chain(|| {
        for _ in 0..20 {
            Reputation::observe_tenant(&account(1), TenantConduct::Settled, 127 * FEE_UNIT, 10);
            Reputation::observe_tenant(&account(2), TenantConduct::DisputeLost, 127 * FEE_UNIT, 10);
            Reputation::observe_tenant(&account(2), TenantConduct::Cancelled, 127 * FEE_UNIT, 10);
            Reputation::observe_tenant(&account(3), TenantConduct::Settled, 127 * FEE_UNIT, 10);
            Reputation::observe_tenant(&account(3), TenantConduct::DisputeWon, 127 * FEE_UNIT, 10);
        }
        let priorities = [1, 2, 3].map(|who| Reputation::tenant_priority(&account(who)));
        assert_eq!(priorities, [7, 0, 9]);
        assert_eq!(Reputation::priority_of_tenant(account(3)), 9);
        assert_eq!(Reputation::priority_of_host(account(3)), 500_000, "a tenant is no host");
        let score_ppm = 992_957;
        System::assert_last_event(Event::TenantScored { tenant: account(3), score_ppm }.into());
    });
}

#[test]
fn faults_raise_a_providers_bonds_until_they_are_forgotten() {
    on_chain(|| {
        Reputation::observe_fault(&account(1), Fault::WrongResult, 500_000, 10);
        assert_eq!(Reputation::bond_factor_ppm(&account(1), 10), 1_250_000);
        Reputation::observe_fault(&account(1), Fault::FailedChallenge, 1_000_000, 10);
        assert_eq!(Reputation::bond_factor_ppm(&account(1), 10), 1_500_000);
        assert_eq!(Reputation::bond_factor_ppm(&account(1), 10 + HALF_LIFE_MS), 1_250_000);
        assert_eq!(Reputation::bond_factor_ppm(&account(2), 10), 1_000_000, "another provider is not concerned");
        let record = ProviderFaults::<Test>::get(account(1)).expect("it is written");
        assert_eq!((record.weight, record.updated_at), (2_000_000, 10));
    });
}

#[test]
fn the_check_of_all_scores_finds_a_wrong_one() {
    on_chain(|| {
        Reputation::observe_host(&account(1), Conduct::Completed, 1, FEE_UNIT, 0);
        Reputation::observe_tenant(&account(1), TenantConduct::Settled, FEE_UNIT, 0);
        let good = HostScores::<Test>::get(account(1)).expect("it is written");
        let mut wrong = good;
        wrong.settled_leases = 0;
        HostScores::<Test>::insert(account(1), wrong);
        assert!(Reputation::do_try_state().is_err());
        let mut wrong = good;
        wrong.sla.met_ms = 1;
        HostScores::<Test>::insert(account(1), wrong);
        assert!(Reputation::do_try_state().is_err());
        HostScores::<Test>::insert(account(1), good);
        assert!(TenantScores::<Test>::contains_key(account(1)));
    });
}
