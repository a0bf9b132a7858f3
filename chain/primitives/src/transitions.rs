//! The tables of the transitions between the states of hosts, tasks and leases. There are no others.
//!
//! The diagrams of the documentation are drawn from these tables. A transition that is not listed fails and changes
//! nothing.

use crate::{HostStatusTag, LeaseStateTag, TaskStateTag};

/// (from, to) for hosts.
pub const HOST_TRANSITIONS: &[(HostStatusTag, HostStatusTag)] = {
    use HostStatusTag::*;
    &[
        (Unverified, Verified),
        (Verified, Online),
        (Online, Offline),
        (Offline, Online),
        (Online, Draining),
        (Draining, Online),
        (Draining, Offline),
        (Verified, Suspended),
        (Online, Suspended),
        (Offline, Suspended),
        (Draining, Suspended),
        (Suspended, Verified),
        (Verified, Unverified),
        (Online, Unverified),
        (Offline, Unverified),
        (Draining, Unverified),
        (Suspended, Unverified),
        (Unverified, Retiring),
        (Verified, Retiring),
        (Online, Retiring),
        (Offline, Retiring),
        (Draining, Retiring),
        (Suspended, Retiring),
        (Retiring, Retired),
    ]
};

/// (from, to) for tasks.
pub const TASK_TRANSITIONS: &[(TaskStateTag, TaskStateTag)] = {
    use TaskStateTag::*;
    &[
        (Queued, Assigned),
        (Assigned, Running),
        (Running, Reported),
        (Reported, Verified),
        (Verified, Settled),
        (Assigned, Queued),
        (Running, Queued),
        (Reported, Disputed),
        (Disputed, Verified),
        (Disputed, Failed),
        (Queued, Expired),
        (Queued, Cancelled),
        (Assigned, Cancelled),
        (Running, Cancelled),
        (Assigned, Failed),
        (Running, Failed),
    ]
};

/// (from, to) for leases.
pub const LEASE_TRANSITIONS: &[(LeaseStateTag, LeaseStateTag)] = {
    use LeaseStateTag::*;
    &[
        (Pending, Active),
        (Active, Suspended),
        (Suspended, Active),
        (Pending, Ended),
        (Active, Ended),
        (Suspended, Ended),
        (Ended, Retained),
        (Retained, Purged),
        (Retained, Ended),
    ]
};

/// Whether a table lists a transition.
pub fn allows<Tag: Copy + PartialEq>(table: &[(Tag, Tag)], from: Tag, to: Tag) -> bool {
    table.contains(&(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_move_is_listed_twice<Tag: Copy + PartialEq + core::fmt::Debug>(table: &[(Tag, Tag)]) {
        for (position, step) in table.iter().enumerate() {
            assert!(!table[..position].contains(step), "{step:?} is listed twice");
            assert_ne!(step.0, step.1, "a state does not follow itself");
        }
    }

    #[test]
    fn the_tables_list_each_move_once() {
        no_move_is_listed_twice(HOST_TRANSITIONS);
        no_move_is_listed_twice(TASK_TRANSITIONS);
        no_move_is_listed_twice(LEASE_TRANSITIONS);
    }

    #[test]
    fn nothing_follows_a_final_state() {
        for (from, to) in TASK_TRANSITIONS {
            assert!(!from.is_final(), "{from:?} leads to {to:?}");
        }
        assert!(HOST_TRANSITIONS.iter().all(|(from, _)| *from != HostStatusTag::Retired));
        assert!(LEASE_TRANSITIONS.iter().all(|(from, _)| *from != LeaseStateTag::Purged));
    }

    #[test]
    fn a_host_is_retired_only_after_its_bond_was_held_for_a_while() {
        let before: Vec<_> = HOST_TRANSITIONS.iter().filter(|(_, to)| *to == HostStatusTag::Retired).collect();
        assert_eq!(before, [&(HostStatusTag::Retiring, HostStatusTag::Retired)]);
        let after: Vec<_> = HOST_TRANSITIONS.iter().filter(|(from, _)| *from == HostStatusTag::Retiring).collect();
        assert_eq!(after, before, "and it does not come back");
    }

    #[test]
    fn a_task_is_settled_only_after_it_was_verified() {
        let before: Vec<_> = TASK_TRANSITIONS.iter().filter(|(_, to)| *to == TaskStateTag::Settled).collect();
        assert_eq!(before, [&(TaskStateTag::Verified, TaskStateTag::Settled)]);
    }

    #[test]
    fn a_reported_task_cannot_be_cancelled() {
        assert!(!allows(TASK_TRANSITIONS, TaskStateTag::Reported, TaskStateTag::Cancelled));
    }
}
