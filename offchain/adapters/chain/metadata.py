"""A runtime's metadata (format V14 or V15) as frozen values: what the codec needs of it, and nothing else.

docs/adr/0060-scale-and-metadata.md says why this is not done by a library.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass

from offchain.errors import BadReply

MAGIC = b"meta"
_PRIMITIVES = (
    "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "u256", "i8", "i16", "i32", "i64", "i128", "i256",
)  # fmt: skip
_HASHERS = (
    "Blake2_128", "Blake2_256", "Blake2_128Concat", "Twox128", "Twox256", "Twox64Concat", "Identity",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TypeField:
    """A field of a struct or variant. `name` is None in those of tuple form."""

    name: str | None
    type: int
    type_name: str | None
    docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant of an enum."""

    name: str
    fields: tuple[TypeField, ...]
    index: int
    docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Composite:
    """A struct."""

    fields: tuple[TypeField, ...]


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An enum."""

    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """A vector."""

    type: int


@dataclass(frozen=True, slots=True)
class Array:
    """An array of fixed length."""

    length: int
    type: int


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple."""

    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Primitive:
    """An integer, `bool`, `char` or `str`."""

    name: str


@dataclass(frozen=True, slots=True)
class Compact:
    """An integer in compact form."""

    type: int


@dataclass(frozen=True, slots=True)
class BitSequence:
    """A vector of bits."""

    store: int
    order: int


Definition = Composite | Enumeration | Sequence | Array | Tuple | Primitive | Compact | BitSequence


@dataclass(frozen=True, slots=True)
class Type:
    """A type of the registry: its Rust path, its parameters (name, type) and what it is."""

    path: tuple[str, ...]
    params: tuple[tuple[str, int | None], ...]
    definition: Definition
    docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StorageEntry:
    """A storage item. `hashers` is empty for a single value; `keys` are the types of the key's parts."""

    prefix: str
    name: str
    optional: bool
    hashers: tuple[str, ...]
    keys: tuple[int, ...]
    value: int
    default: bytes
    docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a pallet, SCALE encoded."""

    type: int
    value: bytes
    docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pallet:
    """A pallet. `calls`, `events` and `errors` are the types of its enums, None where it has none."""

    name: str
    index: int
    storage: dict[str, StorageEntry]
    calls: int | None
    events: int | None
    errors: int | None
    constants: dict[str, Constant]


@dataclass(frozen=True, slots=True)
class Extension:
    """A transaction extension: types of its part of the extrinsic, and of what is signed besides."""

    name: str
    extra: int
    additional: int


@dataclass(frozen=True, slots=True)
class Metadata:
    """Types, pallets and extrinsic format of a runtime."""

    version: int
    types: tuple[Type, ...]
    pallets: dict[str, Pallet]
    extensions: tuple[Extension, ...]
    extrinsic_version: int
    address: int
    call: int
    signature: int

    def variants(self, type_id: int | None) -> tuple[Variant, ...]:
        """The variants of an enum type; none for None."""
        if type_id is None:
            return ()
        definition = self.types[type_id].definition
        return definition.variants if isinstance(definition, Enumeration) else ()


class _Reader:
    __slots__ = ("data", "pos")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pos = 0

    def u8(self) -> int:
        value = self.data[self.pos]
        self.pos += 1
        return value

    def u32(self) -> int:
        (value,) = struct.unpack_from("<I", self.data, self.pos)
        self.pos += 4
        return int(value)

    def compact(self) -> int:
        first = self.data[self.pos]
        mode = first & 3
        if mode == 0:
            self.pos += 1
            return first >> 2
        size = 2 if mode == 1 else 4
        if mode == 3:
            raise ValueError("a number too large for a metadata length")
        value = int.from_bytes(self.data[self.pos : self.pos + size], "little") >> 2
        self.pos += size
        return value

    def take(self, size: int) -> bytes:
        chunk = self.data[self.pos : self.pos + size]
        if len(chunk) != size:
            raise ValueError("the metadata ends too early")
        self.pos += size
        return chunk

    def bytes(self) -> bytes:
        return self.take(self.compact())

    def text(self) -> str:
        return sys.intern(self.bytes().decode())  # most names occur many times

    def texts(self) -> tuple[str, ...]:
        return tuple(self.text() for _ in range(self.compact()))

    def optional_text(self) -> str | None:
        return self.text() if self.u8() else None

    def optional_type(self) -> int | None:
        return self.compact() if self.u8() else None


def _fields(reader: _Reader) -> tuple[TypeField, ...]:
    return tuple(
        TypeField(reader.optional_text(), reader.compact(), reader.optional_text(), reader.texts())
        for _ in range(reader.compact())
    )


def _definition(reader: _Reader) -> Definition:  # noqa: PLR0911 - one line for each kind of type
    match reader.u8():
        case 0:
            return Composite(_fields(reader))
        case 1:
            return Enumeration(
                tuple(
                    Variant(reader.text(), _fields(reader), reader.u8(), reader.texts())
                    for _ in range(reader.compact())
                )
            )
        case 2:
            return Sequence(reader.compact())
        case 3:
            return Array(reader.u32(), reader.compact())
        case 4:
            return Tuple(tuple(reader.compact() for _ in range(reader.compact())))
        case 5:
            return Primitive(_PRIMITIVES[reader.u8()])
        case 6:
            return Compact(reader.compact())
        case 7:
            return BitSequence(reader.compact(), reader.compact())
        case other:
            raise ValueError(f"unknown kind of type {other}")


def _types(reader: _Reader) -> tuple[Type, ...]:
    types: list[Type] = []
    for expected in range(reader.compact()):
        if reader.compact() != expected:
            raise ValueError("the types are not numbered in order")
        path = reader.texts()
        params = tuple((reader.text(), reader.optional_type()) for _ in range(reader.compact()))
        types.append(Type(path, params, _definition(reader), reader.texts()))
    return tuple(types)


def _storage(reader: _Reader, types: tuple[Type, ...]) -> dict[str, StorageEntry]:
    prefix = reader.text()
    entries: dict[str, StorageEntry] = {}
    for _ in range(reader.compact()):
        name = reader.text()
        optional = reader.u8() == 0
        hashers: tuple[str, ...] = ()
        keys: tuple[int, ...] = ()
        if reader.u8():
            hashers = tuple(_HASHERS[reader.u8()] for _ in range(reader.compact()))
            key = reader.compact()
            definition = types[key].definition
            keys = definition.types if len(hashers) > 1 and isinstance(definition, Tuple) else (key,)
        value = reader.compact()
        entries[name] = StorageEntry(prefix, name, optional, hashers, keys, value, reader.bytes(), reader.texts())
    return entries


def _pallet(reader: _Reader, types: tuple[Type, ...], version: int) -> Pallet:
    name = reader.text()
    storage = _storage(reader, types) if reader.u8() else {}
    calls = reader.optional_type()
    events = reader.optional_type()
    constants: dict[str, Constant] = {}
    for _ in range(reader.compact()):
        key = reader.text()
        constants[key] = Constant(reader.compact(), reader.bytes(), reader.texts())
    errors = reader.optional_type()
    index = reader.u8()
    if version == 15:
        reader.texts()
    return Pallet(name, index, storage, calls, events, errors, constants)


def _param(types: tuple[Type, ...], type_id: int, name: str) -> int:
    for key, value in types[type_id].params:
        if key == name and value is not None:
            return value
    raise ValueError(f"the extrinsic type has no parameter {name}")


def parse(data: bytes) -> Metadata:
    """Parse metadata as `state_getMetadata` returns it. Raises BadReply where it is of another format."""
    if data[:4] != MAGIC or len(data) < 5 or data[4] not in (14, 15):
        raise BadReply(
            "The chain's metadata is not in format V14 or V15.", "Use a node whose SDK still offers these formats."
        )
    version = data[4]
    reader = _Reader(data)
    reader.pos = 5
    try:
        types = _types(reader)
        pallets = [_pallet(reader, types, version) for _ in range(reader.compact())]
        if version == 14:
            extrinsic = reader.compact()
            extrinsic_version = reader.u8()
            address, call, signature = (_param(types, extrinsic, name) for name in ("Address", "Call", "Signature"))
        else:
            extrinsic_version = reader.u8()
            address, call, signature, _ = (reader.compact() for _ in range(4))
        extensions = tuple(
            Extension(reader.text(), reader.compact(), reader.compact()) for _ in range(reader.compact())
        )
    except (IndexError, ValueError, struct.error) as error:
        raise BadReply(
            f"The chain's metadata cannot be read: {error}.", "Ask the node again; it may be cut short."
        ) from error
    return Metadata(
        version, types, {p.name: p for p in pallets}, extensions, extrinsic_version, address, call, signature
    )
