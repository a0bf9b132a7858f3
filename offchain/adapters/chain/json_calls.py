"""Arguments of calls and keys of storage items as JSON: their plain values, and schemas of arguments.

An account is its SS58 address, bytes are `0x` with hexadecimal digits or else the UTF-8 of the text, a number may also
be decimal text, an enum is the name of its variant or `{"Variant": value}`, an option is null or the value, a struct is
an object, a tuple or vector is an array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from offchain.adapters.chain import metadata as md
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.scale_decode import ACCOUNT, BYTE, INTEGERS, OPTION, TypeCodec
from offchain.errors import BadValue
from offchain.ports import Call

Convert = Callable[[Any, str], Any]
Schema = dict[str, Any]
_CALL_SUFFIX: Final = "RuntimeCall"
_ADDRESS: Final = ("sp_runtime", "multiaddress", "MultiAddress")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,80}")
_SAFE_BITS: Final = 53
_HEX: Final[Schema] = {"type": "string", "pattern": "^0x([0-9a-fA-F]{2})*$"}


def call_from_json(runtime: ChainRuntime, pallet: str, function: str, args: Mapping[str, Any]) -> Call:
    """Return a call with plain arguments. Raises BadValue, which names the argument at fault."""
    variant = _variant(runtime, pallet, function)
    names = [field.name or "" for field in variant.fields]
    odd = sorted({*args} ^ {*names})
    if odd:
        state = "unknown" if odd[0] in args else "missing"
        raise BadValue(
            f"args.{odd[0][:80]}: this argument is {state}.",
            f"{pallet}.{function} has {', '.join(names) or 'no arguments'}; GET /v1/calls describes them.",
        )
    convert = _JsonValues(runtime.metadata.types)
    values = {
        name: convert.coder(field.type)(args[name], f"args.{name}")
        for name, field in zip(names, variant.fields, strict=True)
    }
    return Call(pallet, function, values)


def keys_from_json(runtime: ChainRuntime, entry: md.StorageEntry, keys: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return plain keys of values of a storage item. Raises BadValue, which names the one at fault.

    `keys`: a JSON value for each value; an array of all its keys where the item has several. None for an item without
    keys, which has one value.
    """
    name = f"{entry.prefix}.{entry.name}"
    wanted = len(entry.keys)
    if wanted == 0:
        if keys:
            raise BadValue(f"keys: {name} is one value without keys, and {len(keys)} were given.", "Leave them out.")
        return [()]
    if not keys:
        raise BadValue(f"keys: {name} is a map, and no key was given.", "Give the keys of the values.")
    convert = _JsonValues(runtime.metadata.types)
    found = []
    for number, key in enumerate(keys):
        at = f"keys.{number}"
        parts = [key] if wanted == 1 else key
        if not isinstance(parts, list) or len(parts) != wanted:
            raise _wrong(at, f"{name} needs an array of {wanted} keys", key)
        found.append(tuple(convert.coder(type_)(part, at) for type_, part in zip(entry.keys, parts, strict=True)))
    return found


def json_value(value: Any) -> Any:
    """Return a plain value as JSON: bytes as 0x and hexadecimal digits, tuples as arrays."""
    if isinstance(value, (bytes, bytearray)):
        return f"0x{bytes(value).hex()}"
    if isinstance(value, Mapping):
        return {str(name): json_value(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(one) for one in value]
    return value


def argument_schemas(runtime: ChainRuntime, pallet: str, function: str) -> Schema:
    """Return the JSON schema of the arguments of a call."""
    schemas = _JsonSchemas(runtime.metadata.types)
    fields = _variant(runtime, pallet, function).fields
    return _object({field.name or "": schemas.of(field) for field in fields})


def _variant(runtime: ChainRuntime, pallet: str, function: str) -> md.Variant:
    for variant in runtime.metadata.variants(runtime.pallet(pallet).calls):
        if variant.name == function:
            return variant
    raise BadValue(f"The pallet {pallet} has no call {function[:80]}.", "GET /v1/calls lists all calls.")


class _JsonValues(TypeCodec[Convert]):
    """JSON values to plain ones. Types and sizes of numbers are checked by the encoder."""

    def _make(self, type_: md.Type) -> Convert:  # noqa: C901, PLR0911 - one line for each kind of type
        if type_.path == ACCOUNT:
            return lambda value, _: value
        match type_.definition:
            case md.Primitive(name):
                return _number if name in INTEGERS else lambda value, _: value
            case md.Compact():
                return _number
            case md.Composite(fields):
                return self._fields(fields)
            case md.Tuple(types):
                return self._tuple(types)
            case md.Sequence(item):
                return _bytes if self._types[item].definition == BYTE else self._vector(item)
            case md.Array(_, item):
                return _bytes if self._types[item].definition == BYTE else self._vector(item)
            case md.Enumeration(variants):
                if type_.path == OPTION:
                    inner = self.coder(variants[1].fields[0].type)
                    return lambda value, at: None if value is None else inner(value, at)
                return self._enum(variants)
            case md.BitSequence():
                return _bytes
        raise AssertionError(type_)

    def _fields(self, fields: tuple[md.TypeField, ...]) -> Convert:
        if any(field.name is None for field in fields):
            types = tuple(field.type for field in fields)
            return self.coder(types[0]) if len(types) == 1 else self._tuple(types)
        parts = {field.name: self.coder(field.type) for field in fields if field.name}

        def struct(value: Any, at: str) -> Any:
            if not isinstance(value, Mapping):
                return value
            return {
                name: parts[name](item, _within(at, name)) if name in parts else item for name, item in value.items()
            }

        return struct

    def _tuple(self, types: tuple[int, ...]) -> Convert:
        parts = [self.coder(item) for item in types]

        def convert(value: Any, at: str) -> Any:
            if not isinstance(value, list) or len(value) != len(parts):
                raise _wrong(at, f"an array of {len(parts)} values is needed", value)
            return tuple(
                part(item, f"{at}.{number}") for number, (part, item) in enumerate(zip(parts, value, strict=True))
            )

        return convert

    def _vector(self, item: int) -> Convert:
        part = self.coder(item)

        def convert(value: Any, at: str) -> Any:
            if not isinstance(value, list):
                raise _wrong(at, "an array is needed", value)
            return [part(one, f"{at}.{number}") for number, one in enumerate(value)]

        return convert

    def _enum(self, variants: tuple[md.Variant, ...]) -> Convert:
        parts = {one.name: self._fields(one.fields) if one.fields else None for one in variants}

        def convert(value: Any, at: str) -> Any:
            if not isinstance(value, Mapping) or len(value) != 1:
                return value
            ((name, inner),) = value.items()
            part = parts.get(name)
            return {name: inner if part is None else part(inner, _within(at, name))}

        return convert


class _JsonSchemas:
    """Schemas of types. A call within a call is described in words."""

    def __init__(self, types: tuple[md.Type, ...]) -> None:
        self._types = types

    def of(self, field: md.TypeField) -> Schema:
        """Return the schema of a field, with its documentation."""
        found = self._of_type(field.type)
        about = " ".join(line.strip() for line in field.docs).strip()
        return found | ({"description": about} if about else {})

    def _of_type(self, type_id: int) -> Schema:  # noqa: C901, PLR0911 - one line for each kind of type
        type_ = self._types[type_id]
        if type_.path in (ACCOUNT, _ADDRESS):
            return {"type": "string", "description": "Address (SS58)."}
        if type_.path and type_.path[-1] == _CALL_SUFFIX:
            return {"type": "object", "description": "A call: {Pallet: {function: {argument: value}}}."}
        match type_.definition:
            case md.Primitive(name):
                return _primitive(name)
            case md.Compact(inner):
                return self._of_type(inner)
            case md.Composite(fields):
                return self._of_fields(fields)
            case md.Tuple(types):
                return _array([self._of_type(item) for item in types])
            case md.Sequence(item):
                return (
                    {"type": "string", "description": "0x and hexadecimal digits, or text (UTF-8)."}
                    if self._types[item].definition == BYTE
                    else {"type": "array", "items": self._of_type(item)}
                )
            case md.Array(length, item):
                if self._types[item].definition == BYTE:
                    return {"type": "string", "pattern": f"^0x[0-9a-fA-F]{{{2 * length}}}$"}
                return {"type": "array", "items": self._of_type(item), "minItems": length, "maxItems": length}
            case md.Enumeration(variants):
                if type_.path == OPTION:
                    return {"anyOf": [self._of_type(variants[1].fields[0].type), {"type": "null"}]}
                return self._of_enum(variants)
            case md.BitSequence():
                return dict(_HEX)
        raise AssertionError(type_)

    def _of_fields(self, fields: tuple[md.TypeField, ...]) -> Schema:
        if any(field.name is None for field in fields):
            return self.of(fields[0]) if len(fields) == 1 else _array([self.of(field) for field in fields])
        return _object({field.name or "": self.of(field) for field in fields})

    def _of_enum(self, variants: tuple[md.Variant, ...]) -> Schema:
        bare = [one.name for one in variants if not one.fields]
        found: list[Schema] = [{"type": "string", "enum": bare}] if bare else []
        found += [_object({one.name: self._of_fields(one.fields)}) for one in variants if one.fields]
        return found[0] if len(found) == 1 else {"oneOf": found}


def _within(at: str, name: Any) -> str:
    return f"{at}.{str(name)[:80]}"


def _number(value: Any, at: str) -> Any:
    if isinstance(value, str):
        if not _DECIMAL.fullmatch(value):
            raise _wrong(at, "a number is needed", value)
        return int(value)
    return value


def _bytes(value: Any, at: str) -> bytes:
    if not isinstance(value, str):
        raise _wrong(at, "a text is needed: 0x and hexadecimal digits, or UTF-8", value)
    if not value.startswith("0x"):
        return value.encode("utf-8", errors="surrogatepass")
    try:
        return bytes.fromhex(value[2:])
    except ValueError:
        raise _wrong(at, "0x is not followed by pairs of hexadecimal digits", value) from None


def _wrong(at: str, needed: str, value: Any) -> BadValue:
    return BadValue(f"{at}: {needed}, not {str(value)[:80]!r}.", "Correct this value.")


def _primitive(name: str) -> Schema:
    if name == "bool":
        return {"type": "boolean"}
    if name not in INTEGERS:
        return {"type": "string"}
    size, signed = INTEGERS[name]
    bits = 8 * size
    if bits > _SAFE_BITS:
        return {"type": ["integer", "string"], "pattern": "^-?[0-9]+$" if signed else "^[0-9]+$"}
    least = -(1 << bits - 1) if signed else 0
    return {"type": "integer", "minimum": least, "maximum": (1 << bits - signed) - 1}


def _object(properties: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: list[Schema]) -> Schema:
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
