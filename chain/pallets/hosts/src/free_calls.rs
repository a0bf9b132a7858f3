//! What hosts may do free of charge: an allowance of weight for each heartbeat period, by the bond, and a share of each
//! block for all hosts together.
//!
//! The runtime's transaction extension asks before it skips the fee of a call that a pallet declares free. A host that
//! has used up its allowance pays the ordinary fee out of its bond, so that a report is never refused while a bond covers
//! it, and nobody fills blocks for less than others pay.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::pallet_prelude::*;
use frame_system::pallet_prelude::BlockNumberFor;
use gantry_primitives::{AccountId, Balance, HostId, HostRecord};
use scale_info::TypeInfo;

use crate::{Config, CurrentParams, Error, FreeWeightOfBlock, FreeWeightUsed, Hosts, Pallet};

/// Picoseconds of `ref_time` in a microsecond.
const PS_PER_US: u128 = 1_000_000;

/// Weight that a host has used free of charge.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct UsedWeight {
    /// The heartbeat period in which it was used, counted from the Unix epoch.
    pub period: u64,
    /// How much, as `ref_time` in picoseconds.
    pub ref_time: u64,
}

/// How a call that its pallet declares free is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeCall {
    /// Not at all: it is within the allowance of the host, or the caller is no host.
    Allowance,
    /// By the bond of the host, which pays this fee.
    Bond(Balance),
}

impl<T: Config> Pallet<T> {
    /// How a free call of `who` that weighs `ref_time` is paid for. `fee`: what anybody else would pay for it. None where
    /// neither the allowance nor the bond of the host covers it.
    pub fn free_call(who: &AccountId, ref_time: u64, fee: Balance) -> Option<FreeCall> {
        let Some(record) = Hosts::<T>::get(who) else { return Some(FreeCall::Allowance) };
        if Self::used_weight(who).saturating_add(ref_time) <= Self::allowance(&record) {
            return Some(FreeCall::Allowance);
        }
        (record.bond >= fee).then_some(FreeCall::Bond(fee))
    }

    /// Takes down a free call: counts it against the allowance of its host and against the `share` of the block, or takes
    /// its fee from the bond. Fails with `NoRoomForFreeCalls` where the share is used up.
    pub fn use_free_call(who: &HostId, call: FreeCall, ref_time: u64, share: u64) -> DispatchResult {
        match call {
            FreeCall::Allowance => {
                let used = Self::free_weight_of_block().saturating_add(ref_time);
                ensure!(used <= share, Error::<T>::NoRoomForFreeCalls);
                FreeWeightOfBlock::<T>::put((frame_system::Pallet::<T>::block_number(), used));
                if Hosts::<T>::contains_key(who) {
                    let ref_time = Self::used_weight(who).saturating_add(ref_time);
                    FreeWeightUsed::<T>::insert(who, UsedWeight { period: Self::free_period(), ref_time });
                }
            }
            FreeCall::Bond(fee) => {
                let mut record = Self::host(who)?;
                Self::charge_bond(who, &mut record, fee, &T::Treasury::get());
                Self::store(who, &record);
            }
        }
        Ok(())
    }

    /// What free calls within their allowances have used of this block, as `ref_time` in picoseconds.
    pub fn free_weight_of_block() -> u64 {
        let (block, used) = FreeWeightOfBlock::<T>::get();
        if block == frame_system::Pallet::<T>::block_number() {
            used
        } else {
            0
        }
    }

    /// Gives back the part of a free call's weight that the call declared and did not use: to the block, and to the
    /// allowance of its host. What the bond has paid stays paid, as with fees of calls that declare too much.
    pub fn give_back(who: &AccountId, ref_time: u64) {
        let number = frame_system::Pallet::<T>::block_number();
        FreeWeightOfBlock::<T>::mutate(|(block, used)| {
            if *block == number {
                *used = used.saturating_sub(ref_time);
            }
        });
        if FreeWeightUsed::<T>::contains_key(who) {
            let ref_time = Self::used_weight(who).saturating_sub(ref_time);
            FreeWeightUsed::<T>::insert(who, UsedWeight { period: Self::free_period(), ref_time });
        }
    }

    /// The weight that a host may use free of charge in a heartbeat period, as `ref_time` in picoseconds: by its bond, but
    /// by at least a quarter of the bond that it must have, so that a host that was slashed can still report.
    pub fn allowance(record: &HostRecord) -> u64 {
        let params = CurrentParams::<T>::get();
        let unit = params.bond_consumer.max(1);
        // On a network without bonds each host counts as one with one device.
        let bond = if record.bond_required == 0 { unit } else { record.bond.max(record.bond_required / 4) };
        let per_unit = u128::from(params.free_weight_us).saturating_mul(PS_PER_US);
        u64::try_from(bond.saturating_mul(per_unit) / unit).unwrap_or(u64::MAX)
    }

    /// What a host has used of its allowance in this period, as `ref_time` in picoseconds.
    pub fn used_weight(host: &HostId) -> u64 {
        let used = FreeWeightUsed::<T>::get(host);
        if used.period == Self::free_period() {
            used.ref_time
        } else {
            0
        }
    }

    fn free_period() -> u64 {
        Self::now().checked_div(CurrentParams::<T>::get().heartbeat_period_ms).unwrap_or(0)
    }
}

/// The block of which the free weight is counted, and how much its free calls have used.
pub(crate) type OfBlock<T> = (BlockNumberFor<T>, u64);
