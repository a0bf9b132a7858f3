//! The messages that the key of a host signs: for its registration, and for changes of its hardware.

use alloc::vec::Vec;
use codec::Encode;

use crate::{AccountId, Ask, Endpoint, HardwareSpec, RegionName};

/// The first bytes of the signed message, so that the signature is valid for nothing else.
pub const REGISTRATION_CONTEXT: [u8; 18] = *b"gantry/register/v2";

/// The 32 bytes that the host's key signs: blake2-256 of the SCALE encoding of
/// (context, genesis hash, provider, hardware, endpoint, region, ask).
pub fn registration_message(
    genesis_hash: [u8; 32],
    provider: &AccountId,
    hardware: &HardwareSpec,
    endpoint: &Endpoint,
    region: &RegionName,
    ask: &Ask,
) -> [u8; 32] {
    let bytes: Vec<u8> = (REGISTRATION_CONTEXT, genesis_hash, provider, hardware, endpoint, region, ask).encode();
    sp_io::hashing::blake2_256(&bytes)
}

/// The first bytes of the signed message when the hardware of a host is changed.
pub const HARDWARE_CONTEXT: [u8; 18] = *b"gantry/hardware/v1";

/// The 32 bytes that the host's key signs when its hardware is changed: blake2-256 of the SCALE encoding of
/// (context, genesis hash, provider, generation, hardware).
///
/// `generation` is one more than that of the host's record, so that each signature is valid for one change.
pub fn hardware_message(
    genesis_hash: [u8; 32],
    provider: &AccountId,
    generation: u32,
    hardware: &HardwareSpec,
) -> [u8; 32] {
    let bytes: Vec<u8> = (HARDWARE_CONTEXT, genesis_hash, provider, generation, hardware).encode();
    sp_io::hashing::blake2_256(&bytes)
}
