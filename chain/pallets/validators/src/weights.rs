//! What each call of the validators pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    add(v) = 17_794_000 + 55_000 * v, 365 + 32 * v, 2, 1;
    remove(v) = 11_107_000 + 52_000 * v, 88 + 32 * v, 1, 1;
}
