//! How coins of several are divided among several. Pure.

use alloc::vec::Vec;
use gantry_primitives::Balance;

/// An amount that goes from one source to one receiver, each named by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Place among the sources.
    pub from: usize,
    /// Place among the receivers; as many as there are receivers for what is left over.
    pub to: usize,
    /// How much.
    pub amount: Balance,
}

/// Divides what the sources give equally among `receivers`, rounded down; what is left over comes last. There are at
/// most as many flows as sources and receivers together. None where the sum does not fit.
pub fn divide(sources: &[Balance], receivers: usize) -> Option<Vec<Flow>> {
    let total = sources.iter().try_fold(0, |sum: Balance, amount| sum.checked_add(*amount))?;
    let share = total.checked_div(receivers as Balance).unwrap_or(0);
    let mut flows = Vec::new();
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
            flows.push(Flow { from, to, amount });
            left -= amount;
            wanted = wanted.saturating_sub(amount);
            if share == 0 {
                to = receivers;
            }
        }
    }
    Some(flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(flows: &[Flow], receivers: usize) -> Vec<Balance> {
        (0..=receivers).map(|to| flows.iter().filter(|flow| flow.to == to).map(|flow| flow.amount).sum()).collect()
    }

    #[test]
    fn what_several_give_is_divided_equally_and_the_rest_is_left_over() {
        let flows = divide(&[10, 7], 3).expect("it fits");
        assert_eq!(received(&flows, 3), [5, 5, 5, 2]);
        assert_eq!(received(&divide(&[2], 3).expect("it fits"), 3), [0, 0, 0, 2], "dust is left over");
        assert_eq!(received(&divide(&[9, 9], 0).expect("it fits"), 0), [18]);
        assert_eq!(divide(&[], 3), Some(Vec::new()));
        assert_eq!(divide(&[0, 0], 3), Some(Vec::new()));
        assert_eq!(divide(&[Balance::MAX, 1], 3), None);
    }

    #[test]
    fn every_coin_given_is_received_and_no_receiver_gets_more_than_another() {
        let mut dice = gantry_mock::Dice(1);
        for _ in 0..5_000 {
            let sources: Vec<Balance> =
                (0..dice.below(9)).map(|_| Balance::from(dice.roll() >> dice.below(64))).collect();
            let receivers = dice.below(8) as usize;
            let flows = divide(&sources, receivers).expect("it fits");
            assert!(flows.len() <= sources.len() + receivers + 1);
            assert!(flows.iter().all(|flow| flow.amount > 0));
            for (from, amount) in sources.iter().enumerate() {
                let given: Balance = flows.iter().filter(|flow| flow.from == from).map(|flow| flow.amount).sum();
                assert_eq!(given, *amount);
            }
            let received = received(&flows, receivers);
            assert!(received[..receivers].windows(2).all(|pair| pair[0] == pair[1]));
            assert!(receivers == 0 || received[receivers] < receivers as Balance);
        }
    }
}
