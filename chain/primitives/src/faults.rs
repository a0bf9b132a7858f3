//! The slash table of faults, and their gravity for the provider.
//!
//! | fault | at once | for each hour | at most | held against the provider |
//! |---|---|---|---|---|
//! | `Absent` | 0 | 0.01 % | 5 % | 0.1 |
//! | `StartTimeout` | 0.1 % | 0.1 % | 0.5 % | 0.1 |
//! | `LostPod` | 0.2 % | 0.05 % | 2 % | 0.25 |
//! | `DataLost` | 5 % | 0.01 % | 15 % | 1 |
//! | `FailedChallenge` | 10 % | | 10 % | 1 |
//! | `WrongResult` | 30 % | | 30 % | 2 |
//! | `VerifierAbsent` | 1 % | | 1 % | 0.1 |
//! | `BadBatchItem` | 0.01 % | | 0.01 % | 0.02 |
//!
//! Per cent are of the required bond. The meaning of the duration is documented at each fault.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

use crate::rate::MS_PER_HOUR;

/// A fault for which a bond is slashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen)]
pub enum Fault {
    /// A host was absent without notice. Duration: of the absence.
    Absent,
    /// A host did not start a pod in time. Duration: how long the tenant waited.
    StartTimeout,
    /// A host lost a pod that had started. Duration: how long the pod had run.
    LostPod,
    /// A host could not prove that its hardware is real.
    FailedChallenge,
    /// A host reported a result that was found to be wrong.
    WrongResult,
    /// A host lost data that it had to retain. Duration: the remaining period of retention.
    DataLost,
    /// A verifier that was drawn did not vote.
    VerifierAbsent,
    /// An item of a batch was refused that its sender could have known to be wrong.
    BadBatchItem,
}

/// One line of the table, in parts per million of the bond.
struct Slash {
    /// For the fault, independent of its duration.
    at_once: u32,
    /// For each hour of its duration, pro rata; 0 for a fault without duration.
    per_hour: u32,
    /// The maximum.
    at_most: u32,
}

const fn slash(fault: Fault) -> Slash {
    let (at_once, per_hour, at_most) = match fault {
        Fault::Absent => (0, 100, 50_000),
        Fault::StartTimeout => (1_000, 1_000, 5_000),
        Fault::LostPod => (2_000, 500, 20_000),
        Fault::DataLost => (50_000, 100, 150_000),
        Fault::FailedChallenge => (100_000, 0, 100_000),
        Fault::WrongResult => (300_000, 0, 300_000),
        Fault::VerifierAbsent => (10_000, 0, 10_000),
        Fault::BadBatchItem => (100, 0, 100),
    };
    Slash { at_once, per_hour, at_most }
}

/// Returns the slash for a fault of `duration_ms`, in parts per million of the required bond; rounded down.
///
/// It never falls with the duration. A fault with a duration costs nothing if the duration is 0; for the others the
/// duration has no meaning.
pub fn slash_ppm(fault: Fault, duration_ms: u64) -> u32 {
    let Slash { at_once, per_hour, at_most } = slash(fault);
    if per_hour > 0 && duration_ms == 0 {
        return 0;
    }
    let by_time = u128::from(per_hour) * u128::from(duration_ms) / u128::from(MS_PER_HOUR);
    // At most `at_most`, which is a u32.
    (u128::from(at_once) + by_time).min(u128::from(at_most)) as u32
}

/// Returns the gravity of a fault for the provider, in parts per million of a grave fault.
pub const fn gravity_ppm(fault: Fault) -> u32 {
    match fault {
        Fault::Absent | Fault::StartTimeout | Fault::VerifierAbsent => 100_000,
        Fault::LostPod => 250_000,
        Fault::DataLost | Fault::FailedChallenge => 1_000_000,
        Fault::WrongResult => 2_000_000,
        Fault::BadBatchItem => 20_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Fault; 8] = [
        Fault::Absent,
        Fault::StartTimeout,
        Fault::LostPod,
        Fault::FailedChallenge,
        Fault::WrongResult,
        Fault::DataLost,
        Fault::VerifierAbsent,
        Fault::BadBatchItem,
    ];

    /// From no time to for ever, each about a third more than the one before.
    fn durations() -> impl Iterator<Item = u64> {
        core::iter::successors(Some(0u64), |ms| ms.checked_add(ms / 3 + 1)).chain([u64::MAX])
    }

    #[test]
    fn what_lasts_longer_never_costs_less() {
        for fault in ALL {
            let costs: Vec<u32> = durations().map(|ms| slash_ppm(fault, ms)).collect();
            assert!(costs.is_sorted(), "{fault:?}");
        }
    }

    #[test]
    fn nothing_costs_more_than_its_line_says_or_than_all() {
        for fault in ALL {
            let Slash { at_once, at_most, .. } = slash(fault);
            assert!(at_once <= at_most && at_most <= 1_000_000, "{fault:?}");
            assert_eq!(slash_ppm(fault, u64::MAX), at_most, "{fault:?}");
        }
    }

    #[test]
    fn what_lasted_no_time_costs_nothing_where_time_is_what_it_is_about() {
        for fault in ALL {
            let timeless = slash(fault).per_hour == 0;
            assert_eq!(slash_ppm(fault, 0) > 0, timeless, "{fault:?}");
            if timeless {
                assert_eq!(slash_ppm(fault, 0), slash_ppm(fault, u64::MAX), "{fault:?}");
            }
        }
    }

    #[test]
    fn a_day_away_costs_a_quarter_of_a_per_cent_and_a_lost_pod_more_the_longer_it_ran() {
        assert_eq!(slash_ppm(Fault::Absent, 24 * MS_PER_HOUR), 2_400);
        assert_eq!(slash_ppm(Fault::LostPod, 1), 2_000);
        assert_eq!(slash_ppm(Fault::LostPod, 3 * MS_PER_HOUR / 2), 2_750);
    }
}
