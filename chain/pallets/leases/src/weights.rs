//! What each call of the leases pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    agenda_base() = 6_961_000, 175, 3, 0;
    close_depleted() = 265_243_000, 4_462, 18, 13;
    crank(e) = 4_764_295_000 + 1_744_175_000 * e, 882 + 37_418 * e, 11 + 26 * e, 6 + 8 * e;
    due_entry() = 828_547_000, 40_376, 36, 13;
    extend() = 167_819_000, 3_815, 10, 4;
    finish_reclaim() = 1_292_498_000, 39_638, 32, 11;
    keep() = 269_610_000, 4_232, 12, 5;
    reclaim() = 98_156_000, 3_696, 8, 1;
    release_data() = 103_704_000, 3_717, 9, 3;
    resume() = 118_907_000, 3_739, 8, 3;
    set_params() = 6_359_000, 0, 0, 1;
    settle() = 188_070_000, 4_092, 12, 6;
    suspend() = 116_663_000, 3_723, 8, 3;
    top_up() = 164_484_000, 3_815, 10, 4;
}
