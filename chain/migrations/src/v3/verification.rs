//! Disputes of release 3.

use codec::{Decode, Encode};
use gantry_primitives::{AccountId, Ballot, DisputePhase, Evidence, Moment, Stake, UpTo, Vote, MAX_EVIDENCE};

/// See `gantry_primitives::DisputeRecord`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DisputeRecord {
    /// Who opened it.
    pub opener: AccountId,
    /// Who pays for the task.
    pub tenant: AccountId,
    /// Who owns the hosts that worked on the task.
    pub providers: UpTo<AccountId, 16>,
    /// When it was opened.
    pub opened_at: Moment,
    /// The phase.
    pub phase: DisputePhase,
    /// The last moment of the phase.
    pub until: Moment,
    /// How often a verdict was appealed.
    pub level: u8,
    /// Whether a second jury of this level was asked for.
    pub retried: bool,
    /// The last verdict.
    pub verdict: Option<Vote>,
    /// The stakes.
    pub stakes: UpTo<Stake, 3>,
    /// The evidence.
    pub evidence: UpTo<Evidence, MAX_EVIDENCE>,
    /// The jury and its votes.
    pub ballot: Ballot,
}
