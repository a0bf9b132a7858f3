//! From release 3 to release 4. docs/upgrades.md lists what changes.
//!
//! Parameters are extended in the first block ([`ExtendParams`]). The migration rewrites the values of some maps in place,
//! map by map. The cursor holds the stage and the last key that was rewritten. No step fails: a record that cannot be
//! decoded is logged and left as it is, because a chain whose migration has failed accepts no calls. No coin is moved.

mod convert;
#[cfg(test)]
mod tests;
mod weights;

use alloc::vec::Vec;
use codec::{Decode, DecodeAll, Encode, MaxEncodedLen};
use core::marker::PhantomData;
#[cfg(feature = "try-runtime")]
use frame_support::{ensure, sp_runtime::TryRuntimeError};
use frame_support::{
    migrations::{MigrationId, SteppedMigration, SteppedMigrationError},
    pallet_prelude::{ConstU32, StorageVersion},
    storage::{StoragePrefixedMap, StorageValue},
    traits::{Get, OnRuntimeUpgrade},
    weights::{Weight, WeightMeter},
    BoundedVec,
};
use gantry_primitives::{DisputeRecord, HostChallenges, Moment, ResultsRecord, TaskId};
use pallet_gantry_billing as billing;
use pallet_gantry_hosts as hosts;
use pallet_gantry_tasks as tasks;
use pallet_gantry_verification as verification;

use crate::v3;

const LOG: &str = "runtime::gantry-migrations";
/// The storage version of the pallets afterwards.
const VERSION: StorageVersion = StorageVersion::new(2);

/// A storage key. Keys of the maps here have at most 80 bytes.
type Key = BoundedVec<u8, ConstU32<128>>;

/// The progress of the migration.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, MaxEncodedLen)]
pub struct Cursor {
    /// When it began: from then on no host could send a heartbeat.
    pub began_at: Moment,
    /// The stage that is next.
    pub stage: Stage,
}

/// A stage. Stages of maps hold the key after which they continue.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, MaxEncodedLen)]
pub enum Stage {
    /// Specs of tasks.
    Specs(Option<Key>),
    /// Tasks.
    Tasks(Option<Key>),
    /// Disputes. After the tasks, which it reads.
    Disputes(Option<Key>),
    /// When hosts were challenged.
    Challenges(Option<Key>),
    /// Results of replicas.
    Results(Option<Key>),
    /// Hosts. Last of the maps, so that the absence limit of hosts starts at the end of the migration.
    Hosts(Option<Key>),
    /// Storage versions.
    Versions,
}

/// The migration. It does nothing on a chain that is not in the state of release 3. `D` is the map of disputes by task,
/// `C` the map of when each host was challenged, and `R` the map of results of replicas by task.
pub struct From3<T, D, C, R>(PhantomData<(T, D, C, R)>);

impl<T, D, C, R> SteppedMigration for From3<T, D, C, R>
where
    T: tasks::Config,
    D: StoragePrefixedMap<DisputeRecord>,
    C: StoragePrefixedMap<HostChallenges>,
    R: StoragePrefixedMap<ResultsRecord>,
{
    type Cursor = Cursor;
    type Identifier = MigrationId<6>;

    fn id() -> Self::Identifier {
        MigrationId { pallet_id: *b"gantry", version_from: 3, version_to: 4 }
    }

    fn migrating_prefixes() -> Option<impl IntoIterator<Item = Vec<u8>>> {
        let maps = [
            tasks::Specs::<T>::final_prefix(),
            tasks::Tasks::<T>::final_prefix(),
            D::final_prefix(),
            C::final_prefix(),
            R::final_prefix(),
            hosts::Hosts::<T>::final_prefix(),
        ];
        Some(maps.map(|prefix| prefix.to_vec()))
    }

    fn step(cursor: Option<Cursor>, meter: &mut WeightMeter) -> Result<Option<Cursor>, SteppedMigrationError> {
        let required = weights::largest_item();
        if !meter.can_consume(required) {
            return Err(SteppedMigrationError::InsufficientWeight { required });
        }
        let Cursor { began_at, mut stage } = match cursor {
            Some(cursor) => cursor,
            None if StorageVersion::get::<tasks::Pallet<T>>() >= VERSION => return Ok(None),
            None => Cursor { began_at: hosts::Pallet::<T>::now(), stage: Stage::Specs(None) },
        };
        while meter.can_consume(required) {
            match Self::advance(stage, began_at, meter) {
                Some(next) => stage = next,
                None => return Ok(None),
            }
        }
        Ok(Some(Cursor { began_at, stage }))
    }

    /// How many records there are in each map.
    #[cfg(feature = "try-runtime")]
    fn pre_upgrade() -> Result<Vec<u8>, TryRuntimeError> {
        let prefixes = Self::migrating_prefixes().into_iter().flatten();
        Ok(prefixes.map(|prefix| keys(&prefix).count() as u64).collect::<Vec<_>>().encode())
    }

    /// Each record is still there and can be read, and the invariants of the pallets hold.
    #[cfg(feature = "try-runtime")]
    fn post_upgrade(before: Vec<u8>) -> Result<(), TryRuntimeError> {
        let before = Vec::<u64>::decode_all(&mut &before[..]).map_err(|_| "the counts before cannot be decoded")?;
        // Iteration leaves out what cannot be decoded.
        let readable = [
            tasks::Specs::<T>::iter_values().count(),
            tasks::Tasks::<T>::iter_values().count(),
            D::iter_values().count(),
            C::iter_values().count(),
            R::iter_values().count(),
            hosts::Hosts::<T>::iter_values().count(),
        ];
        ensure!(before == readable.map(|count| count as u64), "each record is there and has the form of this release");
        ensure!(StorageVersion::get::<hosts::Pallet<T>>() >= VERSION, "hosts have the storage version of this release");
        ensure!(StorageVersion::get::<tasks::Pallet<T>>() >= VERSION, "tasks have the storage version of this release");
        hosts::Pallet::<T>::do_try_state()?;
        tasks::Pallet::<T>::do_try_state()
    }
}

/// The keys of a map.
#[cfg(feature = "try-runtime")]
fn keys(prefix: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    core::iter::successors(sp_io::storage::next_key(prefix), |key| sp_io::storage::next_key(key))
        .take_while(move |key| key.starts_with(prefix))
}

impl<T, D, C, R> From3<T, D, C, R>
where
    T: tasks::Config,
    D: StoragePrefixedMap<DisputeRecord>,
    C: StoragePrefixedMap<HostChallenges>,
    R: StoragePrefixedMap<ResultsRecord>,
{
    /// Does as much of a stage as `meter` allows. Returns the stage that is next, None after the last.
    fn advance(stage: Stage, began_at: Moment, meter: &mut WeightMeter) -> Option<Stage> {
        match stage {
            Stage::Specs(after) => {
                let last = rewrite(tasks::Specs::<T>::final_prefix(), after, meter, |_, old| convert::spec_record(old));
                Some(last.map_or(Stage::Tasks(None), |key| Stage::Specs(Some(key))))
            }
            Stage::Tasks(after) => {
                // Leases that are open keep the fee of the chain that is upgraded.
                let fee_ppm = billing::Pallet::<T>::params().fee_ppm;
                let last =
                    rewrite(tasks::Tasks::<T>::final_prefix(), after, meter, |_, old| convert::task(old, fee_ppm));
                Some(last.map_or(Stage::Disputes(None), |key| Stage::Tasks(Some(key))))
            }
            Stage::Disputes(after) => {
                let last = rewrite(D::final_prefix(), after, meter, |key, old| {
                    let leases = tasks::Pallet::<T>::leases_of(task_of_key(key)).unwrap_or_default();
                    let leases = leases.into_iter().map(|(lease, _)| lease).collect();
                    convert::dispute(old, BoundedVec::truncate_from(leases))
                });
                Some(last.map_or(Stage::Challenges(None), |key| Stage::Disputes(Some(key))))
            }
            Stage::Challenges(after) => {
                let last = rewrite(C::final_prefix(), after, meter, |_, old| convert::host_challenges(old));
                Some(last.map_or(Stage::Results(None), |key| Stage::Challenges(Some(key))))
            }
            Stage::Results(after) => {
                let last = rewrite(R::final_prefix(), after, meter, |key, old| convert::results(old, task_of_key(key)));
                Some(last.map_or(Stage::Hosts(None), |key| Stage::Results(Some(key))))
            }
            Stage::Hosts(after) => {
                let now = hosts::Pallet::<T>::now();
                let limit = hosts::CurrentParams::<T>::get().absence_limit_ms;
                let last = rewrite(hosts::Hosts::<T>::final_prefix(), after, meter, |_, old| {
                    convert::host(old, began_at, now, limit)
                });
                Some(last.map_or(Stage::Versions, |key| Stage::Hosts(Some(key))))
            }
            Stage::Versions => {
                meter.consume(weights::values());
                VERSION.put::<hosts::Pallet<T>>();
                VERSION.put::<tasks::Pallet<T>>();
                None
            }
        }
    }
}

/// Writes the parameters that release 3 did not have. It runs in the first block after the upgrade, because hooks of that
/// block read them. `V` is the value with the parameters of verification.
pub struct ExtendParams<T, V>(PhantomData<(T, V)>);

impl<T: tasks::Config, V: StorageValue<verification::Params>> OnRuntimeUpgrade for ExtendParams<T, V> {
    fn on_runtime_upgrade() -> Weight {
        if StorageVersion::get::<tasks::Pallet<T>>() >= VERSION {
            return T::DbWeight::get().reads(1);
        }
        extend::<hosts::Params>(hosts::CurrentParams::<T>::hashed_key(), |stored| {
            let absence_limit_ms = v3::hosts::Params::decode(&mut &stored[..]).map_or(0, |old| old.absence_limit_ms);
            let hosts::Params { halt_after_ms, free_weight_us, max_penalty_ppm, max_notice_ms, .. } =
                Default::default();
            (halt_after_ms.min(absence_limit_ms), free_weight_us, max_penalty_ppm, max_notice_ms).encode()
        });
        extend::<tasks::Params>(tasks::CurrentParams::<T>::hashed_key(), |_| {
            let new = tasks::Params::default();
            let of_tasks = (new.max_replicas, new.report_grace_ms, new.max_refusals, new.refusal_fee);
            (
                of_tasks,
                new.scheduler_unbonding_ms,
                new.scheduler_penalty_ppm,
                new.evidence_ms,
                new.offer_known_ms,
                new.deposit_per_pod,
                new.audit_surcharge_ppm,
            )
                .encode()
        });
        replace(billing::CurrentParams::<T>::hashed_key(), convert::billing_params);
        let absence_limit_ms = hosts::CurrentParams::<T>::get().absence_limit_ms;
        replace(V::hashed_key(), |old| convert::verification_params(old, absence_limit_ms));
        weights::values()
    }
}

/// Appends bytes to a stored value. A value that would not be a `New` then is logged and left as it is, as is one that is a
/// `New` already.
fn extend<New: Decode>(key: [u8; 32], added: impl FnOnce(&[u8]) -> Vec<u8>) {
    let Some(stored) = sp_io::storage::get(&key) else { return };
    let extended = [&stored[..], &added(&stored)[..]].concat();
    match New::decode_all(&mut &extended[..]) {
        Ok(_) => sp_io::storage::set(&key, &extended),
        Err(_) => log::error!(target: LOG, "the value at key {key:?} cannot be extended and is left as it is"),
    }
}

/// Replaces a stored value of release 3. A value that is not an `Old` is logged and left as it is.
fn replace<Old: Decode, New: Encode>(key: impl AsRef<[u8]>, convert: impl FnOnce(Old) -> New) {
    let key = key.as_ref();
    match sp_io::storage::get(key).map(|stored| Old::decode_all(&mut &stored[..])) {
        Some(Ok(old)) => sp_io::storage::set(key, &convert(old).encode()),
        Some(Err(_)) => log::error!(target: LOG, "the value at key {key:?} is not that of release 3"),
        None => {}
    }
}

/// The task of a key of a map by tasks, which ends with its number.
fn task_of_key(key: &[u8]) -> TaskId {
    TaskId::decode(&mut &key[key.len().saturating_sub(8)..]).unwrap_or_default()
}

/// Rewrites the values of a map after the key `after` until `meter` is used up. Returns the last key that was rewritten, None
/// at the end of the map.
fn rewrite<Old: Decode, New: Encode>(
    prefix: [u8; 32],
    after: Option<Key>,
    meter: &mut WeightMeter,
    mut convert: impl FnMut(&[u8], Old) -> New,
) -> Option<Key> {
    let mut last = after.map_or_else(|| prefix.to_vec(), BoundedVec::into_inner);
    while let Some(key) = sp_io::storage::next_key(&last).filter(|key| key.starts_with(&prefix)) {
        if meter.try_consume(weights::record()).is_err() {
            return Some(BoundedVec::truncate_from(last));
        }
        match sp_io::storage::get(&key).map(|value| Old::decode_all(&mut &value[..])) {
            Some(Ok(old)) => sp_io::storage::set(&key, &convert(&key, old).encode()),
            _ => log::error!(target: LOG, "the record at key {key:?} cannot be decoded and is left as it is"),
        }
        last = key;
    }
    None
}
