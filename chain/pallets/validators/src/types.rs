//! Types of the pallet's events.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// Why a validator left the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum RemovalReason {
    /// The admin origin took it off.
    ByAdmin,
    /// It made two blocks for one slot, or voted for two blocks in one round.
    Equivocated,
}
