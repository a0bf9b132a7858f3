//! The host functions that the node gives its runtime: the SDK's, of which those that verify signatures verify each once.
//!
//! The runtime verifies the signature of an extrinsic whenever it checks or applies it: for the pool, for the author of a
//! block, and for a validator that imports the block and had the extrinsic in its pool. The functions of this crate keep the
//! signatures that were valid, and answer from them.
//!
//! - The answers are those of the SDK's functions. Whether a signature is valid depends on its scheme, its public key and
//!   its message alone, and what is kept is the hash of all of them. A wrong answer takes two inputs with equal BLAKE2b
//!   hashes of 256 bits, which would break blocks and state as well. A node that gave calls the SDK's `UseDalekExt`, which
//!   changes the rules of Ed25519 for old blocks, would have to hash that as well; this one does not.
//! - Nothing is kept of invalid signatures. Valid ones that somebody sends to push others out each cost the node a
//!   verification, as they did before, and the others are verified again. The map's hash function has a random key, so that
//!   nobody can choose signatures that lie in one of its buckets.

use schnellru::{ByLength, LruMap};
use sp_core::{ed25519, sr25519};
use sp_io::hashing::blake2_256;
use sp_runtime_interface::{
    pass_by::{PassFatPointerAndRead, PassPointerAndRead},
    runtime_interface,
};
use sp_wasm_interface::ExtendedHostFunctions;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

#[cfg(test)]
mod tests;

/// The SDK's host functions, with those of this crate in the place of the SDK's.
pub type HostFunctions = ExtendedHostFunctions<sp_io::SubstrateHostFunctions, crypto::HostFunctions>;

/// How many signatures are kept: those of half a minute at 1,800 extrinsics a second, and twice as many as the pool of a
/// busy node holds. They take at most 8 MB.
const MOST: u32 = 65_536;

/// One for the process: host functions have no state of their own.
static VERIFIED: LazyLock<VerifiedSignatures> = LazyLock::new(|| VerifiedSignatures::with_room_for(MOST));

/// The hash of a signature, its scheme, public key and message.
type Digest = [u8; 32];

/// Schemes whose signatures are kept. ECDSA is not among them: the runtime recovers the public key of such a signature
/// instead of verifying it.
#[derive(Clone, Copy, Debug)]
enum Scheme {
    Ed25519,
    Sr25519,
}

/// The digest of one verification. All parts but the last have a fixed length, so that different parts never give the same
/// bytes.
fn digest(scheme: Scheme, signature: &[u8; 64], public: &[u8; 32], message: &[u8]) -> Digest {
    blake2_256(&[&[scheme as u8], &signature[..], &public[..], message].concat())
}

/// The digests of valid signatures that were used last.
struct VerifiedSignatures(Mutex<LruMap<Digest, ()>>);

impl VerifiedSignatures {
    fn with_room_for(most: u32) -> Self {
        Self(Mutex::new(LruMap::new(ByLength::new(most))))
    }

    fn kept(&self) -> MutexGuard<'_, LruMap<Digest, ()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the signature with this digest is valid. `verify` is called unless that is known.
    fn is_valid(&self, digest: Digest, verify: impl FnOnce() -> bool) -> bool {
        if self.kept().get(&digest).is_some() {
            return true;
        }
        let valid = verify();
        if valid {
            self.kept().insert(digest, ());
        }
        valid
    }
}

/// Functions of the SDK's interface of this name. The macro wants all versions of a function from the first on.
#[runtime_interface(no_tracing)]
pub trait Crypto {
    /// Whether an Ed25519 signature is valid.
    fn ed25519_verify(
        sig: PassPointerAndRead<&ed25519::Signature, 64>,
        msg: PassFatPointerAndRead<&[u8]>,
        pub_key: PassPointerAndRead<&ed25519::Public, 32>,
    ) -> bool {
        VERIFIED.is_valid(digest(Scheme::Ed25519, &sig.0, &pub_key.0, msg), || {
            sp_io::crypto::ed25519_verify(sig, msg, pub_key)
        })
    }

    /// Whether an Sr25519 signature is valid by the rules of schnorrkel 0.1.1. Our runtime does not use it: not kept.
    fn sr25519_verify(
        sig: PassPointerAndRead<&sr25519::Signature, 64>,
        msg: PassFatPointerAndRead<&[u8]>,
        pub_key: PassPointerAndRead<&sr25519::Public, 32>,
    ) -> bool {
        sr25519::Pair::verify_deprecated(sig, msg, pub_key)
    }

    /// Whether an Sr25519 signature is valid.
    #[version(2)]
    fn sr25519_verify(
        sig: PassPointerAndRead<&sr25519::Signature, 64>,
        msg: PassFatPointerAndRead<&[u8]>,
        pub_key: PassPointerAndRead<&sr25519::Public, 32>,
    ) -> bool {
        VERIFIED.is_valid(digest(Scheme::Sr25519, &sig.0, &pub_key.0, msg), || {
            sp_io::crypto::sr25519_verify(sig, msg, pub_key)
        })
    }
}
