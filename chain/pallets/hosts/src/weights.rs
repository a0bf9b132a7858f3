//! What each call of the hosts pallet costs. Written by scripts/weights from benchmarks: do not change by hand.

#[rustfmt::skip]
gantry_primitives::weights! {
    change_hardware() = 252_555_000, 3_051, 7, 4;
    drain() = 35_133_000, 2_556, 1, 1;
    heartbeat() = 38_027_000, 2_562, 2, 1;
    heartbeat_after_absence() = 116_433_000, 2_917, 5, 4;
    pay_by_bond() = 101_340_000, 2_612, 4, 3;
    register() = 193_197_000, 257, 7, 4;
    report_absent() = 155_571_000, 2_971, 6, 4;
    retire() = 125_826_000, 3_063, 6, 7;
    set_ask() = 42_363_000, 2_556, 1, 1;
    set_device_health() = 46_489_000, 2_562, 2, 2;
    set_endpoint() = 48_532_000, 2_562, 2, 2;
    set_network() = 40_811_000, 2_562, 2, 2;
    set_params() = 10_636_000, 0, 0, 1;
    suspend() = 33_820_000, 2_556, 1, 1;
    top_up_bond() = 101_340_000, 2_612, 2, 2;
    undrain() = 35_022_000, 2_556, 1, 1;
    unsuspend() = 35_874_000, 2_557, 1, 1;
    use_allowance() = 38_000_000, 2_562, 3, 2;
    verify_host() = 33_059_000, 2_556, 1, 1;
    withdraw_bond() = 110_454_000, 2_765, 4, 4;
}
