//! The next block.

use gantry_runtime::{Runtime, SLOT_DURATION_MS};

use super::{actions, Operation};
use crate::sequences::chain::*;

/// When something is due next, if that is later than now: the next bucket of the agenda.
fn next_due() -> Option<u64> {
    let first = pallet_gantry_leases::AgendaPages::<Runtime>::iter_keys().next()?;
    (u64::from_be_bytes(first) * 6_000).checked_sub(now())
}

actions! {
    "Block.next" 300 |choices| {
        const TIMES: [u64; 12] = [
            SLOT_DURATION_MS, 6_000, 12_000, 30_000, MINUTE + 2_000, 2 * MINUTE, 5 * MINUTE, 12 * MINUTE, HOUR,
            24 * HOUR, 0, 30 * 24 * HOUR,
        ];
        let ms = match choices.pick(&TIMES) {
            0 => next_due().unwrap_or(SLOT_DURATION_MS),
            ms => ms,
        };
        let silent = match choices.byte() {
            0..=159 => vec![],
            number @ 160..=249 => vec![HOSTS.start + number % 10],
            _ => HOSTS.collect(),
        };
        let halted = choices.usually(false, |_| true);
        let seed = choices.usually(Some(0), |number| (number < 8).then_some(number));
        Operation::Block(NextBlock { ms: ms.div_ceil(SLOT_DURATION_MS) * SLOT_DURATION_MS, silent, halted, seed })
    };
}
