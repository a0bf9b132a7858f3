//! Mutations of inputs: whole steps are added, removed, moved and changed, so that what follows them keeps its meaning.

use super::{
    actions::ACTIONS,
    dice::Dice,
    input::{Step, ARGUMENTS, MAX_STEPS},
};

/// A step of any action, more often one of greater weight; most of its arguments are the ordinary choice.
pub fn random_step(dice: &mut Dice) -> Step {
    let all: u64 = ACTIONS.iter().map(|action| u64::from(action.weight)).sum();
    let mut place = dice.below(all);
    let is_here = |action: &super::actions::Action| {
        let here = place < u64::from(action.weight);
        place = place.saturating_sub(action.weight.into());
        here
    };
    let action = ACTIONS.iter().position(is_here).expect("the place is below the sum") as u8;
    let mut arguments = [0; ARGUMENTS];
    for _ in 0..dice.below(4) {
        arguments[dice.below(ARGUMENTS as u64) as usize] = random_byte(dice);
    }
    Step { action, arguments }
}

/// Any byte; small ones, which choose among few, more often.
fn random_byte(dice: &mut Dice) -> u8 {
    let end = dice.pick(&[4, 4, 16, 256]);
    dice.below(end) as u8
}

/// Changes an input in one to four ways.
pub fn mutate(steps: &mut Vec<Step>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        mutate_once(steps, dice);
    }
    steps.truncate(MAX_STEPS);
}

fn mutate_once(steps: &mut Vec<Step>, dice: &mut Dice) {
    let count = steps.len() as u64;
    let place = |dice: &mut Dice| dice.below(count.max(1)) as usize;
    match dice.below(12) {
        _ if steps.is_empty() => steps.push(random_step(dice)),
        0..=2 => {
            let at = dice.below(count + 1) as usize;
            steps.insert(at, random_step(dice));
        }
        3 => (0..=dice.below(6)).for_each(|_| steps.push(random_step(dice))),
        4..=6 => {
            // The first arguments choose the most.
            let argument = dice.below(ARGUMENTS as u64).min(dice.below(ARGUMENTS as u64)) as usize;
            let at = place(dice);
            steps[at].arguments[argument] = random_byte(dice);
        }
        7 => {
            let at = place(dice);
            steps[at] = random_step(dice);
        }
        8 => drop(steps.remove(place(dice))),
        9 => {
            let begin = place(dice);
            let end = (begin + 1 + dice.below(8) as usize).min(steps.len());
            drop(steps.drain(begin..end));
        }
        10 => {
            let begin = place(dice);
            let end = (begin + 1 + dice.below(8) as usize).min(steps.len());
            let copy = steps[begin..end].to_vec();
            let at = dice.below(count + 1) as usize;
            drop(steps.splice(at..at, copy));
        }
        _ => {
            let (one, other) = (place(dice), place(dice));
            steps.swap(one, other);
        }
    }
}

/// The beginning of one input and the end of another, or one input after the other.
pub fn cross(one: &[Step], other: &[Step], dice: &mut Dice) -> Vec<Step> {
    let end = match dice.below(3) {
        0 => one.len(),
        _ => dice.below(one.len() as u64 + 1) as usize,
    };
    let begin = dice.below(other.len() as u64 + 1) as usize;
    let mut crossed = [&one[..end], &other[begin..]].concat();
    crossed.truncate(MAX_STEPS);
    crossed
}
