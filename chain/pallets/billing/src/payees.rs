//! The accounts that are paid out of an escrow, besides the treasury.

use gantry_primitives::{AccountId, Lease};

use crate::{Config, Pallet};

/// An account whose call settles or ends leases, and its share of their fees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settler {
    who: AccountId,
    share_ppm: u32,
}

impl<T: Config> Pallet<T> {
    /// Returns the settler for the leases that a call of `who` settles or ends.
    pub fn settler(who: AccountId) -> Settler {
        Settler { who, share_ppm: Self::params().settler_share_ppm }
    }
}

/// The accounts that are paid out of the escrow of one lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payees {
    pub(crate) provider: AccountId,
    pub(crate) scheduler: Option<AccountId>,
    pub(crate) settler: Option<Settler>,
}

impl Payees {
    /// Returns the payees of a lease. Its tenant, provider and host have no share of its fee: else each of them would
    /// get a part of the fee back by settling its own leases.
    pub fn for_lease(lease: &Lease, tenant: &AccountId, provider: &AccountId, settler: Option<&Settler>) -> Self {
        let is_party = |who: &AccountId| who == tenant || who == provider || *who == lease.host;
        Self {
            provider: provider.clone(),
            scheduler: lease.assigned_by.clone().filter(|who| !is_party(who)),
            settler: settler.cloned().filter(|settler| !is_party(&settler.who)),
        }
    }

    /// Returns the settler's share in parts per million of the fee.
    pub fn settler_ppm(&self) -> u32 {
        self.settler.as_ref().map_or(0, |settler| settler.share_ppm)
    }

    pub(crate) fn settler_account(&self) -> Option<&AccountId> {
        self.settler.as_ref().map(|settler| &settler.who)
    }
}
