//! What an author of blocks can do with the chain's clock: nothing but make its own block in its own slot.

mod common;

use common::{next_block, open_in, started, FIRST_SLOT};
use frame_support::{inherent::ProvideInherent, traits::Time};
use gantry_runtime::{genesis, Babe, Executive, RuntimeCall, Session, System, Timestamp, SLOT_DURATION_MS};
use sp_inherents::InherentData;

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
        let here = NEXT_SLOT * SLOT_DURATION_MS;
        let mut data = InherentData::new();
        data.put_data(Timestamp::INHERENT_IDENTIFIER, &here).expect("a number can be put");
        let check = |now| Timestamp::check_inherent(&pallet_timestamp::Call::set { now }, &data);
        assert!(check(here).is_ok());
        assert!(check(here + 30_000).is_ok(), "clocks of machines differ a little");
        assert!(check(here + 30_001).is_err());
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
