//! From release 1 to release 2: leases and their escrows move into the records of their tasks, tasks get keys that are
//! neighbours in the trie, the index by state becomes bitmaps, and each host has one list of its leases.
//!
//! The work is done in stages, each over as many blocks as it takes, and each remembers in the cursor how far it is.
//! No step can fail: what cannot be read is reported in the log and left, because a chain whose migration has failed
//! takes no calls. Coins are not touched: what was held is held, for the same reason, on the same account.

mod books;
mod hosts;
mod tasks;
#[cfg(test)]
mod tests;
mod weights;

pub use books::Books;

use alloc::vec::Vec;
use codec::{Decode, Encode, MaxEncodedLen};
use core::marker::PhantomData;
use frame_support::{
    migrations::{MigrationId, SteppedMigration, SteppedMigrationError},
    pallet_prelude::{ConstU32, StorageVersion},
    storage::StoragePrefixedMap,
    weights::WeightMeter,
    BoundedVec,
};
use gantry_primitives::{IndexTag, PageKey, TaskId, TaskKey};
use pallet_gantry_billing as billing;
use pallet_gantry_hosts as hosts_pallet;
use pallet_gantry_leases as leases;
use pallet_gantry_reputation as reputation;
use pallet_gantry_tasks as tasks_pallet;

use crate::v1;

const LOG: &str = "runtime::gantry-migrations";
/// What the five pallets of the network store is of this version afterwards; in release 1 they had none.
const VERSION: StorageVersion = StorageVersion::new(1);

/// The last key that was done. Keys here have at most 80 bytes.
type Key = BoundedVec<u8, ConstU32<128>>;

/// How far the migration is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, MaxEncodedLen)]
pub struct Cursor {
    /// When it began: from then on no host could send a heartbeat.
    pub began_at: v1::Moment,
    /// What is to be done next.
    pub stage: Stage,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, MaxEncodedLen)]
pub enum Stage {
    /// The periods and amounts of all pallets.
    Params,
    /// The old lists of hosts' leases are removed, before new ones are kept under the same prefix.
    OldLists,
    /// Tasks from this number on.
    Tasks(TaskId),
    /// The old records of leases are removed.
    OldLeases,
    /// The old escrows are removed.
    OldEscrows,
    /// Scores, after the one with this key.
    Scores(Option<Key>),
    /// Hosts, after the one with this key. Late, so that they are given time from the end of the pause on.
    Hosts(Option<Key>),
    /// The versions are written.
    Versions,
}

/// How far a stage came.
enum Progress {
    /// There is more of it.
    More(Stage),
    /// It is over; this is the next.
    Next(Stage),
    /// Everything is done.
    Over,
}

/// The migration. Does nothing on a chain that was never in the state of release 1.
pub struct From1<T>(PhantomData<T>);

impl<T: tasks_pallet::Config> SteppedMigration for From1<T> {
    type Cursor = Cursor;
    type Identifier = MigrationId<6>;

    fn id() -> Self::Identifier {
        MigrationId { pallet_id: *b"gantry", version_from: 1, version_to: 2 }
    }

    fn migrating_prefixes() -> Option<impl IntoIterator<Item = Vec<u8>>> {
        Some([
            v1::hosts::Hosts::<T>::final_prefix().to_vec(),
            v1::reputation::HostScores::<T>::final_prefix().to_vec(),
            v1::tasks::Tasks::<T>::final_prefix().to_vec(),
            v1::tasks::Manifests::<T>::final_prefix().to_vec(),
            v1::tasks::ByState::<T>::final_prefix().to_vec(),
            v1::tasks::ByTenant::<T>::final_prefix().to_vec(),
            v1::leases::Leases::<T>::final_prefix().to_vec(),
            v1::leases::ByHost::<T>::final_prefix().to_vec(),
            v1::billing::Escrows::<T>::final_prefix().to_vec(),
        ])
    }

    fn step(cursor: Option<Cursor>, meter: &mut WeightMeter) -> Result<Option<Cursor>, SteppedMigrationError> {
        let required = weights::largest_item();
        if !meter.can_consume(required) {
            return Err(SteppedMigrationError::InsufficientWeight { required });
        }
        let Cursor { began_at, mut stage } = match cursor {
            Some(cursor) => cursor,
            None if StorageVersion::get::<tasks_pallet::Pallet<T>>() >= VERSION => return Ok(None),
            None => Cursor { began_at: hosts_pallet::Pallet::<T>::now(), stage: Stage::Params },
        };
        loop {
            match Self::advance(stage, began_at, meter) {
                Progress::Over => return Ok(None),
                Progress::More(stage) => return Ok(Some(Cursor { began_at, stage })),
                Progress::Next(stage) if !meter.can_consume(required) => return Ok(Some(Cursor { began_at, stage })),
                Progress::Next(next) => stage = next,
            }
        }
    }

    #[cfg(feature = "try-runtime")]
    fn pre_upgrade() -> Result<Vec<u8>, sp_runtime::TryRuntimeError> {
        Ok(Books::of_release_1::<T>()?.encode())
    }

    #[cfg(feature = "try-runtime")]
    fn post_upgrade(before: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
        let before = Books::decode(&mut &before[..]).map_err(|_| "the books of before can be read")?;
        before.ensure_carried_over::<T>()
    }
}

impl<T: tasks_pallet::Config> From1<T> {
    /// Does what fits into `meter` of one stage.
    fn advance(stage: Stage, began_at: v1::Moment, meter: &mut WeightMeter) -> Progress {
        match stage {
            Stage::Params => {
                meter.consume(weights::params());
                Self::migrate_params();
                Progress::Next(Stage::OldLists)
            }
            Stage::OldLists => {
                let gone = Self::remove_all(v1::leases::ByHost::<T>::final_prefix(), meter);
                Self::then(gone, Stage::OldLists, Stage::Tasks(0))
            }
            Stage::Tasks(from) => match Self::migrate_tasks(from, meter) {
                Some(next) => Progress::More(Stage::Tasks(next)),
                None => Progress::Next(Stage::OldLeases),
            },
            Stage::OldLeases => {
                let gone = Self::remove_all(v1::leases::Leases::<T>::final_prefix(), meter);
                Self::then(gone, Stage::OldLeases, Stage::OldEscrows)
            }
            Stage::OldEscrows => {
                let gone = Self::remove_all(v1::billing::Escrows::<T>::final_prefix(), meter);
                Self::then(gone, Stage::OldEscrows, Stage::Scores(None))
            }
            Stage::Scores(after) => match Self::migrate_scores(after, meter) {
                Some(last) => Progress::More(Stage::Scores(Some(last))),
                None => Progress::Next(Stage::Hosts(None)),
            },
            Stage::Hosts(after) => match Self::migrate_hosts(after, began_at, meter) {
                Some(last) => Progress::More(Stage::Hosts(Some(last))),
                None => Progress::Next(Stage::Versions),
            },
            Stage::Versions => {
                meter.consume(weights::params());
                VERSION.put::<hosts_pallet::Pallet<T>>();
                VERSION.put::<tasks_pallet::Pallet<T>>();
                VERSION.put::<leases::Pallet<T>>();
                VERSION.put::<billing::Pallet<T>>();
                VERSION.put::<reputation::Pallet<T>>();
                Progress::Over
            }
        }
    }

    fn then(is_over: bool, same: Stage, next: Stage) -> Progress {
        if is_over {
            Progress::Next(next)
        } else {
            Progress::More(same)
        }
    }

    /// Removes the entries below a prefix. Returns whether all are gone.
    fn remove_all(prefix: [u8; 32], meter: &mut WeightMeter) -> bool {
        let mut last = prefix.to_vec();
        while let Some(key) = sp_io::storage::next_key(&last).filter(|key| key.starts_with(&prefix)) {
            if meter.try_consume(weights::removal()).is_err() {
                return false;
            }
            sp_io::storage::clear(&key);
            last = key;
        }
        true
    }

    fn migrate_params() {
        v1::leases::NextLeaseId::<T>::kill();
        if let Some(old) = v1::hosts::Params::<T>::get() {
            hosts_pallet::CurrentParams::<T>::put(hosts::params(old));
        }
        if let Some(old) = v1::tasks::Params::<T>::get() {
            tasks_pallet::CurrentParams::<T>::put(tasks::params(old));
        }
        if let Some(old) = v1::billing::Params::<T>::get() {
            billing::CurrentParams::<T>::put(billing::Params { fee_ppm: old.fee_ppm, ..Default::default() });
        }
        leases::CurrentParams::<T>::put(leases::Params::default());
    }

    /// Returns the last key done where there are more.
    fn migrate_hosts(after: Option<Key>, began_at: v1::Moment, meter: &mut WeightMeter) -> Option<Key> {
        let absence_limit_ms = hosts_pallet::CurrentParams::<T>::get().absence_limit_ms;
        let now = hosts_pallet::Pallet::<T>::now();
        let all = match &after {
            Some(key) => v1::hosts::Hosts::<T>::iter_from(key.to_vec()),
            None => v1::hosts::Hosts::<T>::iter(),
        };
        let mut last = after;
        for (host, record) in all {
            if meter.try_consume(weights::record()).is_err() {
                return last;
            }
            last = Self::key(v1::hosts::Hosts::<T>::hashed_key_for(&host));
            let mut record = hosts::host(record);
            // A host that was there when the pause began could not say so in it: it has as long from now on.
            let was_there =
                record.last_heartbeat > 0 && began_at <= record.last_heartbeat.saturating_add(absence_limit_ms);
            if was_there {
                record.last_heartbeat = record.last_heartbeat.max(now);
            }
            hosts_pallet::Hosts::<T>::insert(host, record);
        }
        None
    }

    /// Returns the last key done where there are more.
    fn migrate_scores(after: Option<Key>, meter: &mut WeightMeter) -> Option<Key> {
        let all = match &after {
            Some(key) => v1::reputation::HostScores::<T>::iter_from(key.to_vec()),
            None => v1::reputation::HostScores::<T>::iter(),
        };
        let mut last = after;
        for (host, score) in all {
            if meter.try_consume(weights::record()).is_err() {
                return last;
            }
            last = Self::key(v1::reputation::HostScores::<T>::hashed_key_for(&host));
            reputation::HostScores::<T>::insert(host, hosts::score(score));
        }
        None
    }

    fn key(raw: Vec<u8>) -> Option<Key> {
        Some(BoundedVec::truncate_from(raw))
    }

    /// Returns the number of the next task where there are more.
    fn migrate_tasks(from: TaskId, meter: &mut WeightMeter) -> Option<TaskId> {
        let end = tasks_pallet::NextTaskId::<T>::get();
        let moment = hosts_pallet::Pallet::<T>::now();
        for task in from..end {
            if !meter.can_consume(weights::largest_item()) {
                return Some(task);
            }
            let pods = Self::migrate_task(task, moment);
            meter.consume(weights::task(pods));
        }
        None
    }

    /// Returns how many leases the task has.
    fn migrate_task(task: TaskId, moment: v1::Moment) -> u32 {
        let Some(old) = v1::tasks::Tasks::<T>::take(task) else {
            log::error!(target: LOG, "task {task} cannot be read");
            return 0;
        };
        let leases: Vec<_> = old.leases.iter().filter_map(|lease| Self::lease_of(task, *lease)).collect();
        let pods = leases.len() as u32;
        for (lease, _) in &leases {
            if matches!(lease.state, v1::leases::LeaseState::Pending | v1::leases::LeaseState::Active) {
                Self::list(lease);
            }
        }
        let key = TaskKey::from(task);
        v1::tasks::ByState::<T>::remove(old.state.tag(), task);
        v1::tasks::ByTenant::<T>::remove(&old.tenant, task);
        tasks_pallet::ByTenant::<T>::insert(&old.tenant, key, 1);
        if let Some(manifest) = v1::tasks::Manifests::<T>::take(task) {
            tasks_pallet::Manifests::<T>::insert(key, manifest);
        }
        let (record, shared) = tasks::task(task, old, leases.into_iter(), moment);
        if let Some(tag) = record.state.tag().index() {
            Self::index(tag, task);
        }
        tasks_pallet::Tasks::<T>::insert(key, record);
        tasks_pallet::Specs::<T>::insert(key, shared);
        pods
    }

    fn lease_of(task: TaskId, lease: v1::LeaseId) -> Option<(v1::leases::LeaseRecord, v1::billing::Escrow)> {
        let found = v1::leases::Leases::<T>::get(lease).zip(v1::billing::Escrows::<T>::get(lease));
        if found.is_none() {
            log::error!(target: LOG, "lease {lease} of task {task} cannot be read");
        }
        found
    }

    /// Puts a live lease on the list of its host.
    fn list(lease: &v1::leases::LeaseRecord) {
        let mut list = leases::Pallet::<T>::leases_of(&lease.host);
        if leases::Pallet::<T>::list_add(&mut list, tasks::renumbered(lease)).is_err() {
            log::error!(target: LOG, "host {:?} has more live leases than one list takes", lease.host);
        }
        leases::Pallet::<T>::store_list(&lease.host, &list);
    }

    /// Puts a task on the list of its state: a bit in the page of its 256 neighbours.
    fn index(tag: IndexTag, task: TaskId) {
        let place = (task % gantry_primitives::ids::TASKS_PER_PAGE) as usize;
        let page_key = PageKey::of(task);
        let mut page = tasks_pallet::ByState::<T>::get(tag, page_key).unwrap_or_default();
        page[place / 8] |= 1 << (place % 8);
        tasks_pallet::ByState::<T>::insert(tag, page_key, page);
    }
}
