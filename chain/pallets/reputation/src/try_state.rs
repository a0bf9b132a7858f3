//! The invariants of scores. See docs/invariants.md.

use frame_support::ensure;
use gantry_primitives::score::{host_ppm, tenant_ppm, MAX_WEIGHT};
use sp_runtime::TryRuntimeError;

use crate::{Config, HostScores, Pallet, TenantScores};

impl<T: Config> Pallet<T> {
    /// Checks every invariant of this pallet. For tests, the fuzzer and try-runtime.
    pub fn do_try_state() -> Result<(), TryRuntimeError> {
        for score in HostScores::<T>::iter_values() {
            ensure!(host_ppm(&score) < 1_000_000, "SCORE-1: a score is below one million");
            ensure!(
                score.completed.positive <= u64::from(score.settled_leases).saturating_mul(MAX_WEIGHT),
                "SCORE-2: no host has more evidence of completion than its settled leases can give"
            );
            ensure!(score.sla.met_ms <= score.sla.promised_ms, "SCORE-3: no host kept more than it promised");
        }
        for score in TenantScores::<T>::iter_values() {
            ensure!(tenant_ppm(&score) < 1_000_000, "SCORE-1: a score is below one million");
        }
        Ok(())
    }
}
