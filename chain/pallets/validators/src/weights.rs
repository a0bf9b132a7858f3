//! What each call of the validators pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    add(v) = 15_222_000 + 58_000 * v, 338 + 32 * v, 2, 1;
    remove(v) = 11_005_000 + 52_000 * v, 61 + 32 * v, 1, 1;
}
