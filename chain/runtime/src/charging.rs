//! What a transaction pays, and that what hosts must say is heard first.

use crate::{Runtime, RuntimeCall, RuntimeOrigin};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode};
use pallet_skip_feeless_payment::{Intermediate, SkipCheckIfFeeless};
use pallet_transaction_payment::ChargeTransactionPayment;
use scale_info::{StaticTypeInfo, TypeInfo};
use sp_runtime::{
    traits::{
        DispatchInfoOf, Implication, PostDispatchInfoOf, TransactionExtension, TransactionExtensionMetadata,
        ValidateResult,
    },
    transaction_validity::{TransactionPriority, TransactionSource, TransactionValidityError},
    DispatchResult, Weight,
};

/// Free calls are the reports and heartbeats of hosts, valid ones only. With the priority 0 that no fee buys they would
/// wait behind every paying transaction, and whoever filled blocks with those could make hosts miss their time limits.
/// Above any tip that a sane sender pays, below operational calls.
pub const FREE_PRIORITY: TransactionPriority = TransactionPriority::MAX / 2;

type Charge = ChargeTransactionPayment<Runtime>;
type Inner = SkipCheckIfFeeless<Runtime, Charge>;

/// Charges the fee of a transaction unless its call is free, which then goes before those that pay. From the outside it
/// is the SDK's `ChargeTransactionPayment`: wallets need to know nothing else.
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
        fn of<T: StaticTypeInfo>() -> scale_info::Type {
            T::type_info()
        }
        of::<Charge>()
    }
}

impl TransactionExtension<RuntimeCall> for ChargeOrFree {
    const IDENTIFIER: &'static str = <Inner as TransactionExtension<RuntimeCall>>::IDENTIFIER;
    type Implicit = <Inner as TransactionExtension<RuntimeCall>>::Implicit;
    type Val = <Inner as TransactionExtension<RuntimeCall>>::Val;
    type Pre = <Inner as TransactionExtension<RuntimeCall>>::Pre;

    fn metadata() -> Vec<TransactionExtensionMetadata> {
        <Inner as TransactionExtension<RuntimeCall>>::metadata()
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
        let (mut validity, val, origin) = self.0.validate(origin, call, info, len, implicit, implication, source)?;
        if matches!(val, Intermediate::Skip(_)) {
            validity.priority = FREE_PRIORITY;
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
        <Inner as TransactionExtension<RuntimeCall>>::post_dispatch_details(pre, info, post_info, len, result)
    }
}
