//! Decisions of the node that need neither database nor network: for how long an author adds extrinsics to a block, which
//! free calls it tries, and which validations of extrinsics its pool makes, in which batches.

mod build_overhead;
mod free_call_filter;
mod revalidation_throttle;
mod slot_share;
mod validation_queue;
mod validity_cache;

pub use build_overhead::BuildOverhead;
pub use free_call_filter::FreeCallFilter;
pub use revalidation_throttle::RevalidationThrottle;
pub use slot_share::SlotShare;
pub use validation_queue::{ValidationKind, ValidationQueue};
pub use validity_cache::ValidityCache;
