//! Commitments of verifiers to votes and of hosts to results, and tags of results.
//!
//! Each names the one who commits, so that a copied commitment cannot be opened by the one who copied it.

use codec::Encode;

use crate::{AccountId, Commitment, HostId, Matter, PodResult, ResultTag, Salt, TaskId, Vote};

/// The first bytes under the commitment to a vote.
pub const VOTE_CONTEXT: [u8; 14] = *b"gantry/vote/v1";
/// The first bytes under the commitment to a result.
pub const RESULT_CONTEXT: [u8; 16] = *b"gantry/result/v1";
/// The first bytes under the tag of a result.
pub const TAG_CONTEXT: [u8; 13] = *b"gantry/tag/v1";
/// The first bytes of what the seed of a committee is asked for with.
pub const SEED_CONTEXT: [u8; 14] = *b"gantry/seed/v1";

/// What `voter` commits to in round `round` of a matter: blake2-256 of the SCALE encoding of
/// (context, matter, round, vote, salt, voter).
pub fn vote_commitment(matter: Matter, round: u8, vote: Vote, salt: &Salt, voter: &AccountId) -> Commitment {
    sp_io::hashing::blake2_256(&(VOTE_CONTEXT, matter, round, vote, salt, voter).encode())
}

/// What `host` commits to: blake2-256 of the SCALE encoding of (context, result, salt, host).
pub fn result_commitment(result: &PodResult, salt: &Salt, host: &HostId) -> Commitment {
    sp_io::hashing::blake2_256(&(RESULT_CONTEXT, result, salt, host).encode())
}

/// What two hosts show of their results of a task to find out whether they are equal: blake2-256 of the SCALE encoding of
/// (context, task, digest, exit code). Whoever does not know a result cannot find it from its tag, unless it can guess it.
pub fn result_tag(task: TaskId, result: &PodResult) -> ResultTag {
    sp_io::hashing::blake2_256(&(TAG_CONTEXT, task, result.digest, result.exit_code).encode())
}

/// With which subject the chain asks for the randomness of a matter's round: the SCALE encoding of
/// (context, matter, round).
pub fn seed_subject(matter: Matter, round: u8) -> alloc::vec::Vec<u8> {
    (SEED_CONTEXT, matter, round).encode()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usage;

    fn account(who: u8) -> AccountId {
        AccountId::new([who; 32])
    }

    #[test]
    fn a_commitment_to_a_vote_is_good_for_one_voter_matter_and_round() {
        let dispute = Matter::Dispute(7);
        let one = vote_commitment(dispute, 0, Vote::Yes, &[1; 32], &account(1));
        assert_ne!(one, vote_commitment(dispute, 0, Vote::No, &[1; 32], &account(1)));
        assert_ne!(one, vote_commitment(dispute, 0, Vote::Yes, &[2; 32], &account(1)));
        assert_ne!(one, vote_commitment(dispute, 0, Vote::Yes, &[1; 32], &account(2)));
        assert_ne!(one, vote_commitment(dispute, 1, Vote::Yes, &[1; 32], &account(1)));
        assert_ne!(one, vote_commitment(Matter::Challenge(7), 0, Vote::Yes, &[1; 32], &account(1)));
    }

    #[test]
    fn a_commitment_to_a_result_is_good_for_one_host_and_result() {
        let usage = Usage { wall_ms: 1, cpu_ms: 1, memory_peak_mib: 1 };
        let result = PodResult { digest: [9; 32], exit_code: 0, usage };
        let one = result_commitment(&result, &[1; 32], &account(1));
        assert_ne!(one, result_commitment(&result, &[1; 32], &account(2)));
        assert_ne!(one, result_commitment(&result, &[2; 32], &account(1)));
        assert_ne!(one, result_commitment(&PodResult { exit_code: 1, ..result }, &[1; 32], &account(1)));
    }

    #[test]
    fn a_tag_is_that_of_what_makes_results_equal_in_one_task() {
        let usage = Usage { wall_ms: 1, cpu_ms: 1, memory_peak_mib: 1 };
        let result = PodResult { digest: [9; 32], exit_code: 0, usage };
        let used_more = PodResult { usage: Usage { wall_ms: 2, ..usage }, ..result };
        let tag = result_tag(7, &result);
        assert_eq!(tag, result_tag(7, &used_more));
        assert_ne!(tag, result_tag(8, &result));
        assert_ne!(tag, result_tag(7, &PodResult { exit_code: 1, ..result }));
        assert_ne!(tag, result_tag(7, &PodResult { digest: [8; 32], ..result }));
    }
}
