//! The cases of tests/vectors/fit.json, which the Python tests also run.

use std::{fs, path::Path};

use gantry_primitives::{
    fit::{first_devices, fits, placement_fits},
    layout::{satisfies_anti_affinity, AntiAffinity},
    rate, score, AccountId, Ask, Balance, Beta, BillingUnit, Bytes, Capabilities, Capacity, Device, DeviceSpec,
    GpuPrice, GpuRequest, HostRecord, HostScore, HostStatus, Layout, Placement, Resources, SlaTerms, Tier, Vendor,
};
use serde_json::Value;

fn page() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/fit.json");
    let text = fs::read_to_string(&path).expect("tests/vectors/fit.json can be read");
    serde_json::from_str(&text).expect("it is JSON")
}

fn cases(rule: &str) -> Vec<Value> {
    let cases = page()[rule].as_array().expect("each rule has a list of cases").clone();
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
        shared_by: (!value["shared_by"].is_null()).then(|| account(&value["shared_by"])),
        attested: truth(&value["attested"]),
        healthy: truth(&value["healthy"]),
    }
}

/// A whole device of a model, for rules that look at nothing else of it.
fn device_of(model: &Value) -> Device {
    let spec = DeviceSpec { vendor: Vendor::Other, model: text(model), vram_mib: 0, simulated: false };
    Device { spec, milli_free: 1_000, shared_by: None, attested: false, healthy: true }
}

fn unit(value: &Value) -> BillingUnit {
    match value.as_str() {
        Some("Second") => BillingUnit::Second,
        Some("Hour") => BillingUnit::Hour,
        Some("Day") => BillingUnit::Day,
        other => panic!("{other:?} is no unit"),
    }
}

fn tier(value: &Value) -> Tier {
    match value.as_str() {
        Some("Consumer") => Tier::Consumer,
        Some("Professional") => Tier::Professional,
        Some("Datacenter") => Tier::Datacenter,
        other => panic!("{other:?} is no tier"),
    }
}

fn capabilities(value: &Value) -> Capabilities {
    Capabilities {
        docker: truth(&value["docker"]),
        kvm: truth(&value["kvm"]),
        kubernetes: truth(&value["kubernetes"]),
        cdi: truth(&value["cdi"]),
        mig: truth(&value["mig"]),
        shares: truth(&value["shares"]),
        sandboxed: truth(&value["sandboxed"]),
    }
}

fn terms(value: &Value) -> SlaTerms {
    SlaTerms {
        uptime_ppm: small(&value["uptime_ppm"]),
        start_ms: small(&value["start_ms"]),
        notice_ms: small(&value["notice_ms"]),
        penalty_ppm: small(&value["penalty_ppm"]),
    }
}

/// An account that a case calls by a number.
fn account(value: &Value) -> AccountId {
    AccountId::new([small(value); 32])
}

fn placement(value: &Value) -> Placement {
    let accounts = |value: &Value| list(value, account).try_into().expect("at most eight accounts");
    Placement {
        regions: list(&value["regions"], text).try_into().expect("at most four regions"),
        hosts: accounts(&value["hosts"]),
        providers_allowed: accounts(&value["providers_allowed"]),
        providers_denied: accounts(&value["providers_denied"]),
        tiers: list(&value["tiers"], tier).try_into().expect("at most three tiers"),
        verified_only: truth(&value["verified_only"]),
        allow_simulated: truth(&value["allow_simulated"]),
        min_network_mbps: small(&value["min_network_mbps"]),
        max_latency_ms: small(&value["max_latency_ms"]),
        capabilities: capabilities(&value["capabilities"]),
        layout: Layout::Any,
        min_terms: terms(&value["min_terms"]),
    }
}

fn layout(value: &Value) -> Layout {
    match value.as_str() {
        Some("Any") => Layout::Any,
        Some("Hosts") => Layout::Hosts,
        Some("Providers") => Layout::Providers,
        Some("Packed") => Layout::Packed,
        other => panic!("{other:?} is no layout"),
    }
}

/// A host of which a placement sees what the case says.
fn host(value: &Value) -> HostRecord {
    let nothing = Capacity { cpu_milli: 0, memory_mib: 0, disk_gib: 0 };
    HostRecord {
        provider: account(&value["provider"]),
        status: HostStatus::Online,
        tier: tier(&value["tier"]),
        capabilities: capabilities(&value["capabilities"]),
        network_mbps_down: small(&value["network_mbps_down"]),
        network_mbps_up: small(&value["network_mbps_up"]),
        latency_ms: small(&value["latency_ms"]),
        total: nothing,
        free: nothing,
        devices: Default::default(),
        ask: Ask {
            gpu: Default::default(),
            gpu_per_hour: 0,
            cpu_core_per_hour: 0,
            memory_gib_per_hour: 0,
            disk_gib_per_hour: 0,
            network_gib: 0,
            storage_gib_per_hour: 0,
            second_ppm: 0,
            hour_ppm: 0,
            day_ppm: 0,
            terms: terms(&value["terms"]),
        },
        endpoint: Default::default(),
        region: text(&value["region"]),
        bond: 0,
        bond_required: 0,
        generation: 0,
        registered_at: 0,
        last_heartbeat: 0,
        downtime_ms: 0,
        live_leases: 0,
        answers_challenges: false,
        challenged: None,
        offered_since: 0,
    }
}

/// `value` with what it does not say taken from `defaults`.
fn filled(value: &Value, defaults: &Value) -> Value {
    let mut all = defaults.as_object().expect("the defaults are an object").clone();
    all.extend(value.as_object().expect("a case gives an object").clone());
    Value::Object(all)
}

/// A rate as the cases write it.
fn written(rate: Result<Balance, rate::RateError>) -> String {
    rate.map_or_else(|error| format!("{error:?}"), |rate| rate.to_string())
}

fn gpu_price(value: &Value) -> GpuPrice {
    GpuPrice { model: text(&value["model"]), per_hour: great(&value["per_hour"]) }
}

fn ask(value: &Value) -> Ask {
    Ask {
        gpu: list(&value["gpu"], gpu_price).try_into().expect("at most eight prices"),
        gpu_per_hour: great(&value["gpu_per_hour"]),
        cpu_core_per_hour: great(&value["cpu_core_per_hour"]),
        memory_gib_per_hour: great(&value["memory_gib_per_hour"]),
        disk_gib_per_hour: great(&value["disk_gib_per_hour"]),
        network_gib: great(&value["network_gib"]),
        storage_gib_per_hour: great(&value["storage_gib_per_hour"]),
        second_ppm: small(&value["second_ppm"]),
        hour_ppm: small(&value["hour_ppm"]),
        day_ppm: small(&value["day_ppm"]),
        terms: SlaTerms::default(),
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
        let placement = Placement {
            allow_simulated: truth(&case["allow_simulated"]),
            verified_only: truth(&case["verified_only"]),
            ..Placement::default()
        };
        let tenant = account(&case["tenant"]);
        let refused = fits(&free, &devices, &needs, &chosen, &placement, &tenant).err();
        let refused = refused.map(|misfit| format!("{misfit:?}"));
        assert_eq!(refused.as_deref(), case["refused"].as_str(), "{}", name(&case));
        let expected = (!case["first_devices"].is_null()).then(|| list(&case["first_devices"], small::<u8>));
        assert_eq!(first_devices(&devices, &needs.gpus, &placement, &tenant), expected, "{}", name(&case));
    }
}

#[test]
fn every_case_of_rate_holds() {
    for case in cases("rate") {
        let (devices, chosen) = (list(&case["devices"], device_of), list(&case["chosen"], small::<u8>));
        let (needs, ask) = (resources(&case["resources"]), ask(&case["ask"]));
        let rate = rate::rate_per_hour(&needs, &devices, &chosen, &ask, unit(&case["unit"]));
        assert_eq!(Some(written(rate).as_str()), case["rate"].as_str(), "{}", name(&case));
    }
}

#[test]
fn every_case_of_storage_rate_holds() {
    for case in cases("storage_rate") {
        let (needs, ask) = (resources(&case["resources"]), ask(&case["ask"]));
        let rate = rate::storage_rate_per_hour(&needs, &ask, unit(&case["unit"]));
        assert_eq!(Some(written(rate).as_str()), case["rate"].as_str(), "{}", name(&case));
    }
}

#[test]
fn every_case_of_placement_holds() {
    let defaults = &page()["placement_defaults"];
    for case in cases("placement") {
        let host_said = filled(&case["host"], &defaults["host"]);
        let wanted = placement(&filled(&case["placement"], &defaults["anywhere"]));
        let refused = placement_fits(&account(&host_said["id"]), &host(&host_said), &wanted).err();
        let refused = refused.map(|misfit| format!("{misfit:?}"));
        assert_eq!(refused.as_deref(), case["refused"].as_str(), "{}", name(&case));
    }
}

#[test]
fn every_case_of_layout_holds() {
    for case in cases("layout") {
        let rule = layout(&case["layout"]).anti_affinity();
        let key_of = |place: &Value| match rule {
            Some(AntiAffinity::ByProvider) => account(&place["provider"]),
            Some(AntiAffinity::ByHost) | None => account(&place["host"]),
        };
        let (existing, coming) = (list(&case["there"], key_of), list(&case["coming"], key_of));
        let allowed = rule.is_none() || satisfies_anti_affinity(&existing, &coming);
        assert_eq!(allowed, truth(&case["allowed"]), "{}", name(&case));
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
        let (deposit, rate, time_ms) =
            (great(&case["deposit"]), great(&case["rate_per_hour"]), great(&case["time_ms"]));
        let owed = if truth(&case["pro_rata"]) {
            rate::owed_pro_rata(deposit, rate, time_ms)
        } else {
            rate::owed(unit(&case["unit"]), deposit, rate, time_ms)
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
        let score = HostScore {
            completed: beta(&case["completed"]),
            verified: beta(&case["verified"]),
            uptime: beta(&case["uptime"]),
            start_latency: beta(&case["start_latency"]),
            rating: beta(&case["rating"]),
            ..Default::default()
        };
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
