//! What each call of the leases pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    agenda_base() = 6_961_000, 175, 3, 0;
    close_depleted() = 345_243_000, 4_462, 20, 15;
    crank(e) = 4_764_295_000 + 1_784_175_000 * e, 882 + 37_418 * e, 12 + 26 * e, 7 + 8 * e;
    due_entry() = 868_547_000, 40_376, 37, 14;
    extend() = 167_819_000, 3_815, 10, 4;
    finish_reclaim() = 1_372_498_000, 39_638, 34, 13;
    keep() = 309_610_000, 4_232, 13, 6;
    reclaim() = 98_156_000, 3_696, 8, 1;
    release_data() = 283_704_000, 4_232, 14, 8;
    resume() = 118_907_000, 3_739, 8, 3;
    set_params() = 6_359_000, 0, 0, 1;
    settle() = 268_070_000, 4_092, 14, 8;
    suspend() = 116_663_000, 3_723, 8, 3;
    top_up() = 164_484_000, 3_815, 10, 4;
}
