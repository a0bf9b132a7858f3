//! Free calls of hosts: an allowance of weight for each host and heartbeat period, by its bond, and a share of each
//! block for all hosts together.
//!
//! The runtime's transaction extension queries it before it skips the fee of a call that a pallet declares free. A host
//! without remaining allowance pays the ordinary fee out of its bond. So no report is refused while a bond covers it,
//! and no account fills blocks for less than others pay.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::pallet_prelude::*;
use frame_system::pallet_prelude::BlockNumberFor;
use gantry_primitives::{AccountId, Balance, HostId, HostRecord};
use scale_info::TypeInfo;

use crate::{Config, CurrentParams, Error, FreeWeightOfBlock, FreeWeightUsed, Hosts, Pallet, Params};

/// Picoseconds of `ref_time` in a microsecond.
const PS_PER_US: u128 = 1_000_000;

/// The free weight that a host has used.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking, TypeInfo, MaxEncodedLen,
)]
pub struct UsedWeight {
    /// The heartbeat period in which it was used, counted from the Unix epoch.
    pub period: u64,
    /// The `ref_time` in picoseconds.
    pub ref_time: u64,
}

/// The payment for a call that its pallet declares free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeCall {
    /// None: the call is within the allowance of the host, which will have used this weight; None if the caller is no
    /// host.
    Allowance(Option<UsedWeight>),
    /// This fee, out of the bond of the host.
    Bond(Balance),
}

impl<T: Config> Pallet<T> {
    /// Returns the payment for a free call of `who` with the weight `ref_time`. `fee` is the ordinary fee. None if
    /// neither the allowance nor the bond of the host covers the call.
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

    /// Applies a free call that [`Self::free_call`] allowed in this state: counts it against the allowance of its host
    /// and the `share` of the block, or takes its fee from the bond. Fails with `NoRoomForFreeCalls` if the share is
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

    /// Returns the `ref_time` in picoseconds that free calls within their allowances have used in this block.
    pub fn free_weight_of_block() -> u64 {
        free_weight_of::<T>(frame_system::Pallet::<T>::block_number())
    }

    /// Refunds the weight that a free call declared and did not use: to the block, and to the allowance of its host. A
    /// fee paid by the bond is not refunded, as for other calls that declare too much weight.
    pub fn refund_free_weight(who: &AccountId, ref_time: u64) {
        let number = frame_system::Pallet::<T>::block_number();
        FreeWeightOfBlock::<T>::mutate(|(block, used)| {
            if *block == number {
                *used = used.saturating_sub(ref_time);
            }
        });
        // The weight was counted in the period of this block.
        FreeWeightUsed::<T>::mutate_extant(who, |used| used.ref_time = used.ref_time.saturating_sub(ref_time));
    }

    /// Returns the free weight of a host in a heartbeat period, as `ref_time` in picoseconds: in proportion to its
    /// bond, but to at least a quarter of its required bond, so that a slashed host can still report.
    pub fn allowance(record: &HostRecord) -> u64 {
        allowance(record, &CurrentParams::<T>::get())
    }

    /// Returns the part of its allowance that a host has used in this period, as `ref_time` in picoseconds.
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
    // Without bonds, each host counts as one with one device.
    let bond = if record.bond_required == 0 { unit } else { record.bond.max(record.bond_required / 4) };
    let per_unit = u128::from(params.free_weight_us).saturating_mul(PS_PER_US);
    u64::try_from(bond.saturating_mul(per_unit) / unit).unwrap_or(u64::MAX)
}

/// A block, and the `ref_time` that free calls have used in it.
pub(crate) type FreeWeightInBlock<T> = (BlockNumberFor<T>, u64);
