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

use crate::{Config, CurrentParams, Error, FreeWeightOfBlock, FreeWeightUsed, Hosts, Pallet, Params};

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
    /// Not at all: it is within the allowance of the host, which will then have used this much; None: the caller is no host.
    Allowance(Option<UsedWeight>),
    /// By the bond of the host, which pays this fee.
    Bond(Balance),
}

impl<T: Config> Pallet<T> {
    /// How a free call of `who` that weighs `ref_time` is paid for. `fee`: what anybody else would pay for it. None where
    /// neither the allowance nor the bond of the host covers it.
    pub fn free_call(who: &AccountId, ref_time: u64, fee: Balance) -> Option<FreeCall> {
        let Some(record) = Hosts::<T>::get(who) else { return Some(FreeCall::Allowance(None)) };
        let params = CurrentParams::<T>::get();
        let mut used = Self::used_in_period(who, &params);
        used.ref_time = used.ref_time.saturating_add(ref_time);
        if used.ref_time <= allowance(&record, &params) {
            return Some(FreeCall::Allowance(Some(used)));
        }
        (record.bond >= fee).then_some(FreeCall::Bond(fee))
    }

    /// Takes down a free call that [`Self::free_call`] allowed in this state: counts it against the allowance of its host and
    /// against the `share` of the block, or takes its fee from the bond. Fails with `NoRoomForFreeCalls` where the share is
    /// used up.
    pub fn use_free_call(who: &HostId, call: FreeCall, ref_time: u64, share: u64) -> DispatchResult {
        match call {
            FreeCall::Allowance(used_by_host) => {
                let number = frame_system::Pallet::<T>::block_number();
                let used = free_weight_of::<T>(number).saturating_add(ref_time);
                ensure!(used <= share, Error::<T>::NoRoomForFreeCalls);
                FreeWeightOfBlock::<T>::put((number, used));
                if let Some(used) = used_by_host {
                    FreeWeightUsed::<T>::insert(who, used);
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
        free_weight_of::<T>(frame_system::Pallet::<T>::block_number())
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
        // What was counted before the call is of the period of this block.
        FreeWeightUsed::<T>::mutate_extant(who, |used| used.ref_time = used.ref_time.saturating_sub(ref_time));
    }

    /// The weight that a host may use free of charge in a heartbeat period, as `ref_time` in picoseconds: by its bond, but
    /// by at least a quarter of the bond that it must have, so that a host that was slashed can still report.
    pub fn allowance(record: &HostRecord) -> u64 {
        allowance(record, &CurrentParams::<T>::get())
    }

    /// What a host has used of its allowance in this period, as `ref_time` in picoseconds.
    pub fn used_weight(host: &HostId) -> u64 {
        Self::used_in_period(host, &CurrentParams::<T>::get()).ref_time
    }

    fn used_in_period(host: &HostId, params: &Params) -> UsedWeight {
        let period = Self::now().checked_div(params.heartbeat_period_ms).unwrap_or(0);
        let used = FreeWeightUsed::<T>::get(host);
        if used.period == period {
            used
        } else {
            UsedWeight { period, ref_time: 0 }
        }
    }
}

fn free_weight_of<T: Config>(number: BlockNumberFor<T>) -> u64 {
    let (block, used) = FreeWeightOfBlock::<T>::get();
    if block == number {
        used
    } else {
        0
    }
}

fn allowance(record: &HostRecord, params: &Params) -> u64 {
    let unit = params.bond_consumer.max(1);
    // On a network without bonds each host counts as one with one device.
    let bond = if record.bond_required == 0 { unit } else { record.bond.max(record.bond_required / 4) };
    let per_unit = u128::from(params.free_weight_us).saturating_mul(PS_PER_US);
    u64::try_from(bond.saturating_mul(per_unit) / unit).unwrap_or(u64::MAX)
}

/// The block of which the free weight is counted, and how much its free calls have used.
pub(crate) type OfBlock<T> = (BlockNumberFor<T>, u64);
