//! The cases of tests/vectors/fit.json, which Python runs too.

use std::{fs, path::Path};

use gantry_primitives::{
    fit::{first_devices, fits},
    rate, score, Ask, Beta, BillingUnit, Bytes, Capacity, Device, DeviceSpec, GpuRequest, HostScore, Resources, Vendor,
};
use serde_json::Value;

fn cases(rule: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/fit.json");
    let text = fs::read_to_string(&path).expect("tests/vectors/fit.json can be read");
    let all: Value = serde_json::from_str(&text).expect("it is JSON");
    let cases = all[rule].as_array().expect("each rule has a list of cases").clone();
    assert!(!cases.is_empty(), "{rule} has cases");
    cases
}

fn name(case: &Value) -> &str {
    case["name"].as_str().expect("each case has a name")
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

fn great_or_null<T: std::str::FromStr>(value: &Value) -> Option<T> {
    (!value.is_null()).then(|| great(value))
}

fn truth(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| panic!("{value} is true or false"))
}

fn text<const N: u32>(value: &Value) -> Bytes<N> {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is a string"));
    text.as_bytes().to_vec().try_into().expect("the text is not too long")
}

fn list<T>(value: &Value, item: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap_or_else(|| panic!("{value} is a list")).iter().map(item).collect()
}

fn resources(value: &Value) -> Resources {
    let gpus = &value["gpus"];
    Resources {
        cpu_milli: small(&value["cpu_milli"]),
        memory_mib: small(&value["memory_mib"]),
        disk_gib: small(&value["disk_gib"]),
        gpus: GpuRequest {
            count: small(&gpus["count"]),
            milli: small(&gpus["milli"]),
            min_vram_mib: small(&gpus["min_vram_mib"]),
            models: list(&gpus["models"], text).try_into().expect("at most four models"),
        },
    }
}

fn device(value: &Value) -> Device {
    let vendor = match value["vendor"].as_str() {
        Some("Nvidia") => Vendor::Nvidia,
        Some("Amd") => Vendor::Amd,
        Some("Other") => Vendor::Other,
        other => panic!("{other:?} is no vendor"),
    };
    Device {
        spec: DeviceSpec {
            vendor,
            model: text(&value["model"]),
            vram_mib: small(&value["vram_mib"]),
            simulated: truth(&value["simulated"]),
        },
        milli_free: small(&value["milli_free"]),
        attested: false,
    }
}

fn ask(value: &Value) -> Ask {
    Ask {
        gpu_per_hour: great(&value["gpu_per_hour"]),
        cpu_core_per_hour: great(&value["cpu_core_per_hour"]),
        memory_gib_per_hour: great(&value["memory_gib_per_hour"]),
        disk_gib_per_hour: great(&value["disk_gib_per_hour"]),
    }
}

fn beta(value: &Value) -> Beta {
    Beta { positive: great(&value["positive"]), negative: great(&value["negative"]) }
}

#[test]
fn every_case_of_fit_holds() {
    for case in cases("fit") {
        let free = Capacity {
            cpu_milli: small(&case["free"]["cpu_milli"]),
            memory_mib: small(&case["free"]["memory_mib"]),
            disk_gib: small(&case["free"]["disk_gib"]),
        };
        let devices = list(&case["devices"], device);
        let (needs, chosen) = (resources(&case["resources"]), list(&case["chosen"], small::<u8>));
        let allow_simulated = truth(&case["allow_simulated"]);
        let refused = fits(&free, &devices, &needs, &chosen, allow_simulated).err();
        let refused = refused.map(|misfit| format!("{misfit:?}"));
        assert_eq!(refused.as_deref(), case["refused"].as_str(), "{}", name(&case));
        let expected = (!case["first_devices"].is_null()).then(|| list(&case["first_devices"], small::<u8>));
        assert_eq!(first_devices(&devices, &needs.gpus, allow_simulated), expected, "{}", name(&case));
    }
}

#[test]
fn every_case_of_rate_holds() {
    for case in cases("rate") {
        let rate = rate::rate_per_hour(&resources(&case["resources"]), &ask(&case["ask"]));
        assert_eq!(rate, great_or_null(&case["rate_per_hour"]), "{}", name(&case));
    }
}

#[test]
fn every_case_of_deposit_holds() {
    for case in cases("deposit") {
        let deposit = rate::deposit(great(&case["rate_per_hour"]), great(&case["max_duration_ms"]));
        assert_eq!(deposit, great_or_null(&case["deposit"]), "{}", name(&case));
    }
}

#[test]
fn every_case_of_owed_holds() {
    for case in cases("owed") {
        let unit = match case["unit"].as_str() {
            Some("Second") => BillingUnit::Second,
            Some("Hour") => BillingUnit::Hour,
            Some("Day") => BillingUnit::Day,
            other => panic!("{other:?} is no unit"),
        };
        let (deposit, rate, time_ms) =
            (great(&case["deposit"]), great(&case["rate_per_hour"]), great(&case["time_ms"]));
        let owed = if truth(&case["pro_rata"]) {
            rate::owed_pro_rata(deposit, rate, time_ms)
        } else {
            rate::owed(unit, deposit, rate, time_ms)
        };
        assert_eq!(owed, great::<u128>(&case["owed"]), "{}", name(&case));
    }
}

#[test]
fn every_case_of_fee_holds() {
    for case in cases("fee") {
        let fee = rate::fee(great(&case["paid"]), small(&case["fee_ppm"]));
        assert_eq!(fee, great::<u128>(&case["fee"]), "{}", name(&case));
    }
}

#[test]
fn every_case_of_host_score_holds() {
    for case in cases("host_score") {
        let score =
            HostScore { completed: beta(&case["completed"]), started: beta(&case["started"]), ..Default::default() };
        assert_eq!(score::host_ppm(&score), small::<u32>(&case["score_ppm"]), "{}", name(&case));
    }
}

#[test]
fn every_case_of_decay_holds() {
    for case in cases("decay") {
        let decayed = score::decayed(great(&case["amount"]), great(&case["elapsed_ms"]));
        assert_eq!(decayed, great::<u64>(&case["decayed"]), "{}", name(&case));
    }
}
