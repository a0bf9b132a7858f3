//! What each call of the verification pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    add_evidence() = 37_425_000, 7_716, 2, 1;
    advance() = 1_571_331_000, 59_270, 80, 61;
    answer() = 67_571_000, 1_130, 4, 3;
    appeal() = 105_046_000, 8_380, 6, 5;
    bond_verifier() = 146_557_000, 21_439, 6, 4;
    commit_result() = 157_484_000, 8_627, 14, 7;
    commit_vote() = 72_768_000, 1_362, 4, 3;
    draw_seed() = 486_522_000, 22_968, 21, 10;
    hook() = 606_470_000, 11_844, 31, 28;
    open_challenge() = 170_764_000, 4_591, 10, 7;
    open_dispute() = 332_864_000, 34_800, 28, 8;
    reveal_result() = 193_788_000, 8_494, 14, 7;
    reveal_vote() = 1_536_810_000, 59_126, 79, 60;
    set_params() = 7_411_000, 0, 0, 1;
    unbond_verifier() = 111_986_000, 19_639, 4, 2;
    withdraw_verifier_bond() = 121_129_000, 2_476, 4, 3;
}
