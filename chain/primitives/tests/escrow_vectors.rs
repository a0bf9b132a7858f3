//! The cases of tests/vectors/escrow.json, which the Python tests also run.

use std::{fs, path::Path};

use gantry_primitives::{Balance, BillingUnit, Escrow, HostId, Lease, Moment};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/escrow.json");
    let text = fs::read_to_string(&path).expect("tests/vectors/escrow.json can be read");
    let page: Value = serde_json::from_str(&text).expect("it is JSON");
    let cases = page["escrow"].as_array().expect("there is a list of cases").clone();
    assert!(!cases.is_empty(), "there are cases");
    cases
}

/// A time, which is written as a number; or none.
fn time(value: &Value) -> Option<Moment> {
    (!value.is_null()).then(|| value.as_u64().unwrap_or_else(|| panic!("{value} is a time")))
}

/// Coins, which are written as a string of digits.
fn coins(value: &Value) -> Balance {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is a string"));
    text.parse().unwrap_or_else(|_| panic!("{text} is a number of coins"))
}

fn unit(value: &Value) -> BillingUnit {
    match value.as_str() {
        Some("Second") => BillingUnit::Second,
        Some("Hour") => BillingUnit::Hour,
        Some("Day") => BillingUnit::Day,
        _ => panic!("{value} is no unit"),
    }
}

fn escrow(value: &Value) -> Escrow {
    Escrow {
        accrued: coins(&value["accrued"]),
        since: time(&value["since"]),
        downtime_mark: time(&value["downtime_mark"]).expect("there is a mark"),
        until: time(&value["until"]),
        paid: coins(&value["paid"]),
        ..Escrow::new(coins(&value["deposit"]), coins(&value["rate_per_hour"]), unit(&value["unit"]))
    }
}

#[test]
fn escrows_owe_and_end_as_the_page_says() {
    for case in cases() {
        let name = case["name"].as_str().expect("each case has a name");
        let escrow = escrow(&case["escrow"]);
        let now = time(&case["now"]).expect("there is a time");
        let downtime = time(&case["host_downtime"]).expect("there is a downtime");
        assert_eq!(Some(escrow.billed_ms(now, downtime)), time(&case["billed_ms"]), "{name}");
        assert_eq!(escrow.owed(now, downtime), coins(&case["owed"]), "{name}");
        assert_eq!(escrow.depletes_at(downtime), time(&case["depletes_at"]), "{name}");
        let mut lease = Lease::new(0, 0, HostId::new([1; 32]), Default::default(), 0, escrow);
        lease.reclaim_at = time(&case["reclaim_at"]);
        assert_eq!(lease.ends_at(downtime), time(&case["ends_at"]), "{name}");
    }
}
