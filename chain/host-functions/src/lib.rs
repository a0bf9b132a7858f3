//! The host functions of the runtime: the SDK's, of which those that verify signatures cache valid ones.
//!
//! The runtime verifies the signature of an extrinsic whenever it validates or applies it: for the pool, for the author of a
//! block, and for a validator that imports the block and had the extrinsic in its pool. The functions of this crate remember
//! valid signatures, and verify each once.
//!
//! - The results equal those of the SDK's functions. Whether a signature is valid depends only on its scheme, public key and
//!   message, and the cache's key is the hash of all of them. A wrong result needs two inputs with equal BLAKE2b hashes of 256
//!   bits, which would break blocks and state as well. A node that registered the SDK's `UseDalekExt`, which changes the rules
//!   of Ed25519 for old blocks, would have to hash that as well; this node does not register it.
//! - Invalid signatures are not cached. Valid ones that are sent to evict others each cost the node a verification, as without
//!   the cache, and evicted ones are verified again. The map's hash function has a random key, so that nobody can choose
//!   signatures that fall into one bucket.

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

/// The SDK's host functions, some of them replaced by those of this crate.
pub type HostFunctions = ExtendedHostFunctions<sp_io::SubstrateHostFunctions, crypto::HostFunctions>;

/// The capacity of the cache: the signatures of half a minute at 1,800 extrinsics a second, and twice as many as the pool of a
/// busy node contains. They take at most 8 MB.
const CAPACITY: u32 = 65_536;

/// One for the process, because host functions have no state.
static VERIFIED: LazyLock<VerifiedSignatures> = LazyLock::new(|| VerifiedSignatures::with_capacity(CAPACITY));

/// The hash of a signature, its scheme, public key and message.
type Digest = [u8; 32];

/// Schemes whose signatures are cached. ECDSA is not, because the runtime recovers the public key of such a signature instead
/// of verifying it.
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
    fn with_capacity(capacity: u32) -> Self {
        Self(Mutex::new(LruMap::new(ByLength::new(capacity))))
    }

    fn digests(&self) -> MutexGuard<'_, LruMap<Digest, ()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the signature with this digest is valid. Calls `verify` unless the digest is cached.
    fn is_valid(&self, digest: Digest, verify: impl FnOnce() -> bool) -> bool {
        if self.digests().get(&digest).is_some() {
            return true;
        }
        let valid = verify();
        if valid {
            self.digests().insert(digest, ());
        }
        valid
    }
}

/// Functions of the SDK's interface of this name. The macro requires all versions of a function.
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

    /// Whether an Sr25519 signature is valid by the rules of schnorrkel 0.1.1. Gantry's runtime does not use it, so it is not cached.
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
