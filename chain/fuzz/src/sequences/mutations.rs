//! Mutations of inputs: whole steps are added, removed, moved and changed, so that what follows them keeps its meaning.

use super::{
    actions::ACTIONS,
    input::{Step, ARGUMENTS, MAX_STEPS},
    rng::SplitMix64,
};

/// A step of any action, more often one of greater weight; most of its arguments are the ordinary choice.
pub fn random_step(rng: &mut SplitMix64) -> Step {
    let all: u64 = ACTIONS.iter().map(|action| u64::from(action.weight)).sum();
    let mut offset = rng.below(all);
    let is_here = |action: &super::actions::Action| {
        let is_selected = offset < u64::from(action.weight);
        offset = offset.saturating_sub(action.weight.into());
        is_selected
    };
    let action = ACTIONS.iter().position(is_here).expect("the offset is below the sum") as u8;
    let mut arguments = [0; ARGUMENTS];
    for _ in 0..rng.below(4) {
        arguments[rng.below(ARGUMENTS as u64) as usize] = random_byte(rng);
    }
    Step { action, arguments }
}

/// Any byte; small ones, which choose among few, more often.
fn random_byte(rng: &mut SplitMix64) -> u8 {
    let end = rng.pick(&[4, 4, 16, 256]);
    rng.below(end) as u8
}

/// Changes an input in one to four ways.
pub fn mutate(steps: &mut Vec<Step>, rng: &mut SplitMix64) {
    for _ in 0..=rng.below(4) {
        mutate_once(steps, rng);
    }
    steps.truncate(MAX_STEPS);
}

fn mutate_once(steps: &mut Vec<Step>, rng: &mut SplitMix64) {
    let count = steps.len() as u64;
    let any_position = |rng: &mut SplitMix64| rng.below(count.max(1)) as usize;
    match rng.below(12) {
        _ if steps.is_empty() => steps.push(random_step(rng)),
        0..=2 => {
            let at = rng.below(count + 1) as usize;
            steps.insert(at, random_step(rng));
        }
        3 => (0..=rng.below(6)).for_each(|_| steps.push(random_step(rng))),
        4..=6 => {
            // The first arguments choose the most.
            let argument = rng.below(ARGUMENTS as u64).min(rng.below(ARGUMENTS as u64)) as usize;
            let at = any_position(rng);
            steps[at].arguments[argument] = random_byte(rng);
        }
        7 => {
            let at = any_position(rng);
            steps[at] = random_step(rng);
        }
        8 => drop(steps.remove(any_position(rng))),
        9 => {
            let begin = any_position(rng);
            let end = (begin + 1 + rng.below(8) as usize).min(steps.len());
            drop(steps.drain(begin..end));
        }
        10 => {
            let begin = any_position(rng);
            let end = (begin + 1 + rng.below(8) as usize).min(steps.len());
            let copy = steps[begin..end].to_vec();
            let at = rng.below(count + 1) as usize;
            drop(steps.splice(at..at, copy));
        }
        _ => {
            let (one, other) = (any_position(rng), any_position(rng));
            steps.swap(one, other);
        }
    }
}

/// The beginning of one input and the end of another, or one input after the other.
pub fn cross(one: &[Step], other: &[Step], rng: &mut SplitMix64) -> Vec<Step> {
    let end = match rng.below(3) {
        0 => one.len(),
        _ => rng.below(one.len() as u64 + 1) as usize,
    };
    let begin = rng.below(other.len() as u64 + 1) as usize;
    let mut crossed = [&one[..end], &other[begin..]].concat();
    crossed.truncate(MAX_STEPS);
    crossed
}
