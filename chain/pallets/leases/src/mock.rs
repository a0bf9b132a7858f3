//! A runtime with leases and billing, and a lease store in a map, to test this pallet alone. The tests of the tasks
//! pallet use the tasks pallet as lease store.

use frame_support::{
    assert_ok,
    dispatch::DispatchResult,
    ensure, parameter_types,
    traits::{OnIdle, OnInitialize},
    weights::Weight,
};
pub use gantry_mock::{account, SplitMix64, ED, GTY};
use gantry_primitives::{
    transitions::{allows, LEASE_TRANSITIONS},
    *,
};
use pallet_gantry_billing::{Ledger, Payees};
use sp_runtime::{DispatchError, Perbill};
use std::cell::RefCell;

use crate as pallet_gantry_leases;
use crate::{LeaseStore, StoredLease};

frame_support::construct_runtime!(
    pub enum Test {
        System: frame_system,
        Timestamp: pallet_timestamp,
        Balances: pallet_balances,
        Billing: pallet_gantry_billing,
        Leases: pallet_gantry_leases,
    }
);

parameter_types! {
    pub BlockWeights: frame_system::limits::BlockWeights = frame_system::limits::BlockWeights::with_sensible_defaults(
        Weight::from_parts(2_000_000_000_000, u64::MAX), Perbill::from_percent(75));
}

gantry_mock::system!(
    type BlockWeights = BlockWeights;
);
gantry_mock::clock!();
gantry_mock::balances!();
gantry_mock::billing!();
gantry_mock::leases!(MockLeaseStore);

pub const START: Moment = 1_800_000_000_000;
pub const HOUR: u64 = 3_600_000;
pub const DAY: u64 = 24 * HOUR;
pub const NOTICE: u64 = 2 * HOUR;
pub const RETENTION: u64 = 10 * DAY;
pub const GRACE: u64 = DAY;
pub const MAX_KEPT: u64 = 30 * DAY;
pub const HELD_BACK: u64 = HOUR / 2;
pub const BOUNTY: Balance = GTY / 100;
pub const FEE_PPM: u32 = 100_000;
/// The scheduler's share of the fee: a fifth.
pub const SCHEDULER_PPM: u32 = 200_000;
/// The settler's share of the fee: a tenth.
pub const SETTLER_PPM: u32 = 100_000;
/// What a lease of the tests costs an hour, running and suspended.
pub const RATE: Balance = GTY;
pub const STORAGE_RATE: Balance = GTY / 10;

pub const TENANT: u8 = 1;
pub const PROVIDER: u8 = 2;
pub const ANYONE: u8 = 3;
/// Someone who has no coins.
pub const NOBODY: u8 = 4;
/// Who opened the leases.
pub const SCHEDULER: u8 = 5;
pub const HOST: u8 = 10;

pub fn signed(who: u8) -> RuntimeOrigin {
    RuntimeOrigin::signed(account(who))
}

std::thread_local! {
    static REFUSING: RefCell<bool> = const { RefCell::new(false) };
}

/// The leases with their specs.
#[frame_support::storage_alias]
type MockLeases = StorageMap<Leases, frame_support::Twox64Concat, LeaseId, (Lease, TaskSpec)>;
/// What hosts are.
#[frame_support::storage_alias]
type HostRecords = StorageMap<Leases, frame_support::Twox64Concat, HostId, HostRecord>;

/// Stores leases of [`TENANT`] on hosts of [`PROVIDER`]. An ended lease is paid at once.
pub struct MockLeaseStore;

impl LeaseStore<Test> for MockLeaseStore {
    fn read(id: LeaseId) -> Result<StoredLease, DispatchError> {
        let (lease, spec) = MockLeases::get(id).ok_or(DispatchError::CannotLookup)?;
        let host = HostRecords::get(&lease.host).ok_or(DispatchError::CannotLookup)?;
        let absent = if host.status == HostStatus::Offline { Leases::now() - host.last_heartbeat } else { 0 };
        let downtime_ms = host.downtime_ms + absent;
        Ok(StoredLease { lease, tenant: account(TENANT), spec, host, downtime_ms })
    }

    fn write(id: LeaseId, lease: Lease, ledger: Ledger<Test>) -> DispatchResult {
        let before = Self::read(id)?;
        let (from, to) = (before.lease.state, lease.state);
        ensure!(
            from.tag() == to.tag() || allows(LEASE_TRANSITIONS, from.tag(), to.tag()),
            "the table has no such move"
        );
        let resumes = from == LeaseState::Suspended && to == LeaseState::Active;
        ensure!(!resumes || before.host.status == HostStatus::Online, "the host is not online");
        ledger.commit()?;
        Self::put(id, lease, before.spec)
    }

    fn compensate(stored: &StoredLease, amount: Balance) -> Result<Balance, DispatchError> {
        let mut paid = 0;
        change_host(|host| {
            paid = amount.min(host.bond);
            host.bond -= paid;
        });
        if paid > 0 {
            let provider = RuntimeOrigin::signed(stored.host.provider.clone());
            Balances::transfer_allow_death(provider, stored.tenant.clone(), paid)?;
        }
        Ok(paid)
    }

    fn end(id: LeaseId, reason: EndReason, settler: Option<AccountId>) -> DispatchResult {
        ensure!(!REFUSING.with_borrow(|refusing| *refusing), DispatchError::Unavailable);
        let StoredLease { mut lease, tenant, spec, host, downtime_ms } = Self::read(id)?;
        let now = Leases::now();
        lease.end(reason, spec.kind, now, downtime_ms, 0);
        lease.credit_end(downtime_ms, 0);
        if spec.kind == TaskKind::Rental {
            Leases::retain(id, &mut lease, Some(0), now);
        }
        let mut ledger = Ledger::<Test>::default();
        let settler = settler.map(Billing::settler);
        let payees = Payees::for_lease(&lease, &tenant, &host.provider, settler.as_ref());
        ledger.close(&tenant, &payees, &mut lease.escrow);
        ledger.commit()?;
        Self::put(id, lease, spec)
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_rental(number: u32) -> LeaseId {
        create_mock_host();
        let id = LeaseId::from(number);
        open(id, TaskKind::Rental, BillingUnit::Second, DAY);
        id
    }

    #[cfg(feature = "runtime-benchmarks")]
    fn create_lease_with_standby(number: u32) -> LeaseId {
        create_mock_host();
        let id = LeaseId::from(number);
        open(id, TaskKind::Service, BillingUnit::Second, DAY);
        id
    }
}

impl MockLeaseStore {
    fn put(id: LeaseId, lease: Lease, spec: TaskSpec) -> DispatchResult {
        let mut list = Leases::leases_of(&lease.host);
        if lease.state.holds_something() {
            Leases::list_add(&mut list, id)?;
        } else {
            Leases::list_remove(&mut list, id);
        }
        Leases::store_list(&lease.host, &list);
        MockLeases::insert(id, (lease, spec));
        Ok(())
    }
}

/// While `refusing`, the lease store ends no lease.
pub fn refuse(refusing: bool) {
    REFUSING.set(refusing);
}

pub fn spec(kind: TaskKind, unit: BillingUnit, max_duration_ms: u64) -> TaskSpec {
    let gpus = GpuRequest { count: 0, milli: 0, min_vram_mib: 0, models: Default::default() };
    TaskSpec {
        kind,
        manifest_digest: [0; 32],
        resources: Resources { cpu_milli: 1_000, memory_mib: 1_024, disk_gib: 100, gpus },
        pods_min: 1,
        pods_max: 1,
        max_rate_per_hour: 2 * GTY,
        unit,
        max_duration_ms,
        deadline: None,
        priority: 0,
        queue: Default::default(),
        verification: VerificationPolicy::Acceptance,
        placement: Placement {
            regions: Default::default(),
            hosts: Default::default(),
            providers_allowed: Default::default(),
            providers_denied: Default::default(),
            tiers: Default::default(),
            verified_only: false,
            allow_simulated: false,
            min_network_mbps: 0,
            max_latency_ms: 0,
            capabilities: Capabilities::default(),
            layout: Layout::Any,
            min_terms: Default::default(),
        },
        data_from: None,
        spot: false,
        survival: Survival::Restart,
    }
}

/// Creates the host and the balances that leases need. The test of a benchmark clears the whole state after each value
/// of a component.
#[cfg(feature = "runtime-benchmarks")]
fn create_mock_host() {
    use frame_support::traits::fungible::Mutate;
    if !HostRecords::contains_key(account(HOST)) {
        HostRecords::insert(account(HOST), host_record());
        for who in [TENANT, PROVIDER] {
            Balances::set_balance(&account(who), 100_000 * GTY);
        }
    }
}

fn host_record() -> HostRecord {
    let capacity = Capacity { cpu_milli: 0, memory_mib: 0, disk_gib: 0 };
    HostRecord {
        provider: account(PROVIDER),
        status: HostStatus::Online,
        tier: Tier::Consumer,
        capabilities: Capabilities::default(),
        network_mbps_down: 0,
        network_mbps_up: 0,
        latency_ms: 0,
        total: capacity,
        free: capacity,
        devices: Default::default(),
        ask: Ask {
            gpu: Default::default(),
            gpu_per_hour: 0,
            cpu_core_per_hour: RATE,
            memory_gib_per_hour: 0,
            disk_gib_per_hour: 0,
            network_gib: 0,
            storage_gib_per_hour: STORAGE_RATE / 100,
            second_ppm: 1_000_000,
            hour_ppm: 1_000_000,
            day_ppm: 0,
            terms: Default::default(),
        },
        endpoint: Default::default(),
        region: Default::default(),
        bond: 0,
        bond_required: 0,
        generation: 0,
        registered_at: 0,
        last_heartbeat: START,
        downtime_ms: 0,
        live_leases: 0,
        answers_challenges: false,
        challenged: None,
        offered_since: 0,
    }
}

/// Changes the record of [`HOST`].
pub fn change_host(change: impl FnOnce(&mut HostRecord)) {
    HostRecords::mutate(account(HOST), |record| change(record.as_mut().expect("the host exists")));
}

/// Opens and starts a lease at `rate_per_hour`, deposited for `ms`.
pub fn open_at(id: LeaseId, kind: TaskKind, unit: BillingUnit, ms: u64, rate_per_hour: Balance) {
    let deposit = rate::deposit(rate_per_hour, ms).expect("it can be paid");
    let mut ledger = Ledger::<Test>::default();
    assert_ok!(ledger.hold(&account(TENANT), deposit));
    assert_ok!(ledger.commit());
    let escrow = Escrow::new(deposit, rate_per_hour, unit).with_fee(FEE_PPM, SCHEDULER_PPM);
    let mut lease = Lease::new(0, 0, account(HOST), Default::default(), Leases::now(), escrow);
    lease.assigned_by = Some(account(SCHEDULER));
    lease.start(Leases::now(), 0, Some(Leases::now() + ms));
    if kind != TaskKind::Job {
        let ends_at = lease.ends_at(0).expect("it has started");
        Leases::schedule(id, &mut lease, ends_at);
    }
    assert_ok!(MockLeaseStore::put(id, lease, spec(kind, unit, ms)));
}

/// As [`open_at`], at [`RATE`].
pub fn open(id: LeaseId, kind: TaskKind, unit: BillingUnit, ms: u64) {
    open_at(id, kind, unit, ms, RATE);
}

pub fn lease(id: LeaseId) -> Lease {
    MockLeaseStore::read(id).expect("the lease exists").lease
}

/// Returns the free balance and the balance on hold.
pub fn total_balance(who: u8) -> Balance {
    let data = System::account(account(who)).data;
    data.free + data.reserved
}

/// The clock moves; no block begins.
pub fn advance(ms: u64) {
    pallet_timestamp::Now::<Test>::put(Leases::now() + ms);
}

/// A block begins; the hooks of this pallet run.
pub fn next_block() -> Weight {
    System::set_block_number(System::block_number() + 1);
    Leases::on_initialize(System::block_number())
}

/// A block ends with `rest` unused.
pub fn idle(rest: Weight) -> Weight {
    Leases::on_idle(System::block_number(), rest)
}

/// The events of this pallet since this was last asked.
pub fn events() -> Vec<crate::Event<Test>> {
    let events = System::events()
        .into_iter()
        .filter_map(|record| match record.event {
            RuntimeEvent::Leases(event) => Some(event),
            _ => None,
        })
        .collect();
    System::reset_events();
    events
}

pub fn new_chain() -> sp_io::TestExternalities {
    let mut balances: Vec<_> = [TENANT, PROVIDER, ANYONE, SCHEDULER].map(|who| (account(who), 100_000 * GTY)).into();
    balances.push((Billing::treasury(), ED));
    let billing = pallet_gantry_billing::Params {
        fee_ppm: FEE_PPM,
        held_back_ms: HELD_BACK,
        depletion_bounty: BOUNTY,
        scheduler_share_ppm: SCHEDULER_PPM,
        settler_share_ppm: SETTLER_PPM,
        credit_period_ms: DAY,
    };
    let leases = crate::Params {
        reclaim_notice_ms: NOTICE,
        retention_ms: RETENTION,
        purge_grace_ms: GRACE,
        max_kept_ms: MAX_KEPT,
    };
    let genesis = RuntimeGenesisConfig {
        balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
        billing: pallet_gantry_billing::GenesisConfig { params: billing, ..Default::default() },
        leases: crate::GenesisConfig { params: leases, ..Default::default() },
        ..Default::default()
    };
    let mut externalities = gantry_mock::begin_at::<Test>(genesis, START);
    externalities.execute_with(|| HostRecords::insert(account(HOST), host_record()));
    externalities
}

/// What must be true after every test: this pallet's invariants, billing's, what both say together, and the coins.
pub fn check_everything() {
    assert_ok!(Leases::do_try_state());
    assert_ok!(Billing::do_try_state());
    let mut held = 0;
    for (id, (lease, spec)) in MockLeases::iter() {
        let listed = Leases::leases_of(&lease.host).contains(&id);
        assert_eq!(listed, lease.state.holds_something(), "a lease is listed exactly while it holds something");
        held += lease.escrow.held();
        assert_ok!(Leases::check_lease(id, &lease, spec.kind));
    }
    assert_eq!(Billing::held(&account(TENANT)), held, "what is held is what the escrows hold");
    assert_eq!(gantry_mock::coins::<Test>(), pallet_balances::TotalIssuance::<Test>::get(), "no coin was made or lost");
}

/// Runs a test on the default chain.
pub fn on_chain(test: impl FnOnce()) {
    refuse(false);
    new_chain().execute_with(|| {
        test();
        check_everything();
    });
}
