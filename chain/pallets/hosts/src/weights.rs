//! What each call of the hosts pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    change_hardware() = 180_688_000, 2_856, 6, 4;
    drain() = 30_555_000, 2_478, 1, 1;
    heartbeat() = 35_022_000, 2_478, 2, 1;
    heartbeat_after_absence() = 83_123_000, 2_802, 5, 4;
    pay_by_bond() = 69_834_000, 2_636, 4, 3;
    register() = 152_225_000, 169, 5, 4;
    report_absent() = 101_661_000, 2_776, 5, 4;
    retire() = 89_092_000, 2_802, 5, 7;
    set_ask() = 38_477_000, 2_478, 1, 1;
    set_device_health() = 34_441_000, 2_478, 1, 2;
    set_endpoint() = 34_281_000, 2_478, 1, 2;
    set_network() = 33_720_000, 2_478, 1, 2;
    set_params() = 8_052_000, 0, 0, 0;
    suspend() = 32_448_000, 2_478, 1, 1;
    top_up_bond() = 65_317_000, 2_534, 2, 2;
    undrain() = 30_275_000, 2_478, 1, 1;
    unsuspend() = 31_947_000, 2_479, 1, 1;
    use_allowance() = 27_851_000, 2_478, 2, 1;
    verify_host() = 31_327_000, 2_478, 1, 1;
    withdraw_bond() = 86_839_000, 2_644, 3, 6;
}
