//! The metadata hash of RFC 78: a hash of everything that a signing device needs to show what a transaction does.
//!
//! A runtime contains this hash, and the extension `CheckMetadataHash` compares it with the one that was signed. The hash is
//! made of the types of extrinsics, the extensions, the name and version of the runtime, and of how accounts and amounts
//! are written. It does not depend on constants, storage or runtime APIs, nor on the version of the metadata's format.

mod registry;

use codec::Decode;
use frame_metadata::{
    v14::RuntimeMetadataV14,
    v15::{CustomMetadata, ExtrinsicMetadata, OuterEnums, RuntimeMetadataV15, SignedExtensionMetadata},
    RuntimeMetadata, RuntimeMetadataPrefixed,
};
use merkleized_metadata::{generate_metadata_digest, ExtraInfo};
use registry::Reordered;

/// The symbol of the chain's coin. Wallets take it from the properties of the chain specification.
pub const TOKEN_SYMBOL: &str = "GTY";
/// Decimal places of the chain's coin.
pub const TOKEN_DECIMALS: u8 = 12;

/// The hash of metadata in format 14 or 15, as a node gives it.
pub fn metadata_hash(encoded: &[u8]) -> Result<[u8; 32], String> {
    let RuntimeMetadataPrefixed(_, metadata) =
        RuntimeMetadataPrefixed::decode(&mut &encoded[..]).map_err(|error| error.to_string())?;
    let (metadata, extra) = match metadata {
        RuntimeMetadata::V14(metadata) => {
            let system = metadata.pallets.iter().find(|pallet| pallet.name == "System");
            let constants = system.map(|pallet| pallet.constants.iter().map(|one| (&one.name, &one.value)));
            let extra = extra_info(constants.into_iter().flatten())?;
            (extrinsics_only(metadata)?, extra)
        }
        RuntimeMetadata::V15(metadata) => {
            let system = metadata.pallets.iter().find(|pallet| pallet.name == "System");
            let constants = system.map(|pallet| pallet.constants.iter().map(|one| (&one.name, &one.value)));
            let extra = extra_info(constants.into_iter().flatten())?;
            (metadata, extra)
        }
        _ => return Err("the metadata is in neither format 14 nor format 15".into()),
    };
    Ok(generate_metadata_digest(&RuntimeMetadata::V15(metadata), extra)?.hash())
}

/// What the hash says of the runtime, of accounts and of amounts. `constants`: those of the pallet `System`.
fn extra_info<'a>(constants: impl Iterator<Item = (&'a String, &'a Vec<u8>)>) -> Result<ExtraInfo, String> {
    let (mut version, mut prefix) = (None, None);
    for (name, value) in constants {
        match name.as_str() {
            // The first fields of `sp_version::RuntimeVersion`.
            "Version" => version = <(String, String, u32, u32)>::decode(&mut &value[..]).ok(),
            "SS58Prefix" => prefix = u16::decode(&mut &value[..]).ok(),
            _ => {}
        }
    }
    let (spec_name, _, _, spec_version) = version.ok_or("the metadata has no constant System.Version")?;
    Ok(ExtraInfo {
        spec_version,
        spec_name,
        base58_prefix: prefix.ok_or("the metadata has no constant System.SS58Prefix")?,
        decimals: TOKEN_DECIMALS,
        token_symbol: TOKEN_SYMBOL.into(),
    })
}

/// The parts of metadata in format 14 that the hash is made of, in format 15.
fn extrinsics_only(metadata: RuntimeMetadataV14) -> Result<RuntimeMetadataV15, String> {
    let extrinsic = metadata.types.resolve(metadata.extrinsic.ty.id).ok_or("extrinsics have no type")?;
    let part = |name: &str| {
        let parameter = extrinsic.type_params.iter().find(|parameter| parameter.name == name);
        parameter.and_then(|parameter| parameter.ty).ok_or(format!("extrinsics have no type parameter {name}"))
    };
    let (mut address_ty, mut call_ty, mut signature_ty, mut extra_ty) =
        (part("Address")?, part("Call")?, part("Signature")?, part("Extra")?);
    let mut types = Reordered::of(&metadata.types);
    // In the order in which format 15 numbers the types.
    for part in [&mut address_ty, &mut call_ty, &mut signature_ty] {
        types.add(part);
    }
    let mut signed_extensions = Vec::new();
    for mut one in metadata.extrinsic.signed_extensions {
        types.add(&mut one.ty);
        types.add(&mut one.additional_signed);
        let (identifier, ty, additional_signed) = (one.identifier, one.ty, one.additional_signed);
        signed_extensions.push(SignedExtensionMetadata { identifier, ty, additional_signed });
    }
    types.add(&mut extra_ty);
    let version = metadata.extrinsic.version;
    Ok(RuntimeMetadataV15 {
        extrinsic: ExtrinsicMetadata { version, address_ty, call_ty, signature_ty, extra_ty, signed_extensions },
        types: types.into_registry(),
        // Nothing of what follows is in the hash.
        ty: call_ty,
        outer_enums: OuterEnums { call_enum_ty: call_ty, event_enum_ty: call_ty, error_enum_ty: call_ty },
        pallets: Vec::new(),
        apis: Vec::new(),
        custom: CustomMetadata { map: Default::default() },
    })
}
