//! What each call of the hosts pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    change_hardware() = 226_887_000, 3_051, 7, 4;
    drain() = 31_206_000, 2_556, 1, 1;
    heartbeat() = 33_009_000, 2_562, 2, 1;
    heartbeat_after_absence() = 108_151_000, 2_917, 5, 4;
    register() = 166_197_000, 257, 7, 4;
    report_absent() = 148_521_000, 2_971, 6, 4;
    retire() = 116_681_000, 3_063, 6, 7;
    set_ask() = 37_105_000, 2_556, 1, 1;
    set_device_health() = 36_594_000, 2_562, 2, 2;
    set_endpoint() = 36_284_000, 2_562, 2, 2;
    set_network() = 36_594_000, 2_562, 2, 2;
    set_params() = 7_831_000, 0, 0, 1;
    suspend() = 31_867_000, 2_556, 1, 1;
    top_up_bond() = 90_415_000, 2_612, 2, 2;
    undrain() = 31_677_000, 2_556, 1, 1;
    unsuspend() = 31_347_000, 2_557, 1, 1;
    verify_host() = 30_986_000, 2_556, 1, 1;
    withdraw_bond() = 93_429_000, 2_765, 4, 4;
}
