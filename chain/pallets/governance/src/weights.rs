//! What each call of the governance pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    cancel() = 21_482_000, 188, 2, 2;
    enact(l) = 33_116_000 + 3_000 * l, 37, 5, 4;
    set_params() = 6_029_000, 0, 0, 1;
}
