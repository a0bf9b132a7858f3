//! What the pallet stores.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;
use serde::{Deserialize, Serialize};

/// The id of a call that the council decided to enact.
pub type EnactmentId = u32;

/// The periods of the pallet.
#[derive(
    Clone,
    PartialEq,
    Eq,
    Debug,
    Default,
    Encode,
    Decode,
    DecodeWithMemTracking,
    MaxEncodedLen,
    TypeInfo,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// The number of whole blocks between the decision and its enactment.
    pub delay_blocks: u32,
}
