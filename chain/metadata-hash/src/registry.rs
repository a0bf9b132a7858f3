//! Types of metadata, numbered in the order in which they are first needed, as `scale_info::Registry` numbers them.
//!
//! The order of their numbers is in the hash. Format 14 numbers the types of storage and events first, format 15 those of
//! extrinsics.

use scale_info::{
    form::PortableForm, interner::UntrackedSymbol, PortableRegistry, PortableType, Type, TypeDef, TypeParameter,
};
use std::{any::TypeId, collections::HashMap};

type Number = UntrackedSymbol<TypeId>;

/// A registry that takes types over from another one.
pub struct Reordered<'a> {
    from: &'a PortableRegistry,
    /// New numbers by old ones.
    numbers: HashMap<u32, u32>,
    types: Vec<PortableType>,
}

impl<'a> Reordered<'a> {
    /// A registry without types, that takes them over from this one.
    pub fn of(from: &'a PortableRegistry) -> Self {
        Self { from, numbers: HashMap::new(), types: Vec::new() }
    }

    /// Takes over a type and those that it consists of, and puts its new number in place of its old one.
    pub fn add(&mut self, number: &mut Number) {
        if let Some(&known) = self.numbers.get(&number.id) {
            *number = known.into();
            return;
        }
        let new = u32::try_from(self.types.len()).expect("the other registry has fewer types");
        self.numbers.insert(number.id, new);
        let mut ty = self.from.resolve(number.id).expect("a registry has all types that its types name").clone();
        // Its place is before those of its parts.
        self.types.push(PortableType { id: new, ty: ty.clone() });
        for part in parts(&mut ty) {
            self.add(part);
        }
        self.types[new as usize].ty = ty;
        *number = new.into();
    }

    /// All types that were taken over.
    pub fn into_registry(self) -> PortableRegistry {
        PortableRegistry { types: self.types }
    }
}

/// The types that a type names, in the order in which they are registered.
fn parts(ty: &mut Type<PortableForm>) -> Vec<&mut Number> {
    let parameters = ty.type_params.iter_mut().filter_map(|TypeParameter { ty, .. }| ty.as_mut());
    let mut parts: Vec<&mut Number> = parameters.collect();
    match &mut ty.type_def {
        TypeDef::Composite(composite) => parts.extend(composite.fields.iter_mut().map(|field| &mut field.ty)),
        TypeDef::Variant(variant) => {
            let fields = variant.variants.iter_mut().flat_map(|variant| &mut variant.fields);
            parts.extend(fields.map(|field| &mut field.ty));
        }
        TypeDef::Sequence(sequence) => parts.push(&mut sequence.type_param),
        TypeDef::Array(array) => parts.push(&mut array.type_param),
        TypeDef::Tuple(tuple) => parts.extend(tuple.fields.iter_mut()),
        TypeDef::Compact(compact) => parts.push(&mut compact.type_param),
        TypeDef::BitSequence(bits) => parts.extend([&mut bits.bit_store_type, &mut bits.bit_order_type]),
        TypeDef::Primitive(_) => {}
    }
    parts
}
