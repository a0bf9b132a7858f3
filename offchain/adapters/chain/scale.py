"""SCALE to plain values and back, led by the types of the metadata, so that nothing has to be guessed.

Plain form: an account is its SS58 string, a byte array or byte vector is `bytes`, a number is `int`, an enum without
payload is its variant's name, one with a payload is `{"Variant": payload}` (the value itself, a tuple, or a dict for
named fields), a struct is a dict, a struct of one unnamed field is that field, a vector is a list, a tuple is a tuple,
an option is None or the value, nothing is `()`. Where an address is wanted, an account may be given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offchain.adapters.chain.metadata import (
    Array,
    BitSequence,
    Compact,
    Composite,
    Enumeration,
    Field,
    Primitive,
    Sequence,
    Tuple,
    Type,
)
from offchain.adapters.chain.scale_read import (
    Decoder,
    array_decoder,
    primitive_decoder,
    read_account,
    read_bits,
    read_bytes,
    read_compact,
    tuple_decoder,
    vector_decoder,
)
from offchain.adapters.chain.scale_write import (
    Encoder,
    Misfit,
    fixed_bytes_encoder,
    option_encoder,
    primitive_encoder,
    tuple_encoder,
    vector_encoder,
    write_account,
    write_bits,
    write_bytes,
    write_compact,
)
from offchain.errors import BadReply, BadValue

_ACCOUNT = ("sp_core", "crypto", "AccountId32")
_ADDRESS = ("sp_runtime", "multiaddress", "MultiAddress")


class Codec:
    """Encoders and decoders for the types of one runtime, made when first needed."""

    def __init__(self, types: tuple[Type, ...]) -> None:
        self._types = types
        self._decoders: dict[int, Decoder] = {}
        self._encoders: dict[int, Encoder] = {}
        self._by_path = {type_.path: number for number, type_ in reversed(list(enumerate(types))) if type_.path}

    def type_named(self, path: str) -> int:
        """The type with this Rust path, as `gantry_primitives::types::Ask`. LookupError where there is none."""
        try:
            return self._by_path[tuple(path.split("::"))]
        except KeyError:
            raise LookupError(path) from None

    def decode(self, type_id: int, data: bytes) -> Any:
        """The plain value of exactly these bytes."""
        try:
            value, pos = self.decoder(type_id)(data, 0)
        except (IndexError, UnicodeDecodeError) as error:
            raise BadReply(f"A value of the chain cannot be read: {error}.", "Ask the node again.") from error
        if pos != len(data):
            raise BadReply(
                f"A value of the chain has {len(data) - pos} bytes too many for its type.",
                "The node's runtime is newer than this program's metadata: use the release that belongs to it.",
            )
        return value

    def encode(self, type_id: int, value: Any, what: str = "value") -> bytes:
        """The bytes of a plain value. BadValue names the part that does not fit."""
        out = bytearray()
        try:
            self.encoder(type_id)(value, out)
        except Misfit as misfit:
            where = "".join([what, *reversed(misfit.path)])
            raise BadValue(f"{where}: {misfit.reason}.", "Correct this value.") from None
        return bytes(out)

    def decoder(self, type_id: int) -> Decoder:
        """Reads a value at an offset and returns it with the offset after it."""
        made = self._decoders.get(type_id)
        if made is None:
            # A type may contain itself (a call of calls): meanwhile the entry looks itself up.
            self._decoders[type_id] = lambda data, pos: self._decoders[type_id](data, pos)  # noqa: PLW0108 - looked up late
            made = self._decoders[type_id] = self._make_decoder(self._types[type_id])
        return made

    def encoder(self, type_id: int) -> Encoder:
        """Appends the bytes of a value."""
        made = self._encoders.get(type_id)
        if made is None:
            self._encoders[type_id] = lambda value, out: self._encoders[type_id](value, out)  # noqa: PLW0108 - looked up late
            made = self._encoders[type_id] = self._make_encoder(self._types[type_id])
        return made

    def _is_byte(self, type_id: int) -> bool:
        return self._types[type_id].definition == Primitive("u8")

    # --- decoding -----------------------------------------------------------------------------------------------

    def _make_decoder(self, type_: Type) -> Decoder:  # noqa: PLR0911 - one line for each kind of type
        if type_.path == _ACCOUNT:
            return read_account
        match type_.definition:
            case Primitive(name):
                return primitive_decoder(name)
            case Compact():
                return read_compact
            case Composite(fields):
                return self._fields_decoder(fields)
            case Tuple(types):
                return tuple_decoder([self.decoder(t) for t in types])
            case Sequence(item):
                return read_bytes if self._is_byte(item) else vector_decoder(self.decoder(item))
            case Array(length, item):
                return array_decoder(length, None if self._is_byte(item) else self.decoder(item))
            case Enumeration():
                return self._enum_decoder(type_)
            case BitSequence():
                return read_bits
        raise AssertionError(type_)

    def _fields_decoder(self, fields: tuple[Field, ...]) -> Decoder:
        if len(fields) == 1 and fields[0].name is None:
            return self.decoder(fields[0].type)
        parts = [(field.name, self.decoder(field.type)) for field in fields]
        if any(name is None for name, _ in parts):
            return tuple_decoder([read for _, read in parts])

        def struct(data: bytes, pos: int) -> tuple[Any, int]:
            value: dict[str | None, Any] = {}
            for name, read in parts:
                value[name], pos = read(data, pos)
            return value, pos

        return struct

    def _enum_decoder(self, type_: Type) -> Decoder:
        definition = type_.definition
        assert isinstance(definition, Enumeration)  # noqa: S101 - narrows for the type checker
        if type_.path == ("Option",):
            inner = self.decoder(definition.variants[1].fields[0].type)

            def option(data: bytes, pos: int) -> tuple[Any, int]:
                return inner(data, pos + 1) if data[pos] else (None, pos + 1)

            return option
        variants = {
            v.index: (v.name, self._fields_decoder(v.fields) if v.fields else None) for v in definition.variants
        }
        path = "::".join(type_.path)

        def enum(data: bytes, pos: int) -> tuple[Any, int]:
            index = data[pos]
            if index not in variants:
                raise IndexError(f"{path} has no variant {index}")
            name, read = variants[index]
            if read is None:
                return name, pos + 1
            value, pos = read(data, pos + 1)
            return {name: value}, pos

        return enum

    # --- encoding -----------------------------------------------------------------------------------------------

    def _make_encoder(self, type_: Type) -> Encoder:  # noqa: PLR0911 - one line for each kind of type
        if type_.path == _ACCOUNT:
            return write_account
        match type_.definition:
            case Primitive(name):
                return primitive_encoder(name)
            case Compact():
                return write_compact
            case Composite(fields):
                return self._fields_encoder(fields)
            case Tuple(types):
                return tuple_encoder([self.encoder(t) for t in types])
            case Sequence(item):
                return write_bytes if self._is_byte(item) else vector_encoder(self.encoder(item), None)
            case Array(length, item):
                return (
                    fixed_bytes_encoder(length) if self._is_byte(item) else vector_encoder(self.encoder(item), length)
                )
            case Enumeration():
                return self._enum_encoder(type_)
            case BitSequence():
                return write_bits
        raise AssertionError(type_)

    def _fields_encoder(self, fields: tuple[Field, ...]) -> Encoder:
        if len(fields) == 1 and fields[0].name is None:
            return self.encoder(fields[0].type)
        if any(field.name is None for field in fields):
            return tuple_encoder([self.encoder(field.type) for field in fields])
        parts = {field.name: self.encoder(field.type) for field in fields if field.name}

        def struct(value: Any, out: bytearray) -> None:
            if not isinstance(value, Mapping):
                raise Misfit(f"needs the fields {', '.join(parts)}")
            if len(value) != len(parts) or any(name not in parts for name in value):
                unknown = [str(name) for name in value if name not in parts]
                missing = [name for name in parts if name not in value]
                raise Misfit(f"{'unknown' if unknown else 'missing'} field {(unknown or missing)[0]}")
            for name, write in parts.items():
                try:
                    write(value[name], out)
                except Misfit as misfit:
                    misfit.path.append(f".{name}")
                    raise

        return struct

    def _enum_encoder(self, type_: Type) -> Encoder:
        definition = type_.definition
        assert isinstance(definition, Enumeration)  # noqa: S101 - narrows for the type checker
        if type_.path == ("Option",):
            return option_encoder(self.encoder(definition.variants[1].fields[0].type))
        variants = {
            v.name: (v.index, self._fields_encoder(v.fields) if v.fields else None) for v in definition.variants
        }
        path = "::".join(type_.path)
        takes_account = type_.path == _ADDRESS

        def enum(value: Any, out: bytearray) -> None:
            if isinstance(value, Mapping) and len(value) == 1:
                ((name, payload),) = value.items()
            else:
                name, payload = value, None
            if not isinstance(name, str) or name not in variants:
                if takes_account and isinstance(value, str):
                    name, payload = "Id", value
                else:
                    raise Misfit(f"{value!r} is none of {', '.join(variants)} ({path})")
            index, write = variants[name]
            out.append(index)
            if write is None:
                if payload not in (None, ()):
                    raise Misfit(f"{name} carries no value")
                return
            try:
                write(payload, out)
            except Misfit as misfit:
                misfit.path.append(f".{name}")
                raise

        return enum
