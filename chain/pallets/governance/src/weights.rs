//! What each call of the governance pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    cancel() = 20_821_000, 188, 2, 2;
    enact(l) = 31_238_000 + 3_000 * l, 36, 5, 4;
    set_params() = 6_540_000, 0, 0, 1;
}
