//! Times in which the chain made no blocks do not count against hosts.

use frame_support::{assert_noop, assert_ok};
use gantry_primitives::{faults::slash_ppm, Fault, Halt, HostStatus};

use crate::{mock::*, CountedHalts, Error};

const HOUR: u64 = 3_600_000;

#[test]
fn nobody_is_absent_because_the_chain_stood_still() {
    on_chain(|| {
        online();
        advance(HEARTBEAT_PERIOD);
        halt(10 * HOUR);
        assert!(!Hosts::is_silent(&record()) && !Hosts::is_overdue(&record()) && !Hosts::is_lost(&record()));
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::NotAbsent);
        assert_eq!(Hosts::downtime_ms(&record()), 0);
        let bond = record().bond;
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!((status(), record().downtime_ms, record().bond), (HostStatus::Online, 0, bond));
    });
}

#[test]
fn after_a_halt_a_host_has_the_rest_of_its_time() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT - 10);
        halt(HOUR);
        advance(10);
        assert_noop!(Hosts::report_absent(signed(ANYONE), host(HOST)), Error::<Test>::NotAbsent);
        advance(1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
    });
}

#[test]
fn of_an_absence_the_halts_within_it_are_not_paid_for() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
        advance(10 * HOUR);
        let before = Hosts::downtime_ms(&record());
        halt(100 * HOUR);
        assert_eq!(Hosts::downtime_ms(&record()), before, "it stands still meanwhile");
        advance(HOUR);
        halt(HOUR);
        let away_ms = ABSENCE_LIMIT + 1 + 11 * HOUR;
        let bond = record().bond;
        assert_ok!(Hosts::heartbeat(by_host(HOST)));
        assert_eq!(record().downtime_ms, away_ms);
        let slashed = 2 * BOND_PER_DEVICE * u128::from(slash_ppm(Fault::Absent, away_ms)) / 1_000_000;
        assert_eq!(record().bond, bond - slashed);
    });
}

#[test]
fn a_block_that_is_a_little_late_is_no_halt() {
    on_chain(|| {
        online();
        for _ in 0..ABSENCE_LIMIT / HALT_AFTER {
            halt(HALT_AFTER);
        }
        assert_eq!(CountedHalts::<Test>::get().0.len(), 0);
        halt(1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
    });
}

#[test]
fn the_downtime_of_a_host_does_not_fall_while_the_block_after_a_halt_begins() {
    on_chain(|| {
        online();
        advance(ABSENCE_LIMIT + 1);
        assert_ok!(Hosts::report_absent(signed(ANYONE), host(HOST)));
        let before = Hosts::downtime_ms(&record());
        SlotTime::set(Hosts::now() + HOUR);
        Hosts::note_halt();
        assert_eq!(CountedHalts::<Test>::get().0.to_vec(), [Halt { end: Hosts::now() + HOUR, ms: HOUR }]);
        // Hooks that follow still see the clock of the block before.
        assert_eq!(Hosts::downtime_ms(&record()), before);
    });
}

#[test]
fn the_first_block_of_a_chain_ends_no_halt() {
    sp_io::TestExternalities::default().execute_with(|| {
        SlotTime::set(START);
        Hosts::note_halt();
        assert_eq!(CountedHalts::<Test>::get().0.len(), 0);
    });
}
