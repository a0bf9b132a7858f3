use super::*;

const HOST: HostScore = HostScore {
    completed: Beta { positive: 0, negative: 0 },
    verified: Beta { positive: 0, negative: 0 },
    uptime: Beta { positive: 0, negative: 0 },
    start_latency: Beta { positive: 0, negative: 0 },
    rating: Beta { positive: 0, negative: 0 },
    sla: Sla { promised_ms: 0, met_ms: 0 },
    settled_leases: 0,
    updated_at: 0,
};

fn once(score: &HostScore, conduct: Conduct, now: Moment) -> HostScore {
    with_host_conduct(score, conduct, 1, FEE_UNIT, now)
}

const fn of(positive: u64, negative: u64) -> Beta {
    Beta { positive, negative }
}

#[test]
fn without_evidence_a_host_and_a_tenant_score_one_half() {
    assert_eq!(host_ppm(&HOST), 500_000);
    assert_eq!(tenant_ppm(&TenantScore::default()), 500_000);
}

#[test]
fn evidence_weighs_half_after_a_half_life() {
    assert_eq!(decayed(1_000_000, 0), 1_000_000);
    assert_eq!(decayed(1_000_000, HALF_LIFE_MS / 2), 750_000);
    assert_eq!(decayed(1_000_000, HALF_LIFE_MS), 500_000);
    assert_eq!(decayed(1_000_000, 3 * HALF_LIFE_MS), 125_000);
    assert_eq!(decayed(u64::MAX, u64::MAX), 0);
}

#[test]
fn an_observation_weighs_more_the_higher_the_fee_but_not_in_proportion() {
    let fees = [0, FEE_UNIT / 4, FEE_UNIT, 2 * FEE_UNIT, 3 * FEE_UNIT, 255 * FEE_UNIT, u128::MAX];
    assert_eq!(fees.map(weight), [0, 250_000, 1_000_000, 1_500_000, 2_000_000, 8_000_000, 8_000_000]);
    let mut before = 0;
    for fee in (0..2_000).map(|step| step * FEE_UNIT / 7) {
        assert!(weight(fee) >= before && weight(fee) <= MAX_WEIGHT);
        before = weight(fee);
    }
}

#[test]
fn leases_without_a_fee_are_no_evidence() {
    let score = with_host_conduct(&HOST, Conduct::Completed, 1_000, 0, 10);
    assert_eq!((host_ppm(&score), score.settled_leases), (500_000, 1_000));
    assert_eq!(tenant_ppm(&with_tenant_conduct(&TenantScore::default(), TenantConduct::DisputeLost, 0, 10)), 500_000);
}

#[test]
fn many_observations_weigh_what_each_of_them_does() {
    let batch = with_host_conduct(&HOST, Conduct::Completed, 5, 15 * FEE_UNIT, 10);
    let mut single = HOST;
    for _ in 0..5 {
        single = with_host_conduct(&single, Conduct::Completed, 1, 3 * FEE_UNIT, 10);
    }
    assert_eq!(batch, single);
    assert_eq!((batch.completed, batch.settled_leases), (of(10 * OBSERVATION, 0), 5));
    assert_eq!(with_host_conduct(&batch, Conduct::Completed, 0, FEE_UNIT, 10), batch, "none is no evidence");
}

#[test]
fn good_conduct_raises_and_bad_conduct_lowers_the_score() {
    let pairs = [
        (Conduct::Completed, Conduct::NotCompleted),
        (Conduct::Verified, Conduct::NotVerified),
        (Conduct::Uptime { up_ms: 9, down_ms: 0 }, Conduct::Uptime { up_ms: 0, down_ms: 9 }),
        (Conduct::Started, Conduct::NotStarted),
        (Conduct::StartedAfter(SOON_MS), Conduct::StartedAfter(LATE_MS)),
        (Conduct::Rated(5), Conduct::Rated(1)),
        (Conduct::Responded(true), Conduct::Responded(false)),
    ];
    for (good, bad) in pairs {
        let (good, bad) = (host_ppm(&once(&HOST, good, 10)), host_ppm(&once(&HOST, bad, 10)));
        assert!(bad < 500_000 && 500_000 < good, "{bad} {good}");
    }
}

#[test]
fn a_start_is_worth_less_the_later_it_is() {
    assert_eq!(promptness_ppm(0), PPM);
    assert_eq!(promptness_ppm(SOON_MS), PPM);
    assert_eq!(promptness_ppm((SOON_MS + LATE_MS) / 2), PPM / 2);
    assert_eq!(promptness_ppm(LATE_MS), 0);
    assert_eq!(promptness_ppm(u64::MAX), 0);
}

#[test]
fn three_stars_are_neither_good_nor_bad() {
    let score = once(&HOST, Conduct::Rated(3), 10);
    assert_eq!(score.rating, of(OBSERVATION / 2, OBSERVATION / 2));
    assert_eq!(host_ppm(&score), 500_000);
    assert_eq!((stars_ppm(0), stars_ppm(1), stars_ppm(5), stars_ppm(255)), (0, 0, PPM, PPM));
}

#[test]
fn a_response_to_a_ticket_weighs_a_third_of_a_rating() {
    assert_eq!(once(&HOST, Conduct::Responded(true), 10).rating, of(RESPONSE_PPM, 0));
    assert_eq!(once(&HOST, Conduct::Responded(false), 10).rating, of(0, RESPONSE_PPM));
    let good = |conduct| host_ppm(&once(&HOST, conduct, 10)) - 500_000;
    assert!(good(Conduct::Responded(true)) < good(Conduct::Rated(5)) / 2);
}

#[test]
fn time_there_and_away_is_counted_as_promised_and_kept() {
    let score = once(&HOST, Conduct::Uptime { up_ms: 750, down_ms: 250 }, 10);
    assert_eq!(score.uptime, of(750_000, 250_000));
    assert_eq!(score.sla, Sla { promised_ms: 1_000, met_ms: 750 });
    let later = once(&score, Conduct::Uptime { up_ms: 1, down_ms: 0 }, 10 + HALF_LIFE_MS);
    assert_eq!(later.sla, Sla { promised_ms: 1_001, met_ms: 751 }, "what was promised does not fade");
    assert_eq!(uptime_ppm(0, 0), PPM);
}

#[test]
fn a_promise_too_long_to_count_leaves_the_counters_as_they_are() {
    let long = once(&HOST, Conduct::Uptime { up_ms: u64::MAX, down_ms: 0 }, 10);
    assert_eq!(once(&long, Conduct::Uptime { up_ms: 1, down_ms: 0 }, 10).sla, long.sla);
    assert_eq!(once(&HOST, Conduct::Uptime { up_ms: u64::MAX, down_ms: 1 }, 10).sla, HOST.sla);
}

#[test]
fn a_clock_that_stands_still_or_goes_back_fades_nothing() {
    let first = once(&HOST, Conduct::Started, 5);
    let second = once(&first, Conduct::NotCompleted, 5);
    assert_eq!(second.start_latency, of(OBSERVATION, 0));
    assert_eq!(second.completed, of(0, OBSERVATION));
    assert_eq!(once(&second, Conduct::Started, 1).updated_at, 5);
}

#[test]
fn no_evidence_overflows_the_score() {
    let full = of(u64::MAX, 0);
    assert!(beta_ppm(&full) < 1_000_000);
    let score = HostScore { completed: full, ..HOST };
    let more = with_host_conduct(&score, Conduct::Completed, u32::MAX, u128::MAX, 0);
    assert_eq!((more.completed.positive, more.settled_leases), (u64::MAX, u32::MAX));
}

#[test]
fn a_tenant_is_known_by_what_it_pays_and_by_its_disputes() {
    let nobody = TenantScore::default();
    let after = |conduct| with_tenant_conduct(&nobody, conduct, FEE_UNIT, 10);
    let ppm = |conduct| tenant_ppm(&after(conduct));
    assert!(ppm(TenantConduct::DisputeLost) < ppm(TenantConduct::Cancelled));
    assert!(ppm(TenantConduct::Cancelled) < 500_000);
    assert!(ppm(TenantConduct::Settled) > 500_000);
    assert!(ppm(TenantConduct::DisputeWon) > 500_000);
    assert_eq!(after(TenantConduct::Cancelled).settled, of(0, OBSERVATION / 4));
    let later =
        with_tenant_conduct(&after(TenantConduct::Settled), TenantConduct::Settled, 3 * FEE_UNIT, 10 + HALF_LIFE_MS);
    assert_eq!(later.settled, of(OBSERVATION / 2 + 2 * OBSERVATION, 0));
}

#[test]
fn faults_raise_the_bonds_up_to_threefold_and_are_forgotten() {
    let clean = FaultRecord::default();
    assert_eq!(bond_factor_ppm(&clean, 0), 1_000_000);
    let once = with_fault(&clean, Fault::FailedChallenge, 1_000_000, 10);
    assert_eq!(bond_factor_ppm(&once, 10), 1_250_000);
    assert_eq!(bond_factor_ppm(&once, 10 + HALF_LIFE_MS), 1_125_000);
    let mut often = clean;
    for _ in 0..20 {
        often = with_fault(&often, Fault::WrongResult, 1_000_000, 10);
    }
    assert_eq!(bond_factor_ppm(&often, 10), 3_000_000);
    assert_eq!(bond_factor_ppm(&FaultRecord { weight: u64::MAX, updated_at: 0 }, 0), 3_000_000);
    assert_eq!(bond_factor_ppm(&often, u64::MAX), 1_000_000);
}

#[test]
fn a_fault_weighs_by_the_hosts_part_of_the_bonds() {
    let of_ten = with_fault(&FaultRecord::default(), Fault::FailedChallenge, 100_000, 10);
    assert_eq!(of_ten.weight, 100_000);
    let beyond = with_fault(&FaultRecord::default(), Fault::FailedChallenge, u32::MAX, 10);
    assert_eq!(beyond.weight, 1_000_000, "no part is more than the whole");
}
