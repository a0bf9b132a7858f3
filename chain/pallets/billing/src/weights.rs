//! What each call of the billing pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    set_params() = 6_539_000, 0, 0, 0;
}
