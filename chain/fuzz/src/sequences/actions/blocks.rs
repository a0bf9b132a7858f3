//! The next block.

use gantry_runtime::{Runtime, SLOT_DURATION_MS};

use super::{actions, Operation};
use crate::sequences::chain::*;

/// Returns the milliseconds until the next bucket of an agenda, if that is later than now.
fn next_due() -> Option<u64> {
    let of_leases = pallet_gantry_leases::AgendaPages::<Runtime>::iter_keys().next();
    let of_leases = of_leases.map(|bucket| u64::from_be_bytes(bucket) * pallet_gantry_leases::BUCKET_MS);
    let of_agreements = pallet_gantry_agreements::Agenda::<Runtime>::iter_keys().next();
    let of_agreements = of_agreements.and_then(|key| key.first_chunk().copied());
    let of_agreements = of_agreements.map(|bucket| u64::from_be_bytes(bucket) * pallet_gantry_agreements::BUCKET_MS);
    of_leases.into_iter().chain(of_agreements).min()?.checked_sub(now())
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
