//! What each call of the verification pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    add_evidence() = 40_310_000, 7_716, 2, 1;
    advance() = 1_752_480_000, 60_706, 96, 77;
    answer() = 79_568_000, 1_130, 4, 3;
    appeal() = 112_196_000, 8_380, 6, 5;
    bond_verifier() = 144_995_000, 21_439, 6, 4;
    commit_result() = 165_005_000, 8_627, 14, 7;
    commit_vote() = 81_341_000, 1_362, 4, 3;
    draw_seed() = 504_288_000, 22_968, 21, 10;
    end_service() = 2_000_000_000, 70_000, 120, 100;
    hook() = 635_863_000, 11_844, 32, 28;
    open_challenge() = 187_268_000, 4_591, 10, 7;
    open_dispute() = 353_614_000, 34_800, 28, 8;
    open_service_check() = 500_000_000, 24_000, 30, 16;
    reveal_result() = 500_000_000, 24_000, 30, 16;
    reveal_vote() = 1_742_686_000, 60_562, 95, 76;
    set_params() = 7_781_000, 0, 0, 1;
    stale_entry() = 45_000_000, 8_380, 4, 2;
    tag_result() = 199_236_000, 8_494, 14, 7;
    unbond_verifier() = 110_874_000, 19_639, 4, 2;
    withdraw_verifier_bond() = 116_352_000, 2_476, 4, 3;
}
