//! A runtime with this pallet only. `World` replaces its hosts and tasks.

use frame_support::{dispatch::DispatchResult, parameter_types, traits::fungible::InspectHold, traits::Hooks};
pub use gantry_mock::{account, bytes, coins, SplitMix64, GTY};
use gantry_primitives::*;
use sp_runtime::DispatchError;
use std::{cell::RefCell, collections::BTreeMap};

use crate as pallet_gantry_agreements;
use crate::{Event, HoldReason, LeaseParties, LeaseStatus, OfferId, OfferTerms, Params, Place, TicketId};

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Agreements: pallet_gantry_agreements,
    }
);

gantry_mock::system!();
gantry_mock::clock!();
gantry_mock::balances!();

parameter_types! {
    pub TreasuryAccount: AccountId = account(TREASURY);
    pub storage HookWeight: frame_support::weights::Weight = frame_support::weights::Weight::MAX;
}

impl pallet_gantry_agreements::Config for Test {
    type Currency = Balances;
    type RuntimeHoldReason = RuntimeHoldReason;
    type Time = Timestamp;
    type Network = World;
    type Treasury = TreasuryAccount;
    type AdminOrigin = frame_system::EnsureRoot<AccountId>;
    type HookWeight = HookWeight;
    type WeightInfo = ();
}

/// The time at which every test begins.
pub const START: Moment = 1_000_000;
pub const MINUTE: u64 = 60_000;
pub const HOUR: u64 = 60 * MINUTE;
pub const COINS: Balance = 1_000 * GTY;

pub const TENANT: u8 = 1;
pub const PROVIDER: u8 = 2;
pub const ANYONE: u8 = 3;
pub const AUDITOR: u8 = 4;
pub const TREASURY: u8 = 9;
/// Hosts of [`PROVIDER`].
pub const HOST: u8 = 10;
pub const OTHER_HOST: u8 = 11;
/// A host of [`ANYONE`].
pub const STRANGE_HOST: u8 = 12;
/// A lease of [`TENANT`] on [`HOST`].
pub const LEASE: LeaseId = 77;

/// The state of the hosts and tasks that `World` simulates.
#[derive(Default)]
pub struct WorldState {
    /// Places that are reserved, by host.
    pub reserved: BTreeMap<HostId, u32>,
    /// Hosts that can take no pod.
    pub unable: Vec<HostId>,
    /// Leases that began: their price, and what became of them.
    pub leases: BTreeMap<LeaseId, (Balance, LeaseStatus)>,
    /// The responses that were noted.
    pub responses: Vec<(HostId, bool)>,
    /// Hosts besides those that are always there, with their owners.
    pub owners: BTreeMap<HostId, AccountId>,
    /// Live leases besides those that are always there.
    pub parties: BTreeMap<LeaseId, LeaseParties>,
}

thread_local! {
    static STATE: RefCell<WorldState> = RefCell::new(WorldState::default());
}

pub fn world<R>(work: impl FnOnce(&mut WorldState) -> R) -> R {
    STATE.with(|state| work(&mut state.borrow_mut()))
}

/// Each host has room for one pod.
pub struct World;

impl crate::Network for World {
    fn provider_of(host: &HostId) -> Option<AccountId> {
        let owners = [(HOST, PROVIDER), (OTHER_HOST, PROVIDER), (STRANGE_HOST, ANYONE)];
        let owner = owners.into_iter().find(|(number, _)| account(*number) == *host).map(|(_, owner)| account(owner));
        owner.or_else(|| world(|state| state.owners.get(host).cloned()))
    }

    fn reserve(place: &Place, _terms: &OfferTerms, _tenant: &AccountId) -> DispatchResult {
        world(|state| {
            let taken = state.reserved.entry(place.host.clone()).or_default();
            if *taken > 0 {
                return Err(DispatchError::Exhausted);
            }
            *taken += 1;
            Ok(())
        })
    }

    fn release(place: &Place, _terms: &OfferTerms) -> DispatchResult {
        world(|state| {
            let taken = state.reserved.get_mut(&place.host).filter(|taken| **taken > 0);
            *taken.ok_or(DispatchError::Corruption)? -= 1;
            Ok(())
        })
    }

    fn is_available(place: &Place) -> bool {
        world(|state| !state.unable.contains(&place.host))
    }

    fn begin(
        _tenant: &AccountId,
        _spec: TaskSpec,
        _manifest: Manifest,
        place: Place,
        rate_per_hour: Balance,
    ) -> Result<LeaseId, DispatchError> {
        if !Self::is_available(&place) {
            return Err(DispatchError::Unavailable);
        }
        world(|state| {
            let lease = 1_000 + state.leases.len() as LeaseId;
            state.leases.insert(lease, (rate_per_hour, LeaseStatus::Live));
            Ok(lease)
        })
    }

    fn lease_status(lease: LeaseId, _host: &HostId) -> LeaseStatus {
        world(|state| state.leases[&lease].1)
    }

    fn parties(lease: LeaseId) -> Option<LeaseParties> {
        let tenant = match lease {
            LEASE => TENANT,
            // A provider that leases its own host.
            78 => PROVIDER,
            _ => return world(|state| state.parties.get(&lease).cloned()),
        };
        Some(LeaseParties { tenant: account(tenant), host: account(HOST), provider: account(PROVIDER) })
    }

    fn note_response(_lease: LeaseId, host: &HostId, in_time: bool) {
        world(|state| state.responses.push((host.clone(), in_time)));
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_place(provider: &AccountId) -> (Place, OfferTerms) {
        let hosts: Vec<HostId> = (100..).take(crate::MAX_OFFER_HOSTS as usize).map(account).collect();
        world(|state| state.owners.extend(hosts.iter().map(|host| (host.clone(), provider.clone()))));
        let place = Place { host: hosts[0].clone(), ..place() };
        (place, OfferTerms { hosts: hosts.try_into().expect("there are as many as may be"), ..terms() })
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_task(_terms: &OfferTerms) -> (TaskSpec, Manifest) {
        (spec(), manifest())
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_lease(tenant: &AccountId) -> (LeaseId, AccountId) {
        let parties = LeaseParties { tenant: tenant.clone(), host: account(HOST), provider: account(PROVIDER) };
        world(|state| state.parties.insert(1, parties));
        (1, account(PROVIDER))
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn set_time(now: Moment) {
        pallet_timestamp::Now::<Test>::put(now);
    }
}

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

pub fn held(who: u8, reason: HoldReason) -> Balance {
    Balances::balance_on_hold(&reason.into(), &account(who))
}

/// Free and held coins together.
pub fn worth(who: u8) -> Balance {
    let data = System::account(account(who)).data;
    data.free + data.reserved
}

/// The clock moves past a period and a block begins. As on a chain, the hook sees the time of the block before.
pub fn wait_past(ms: u64) {
    pallet_timestamp::Now::<Test>::put(Agreements::now() + ms + crate::BUCKET_MS);
    let number = System::block_number() + 1;
    System::set_block_number(number);
    let weight = Agreements::on_initialize(number);
    assert!(weight.all_lte(HookWeight::get()), "the hook keeps to its share");
}

/// The events of this pallet so far.
pub fn events() -> Vec<Event<Test>> {
    let ours = |record: frame_system::EventRecord<RuntimeEvent, _>| match record.event {
        RuntimeEvent::Agreements(event) => Some(event),
        _ => None,
    };
    System::events().into_iter().filter_map(ours).collect()
}

pub fn resources() -> Resources {
    let gpus = GpuRequest { count: 1, milli: 1_000, min_vram_mib: 0, models: Default::default() };
    Resources { cpu_milli: 1_000, memory_mib: 1_024, disk_gib: 1, gpus }
}

/// Two hours from an hour after the start of the test on, for 2 GTY an hour.
pub fn terms() -> OfferTerms {
    OfferTerms {
        hosts: vec![account(HOST), account(OTHER_HOST)].try_into().expect("two fit"),
        resources: resources(),
        allow_simulated: true,
        rate_per_hour: 2 * GTY,
        unit: BillingUnit::Second,
        duration_ms: 2 * HOUR,
        start_from: START + HOUR,
        start_until: START + 2 * HOUR,
    }
}

/// The bond of [`terms`] at the start of the test: two hours until the latest begin, and one of the lease.
pub const BOND: Balance = 6 * GTY;

pub fn place() -> Place {
    Place { host: account(HOST), devices: vec![0].try_into().expect("one fits") }
}

pub fn spec() -> TaskSpec {
    TaskSpec {
        kind: TaskKind::Rental,
        manifest_digest: [0; 32],
        resources: resources(),
        pods_min: 1,
        pods_max: 1,
        max_rate_per_hour: 2 * GTY,
        unit: BillingUnit::Second,
        max_duration_ms: 2 * HOUR,
        deadline: None,
        priority: 0,
        queue: Default::default(),
        verification: VerificationPolicy::Acceptance,
        placement: Default::default(),
        data_from: None,
        spot: false,
        survival: Survival::Restart,
    }
}

pub fn manifest() -> Manifest {
    bytes("manifest")
}

pub fn last_offer() -> OfferId {
    crate::NextOfferId::<Test>::get() - 1
}

pub fn last_ticket() -> TicketId {
    crate::NextTicketId::<Test>::get() - 1
}

pub fn params() -> Params {
    Params {
        offer_deposit: GTY / 10,
        max_offers: 2,
        max_offer_ms: HOUR,
        max_lead_ms: 3 * HOUR,
        min_start_ms: 10 * MINUTE,
        bond_ms: HOUR,
        min_bond: GTY,
        watch_ms: 30 * MINUTE,
        ticket_deposit: GTY / 10,
        response_ms: HOUR,
        ticket_kept_ms: 5 * HOUR,
        auditor_bond: 100 * GTY,
        auditor_unbonding_ms: 2 * HOUR,
        attestation_stake: 4 * GTY,
        auditor_slash_ppm: 100_000,
        max_attestation_ms: 10 * HOUR,
        contest_stake: 2 * GTY,
        contest_ms: HOUR,
    }
}

/// A chain at its genesis.
pub fn new_chain(params: Params) -> sp_io::TestExternalities {
    STATE.with(|state| *state.borrow_mut() = WorldState::default());
    let mut balances: Vec<_> = (TENANT..=AUDITOR).map(|who| (account(who), COINS)).collect();
    balances.push((account(TREASURY), GTY));
    let genesis = RuntimeGenesisConfig {
        balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
        agreements: crate::GenesisConfig { params, ..Default::default() },
        ..Default::default()
    };
    gantry_mock::begin_at::<Test>(genesis, START)
}

/// Runs a test on a chain from its genesis. Every invariant holds after it, and no coin was made or lost.
pub fn run(test: impl FnOnce()) {
    new_chain(params()).execute_with(|| {
        let before = coins::<Test>();
        test();
        assert_eq!(Agreements::do_try_state(), Ok(()));
        assert_eq!(coins::<Test>(), before, "no coin is made or lost");
    });
}
