//! Parameters of the tasks pallet, and the stored types of its own.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::ensure;
use gantry_primitives::{Balance, Digest, Moment, MAX_ATTEMPTS};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The most replicas of a task.
pub const MAX_REPLICAS: u8 = 3;

const YEAR_MS: u64 = 365 * 24 * 3_600_000;

/// The periods and amounts of the tasks pallet.
#[derive(
    Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// The time in milliseconds within which a pod must start after its lease was opened; at least 1.
    pub start_timeout_ms: u64,
    /// The time in milliseconds after which a result that is neither accepted nor disputed counts as accepted; at least
    /// 1.
    pub dispute_window_ms: u64,
    /// The number of different providers whose hosts may fail a task, in any way, before it fails; 1 to 16.
    pub max_attempts: u8,
    /// Coins held for a scheduler.
    pub scheduler_bond: Balance,
    /// Coins held for tasks submitted together while the chain keeps their manifest.
    pub deposit_base: Balance,
    /// Coins held in addition for each byte of the manifest.
    pub deposit_per_byte: Balance,
    /// Coins held for each task until it is pruned, in addition to those for its pods.
    pub deposit_per_task: Balance,
    /// The longest duration that a task may ask for, in milliseconds; at least 1.
    pub max_duration_ms: u64,
    /// The time in milliseconds after which a final task may be pruned; at least 1.
    pub archive_after_ms: u64,
    /// The fine for each refused report of a batch, taken from the bond of the host; more than 0, so that no block is
    /// filled for free.
    pub refused_item_fine: Balance,
    /// The time in milliseconds between a preemption notice and the eviction; at least 1.
    pub preemption_notice_ms: u64,
    /// The score in parts per million below which a host is unhealthy; at most 1,000,000.
    pub poor_ppm: u32,
    /// The least time in milliseconds between two checkpoints of a pod; at least 1.
    pub checkpoint_min_ms: u64,
    /// The minimum charge, as a time in milliseconds, for a pod that its tenant ends before its start, or prevents from
    /// starting. The charge is the time for which the pod occupied its host, at the rate of the lease, at most the
    /// deposit; it goes to the treasury. Also the shortest duration that a task may request.
    pub min_charge_ms: u64,
    /// The most replicas that a task may request, at most 3; 0 if no task may request replicas, because no verifier on
    /// the network compares them.
    pub max_replicas: u8,
    /// The time in milliseconds, at least 1, after the end of a pod within which its host may report the result of a
    /// job. Later the pod has no result and is not paid. Not less than the absence limit of the hosts pallet, so that an
    /// absent host is reported absent first.
    pub report_grace_ms: u64,
    /// The number of different providers whose hosts may refuse a task, or not start it, before it fails; 1 to 16.
    pub max_refusals: u8,
    /// The fine for a refusal, taken from the bond of the host. If the tenant is at fault, at most the minimum charge
    /// of the tenant.
    pub refusal_fee: Balance,
    /// The time in milliseconds for which the bond of a scheduler stays on hold after it has left; at most a year.
    pub scheduler_unbonding_ms: u64,
    /// The penalty of a scheduler that favoured a host of its own, in parts per million of `scheduler_bond`; at most
    /// 1,000,000.
    pub scheduler_penalty_ppm: u32,
    /// The time in milliseconds after an assignment within which that can be proven; at most `scheduler_unbonding_ms`.
    pub evidence_ms: u64,
    /// The time in milliseconds for which the offer of another host must have been unchanged at the assignment, so that
    /// the scheduler knew it.
    pub offer_known_ms: u64,
    /// Coins held for each pod that a task may have until it is pruned: the chain stores a lease and a checkpoint for
    /// each.
    pub deposit_per_pod: Balance,
    /// The surcharge of a host for a job that may be audited, in parts per million of its price: it pays the audits. At
    /// most 1,000,000.
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
    /// Returns the coins held for the record of a task of up to `pods` pods. None on overflow.
    pub fn task_deposit(&self, pods: u16) -> Option<Balance> {
        self.deposit_per_pod.checked_mul(pods.into())?.checked_add(self.deposit_per_task)
    }

    /// Checks the parameters. Fails with the first invalid one.
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

/// A scheduler that has left, whose bond is still on hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct LeavingScheduler {
    /// The amount on hold.
    pub bond: Balance,
    /// The time from which it can be released.
    pub until: Moment,
}

/// What the chain stores of 4,096 neighbouring tasks after they are pruned.
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
