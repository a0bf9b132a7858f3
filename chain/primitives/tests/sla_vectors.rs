//! The cases of tests/vectors/sla.json, which the Python tests also run.

use std::{fs, path::Path};

use gantry_primitives::{
    sla::{credit, Measured},
    SlaTerms,
};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/sla.json");
    let text = fs::read_to_string(&path).expect("tests/vectors/sla.json can be read");
    let page: Value = serde_json::from_str(&text).expect("it is JSON");
    let cases = page["credit"].as_array().expect("there is a list of cases").clone();
    assert!(!cases.is_empty(), "there are cases");
    cases
}

/// A number that is written as a number.
fn small<T: TryFrom<u64>>(value: &Value) -> T {
    let number = value.as_u64().unwrap_or_else(|| panic!("{value} is a number"));
    T::try_from(number).unwrap_or_else(|_| panic!("{number} is not too great"))
}

/// A number that is written as a string of digits.
fn great<T: std::str::FromStr>(value: &Value) -> T {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is a string"));
    text.parse().unwrap_or_else(|_| panic!("{text} is a number of its type"))
}

#[test]
fn every_case_of_credit_holds() {
    for case in cases() {
        let (promised, found) = (&case["terms"], &case["measured"]);
        let terms = SlaTerms {
            uptime_ppm: small(&promised["uptime_ppm"]),
            start_ms: small(&promised["start_ms"]),
            notice_ms: small(&promised["notice_ms"]),
            penalty_ppm: small(&promised["penalty_ppm"]),
        };
        let measured = Measured {
            price: great(&found["price"]),
            rate_per_hour: great(&found["rate_per_hour"]),
            promised_ms: great(&found["promised_ms"]),
            down_ms: great(&found["down_ms"]),
            late_ms: great(&found["late_ms"]),
            missing_notice_ms: great(&found["missing_notice_ms"]),
        };
        assert_eq!(credit(&terms, &measured), great::<u128>(&case["credit"]), "{}", case["name"]);
    }
}
