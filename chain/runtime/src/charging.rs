//! The transaction extensions that charge fees, set priorities and admit the free calls of hosts.

use crate::{Hosts, Nonce, Runtime, RuntimeCall, RuntimeOrigin};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode};
use frame_support::{dispatch::CheckIfFeeless, ensure};
use frame_system::CheckNonce;
use gantry_primitives::AccountId;
use gantry_runtime_api::FREE_PRIORITY;
use pallet_gantry_hosts::{FreeCall, WeightInfo};
use pallet_skip_feeless_payment::{Intermediate, SkipCheckIfFeeless};
use pallet_transaction_payment::ChargeTransactionPayment;
use scale_info::{StaticTypeInfo, TypeInfo};
use sp_runtime::{
    traits::{
        AsSystemOriginSigner, DispatchInfoOf, Implication, PostDispatchInfoOf, TransactionExtension,
        TransactionExtensionMetadata, ValidateResult,
    },
    transaction_validity::{InvalidTransaction, TransactionLongevity, TransactionSource, TransactionValidityError},
    DispatchResult, Perbill, Weight,
};

/// The number of blocks after which a free call leaves the pool.
pub const FREE_LONGEVITY: TransactionLongevity = 32;
/// The part of a block's weight that free calls may use together. Those beyond it wait for the next block.
pub const FREE_SHARE: Perbill = Perbill::from_percent(40);

type Charge = ChargeTransactionPayment<Runtime>;
type Inner = SkipCheckIfFeeless<Runtime, Charge>;
type Nonces = CheckNonce<Runtime>;
type HostsWeight = <Runtime as pallet_gantry_hosts::Config>::WeightInfo;

/// Takes the fee of a transaction, unless its call is free (see `pallet_gantry_hosts::free_call`). From the outside it is
/// the SDK's `ChargeTransactionPayment`: wallets need to know nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking)]
pub struct ChargeOrFree(Inner);

impl From<Charge> for ChargeOrFree {
    fn from(charge: Charge) -> Self {
        Self(charge.into())
    }
}

impl TypeInfo for ChargeOrFree {
    type Identity = <Charge as TypeInfo>::Identity;

    fn type_info() -> scale_info::Type {
        type_of::<Charge>()
    }
}

fn type_of<T: StaticTypeInfo>() -> scale_info::Type {
    T::type_info()
}

/// The state of the extension between `prepare` and `post_dispatch`.
pub struct Prepared {
    inner: <Inner as TransactionExtension<RuntimeCall>>::Pre,
    /// Weight that this extension declares and does not use.
    unused: Weight,
    /// The host of a free call within its allowance.
    host: Option<AccountId>,
}

/// Whether calls of this kind are free under some condition. A call that its pallet declares free, and that is not listed
/// here, would be refused: FREE-3 of docs/invariants.md.
pub fn may_be_free(call: &RuntimeCall) -> bool {
    use pallet_gantry_hosts::Call as H;
    use pallet_gantry_tasks::Call as T;
    use pallet_gantry_verification::Call as V;
    match call {
        RuntimeCall::Hosts(call) => matches!(
            call,
            H::heartbeat { .. }
                | H::heartbeat_batch { .. }
                | H::set_endpoint { .. }
                | H::set_device_health { .. }
                | H::set_network { .. }
        ),
        RuntimeCall::Tasks(call) => matches!(
            call,
            T::report_started { .. }
                | T::report_result { .. }
                | T::report_failed { .. }
                | T::report_batch { .. }
                | T::report { .. }
        ),
        RuntimeCall::Verification(call) => {
            matches!(call, V::answer { .. } | V::commit_result { .. } | V::tag_result { .. } | V::reveal_result { .. })
        }
        _ => false,
    }
}

/// The `ref_time` that free calls may use in a block.
fn free_share() -> u64 {
    let limits = crate::configs::system::RuntimeBlockWeights::get();
    FREE_SHARE * limits.max_block.ref_time()
}

impl TransactionExtension<RuntimeCall> for ChargeOrFree {
    const IDENTIFIER: &'static str = <Inner as TransactionExtension<RuntimeCall>>::IDENTIFIER;
    type Implicit = <Inner as TransactionExtension<RuntimeCall>>::Implicit;
    /// If the second part is set, the call is free.
    type Val = (<Inner as TransactionExtension<RuntimeCall>>::Val, Option<FreeCall>);
    type Pre = Prepared;

    fn metadata() -> Vec<TransactionExtensionMetadata> {
        <Inner as TransactionExtension<RuntimeCall>>::metadata()
    }

    fn implicit(&self) -> Result<Self::Implicit, TransactionValidityError> {
        TransactionExtension::<RuntimeCall>::implicit(&self.0)
    }

    fn weight(&self, call: &RuntimeCall) -> Weight {
        let charge = self.0.weight(call);
        if may_be_free(call) {
            charge.max(HostsWeight::pay_by_bond())
        } else {
            charge
        }
    }

    fn validate(
        &self,
        origin: RuntimeOrigin,
        call: &RuntimeCall,
        info: &DispatchInfoOf<RuntimeCall>,
        len: usize,
        implicit: Self::Implicit,
        implication: &impl Implication,
        source: TransactionSource,
    ) -> ValidateResult<Self::Val, RuntimeCall> {
        let (mut validity, val, origin) = self.0.validate(origin, call, info, len, implicit, implication, source)?;
        if matches!(val, Intermediate::Apply(_)) {
            return Ok((validity, (val, None), origin));
        }
        // The weight of others does not contain what a free call costs.
        ensure!(may_be_free(call), InvalidTransaction::Payment);
        let fee = crate::TransactionPayment::compute_fee(len as u32, info, 0);
        let who = origin.as_system_origin_signer().ok_or(InvalidTransaction::BadSigner)?;
        let free = Hosts::free_call(who, info.total_weight().ref_time(), fee).ok_or(InvalidTransaction::Payment)?;
        validity.priority = match free {
            FreeCall::Allowance(_) => FREE_PRIORITY,
            // As any other transaction without a tip.
            FreeCall::Bond(fee) => Charge::get_priority(info, len, 0, fee),
        };
        validity.longevity = FREE_LONGEVITY;
        Ok((validity, (val, Some(free)), origin))
    }

    fn prepare(
        self,
        (val, free): Self::Val,
        origin: &RuntimeOrigin,
        call: &RuntimeCall,
        info: &DispatchInfoOf<RuntimeCall>,
        len: usize,
    ) -> Result<Self::Pre, TransactionValidityError> {
        let used = match free {
            None => self.0.weight(call),
            Some(FreeCall::Allowance(_)) => HostsWeight::use_allowance(),
            Some(FreeCall::Bond(_)) => HostsWeight::pay_by_bond(),
        };
        let unused = self.weight(call).saturating_sub(used);
        if let Some(free) = free {
            let who = origin.as_system_origin_signer().ok_or(InvalidTransaction::BadSigner)?;
            Hosts::use_free_call(who, free, info.total_weight().ref_time(), free_share())
                .map_err(|_| InvalidTransaction::ExhaustsResources)?;
        }
        let within_allowance = matches!(free, Some(FreeCall::Allowance(_)));
        let host = origin.as_system_origin_signer().filter(|_| within_allowance).cloned();
        Ok(Prepared { inner: self.0.prepare(val, origin, call, info, len)?, unused, host })
    }

    fn post_dispatch_details(
        Prepared { inner, unused, host }: Self::Pre,
        info: &DispatchInfoOf<RuntimeCall>,
        post_info: &PostDispatchInfoOf<RuntimeCall>,
        len: usize,
        result: &DispatchResult,
    ) -> Result<Weight, TransactionValidityError> {
        let refund =
            <Inner as TransactionExtension<RuntimeCall>>::post_dispatch_details(inner, info, post_info, len, result)?;
        let refund = refund.saturating_add(unused);
        if let Some(host) = host {
            Hosts::refund_free_weight(&host, post_info.calc_unspent(info).saturating_add(refund).ref_time());
        }
        Ok(refund)
    }
}

/// Checks the nonce of a transaction. A free call must have the next nonce of its account, so that the pool has one free
/// call of an account at most: that it is free is known of the present state only, in which many others would be valid as
/// well. From the outside it is the SDK's `CheckNonce`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, DecodeWithMemTracking)]
pub struct CheckNonceOrNext(Nonces);

impl From<Nonce> for CheckNonceOrNext {
    fn from(nonce: Nonce) -> Self {
        Self(Nonces::from(nonce))
    }
}

impl TypeInfo for CheckNonceOrNext {
    type Identity = <Nonces as TypeInfo>::Identity;

    fn type_info() -> scale_info::Type {
        type_of::<Nonces>()
    }
}

impl TransactionExtension<RuntimeCall> for CheckNonceOrNext {
    const IDENTIFIER: &'static str = <Nonces as TransactionExtension<RuntimeCall>>::IDENTIFIER;
    type Implicit = <Nonces as TransactionExtension<RuntimeCall>>::Implicit;
    type Val = <Nonces as TransactionExtension<RuntimeCall>>::Val;
    type Pre = <Nonces as TransactionExtension<RuntimeCall>>::Pre;

    fn metadata() -> Vec<TransactionExtensionMetadata> {
        <Nonces as TransactionExtension<RuntimeCall>>::metadata()
    }

    fn implicit(&self) -> Result<Self::Implicit, TransactionValidityError> {
        TransactionExtension::<RuntimeCall>::implicit(&self.0)
    }

    fn weight(&self, call: &RuntimeCall) -> Weight {
        self.0.weight(call)
    }

    fn validate(
        &self,
        origin: RuntimeOrigin,
        call: &RuntimeCall,
        info: &DispatchInfoOf<RuntimeCall>,
        len: usize,
        implicit: Self::Implicit,
        implication: &impl Implication,
        source: TransactionSource,
    ) -> ValidateResult<Self::Val, RuntimeCall> {
        let (validity, val, origin) = self.0.validate(origin, call, info, len, implicit, implication, source)?;
        // Only what follows another transaction of its account requires one.
        if !validity.requires.is_empty() && call.is_feeless(&origin) {
            return Err(InvalidTransaction::Future.into());
        }
        Ok((validity, val, origin))
    }

    fn prepare(
        self,
        val: Self::Val,
        origin: &RuntimeOrigin,
        call: &RuntimeCall,
        info: &DispatchInfoOf<RuntimeCall>,
        len: usize,
    ) -> Result<Self::Pre, TransactionValidityError> {
        self.0.prepare(val, origin, call, info, len)
    }

    fn post_dispatch_details(
        pre: Self::Pre,
        info: &DispatchInfoOf<RuntimeCall>,
        post_info: &PostDispatchInfoOf<RuntimeCall>,
        len: usize,
        result: &DispatchResult,
    ) -> Result<Weight, TransactionValidityError> {
        <Nonces as TransactionExtension<RuntimeCall>>::post_dispatch_details(pre, info, post_info, len, result)
    }
}
