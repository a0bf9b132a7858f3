//! Payments out of the coins held for retained data.

use gantry_primitives::{AccountId, Balance, Escrow, Fee};

use crate::{Config, Ledger, Payees};

impl<T: Config> Ledger<T> {
    /// Pays `due` out of the storage deposit of an escrow. Returns the provider's share and the fee, as they were paid.
    pub fn pay_storage(
        &mut self,
        tenant: &AccountId,
        payees: &Payees,
        escrow: &mut Escrow,
        due: Balance,
    ) -> (Balance, Fee) {
        let (share, fee) = self.pay_divided(tenant, payees, escrow, due);
        escrow.pay_storage(share, fee);
        (share, fee)
    }

    /// Releases the storage deposit of an escrow to the tenant. Returns the amount.
    pub fn release_storage(&mut self, tenant: &AccountId, escrow: &mut Escrow) -> Balance {
        let left = escrow.storage.take().map_or(0, |storage| storage.held);
        self.release(tenant, left);
        left
    }
}
