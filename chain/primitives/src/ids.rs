//! The numbering of tasks and leases, and their storage keys.
//!
//! The key of a task is its number, big-endian and unhashed: tasks submitted one after another are neighbours in the
//! state trie, so that a batch about them reads few nodes for any number of tasks. The number of a lease contains that
//! of its task, so that a lease needs no record of its own.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use crate::{LeaseId, TaskId};

/// Tasks are numbered below this, so that a lease's number fits 64 bits.
pub const TASK_IDS_END: TaskId = 1 << 40;
/// How many tasks one page of an index covers: a page is a bitmap of 32 bytes, which the trie keeps in its node.
pub const TASKS_PER_PAGE: u64 = 256;
/// How many tasks share one page of the archive.
pub const TASKS_PER_ARCHIVE_PAGE: u64 = 4_096;

/// The storage key of a task: its number, big-endian.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct TaskKey(pub [u8; 8]);

impl From<TaskId> for TaskKey {
    fn from(task: TaskId) -> Self {
        Self(task.to_be_bytes())
    }
}

impl TaskKey {
    /// Returns the number of the task.
    pub const fn task(self) -> TaskId {
        TaskId::from_be_bytes(self.0)
    }
}

/// The storage key of a page of an index: which page it is, big-endian, so that pages are read in order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct PageKey(pub [u8; 8]);

impl PageKey {
    /// Returns the key of the page that contains a task.
    pub const fn of(task: TaskId) -> Self {
        Self((task / TASKS_PER_PAGE).to_be_bytes())
    }

    /// Returns the first task of the page.
    pub const fn first_task(self) -> TaskId {
        u64::from_be_bytes(self.0).saturating_mul(TASKS_PER_PAGE)
    }
}

/// Returns the number of a lease: `task << 24 | pod << 16 | generation`. `task` is below [`TASK_IDS_END`].
pub const fn lease_id(task: TaskId, pod: u8, generation: u16) -> LeaseId {
    task << 24 | (pod as u64) << 16 | generation as u64
}

/// Returns the task, pod and generation of a lease's number.
pub const fn lease_parts(lease: LeaseId) -> (TaskId, u8, u16) {
    (lease >> 24, (lease >> 16) as u8, lease as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_names_its_task_pod_and_generation() {
        for task in [0, 1, 255, 256, TASK_IDS_END - 1] {
            for pod in [0, 1, 15, u8::MAX] {
                for generation in [0, 1, u16::MAX] {
                    assert_eq!(lease_parts(lease_id(task, pod, generation)), (task, pod, generation));
                }
            }
        }
    }

    #[test]
    fn keys_sort_as_the_tasks_they_name() {
        let keys: Vec<_> = [0u64, 1, 255, 256, 65_535, 65_536, TASK_IDS_END - 1].map(TaskKey::from).to_vec();
        assert!(keys.windows(2).all(|pair| pair[0].encode() < pair[1].encode()));
        assert_eq!(keys[3].task(), 256);
    }

    #[test]
    fn a_page_covers_256_tasks() {
        assert_eq!(PageKey::of(255), PageKey::of(0));
        assert_ne!(PageKey::of(256), PageKey::of(255));
        assert_eq!(PageKey::of(700).first_task(), 512);
    }
}
