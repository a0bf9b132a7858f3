//! What each call of the leases pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    agenda_base() = 8_412_000, 0, 2, 0;
    close_depleted() = 240_486_000, 4_264, 14, 13;
    crank(e) = 502_175_000 + 563_937_000 * e, 48_584 + 46_728 * e, 7 + 26 * e, 5 + 9 * e;
    due_entry() = 551_588_000, 49_123, 33, 12;
    extend() = 134_419_000, 3_856, 6, 3;
    finish_reclaim() = 471_810_000, 48_582, 30, 11;
    keep() = 309_610_000, 4_232, 13, 6;
    reclaim() = 97_965_000, 3_570, 5, 3;
    release_data() = 160_508_000, 3_756, 9, 6;
    resume() = 118_416_000, 3_120, 5, 3;
    set_params() = 6_089_000, 0, 0, 0;
    settle() = 142_341_000, 4_288, 10, 6;
    suspend() = 114_650_000, 3_616, 5, 3;
    top_up() = 134_549_000, 3_856, 6, 3;
}
