//! Failed attempts to run a task: they exclude hosts, and fail the task if there are too many.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use super::{AccountId, HostId, TaskRecord};

/// The most failed attempts that a task stores.
pub const MAX_ATTEMPTS: u32 = 16;

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub struct Attempt {
    /// The host that failed.
    pub host: HostId,
    /// Its provider.
    pub provider: AccountId,
    /// Whether the host refused the pod or did not start it, rather than losing it later. The task is not assigned to it
    /// again.
    pub refused: bool,
}

impl TaskRecord {
    /// Returns the number of different providers whose hosts failed.
    pub fn failures(&self) -> u8 {
        self.count_providers(|_| true)
    }

    /// Returns the number of different providers whose hosts refused a pod or did not start it.
    pub fn refusals(&self) -> u8 {
        self.count_providers(|attempt| attempt.refused)
    }

    /// Whether a host refused a pod of this task or did not start it.
    pub fn excludes(&self, host: &HostId) -> bool {
        self.attempts.iter().any(|attempt| attempt.refused && attempt.host == *host)
    }

    /// Stores a failed attempt. If the list is full, the oldest attempt of a provider with several is removed, or the
    /// oldest if no provider has several.
    pub fn record_attempt(&mut self, attempt: Attempt) {
        if let Some(known) = self.attempts.iter_mut().find(|known| known.host == attempt.host) {
            known.refused |= attempt.refused;
            return;
        }
        if self.attempts.is_full() {
            let has_several = |known: &Attempt| {
                known.provider == attempt.provider
                    || self.attempts.iter().filter(|other| other.provider == known.provider).count() > 1
            };
            let oldest = self.attempts.iter().position(has_several).unwrap_or(0);
            self.attempts.remove(oldest);
        }
        // There is room now.
        let _ = self.attempts.try_push(attempt);
    }

    fn count_providers(&self, counts: impl Fn(&Attempt) -> bool) -> u8 {
        let is_first = |position: usize, attempt: &Attempt| {
            !self.attempts[..position].iter().any(|before| counts(before) && before.provider == attempt.provider)
        };
        let counted =
            self.attempts.iter().enumerate().filter(|(position, one)| counts(one) && is_first(*position, one));
        counted.count() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskState;
    use alloc::vec::Vec;

    fn attempt(host: u8, provider: u8, refused: bool) -> Attempt {
        Attempt { host: HostId::new([host; 32]), provider: AccountId::new([provider; 32]), refused }
    }

    fn after(attempts: impl IntoIterator<Item = Attempt>) -> TaskRecord {
        let mut record = TaskRecord {
            first: 0,
            tenant: AccountId::new([0; 32]),
            state: TaskState::Queued,
            generation: 0,
            attempts: Default::default(),
            pods_wanted: 1,
            submitted_at: 0,
            changed_at: 0,
            preemption: None,
            notice: Default::default(),
            leases: Default::default(),
            checkpoints: Default::default(),
        };
        attempts.into_iter().for_each(|attempt| record.record_attempt(attempt));
        record
    }

    #[test]
    fn attempts_are_counted_by_provider() {
        let record = after([attempt(1, 1, true), attempt(2, 1, true), attempt(3, 2, false)]);
        assert_eq!((record.failures(), record.refusals()), (2, 1));
    }

    #[test]
    fn a_host_that_lost_a_pod_is_not_excluded_unless_it_refused_one_too() {
        let excludes = |record: &TaskRecord| record.excludes(&HostId::new([1; 32]));
        assert!(!excludes(&after([attempt(1, 1, false)])));
        assert!(excludes(&after([attempt(1, 1, false), attempt(1, 1, true)])));
        assert!(excludes(&after([attempt(1, 1, true), attempt(1, 1, false)])));
        assert!(!excludes(&after([attempt(2, 1, true)])));
    }

    #[test]
    fn the_attempts_of_one_provider_do_not_displace_those_of_others() {
        let first = (1..=2).map(|number| attempt(number, number, true));
        let many = (10..90).map(|number| attempt(number, 9, true));
        let record = after(first.chain(many));
        assert_eq!((record.attempts.len() as u32, record.refusals()), (MAX_ATTEMPTS, 3));
        let hosts: Vec<_> = record.attempts.iter().map(|attempt| AsRef::<[u8]>::as_ref(&attempt.host)[0]).collect();
        assert_eq!(hosts[..2], [1, 2]);
        assert_eq!(hosts[2..], (76..90).collect::<Vec<u8>>()[..], "its oldest are forgotten");
    }

    #[test]
    fn of_more_providers_than_there_is_room_for_the_newest_are_kept() {
        let record = after((0..40).map(|number| attempt(number, number, true)));
        assert_eq!(u32::from(record.refusals()), MAX_ATTEMPTS);
        assert!(record.excludes(&HostId::new([39; 32])) && !record.excludes(&HostId::new([0; 32])));
    }
}
