//! The macro that turns the table of measured weights, which `scripts/weights` writes, into a pallet's `WeightInfo`.

/// Declares `WeightInfo`, and implements it with the database costs of a runtime (`SubstrateWeight`) and, for tests, with
/// ParityDB's (`()`).
///
/// Each line is `call(components) = picoseconds without the database, bytes of proof, database reads, writes;`. The
/// pallet that has the table depends on `frame-support` and `frame-system`.
#[macro_export]
macro_rules! weights {
    ($($name:ident($($arg:ident),*) = $picos:expr, $proof:expr, $reads:expr, $writes:expr;)*) => {
        /// The weight of each call.
        pub trait WeightInfo {
            $(
                /// The weight of the call of this name.
                fn $name($($arg: u32),*) -> ::frame_support::weights::Weight;
            )*
        }

        /// As measured, with the database costs of the runtime.
        pub struct SubstrateWeight<T>(::core::marker::PhantomData<T>);

        impl<T: ::frame_system::Config> WeightInfo for SubstrateWeight<T> {
            $(fn $name($($arg: u32),*) -> ::frame_support::weights::Weight {
                // What a component adds may be nothing.
                $(#[allow(unused_variables)] let $arg = u64::from($arg);)*
                measured(<T::DbWeight as ::frame_support::traits::Get<_>>::get(), $picos, $proof, $reads, $writes)
            })*
        }

        impl WeightInfo for () {
            $(fn $name($($arg: u32),*) -> ::frame_support::weights::Weight {
                // What a component adds may be nothing.
                $(#[allow(unused_variables)] let $arg = u64::from($arg);)*
                measured(
                    ::frame_support::weights::constants::ParityDbWeight::get(),
                    $picos,
                    $proof,
                    $reads,
                    $writes,
                )
            })*
        }

        const fn measured(
            db: ::frame_support::weights::RuntimeDbWeight,
            picos: u64,
            proof: u64,
            reads: u64,
            writes: u64,
        ) -> ::frame_support::weights::Weight {
            ::frame_support::weights::Weight::from_parts(picos + reads * db.read + writes * db.write, proof)
        }
    };
}
