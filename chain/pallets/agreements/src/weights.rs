//! What each call of the agreements pallet costs. Written by scripts/weights from benchmarks: do not change by hand.
// Provisional until scripts/weights has run: bounds of calls that read and write as much.

#[rustfmt::skip]
gantry_primitives::weights! {
    accept() = 400_000_000, 24_000, 12, 9;
    answer_ticket() = 250_000_000, 12_000, 6, 3;
    attest() = 400_000_000, 40_000, 26, 8;
    begin() = 1_200_000_000, 60_000, 40, 24;
    bond_auditor() = 150_000_000, 8_000, 4, 3;
    close_ticket() = 250_000_000, 12_000, 6, 3;
    conclude() = 500_000_000, 30_000, 12, 9;
    contest() = 250_000_000, 12_000, 6, 5;
    counter() = 400_000_000, 36_000, 18, 8;
    decide_contest() = 500_000_000, 24_000, 14, 12;
    decline() = 300_000_000, 14_000, 8, 7;
    agenda_base() = 20_000_000, 4_000, 3, 0;
    due_entry() = 600_000_000, 36_000, 18, 14;
    open_ticket() = 350_000_000, 30_000, 14, 7;
    propose() = 400_000_000, 36_000, 18, 8;
    report_unavailable() = 150_000_000, 12_000, 4, 2;
    revoke() = 300_000_000, 16_000, 8, 7;
    set_params() = 20_000_000, 0, 0, 1;
    unbond_auditor() = 100_000_000, 4_000, 3, 1;
    withdraw_auditor_bond() = 150_000_000, 8_000, 4, 3;
}
