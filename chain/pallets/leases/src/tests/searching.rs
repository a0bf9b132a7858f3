//! The cost of a search of the agenda does not depend on entries that the same block removed, counted in reads of
//! trie nodes from a committed state, because an overlay forgets removed keys.

use std::sync::atomic::{AtomicUsize, Ordering};

use frame_support::{assert_ok, weights::Weight};
use gantry_primitives::LeaseId;
use sp_core::{Blake2Hasher, H256};
use sp_state_machine::{Ext, OverlayedChanges, TrieBackendBuilder, TrieBackendStorage};

use crate::{mock::*, AgendaPages, Pallet, BUCKET_MS, MAX_IDLE};

/// The nodes of a trie; counts how many were read.
struct Counted<'a, S> {
    nodes: &'a S,
    reads: &'a AtomicUsize,
}

impl<S: TrieBackendStorage<Blake2Hasher>> TrieBackendStorage<Blake2Hasher> for Counted<'_, S> {
    fn get(&self, key: &H256, prefix: (&[u8], Option<u8>)) -> Result<Option<Vec<u8>>, String> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.nodes.get(key, prefix)
    }
}

/// How many nodes a block reads that does `work` on a committed state with one entry in each of so many due buckets.
fn reads(buckets: u32, work: impl FnOnce()) -> usize {
    let mut chain = new_chain();
    chain.execute_with(|| {
        for number in 1..=u64::from(buckets) {
            // Entries whose leases are no more: what is counted is the search.
            Pallet::<Test>::agenda_add(START + number * BUCKET_MS, LeaseId::MAX - number);
        }
        advance((u64::from(buckets) + 1) * BUCKET_MS);
    });
    assert_ok!(chain.commit_all());
    let reads = AtomicUsize::new(0);
    let nodes = Counted { nodes: chain.backend.backend_storage(), reads: &reads };
    let backend = TrieBackendBuilder::new(nodes, *chain.backend.root()).build();
    let mut changes = OverlayedChanges::default();
    let mut block = Ext::new(&mut changes, &backend, None);
    sp_externalities::set_and_run_with_externalities(&mut block, work);
    reads.into_inner()
}

/// Whether four times as much work reads no more than five times as many nodes.
fn is_linear(work: impl Fn(u32)) -> bool {
    let [few, many] = [MAX_IDLE / 4, MAX_IDLE].map(|buckets| {
        reads(buckets, || {
            work(buckets);
            assert_eq!(AgendaPages::<Test>::iter().count(), 0, "every bucket is emptied");
            assert_ok!(Leases::do_try_state());
        })
    });
    few > 0 && many <= 5 * few
}

#[test]
fn after_a_long_standstill_the_rest_of_a_block_empties_many_buckets_with_few_reads_for_each() {
    assert!(is_linear(|_| {
        idle(Weight::MAX);
    }));
}

#[test]
fn calls_that_crank_one_entry_each_do_not_get_slower_in_a_block() {
    assert!(is_linear(|buckets| {
        for _ in 0..buckets {
            assert_ok!(Leases::crank(signed(ANYONE), 1));
        }
    }));
}

#[test]
fn the_rest_of_a_block_is_used_for_so_many_entries_at_most() {
    new_chain().execute_with(|| {
        for number in 1..=u64::from(MAX_IDLE) + 10 {
            Pallet::<Test>::agenda_add(START + number, LeaseId::MAX - number);
        }
        advance(BUCKET_MS * 2);
        idle(Weight::MAX);
        let left = || crate::Agenda::<Test>::iter_values().map(|page| page.len()).sum::<usize>();
        assert_eq!(left(), 10);
        idle(Weight::MAX);
        assert_eq!(left(), 0);
    });
}

#[test]
fn a_time_that_has_come_is_put_behind_the_buckets_that_are_emptied() {
    on_chain(|| {
        open(1, gantry_primitives::TaskKind::Service, gantry_primitives::BillingUnit::Second, HOUR);
        advance(HOUR + BUCKET_MS);
        refuse(true);
        next_block();
        assert!(lease(1).state.is_live(), "it is tried again later");
        let mut due = lease(1);
        due.due_at = None;
        Leases::schedule(2, &mut due, START);
        assert!(due.due_at > Some(Leases::now()));
        assert_ok!(Leases::do_try_state());
        advance(BUCKET_MS);
        refuse(false);
        next_block();
        assert!(!Leases::is_on_agenda(2, due.due_at.expect("it was scheduled")));
    });
}
