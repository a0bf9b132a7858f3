//! Shorter inputs that fail in the same way.

use std::time::{Duration, Instant};

use super::{input::Step, run, Failure, Tally};

/// Removes steps and sets arguments to 0 for as long as the input fails in the same way and the time is not over. Returns
/// the input, up to the step that fails, and its failure; none where it does not fail.
pub fn shrink(steps: &[Step], limit: Duration) -> Option<(Vec<Step>, Failure)> {
    let begin = Instant::now();
    let mut failure = run(steps, &mut Tally::default(), None).err()?;
    let mut best = steps[..=failure.step].to_vec();
    let kind = failure.kind();
    let mut try_instead = |best: &mut Vec<Step>, candidate: Vec<Step>| {
        let found = run(&candidate, &mut Tally::default(), None).err().filter(|found| found.kind() == kind);
        found.is_some_and(|found| {
            *best = candidate;
            best.truncate(found.step + 1);
            failure = found;
            true
        })
    };
    let mut size = best.len() / 2;
    while size > 0 && begin.elapsed() < limit {
        let mut removed = false;
        let mut end = best.len();
        while end > 0 && begin.elapsed() < limit {
            let start = end.saturating_sub(size);
            let candidate = [&best[..start], &best[end.min(best.len())..]].concat();
            removed |= try_instead(&mut best, candidate);
            end = start.min(best.len());
        }
        // Single steps are tried again until none of them can be removed.
        size = if size == 1 && removed { 1 } else { size / 2 };
    }
    for position in 0..best.len() {
        for argument in 0..best[position].arguments.len() {
            if best[position].arguments[argument] != 0 && begin.elapsed() < limit {
                let mut candidate = best.clone();
                candidate[position].arguments[argument] = 0;
                try_instead(&mut best, candidate);
                if position >= best.len() {
                    return Some((best, failure));
                }
            }
        }
    }
    Some((best, failure))
}
