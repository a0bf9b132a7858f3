//! Division of coins of several sources among several receivers. Pure.

use alloc::vec::Vec;
use gantry_primitives::Balance;

/// An amount that one source pays to one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Position among the sources.
    pub from: usize,
    /// Position among the receivers; the number of receivers for the remainder.
    pub to: usize,
    /// The amount.
    pub amount: Balance,
}

/// Divides the amounts of the sources equally among `receivers`, rounded down; the remainder comes last. There are at
/// most as many transfers as sources and receivers together. None on overflow.
pub fn divide(sources: &[Balance], receivers: usize) -> Option<Vec<Transfer>> {
    let total = sources.iter().try_fold(0, |sum: Balance, amount| sum.checked_add(*amount))?;
    let share = total.checked_div(receivers as Balance).unwrap_or(0);
    let mut transfers = Vec::new();
    let mut to = 0;
    let mut wanted = share;
    for (from, amount) in sources.iter().enumerate() {
        let mut left = *amount;
        while left > 0 {
            while to < receivers && wanted == 0 {
                to += 1;
                wanted = share;
            }
            let amount = if to < receivers { left.min(wanted) } else { left };
            transfers.push(Transfer { from, to, amount });
            left -= amount;
            wanted = wanted.saturating_sub(amount);
            if share == 0 {
                to = receivers;
            }
        }
    }
    Some(transfers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(transfers: &[Transfer], receivers: usize) -> Vec<Balance> {
        (0..=receivers)
            .map(|to| transfers.iter().filter(|transfer| transfer.to == to).map(|transfer| transfer.amount).sum())
            .collect()
    }

    #[test]
    fn what_several_give_is_divided_equally_and_the_rest_is_left_over() {
        let transfers = divide(&[10, 7], 3).expect("it fits");
        assert_eq!(received(&transfers, 3), [5, 5, 5, 2]);
        assert_eq!(received(&divide(&[2], 3).expect("it fits"), 3), [0, 0, 0, 2], "dust is left over");
        assert_eq!(received(&divide(&[9, 9], 0).expect("it fits"), 0), [18]);
        assert_eq!(divide(&[], 3), Some(Vec::new()));
        assert_eq!(divide(&[0, 0], 3), Some(Vec::new()));
        assert_eq!(divide(&[Balance::MAX, 1], 3), None);
    }

    #[test]
    fn every_coin_given_is_received_and_no_receiver_gets_more_than_another() {
        let mut rng = gantry_mock::SplitMix64(1);
        for _ in 0..5_000 {
            let sources: Vec<Balance> =
                (0..rng.below(9)).map(|_| Balance::from(rng.next_u64() >> rng.below(64))).collect();
            let receivers = rng.below(8) as usize;
            let transfers = divide(&sources, receivers).expect("it fits");
            assert!(transfers.len() <= sources.len() + receivers + 1);
            assert!(transfers.iter().all(|transfer| transfer.amount > 0));
            for (from, amount) in sources.iter().enumerate() {
                let given: Balance =
                    transfers.iter().filter(|transfer| transfer.from == from).map(|transfer| transfer.amount).sum();
                assert_eq!(given, *amount);
            }
            let received = received(&transfers, receivers);
            assert!(received[..receivers].windows(2).all(|pair| pair[0] == pair[1]));
            assert!(receivers == 0 || received[receivers] < receivers as Balance);
        }
    }
}
