//! What governs the tasks pallet, and the parts of its events and archive.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::ensure;
use gantry_primitives::{Balance, Digest, Moment, MAX_ATTEMPTS};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

use crate::Error;

/// No task has more replicas whose results are compared.
pub const MAX_REPLICAS: u8 = 3;

const YEAR_MS: u64 = 365 * 24 * 3_600_000;

/// The periods and amounts of the tasks pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// A pod must start within so many milliseconds after its lease was opened; at least 1.
    pub start_timeout_ms: u64,
    /// A result that nobody accepts or disputes counts as accepted after so many milliseconds; at least 1.
    pub dispute_window_ms: u64,
    /// A task fails when hosts of so many different providers have failed, in whatever way; 1 to 16.
    pub max_attempts: u8,
    /// Coins held for a scheduler.
    pub scheduler_bond: Balance,
    /// Coins held for tasks submitted together while the chain keeps their manifest.
    pub deposit_base: Balance,
    /// Coins held besides for each byte of the manifest.
    pub deposit_per_byte: Balance,
    /// Coins held for each task until it is pruned, besides those for its pods.
    pub deposit_per_task: Balance,
    /// The longest duration that a task may ask for, in milliseconds; at least 1.
    pub max_duration_ms: u64,
    /// A task may be pruned so many milliseconds after it became final; at least 1.
    pub archive_after_ms: u64,
    /// What each refused report of a batch costs the bond of its host; more than 0, so that blocks are not filled for
    /// free.
    pub refused_item_fine: Balance,
    /// A spot task that is told to leave may run on for so many milliseconds; at least 1.
    pub preemption_notice_ms: u64,
    /// A host whose score is below so many parts per million deteriorates; at most 1,000,000.
    pub poor_ppm: u32,
    /// The checkpoints of a pod are at least so many milliseconds apart; at least 1.
    pub checkpoint_min_ms: u64,
    /// A pod that its tenant ends before its start, or prevents from starting, costs as much as the time for which it held
    /// its host, at least so many milliseconds, at the rate of its lease; at most the deposit. The charge goes to the
    /// treasury. Also the shortest duration that a task may ask for.
    pub min_charge_ms: u64,
    /// The most replicas whose results a task may have compared, at most 3; 0 where no task may ask for it, since nothing
    /// on the network runs and compares replicas.
    pub max_replicas: u8,
    /// A host may report the result of a job for so many milliseconds after the time of its pod was over; at least 1.
    /// After that the pod has no result and is not paid. Not less than the absence limit of the hosts pallet, so that a
    /// host that is gone is reported absent first.
    pub report_grace_ms: u64,
    /// A task fails when hosts of so many different providers have refused it or not started it; 1 to 16.
    pub max_refusals: u8,
    /// What a refusal costs the bond of the host. Where the tenant is blamed, at most the minimum charge of the tenant.
    pub refusal_fee: Balance,
    /// The bond of a scheduler stays held for so many milliseconds after it has left; at most a year.
    pub scheduler_unbonding_ms: u64,
    /// What a scheduler loses of its bond where it is proven that it favoured a host of its own, in parts per million of
    /// `scheduler_bond`; at most 1,000,000.
    pub scheduler_penalty_ppm: u32,
    /// That can be proven for so many milliseconds after the assignment; at most `scheduler_unbonding_ms`.
    pub evidence_ms: u64,
    /// What another host offers counts where it had stood for so many milliseconds at the assignment: the scheduler knew it.
    pub offer_known_ms: u64,
    /// Coins held for each pod that a task may have until it is pruned: the chain keeps a lease and a checkpoint of each.
    pub deposit_per_pod: Balance,
    /// What a host gets besides its price for a job that may be audited, in parts per million: it pays the audits. At most
    /// 1,000,000.
    pub audit_surcharge_ppm: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            start_timeout_ms: 300_000,
            dispute_window_ms: 3_600_000,
            max_attempts: 3,
            scheduler_bond: 100_000_000_000_000,
            deposit_base: 10_000_000_000,
            deposit_per_byte: 10_000_000,
            deposit_per_task: 10_000_000_000,
            max_duration_ms: 30 * 24 * 3_600_000,
            archive_after_ms: 7 * 24 * 3_600_000,
            refused_item_fine: 1_000_000_000,
            preemption_notice_ms: 120_000,
            poor_ppm: 300_000,
            checkpoint_min_ms: 60_000,
            min_charge_ms: 60_000,
            max_replicas: 0,
            report_grace_ms: 900_000,
            max_refusals: 3,
            refusal_fee: 10_000_000_000,
            scheduler_unbonding_ms: 7 * 24 * 3_600_000,
            scheduler_penalty_ppm: 100_000,
            evidence_ms: 3_600_000,
            offer_known_ms: 120_000,
            deposit_per_pod: 50_000_000_000,
            // A host with many valid results is audited as often as that.
            audit_surcharge_ppm: 50_000,
        }
    }
}

impl Params {
    /// The coins held for the record of a task of up to `pods` pods. None where there are more than any number of coins.
    pub fn task_deposit(&self, pods: u16) -> Option<Balance> {
        self.deposit_per_pod.checked_mul(pods.into())?.checked_add(self.deposit_per_task)
    }

    /// Whether the chain can work by them; an error for each way in which it cannot.
    pub fn check<T>(&self) -> Result<(), Error<T>> {
        ensure!(self.start_timeout_ms > 0, Error::StartTimeoutZero);
        ensure!(self.dispute_window_ms > 0, Error::DisputeWindowZero);
        ensure!(self.max_attempts > 0, Error::MaxAttemptsZero);
        ensure!(u32::from(self.max_attempts) <= MAX_ATTEMPTS, Error::TooManyAttempts);
        ensure!(self.max_refusals > 0, Error::MaxRefusalsZero);
        ensure!(u32::from(self.max_refusals) <= MAX_ATTEMPTS, Error::TooManyAttempts);
        ensure!(self.max_duration_ms > 0, Error::MaxDurationZero);
        ensure!(self.archive_after_ms > 0, Error::ArchiveAfterZero);
        ensure!(self.refused_item_fine > 0, Error::RefusedItemFineZero);
        ensure!(self.preemption_notice_ms > 0, Error::PreemptionNoticeZero);
        ensure!(self.poor_ppm <= 1_000_000, Error::PoorPpmTooHigh);
        ensure!(self.checkpoint_min_ms > 0, Error::CheckpointMinZero);
        ensure!(self.max_replicas <= MAX_REPLICAS, Error::MaxReplicasTooHigh);
        ensure!(self.report_grace_ms > 0, Error::ReportGraceZero);
        ensure!(self.scheduler_unbonding_ms <= YEAR_MS, Error::SchedulerUnbondingTooLong);
        ensure!(self.scheduler_penalty_ppm <= 1_000_000, Error::SchedulerPenaltyTooHigh);
        ensure!(self.evidence_ms <= self.scheduler_unbonding_ms, Error::EvidenceOutlivesBond);
        ensure!(self.audit_surcharge_ppm <= 1_000_000, Error::AuditSurchargeTooHigh);
        Ok(())
    }
}

/// A scheduler that has left, whose bond is still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct LeavingScheduler {
    /// What is held.
    pub bond: Balance,
    /// From then on it is released.
    pub until: Moment,
}

/// What the chain keeps of 4,096 neighbouring tasks once they are pruned.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct ArchivePage {
    /// Folded over the pruned tasks in the order of their pruning, from zeros:
    /// `blake2_256(digest ++ SCALE(task, record))`.
    pub digest: Digest,
    /// How many of them are pruned.
    pub count: u32,
}
