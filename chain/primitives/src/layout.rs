//! Anti-affinity of the pods of one task.
//!
//! Schedulers implement the same rule; tests/vectors/fit.json contains the cases that both run.

use crate::{AccountId, Layout, TaskSpec};

/// The topology that no two pods of a task may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AntiAffinity {
    /// A host.
    ByHost,
    /// The provider of a host.
    ByProvider,
}

impl Layout {
    /// Returns the anti-affinity of this layout. None if there is none.
    pub const fn anti_affinity(self) -> Option<AntiAffinity> {
        match self {
            Self::Hosts => Some(AntiAffinity::ByHost),
            Self::Providers => Some(AntiAffinity::ByProvider),
            Self::Any | Self::Packed => None,
        }
    }
}

impl TaskSpec {
    /// Returns the anti-affinity of the task. Replicas have that by provider, whatever the layout: their comparison
    /// proves nothing if one provider runs both.
    pub const fn anti_affinity(&self) -> Option<AntiAffinity> {
        match self.is_redundant() {
            true => Some(AntiAffinity::ByProvider),
            false => self.placement.layout.anti_affinity(),
        }
    }
}

/// Whether pods may be added beside others. `existing` are the hosts of the present pods, or the providers of these
/// hosts; `added` are those of the new pods.
pub fn satisfies_anti_affinity(existing: &[AccountId], added: &[AccountId]) -> bool {
    let is_new =
        |position: usize| !existing.contains(&added[position]) && !added[..position].contains(&added[position]);
    (0..added.len()).all(is_new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(numbers: &[u8]) -> Vec<AccountId> {
        numbers.iter().map(|number| AccountId::new([*number; 32])).collect()
    }

    #[test]
    fn pods_are_apart_where_nothing_is_shared() {
        assert!(satisfies_anti_affinity(&all(&[1, 2]), &all(&[3, 4])));
        assert!(satisfies_anti_affinity(&all(&[]), &all(&[3, 4])));
        assert!(satisfies_anti_affinity(&all(&[1, 2]), &all(&[])));
    }

    #[test]
    fn those_that_come_share_nothing_with_those_that_are_there_or_with_each_other() {
        assert!(!satisfies_anti_affinity(&all(&[1, 2]), &all(&[3, 2])));
        assert!(!satisfies_anti_affinity(&all(&[1, 2]), &all(&[3, 3])));
    }

    #[test]
    fn those_that_are_there_are_not_judged() {
        assert!(satisfies_anti_affinity(&all(&[1, 1]), &all(&[2])));
    }
}
