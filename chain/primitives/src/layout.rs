//! How the pods of one task lie to each other.
//!
//! Schedulers carry the same rule; tests/vectors/fit.json holds both to it.

use crate::{AccountId, Layout, TaskSpec};

/// What no two pods of a task may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// A host.
    ByHost,
    /// The provider of a host.
    ByProvider,
}

impl Layout {
    /// What pods laid out like this may not share; none where they may share anything.
    pub const fn apart(self) -> Option<Apart> {
        match self {
            Self::Hosts => Some(Apart::ByHost),
            Self::Providers => Some(Apart::ByProvider),
            Self::Any | Self::Packed => None,
        }
    }
}

impl TaskSpec {
    /// What the pods of the task may not share. Results are compared only where they cannot be one provider's word,
    /// whatever the layout says.
    pub const fn apart(&self) -> Option<Apart> {
        match self.is_redundant() {
            true => Some(Apart::ByProvider),
            false => self.placement.layout.apart(),
        }
    }
}

/// Whether pods may come beside others. `taken` are the hosts of those that are there, or the providers of these hosts,
/// and `added` are the same of those that come.
pub fn are_apart(taken: &[AccountId], added: &[AccountId]) -> bool {
    let is_new = |place: usize| !taken.contains(&added[place]) && !added[..place].contains(&added[place]);
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
        assert!(are_apart(&all(&[1, 2]), &all(&[3, 4])));
        assert!(are_apart(&all(&[]), &all(&[3, 4])));
        assert!(are_apart(&all(&[1, 2]), &all(&[])));
    }

    #[test]
    fn those_that_come_share_nothing_with_those_that_are_there_or_with_each_other() {
        assert!(!are_apart(&all(&[1, 2]), &all(&[3, 2])));
        assert!(!are_apart(&all(&[1, 2]), &all(&[3, 3])));
    }

    #[test]
    fn those_that_are_there_are_not_judged() {
        assert!(are_apart(&all(&[1, 1]), &all(&[2])));
    }
}
