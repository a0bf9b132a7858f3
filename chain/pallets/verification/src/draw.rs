//! The draw of a committee. Pure, so that it can be repeated outside of the chain.
//!
//! Each verifier has a ticket, blake2-256 of the seed and its account; those with the lowest tickets are drawn. A
//! verifier that joins or leaves the list changes no other ticket, so the draw cannot be influenced by the order or the
//! members of the list.

use alloc::vec::Vec;
use codec::Encode;
use gantry_primitives::{AccountId, ListedVerifier, Seed};

/// The most candidates for which the chain looks up whether they are hosts of a party.
pub const MAX_LOOKUPS: usize = 32;

/// Returns the ticket of a verifier for this seed. The lowest are drawn.
pub fn ticket(seed: &Seed, who: &AccountId) -> [u8; 32] {
    sp_io::hashing::blake2_256(&(seed, who).encode())
}

/// Returns the `size` verifiers with the lowest tickets, in their order. None if there are not enough.
///
/// Not eligible are verifiers that joined in `asked_in` or later (the author of a block knows its randomness first),
/// those in `excluded`, and those for which `is_involved` is true.
pub fn draw(
    seed: &Seed,
    listed: &[ListedVerifier],
    size: usize,
    asked_in: u32,
    excluded: &[&AccountId],
    mut is_involved: impl FnMut(&AccountId) -> bool,
) -> Option<Vec<AccountId>> {
    let mut candidates: Vec<([u8; 32], &AccountId)> = listed
        .iter()
        .filter(|verifier| verifier.since < asked_in && !excluded.contains(&&verifier.who))
        .map(|verifier| (ticket(seed, &verifier.who), &verifier.who))
        .collect();
    candidates.sort_unstable();
    let members: Vec<AccountId> = candidates
        .into_iter()
        .take(MAX_LOOKUPS)
        .map(|(_, who)| who)
        .filter(|who| !is_involved(who))
        .take(size)
        .cloned()
        .collect();
    (members.len() == size).then_some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(who: u16) -> AccountId {
        let mut bytes = [0; 32];
        bytes[..2].copy_from_slice(&who.to_le_bytes());
        AccountId::new(bytes)
    }

    fn list(count: u16) -> Vec<ListedVerifier> {
        (0..count).map(|who| ListedVerifier { who: account(who), since: 1 }).collect()
    }

    fn seed(number: u32) -> Seed {
        sp_io::hashing::blake2_256(&number.encode())
    }

    fn drawn(number: u32, listed: &[ListedVerifier], size: usize) -> Vec<AccountId> {
        draw(&seed(number), listed, size, 2, &[], |_| false).expect("there are enough")
    }

    #[test]
    fn a_seed_always_draws_the_same_whatever_the_order_of_the_list() {
        let forward = list(40);
        let backward: Vec<_> = forward.iter().rev().cloned().collect();
        for number in 0..50 {
            let members = drawn(number, &forward, 7);
            assert_eq!(members, drawn(number, &forward, 7));
            assert_eq!(members, drawn(number, &backward, 7));
            assert!(members.iter().enumerate().all(|(position, who)| !members[..position].contains(who)));
        }
        assert_ne!(drawn(0, &forward, 7), drawn(1, &forward, 7));
    }

    #[test]
    fn who_leaves_is_replaced_and_the_others_keep_their_seats() {
        let listed = list(40);
        for number in 0..50 {
            let before = drawn(number, &listed, 5);
            let rest: Vec<_> = listed.iter().filter(|one| one.who != before[2]).cloned().collect();
            let after = drawn(number, &rest, 5);
            assert_eq!(after[..2], before[..2]);
            assert_eq!(after[2..4], before[3..]);
        }
    }

    #[test]
    fn every_verifier_is_drawn_about_equally_often() {
        let listed = list(20);
        let mut times = [0u32; 20];
        let draws = 4_000;
        for number in 0..draws {
            for who in drawn(number, &listed, 5) {
                times[usize::from(<[u8; 32]>::from(who)[0])] += 1;
            }
        }
        // Expected 1,000 each with a standard deviation of 27; the seeds are fixed, so this cannot fail by chance.
        assert!(times.iter().all(|times| (870..=1_130).contains(times)), "{times:?}");
    }

    #[test]
    fn nobody_sits_who_is_excluded_involved_or_too_new() {
        let mut listed = list(12);
        listed[3].since = 2;
        listed[4].since = 9;
        let (five, six) = (account(5), account(6));
        for number in 0..200 {
            let members = draw(&seed(number), &listed, 7, 2, &[&five, &six], |who| *who == account(7));
            for who in members.expect("seven of twelve are left") {
                assert!(![3, 4, 5, 6, 7].map(account).contains(&who));
            }
        }
    }

    #[test]
    fn too_few_verifiers_draw_nobody() {
        assert_eq!(draw(&seed(0), &list(2), 3, 2, &[], |_| false), None);
        assert_eq!(draw(&seed(0), &list(3), 3, 2, &[&account(1)], |_| false), None);
        assert_eq!(draw(&seed(0), &[], 1, 2, &[], |_| false), None);
    }

    #[test]
    fn look_ups_are_bounded() {
        let mut looked_up = 0;
        let members = draw(&seed(0), &list(500), 7, 2, &[], |_| {
            looked_up += 1;
            true
        });
        assert_eq!((members, looked_up), (None, MAX_LOOKUPS));
    }
}
