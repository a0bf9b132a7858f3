use super::*;
use sp_core::Pair;
use sp_wasm_interface::{Function, FunctionContext, HostFunctions as _, Pointer, Result, Value, WordSize};
use std::collections::BTreeSet;

/// The memory of a runtime that does not allocate.
struct Memory(Vec<u8>);

impl FunctionContext for Memory {
    fn read_memory_into(&mut self, address: Pointer<u8>, dest: &mut [u8]) -> Result<()> {
        let start = u32::from(address) as usize;
        dest.copy_from_slice(self.0.get(start..start + dest.len()).ok_or("out of bounds")?);
        Ok(())
    }

    fn write_memory(&mut self, _: Pointer<u8>, _: &[u8]) -> Result<()> {
        unimplemented!("no function here writes")
    }

    fn allocate_memory(&mut self, _: WordSize) -> Result<Pointer<u8>> {
        unimplemented!("no function here allocates")
    }

    fn deallocate_memory(&mut self, _: Pointer<u8>) -> Result<()> {
        unimplemented!("no function here allocates")
    }

    fn register_panic_error_message(&mut self, _: &str) {
        unimplemented!("no function here panics")
    }
}

/// A signature, a public key and a message.
type Signed = ([u8; 64], [u8; 32], Vec<u8>);
/// Signs a message with the key pair of this number.
type Sign = fn(u8, &[u8]) -> Signed;

/// A function of the host, by its name in the runtime.
fn host_function(from: &[&'static dyn Function], name: &str) -> &'static dyn Function {
    *from.iter().find(|function| function.name() == name).expect("the SDK has a function of this name")
}

/// What a host function that verifies a signature answers a runtime in whose memory the signature lies.
fn answer(function: &dyn Function, (signature, public, message): &Signed) -> bool {
    let mut memory = Memory([&signature[..], &public[..], &message[..]].concat());
    let message = (message.len() as i64) << 32 | 96;
    let mut arguments = [Value::I32(0), Value::I64(message), Value::I32(64)].into_iter();
    match function.execute(&mut memory, &mut arguments) {
        Ok(Some(Value::I32(answer))) => answer == 1,
        other => panic!("{} gave {other:?}", function.name()),
    }
}

fn ed25519(number: u8, message: &[u8]) -> Signed {
    let pair = ed25519::Pair::from_seed(&[number; 32]);
    (pair.sign(message).0, pair.public().0, message.to_vec())
}

fn sr25519(number: u8, message: &[u8]) -> Signed {
    let pair = sr25519::Pair::from_seed(&[number; 32]);
    (pair.sign(message).0, pair.public().0, message.to_vec())
}

/// Valid signatures of messages of several lengths, and those with one changed bit in one of their bytes; signatures, keys
/// and messages of others; the ends of signatures cut off.
fn good_and_bad(sign: Sign) -> Vec<Signed> {
    let mut all = Vec::new();
    for (number, length) in [(1, 0), (2, 1), (3, 32), (4, 200), (5, 4_000)] {
        let message: Vec<u8> = blake2_256(&[number]).iter().copied().cycle().take(length).collect();
        let (signature, public, message) = sign(number, &message);
        all.push((signature, public, message.clone()));
        for place in (0..96).step_by(13) {
            let mut changed = (signature, public, message.clone());
            let byte = if place < 64 { &mut changed.0[place] } else { &mut changed.1[place - 64] };
            *byte ^= 1 << (place % 8);
            all.push(changed);
        }
        if length > 0 {
            let mut changed = message.clone();
            changed[length / 2] ^= 1;
            all.push((signature, public, changed));
            all.push((signature, public, message[1..].to_vec()));
        }
        let (other, other_public, _) = sign(number + 1, &message);
        all.extend([(other, public, message.clone()), (signature, other_public, message.clone())]);
        for end in [0, 32, 63] {
            let mut cut = signature;
            cut[end..].fill(0);
            all.push((cut, public, message.clone()));
        }
        all.push((signature, public, [&message[..], b"and more"].concat()));
    }
    all
}

#[test]
fn answers_are_those_of_the_sdk_the_first_time_and_the_second() {
    let (sdk, ours) = (sp_io::SubstrateHostFunctions::host_functions(), HostFunctions::host_functions());
    let schemes: [(&str, Sign); 3] = [
        ("ext_crypto_ed25519_verify_version_1", ed25519),
        ("ext_crypto_sr25519_verify_version_1", sr25519),
        ("ext_crypto_sr25519_verify_version_2", sr25519),
    ];
    for (name, sign) in schemes {
        let all = good_and_bad(sign);
        let expected: Vec<bool> = all.iter().map(|signed| answer(host_function(&sdk, name), signed)).collect();
        assert!(expected.iter().filter(|valid| **valid).count() >= 5, "{name}");
        for round in 0..2 {
            for (signed, expected) in all.iter().zip(&expected) {
                assert_eq!(answer(host_function(&ours, name), signed), *expected, "{name}, round {round}: {signed:?}");
            }
        }
    }
}

#[test]
fn a_valid_signature_of_one_scheme_says_nothing_about_another() {
    let ours = HostFunctions::host_functions();
    let of_sr25519 = sr25519(9, b"sr25519");
    assert!(answer(host_function(&ours, "ext_crypto_sr25519_verify_version_2"), &of_sr25519));
    assert!(!answer(host_function(&ours, "ext_crypto_ed25519_verify_version_1"), &of_sr25519));
    let of_ed25519 = ed25519(9, b"ed25519");
    assert!(answer(host_function(&ours, "ext_crypto_ed25519_verify_version_1"), &of_ed25519));
    assert!(!answer(host_function(&ours, "ext_crypto_sr25519_verify_version_2"), &of_ed25519));
}

#[test]
fn valid_signatures_are_kept_and_invalid_ones_are_not() {
    let ours = HostFunctions::host_functions();
    for (name, scheme, signed) in [
        ("ext_crypto_ed25519_verify_version_1", Scheme::Ed25519, ed25519(10, b"kept")),
        ("ext_crypto_sr25519_verify_version_2", Scheme::Sr25519, sr25519(10, b"kept")),
    ] {
        let is_kept = |(signature, public, message): &Signed| {
            VERIFIED.digests().peek(&digest(scheme, signature, public, message)).is_some()
        };
        let bad = (signed.0, signed.1, b"not signed".to_vec());
        assert!(!answer(host_function(&ours, name), &bad) && !is_kept(&bad), "{name}");
        assert!(!is_kept(&signed) && answer(host_function(&ours, name), &signed) && is_kept(&signed), "{name}");
    }
}

#[test]
fn each_function_of_the_sdk_is_there_once_with_its_signature() {
    let (sdk, ours) = (sp_io::SubstrateHostFunctions::host_functions(), HostFunctions::host_functions());
    let names = |functions: &[&'static dyn Function]| -> BTreeSet<String> {
        functions.iter().map(|function| function.name().to_owned()).collect()
    };
    assert_eq!((names(&ours), ours.len()), (names(&sdk), sdk.len()));
    for function in crypto::HostFunctions::host_functions() {
        assert_eq!(function.signature(), host_function(&sdk, function.name()).signature(), "{}", function.name());
    }
}

#[test]
fn a_valid_signature_is_verified_once_and_an_invalid_one_each_time() {
    let verified = VerifiedSignatures::with_capacity(2);
    assert!(verified.is_valid([1; 32], || true));
    assert!(verified.is_valid([1; 32], || panic!("it is known to be valid")));
    assert!(!verified.is_valid([2; 32], || false));
    assert!(verified.is_valid([2; 32], || true));
}

#[test]
fn the_signatures_that_were_used_last_are_kept() {
    let verified = VerifiedSignatures::with_capacity(2);
    for number in [1, 2, 1, 3] {
        assert!(verified.is_valid([number; 32], || true));
    }
    assert_eq!(verified.digests().len(), 2);
    assert!(verified.is_valid([1; 32], || panic!("it was used after the second")));
    assert!(!verified.is_valid([2; 32], || false));
}

#[test]
fn parts_of_other_lengths_give_another_digest() {
    let (signature, public) = ([1; 64], [1; 32]);
    let digests: BTreeSet<Digest> = [Scheme::Ed25519, Scheme::Sr25519]
        .into_iter()
        .flat_map(|scheme| (0..100).map(move |length| digest(scheme, &signature, &public, &vec![1; length])))
        .collect();
    assert_eq!(digests.len(), 200);
}
