//! Bonds of hosts, and slashes.

use alloc::vec::Vec;
use frame_support::{
    pallet_prelude::*,
    traits::{
        fungible::{Inspect, InspectHold, MutateHold},
        tokens::{DepositConsequence, Fortitude, Precision, Provenance, Restriction},
    },
};
use gantry_primitives::{
    faults::{slash_ppm, Fault},
    rate::PPM,
    AccountId, Balance, HardwareSpec, HostId, HostRecord, HostStatus, Moment, SuspendReason,
};
use pallet_gantry_reputation as reputation;
use sp_runtime::traits::Zero;

use crate::{Config, CurrentParams, Error, Event, HoldReason, Pallet};

impl<T: Config> Pallet<T> {
    /// Slashes the bond of `host` for `fault`, which lasted `duration_ms`, in favour of the treasury, and records the
    /// fault of the provider. A host with less than half of its required bond is suspended.
    ///
    /// Returns the slashed amount: less than that of the slash table if the bond is too small, and 0 if the treasury
    /// cannot be credited. The caller stores the record.
    pub fn slash_for_fault(
        host: &HostId,
        record: &mut HostRecord,
        fault: Fault,
        duration_ms: u64,
        now: Moment,
    ) -> Balance {
        // Neither product overflows: bonds are far below the greatest amount, see `Params::check`.
        let slashed = record.bond_required.saturating_mul(Balance::from(slash_ppm(fault, duration_ms))) / PPM;
        let share_ppm = Self::share_ppm(record);
        reputation::Pallet::<T>::observe_fault(&record.provider, fault, share_ppm, now);
        let taken = Self::charge_bond(host, record, slashed, &T::Treasury::get());
        Self::deposit_event(Event::Slashed { host: host.clone(), fault, amount: taken });
        taken
    }

    /// Slashes up to `amount` of the bond of `host` for a wrong or missing result. The `rewards` are paid in their
    /// order, as far as the amount suffices; the rest goes to the treasury. The fault of the provider is recorded in
    /// proportion to the amount of the slash table. Returns the amount paid for each reward. The caller stores the
    /// record.
    pub fn slash_for_result(
        host: &HostId,
        record: &mut HostRecord,
        amount: Balance,
        rewards: &[(AccountId, Balance)],
        now: Moment,
    ) -> Vec<Balance> {
        let fault = Fault::WrongResult;
        let whole = record.bond_required.saturating_mul(Balance::from(slash_ppm(fault, 0))) / PPM;
        let slashed = amount.min(record.bond);
        let share = Balance::from(Self::share_ppm(record)).saturating_mul(slashed.min(whole));
        // At most the share itself, as the dividend is at most `whole` times it.
        let share_ppm = share.checked_div(whole).unwrap_or(0) as u32;
        reputation::Pallet::<T>::observe_fault(&record.provider, fault, share_ppm, now);
        let mut left = slashed;
        let mut paid = Vec::with_capacity(rewards.len());
        for (to, reward) in rewards {
            let moved = Self::charge_bond(host, record, left.min(*reward), to);
            left = left.saturating_sub(moved);
            paid.push(moved);
        }
        let taken = slashed.saturating_sub(left);
        let amount = taken.saturating_add(Self::charge_bond(host, record, left, &T::Treasury::get()));
        Self::deposit_event(Event::Slashed { host: host.clone(), fault, amount });
        paid
    }

    /// Moves up to `amount` of the bond of `host` to the free balance of `to`. Returns the moved amount: at most the
    /// bond, and 0 if `to` cannot be credited. A host with less than half of its required bond is suspended. The caller
    /// stores the record.
    pub fn charge_bond(host: &HostId, record: &mut HostRecord, amount: Balance, to: &AccountId) -> Balance {
        let amount = amount.min(record.bond);
        if amount.is_zero() || T::Currency::can_deposit(to, amount, Provenance::Extant) != DepositConsequence::Success {
            return 0;
        }
        let moved = T::Currency::transfer_on_hold(
            &HoldReason::Bond.into(),
            &record.provider,
            to,
            amount,
            Precision::BestEffort,
            Restriction::Free,
            Fortitude::Force,
        )
        // A receiver that cannot be credited gets nothing, and the bond stays unchanged.
        .unwrap_or(0);
        // Not more than `amount`, and so not more than the bond.
        record.bond -= moved;
        Self::suspend_below_half(host, record);
        moved
    }

    /// Returns the amount on hold of a provider for the bonds of its hosts.
    pub(crate) fn bond_held(provider: &AccountId) -> Balance {
        T::Currency::balance_on_hold(&HoldReason::Bond.into(), provider)
    }

    /// Returns the required bond of a host with this hardware: by its tier and its devices, and higher for a provider
    /// whose hosts had faults recently. Fails with `Overflow`.
    pub(crate) fn bond_for(provider: &AccountId, hardware: &HardwareSpec) -> Result<Balance, DispatchError> {
        let counted = hardware.devices.len().max(1) as Balance;
        let plain = CurrentParams::<T>::get().bond_of(hardware.tier).checked_mul(counted);
        let factor = reputation::Pallet::<T>::bond_factor_ppm(provider, Self::now());
        let product = plain.and_then(|plain| plain.checked_mul(Balance::from(factor))).ok_or(Error::<T>::Overflow)?;
        Ok(product / PPM)
    }

    /// Holds `amount` more for a host. The caller stores the record. Fails with `ProviderCannotPay` or `Overflow`.
    pub(crate) fn add_to_bond(record: &mut HostRecord, amount: Balance) -> DispatchResult {
        if amount.is_zero() {
            return Ok(());
        }
        let bond = record.bond.checked_add(amount).ok_or(Error::<T>::Overflow)?;
        T::Currency::hold(&HoldReason::Bond.into(), &record.provider, amount)
            .map_err(|_| Error::<T>::ProviderCannotPay)?;
        record.bond = bond;
        Ok(())
    }

    /// Releases the whole bond of a host to its provider. The caller stores the record.
    pub(crate) fn release_bond(record: &mut HostRecord) -> DispatchResult {
        if !record.bond.is_zero() {
            T::Currency::release(&HoldReason::Bond.into(), &record.provider, record.bond, Precision::Exact)?;
        }
        record.bond = 0;
        Ok(())
    }

    /// Whether a host has at least half of its required bond; else it takes no leases.
    pub(crate) fn is_bonded(record: &HostRecord) -> bool {
        record.bond >= record.bond_required.div_ceil(2)
    }

    fn suspend_below_half(host: &HostId, record: &mut HostRecord) {
        if !Self::is_bonded(record) {
            // Fails only for a host that takes no leases anyway, or that is suspended and keeps its reason.
            let _ = Self::change_status(host, record, HostStatus::Suspended(SuspendReason::Slashed));
        }
    }

    /// Returns the required bond of a host in parts per million of its provider's bonds.
    fn share_ppm(record: &HostRecord) -> u32 {
        let all = Self::bond_held(&record.provider).max(record.bond_required);
        // No overflow, as above; and at most PPM, as bond_required <= all.
        record.bond_required.saturating_mul(PPM).checked_div(all).unwrap_or(PPM).min(PPM) as u32
    }
}
