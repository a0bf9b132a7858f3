//! Influence of a block author on the chain's clock: an author can only make its own block in its own slot.

mod common;

use common::{next_block, open_in, started, FIRST_SLOT};
use frame_support::{assert_noop, assert_ok, inherent::ProvideInherent, traits::Time};
use gantry_primitives::{
    registration::registration_message, AccountId, Ask, BillingUnit, GpuRequest, HardwareSpec, HostId, HostStatus,
    Layout, LeaseId, Placement, PodPlacement, Resources, Survival, TaskId, TaskKind, TaskSpec, TaskStateTag, Tier,
    VerificationPolicy,
};
use gantry_runtime::{
    genesis, Babe, Executive, Hosts, Leases, Runtime, RuntimeCall, RuntimeOrigin, Session, System, Tasks, Timestamp,
    SLOT_DURATION_MS,
};
use sp_core::{ed25519, Pair};
use sp_inherents::InherentData;
use sp_keyring::Sr25519Keyring;

const YEAR_SLOTS: u64 = 365 * 24 * 3_600_000 / SLOT_DURATION_MS;
/// The slot after the first block's.
const NEXT_SLOT: u64 = FIRST_SLOT + 1;

/// Closes the first block and opens the second in `slot`, with the clock at `now`.
fn second_block(slot: u64, now: u64) {
    let parent = Executive::finalize_block();
    open_in(slot, now, 2, parent, 0);
}

#[test]
#[should_panic(expected = "Timestamp must increment by at least")]
fn the_clock_does_not_stand_still() {
    started(genesis::DEVELOPMENT).execute_with(|| second_block(NEXT_SLOT, FIRST_SLOT * SLOT_DURATION_MS));
}

#[test]
#[should_panic(expected = "Timestamp must increment by at least")]
fn the_clock_does_not_go_back() {
    started(genesis::DEVELOPMENT).execute_with(|| second_block(NEXT_SLOT, SLOT_DURATION_MS));
}

#[test]
#[should_panic(expected = "Timestamp slot must match `CurrentSlot`")]
fn the_clock_does_not_leave_the_slot_of_its_block() {
    started(genesis::DEVELOPMENT).execute_with(|| second_block(NEXT_SLOT, (NEXT_SLOT + 1) * SLOT_DURATION_MS));
}

#[test]
fn other_nodes_refuse_a_block_from_the_future() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let current_ms = NEXT_SLOT * SLOT_DURATION_MS;
        let mut data = InherentData::new();
        data.put_data(Timestamp::INHERENT_IDENTIFIER, &current_ms).expect("a number can be put");
        let check = |now| Timestamp::check_inherent(&pallet_timestamp::Call::set { now }, &data);
        assert!(check(current_ms).is_ok());
        assert!(check(current_ms + 30_000).is_ok(), "clocks of machines differ a little");
        assert!(check(current_ms + 30_001).is_err());
    });
}

#[test]
fn a_chain_goes_on_after_it_stood_for_a_year() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let (session, epoch) = (Session::current_index(), pallet_babe::EpochIndex::<gantry_runtime::Runtime>::get());
        let slot = FIRST_SLOT + YEAR_SLOTS;
        second_block(slot, slot * SLOT_DURATION_MS);
        assert_eq!(<Timestamp as Time>::now(), slot * SLOT_DURATION_MS);
        assert_eq!(Session::current_index(), session + 1, "a session is not skipped: it ends late");
        assert!(pallet_babe::EpochIndex::<gantry_runtime::Runtime>::get() > epoch + 1, "epochs are counted by slots");
        let parent = Executive::finalize_block();
        open_in(slot + 1, (slot + 1) * SLOT_DURATION_MS, 3, parent, 0);
        assert_eq!(System::block_number(), 3);
        assert_eq!(*Babe::current_slot(), slot + 1);
    });
}

#[test]
fn no_call_sets_the_clock() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        next_block();
        let call = RuntimeCall::Timestamp(pallet_timestamp::Call::set { now: u64::MAX });
        for origin in [frame_system::RawOrigin::Root, frame_system::RawOrigin::Signed([1; 32].into())] {
            let done = sp_runtime::traits::Dispatchable::dispatch(call.clone(), origin.into());
            assert_eq!(done.expect_err("refused").error, sp_runtime::DispatchError::BadOrigin);
        }
    });
}

const HOUR_MS: u64 = 3_600_000;

/// The host of Bob: online, of one core and without devices.
fn online_host() -> HostId {
    let pair = ed25519::Pair::from_seed(&[7; 32]);
    let (host, provider) = (AccountId::from(pair.public().0), Sr25519Keyring::Bob.to_account_id());
    let hardware = HardwareSpec {
        cpu_milli: 1_000,
        memory_mib: 1_024,
        disk_gib: 10,
        devices: Default::default(),
        tier: Tier::Consumer,
        capabilities: Default::default(),
        answers_challenges: false,
        network_mbps_down: 0,
        network_mbps_up: 0,
    };
    let ask = Ask {
        gpu: Default::default(),
        gpu_per_hour: 0,
        cpu_core_per_hour: 1_000_000_000_000,
        memory_gib_per_hour: 0,
        disk_gib_per_hour: 0,
        network_gib: 0,
        storage_gib_per_hour: 0,
        second_ppm: 1_000_000,
        hour_ppm: 0,
        day_ppm: 0,
        terms: Default::default(),
    };
    let (endpoint, region) = (Default::default(), Default::default());
    let genesis = System::block_hash(0).into();
    let signature = pair.sign(&registration_message(genesis, &provider, &hardware, &endpoint, &region, &ask)).0;
    let by = RuntimeOrigin::signed(provider);
    assert_ok!(Hosts::register(by, host.clone(), hardware, endpoint, region, ask, signature));
    assert_ok!(Hosts::heartbeat(RuntimeOrigin::signed(host.clone())));
    host
}

/// A service of Charlie for so long, whose pod is assigned to the host; with its lease.
fn assigned_service(host: &HostId, max_duration_ms: u64) -> (TaskId, LeaseId) {
    let manifest = b"services: {}".to_vec();
    let spec = TaskSpec {
        kind: TaskKind::Service,
        manifest_digest: sp_io::hashing::sha2_256(&manifest),
        resources: Resources {
            cpu_milli: 100,
            memory_mib: 100,
            disk_gib: 1,
            gpus: GpuRequest { count: 0, milli: 0, min_vram_mib: 0, models: Default::default() },
        },
        pods_min: 1,
        pods_max: 1,
        max_rate_per_hour: 1_000_000_000_000,
        unit: BillingUnit::Second,
        max_duration_ms,
        deadline: None,
        priority: 0,
        queue: Default::default(),
        verification: VerificationPolicy::Acceptance,
        placement: Placement { layout: Layout::Any, ..Default::default() },
        data_from: None,
        spot: false,
        survival: Survival::Restart,
    };
    let tenant = || RuntimeOrigin::signed(Sr25519Keyring::Charlie.to_account_id());
    let task = pallet_gantry_tasks::NextTaskId::<Runtime>::get();
    assert_ok!(Tasks::submit(tenant(), spec, manifest.try_into().expect("it is short")));
    let pods = vec![PodPlacement { pod: 0, host: host.clone(), devices: Default::default(), rate_per_hour: u128::MAX }];
    assert_ok!(Tasks::assign(tenant(), task, pods.try_into().expect("it is one")));
    let leases = Tasks::leases_of(task).expect("it exists");
    (task, leases[0].0)
}

fn tag(task: TaskId) -> TaskStateTag {
    Tasks::record(task).expect("it exists").state.tag()
}

#[test]
fn a_halt_with_live_leases_costs_no_host_anything_and_the_agenda_goes_on() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let anyone = || RuntimeOrigin::signed(Sr25519Keyring::Dave.to_account_id());
        let host = online_host();
        let by_host = || RuntimeOrigin::signed(host.clone());
        let (goes_on, long) = assigned_service(&host, 10 * HOUR_MS);
        let (ends, short) = assigned_service(&host, HOUR_MS);
        let (_, waits) = assigned_service(&host, HOUR_MS);
        for lease in [long, short] {
            assert_ok!(Tasks::report_started(by_host(), lease));
        }
        let bond = Hosts::host(&host).expect("it exists").bond;

        let slot = FIRST_SLOT + 3 * HOUR_MS / SLOT_DURATION_MS;
        second_block(slot, slot * SLOT_DURATION_MS);
        let record = || Hosts::host(&host).expect("it exists");
        assert_noop!(Hosts::report_absent(anyone(), host.clone()), pallet_gantry_hosts::Error::<Runtime>::NotAbsent);
        for lease in [long, waits] {
            let refused = Tasks::requeue(anyone(), lease).expect_err("the host had no time to say anything");
            assert_eq!(refused.error, pallet_gantry_tasks::Error::<Runtime>::LeaseNotStuck.into());
        }
        assert_eq!(Hosts::downtime_ms(&record()), 0);
        let parent = Executive::finalize_block();
        open_in(slot + 1, (slot + 1) * SLOT_DURATION_MS, 3, parent, 0);
        assert_eq!((tag(goes_on), tag(ends)), (TaskStateTag::Running, TaskStateTag::Reported), "the agenda goes on");
        assert_ok!(Hosts::heartbeat(by_host()));
        assert_ok!(Tasks::report_started(by_host(), waits));
        assert_eq!((record().status, record().downtime_ms, record().bond), (HostStatus::Online, 0, bond));
        assert_ok!(Hosts::do_try_state());
        assert_ok!(Leases::do_try_state());
    });
}

#[test]
fn slots_that_a_validator_misses_are_time_that_passes() {
    started(genesis::DEVELOPMENT).execute_with(|| {
        let host = online_host();
        let limit_ms = pallet_gantry_hosts::CurrentParams::<Runtime>::get().absence_limit_ms;
        let mut slot = FIRST_SLOT;
        let end = FIRST_SLOT + limit_ms / SLOT_DURATION_MS + 1;
        let mut number = 1;
        while slot < end {
            // Three of four are missed.
            (slot, number) = ((slot + 4).min(end), number + 1);
            let parent = Executive::finalize_block();
            open_in(slot, slot * SLOT_DURATION_MS, number, parent, 0);
        }
        let anyone = RuntimeOrigin::signed(Sr25519Keyring::Dave.to_account_id());
        assert_ok!(Hosts::report_absent(anyone, host));
    });
}
