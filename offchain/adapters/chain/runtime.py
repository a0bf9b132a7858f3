"""A runtime of the chain as clients use it: calls, events, errors and storage, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b, sha256
from typing import Any

from offchain.adapters.chain import metadata as md
from offchain.adapters.chain.scale_decode import ScaleDecoder
from offchain.adapters.chain.scale_encode import ScaleEncoder
from offchain.errors import BadReply, BadValue
from offchain.ports import Call, ChainEvent, DispatchFailure, ItemDocumentation
from offchain.schema.chain_types.values import blake2_256


def _twox(data: bytes, words: int) -> bytes:
    import xxhash  # noqa: PLC0415 - only where the chain is read

    return b"".join(xxhash.xxh64_intdigest(data, seed).to_bytes(8, "little") for seed in range(words))


# name -> (hash, length of the hash before the key itself, or None where the key cannot be read back)
_HASHERS: dict[str, tuple[Callable[[bytes], bytes], int | None]] = {
    "Identity": (lambda key: key, 0),
    "Blake2_128": (lambda key: blake2b(key, digest_size=16).digest(), None),
    "Blake2_256": (blake2_256, None),
    "Blake2_128Concat": (lambda key: blake2b(key, digest_size=16).digest() + key, 16),
    "Twox128": (lambda key: _twox(key, 2), None),
    "Twox256": (lambda key: _twox(key, 4), None),
    "Twox64Concat": (lambda key: _twox(key, 1) + key, 8),
}


_PREFIX_BYTES = 32


@lru_cache(maxsize=1024)
def storage_prefix(prefix: str, item: str) -> bytes:
    """The 32 bytes before all keys of a storage item."""
    return _twox(prefix.encode(), 2) + _twox(item.encode(), 2)


class ChainRuntime:
    """Metadata of one spec version with its SCALE codec."""

    def __init__(self, raw_metadata: bytes, spec_name: str, spec_version: int, transaction_version: int) -> None:
        self.metadata_sha256 = sha256(raw_metadata).hexdigest()
        self.spec_name = spec_name
        self.spec_version = spec_version
        self.transaction_version = transaction_version
        self.metadata = md.parse(raw_metadata)
        self._decoder = ScaleDecoder(self.metadata.types)
        self._encoder = ScaleEncoder(self.metadata.types)
        self.decode = self._decoder.decode
        self.encode = self._encoder.encode
        self._errors = {
            (pallet.index, error.index): (pallet.name, error)
            for pallet in self.metadata.pallets.values()
            for error in self.metadata.variants(pallet.errors)
        }
        self._calls = {
            bytes([pallet.index, call.index]): f"{pallet.name}.{call.name}"
            for pallet in self.metadata.pallets.values()
            for call in self.metadata.variants(pallet.calls)
        }

    @cached_property
    def _entries(self) -> dict[bytes, tuple[str, md.StorageEntry]]:
        return {
            storage_prefix(entry.prefix, entry.name): (pallet.name, entry)
            for pallet in self.metadata.pallets.values()
            for entry in pallet.storage.values()
        }

    def pallet(self, name: str) -> md.Pallet:
        """The pallet with this name. BadValue where there is none."""
        try:
            return self.metadata.pallets[name]
        except KeyError:
            raise BadValue(
                f"The runtime {self.spec_name} {self.spec_version} has no pallet {name}.", "Check its name."
            ) from None

    def entry(self, pallet: str, item: str) -> md.StorageEntry:
        """The storage item with this name. BadValue where there is none."""
        try:
            return self.pallet(pallet).storage[item]
        except KeyError:
            raise BadValue(f"The pallet {pallet} has no storage item {item}.", "Check its name.") from None

    def encode_keys(self, entry: md.StorageEntry, params: Sequence[Any]) -> bytes:
        """The encoded keys of one value, joined. BadValue where they are not those of the item."""
        if len(params) != len(entry.keys):
            raise BadValue(
                f"{entry.prefix}.{entry.name} has {len(entry.keys)} keys, {len(params)} were given.",
                "Give each value's keys in the order of the item.",
            )
        return b"".join(
            self.encode(type_id, param, f"key {number + 1} of {entry.prefix}.{entry.name}")
            for number, (type_id, param) in enumerate(zip(entry.keys, params, strict=True))
        )

    def decode_keys(self, entry: md.StorageEntry, joined: bytes) -> tuple[Any, ...]:
        """The keys of one value from what `encode_keys` gives. BadReply for any other bytes."""
        pos, parts = 0, []
        try:
            for type_id in entry.keys:
                part, pos = self.decode_at(type_id, joined, pos)
                parts.append(part)
            is_same = self.encode_keys(entry, parts) == joined
        except (IndexError, UnicodeDecodeError, BadValue):
            is_same = False
        if not is_same:
            raise BadReply(f"0x{joined.hex()} is not the encoding of the keys of {entry.prefix}.{entry.name}.")
        return tuple(parts)

    def entry_of(self, key: bytes) -> tuple[str, md.StorageEntry] | None:
        """The pallet and the storage item that a storage key belongs to; None where the runtime has no such item."""
        return self._entries.get(key[:_PREFIX_BYTES])

    def storage_key(self, entry: md.StorageEntry, params: Sequence[Any] = ()) -> bytes:
        """The key of a value, or with fewer `params` than the item has keys: what the keys below have in common."""
        if len(params) > len(entry.keys):
            raise BadValue(f"{entry.prefix}.{entry.name} has {len(entry.keys)} keys, {len(params)} were given.")
        key = storage_prefix(entry.prefix, entry.name)
        for number, param in enumerate(params):
            what = f"key {number + 1} of {entry.prefix}.{entry.name}"
            key += _HASHERS[entry.hashers[number]][0](self.encode(entry.keys[number], param, what))
        return key

    def read_keys(self, entry: md.StorageEntry, key: bytes) -> tuple[Any, ...]:
        """The keys in a storage key. BadValue where they are hashed."""
        pos = _PREFIX_BYTES
        parts: list[Any] = []
        for hasher, type_id in zip(entry.hashers, entry.keys, strict=True):
            skip = _HASHERS[hasher][1]
            if skip is None:
                raise BadValue(f"The keys of {entry.prefix}.{entry.name} are hashed and cannot be read back.")
            value, pos = self._decoder.coder(type_id)(key, pos + skip)
            parts.append(value)
        return tuple(parts)

    def read_key(self, entry: md.StorageEntry, key: bytes, known: int) -> Any:
        """The parts of a storage key after the first `known` ones: one value, or a tuple of several."""
        rest = self.read_keys(entry, key)[known:]
        return rest[0] if len(rest) == 1 else rest

    def read_value(self, entry: md.StorageEntry, raw: bytes | None) -> Any | None:
        """The plain value; where `raw` is None the item's default, or None where it has no default."""
        if raw is None:
            if entry.optional:
                return None
            raw = entry.default
        return self.decode(entry.value, raw)

    def constant(self, pallet: str, name: str) -> Any:
        """The plain value of a constant. BadValue where there is none."""
        try:
            constant = self.pallet(pallet).constants[name]
        except KeyError:
            raise BadValue(f"The pallet {pallet} has no constant {name}.") from None
        return self.decode(constant.type, constant.value)

    def encode_call(self, call: Call) -> bytes:
        """The bytes of a call. BadValue names an argument that is unknown, missing or not of its type."""
        functions = {v.name: v for v in self.metadata.variants(self.pallet(call.pallet).calls)}
        function = functions.get(call.function)
        if function is None:
            raise BadValue(f"The pallet {call.pallet} has no call {call.function}.")
        given, wanted = set(call.args), {field.name for field in function.fields}
        if given != wanted:
            odd = sorted(str(name) for name in given ^ wanted)
            raise BadValue(f"{call.pallet}.{call.function}: unknown or missing argument {', '.join(odd)}.")
        head = bytes([self.pallet(call.pallet).index, function.index])
        return head + b"".join(
            self.encode(f.type, call.args[f.name or ""], f"{call.pallet}.{call.function}.{f.name}")
            for f in function.fields
        )

    def decode_at(self, type_id: int, data: bytes, pos: int) -> tuple[Any, int]:
        """The plain value that begins at this offset, and the offset after it. Raises as a decoder does."""
        return self._decoder.coder(type_id)(data, pos)

    def call_name(self, encoded: bytes) -> str | None:
        """`Pallet.function` of an encoded call; None where the runtime has no such call."""
        return self._calls.get(encoded[:2])

    def documentation(self) -> list[ItemDocumentation]:
        """The documentation of all calls, events and errors."""
        return [
            ItemDocumentation(
                pallet.name,
                kind,
                item.name,
                _joined(item.docs),
                {field.name: _joined(field.docs) for field in item.fields if field.name},
            )
            for pallet in self.metadata.pallets.values()
            for kind, enum in (("call", pallet.calls), ("event", pallet.events), ("error", pallet.errors))
            for item in self.metadata.variants(enum)
        ]

    def decode_events(self, raw: bytes) -> list[ChainEvent]:
        """The events in the value of `System.Events`."""
        events = []
        for record in self.decode(self.entry("System", "Events").value, raw):
            pallet, inner = _only(record["event"])
            name, fields = _only(inner)
            phase = record["phase"]
            extrinsic = phase.get("ApplyExtrinsic") if isinstance(phase, Mapping) else None
            events.append(ChainEvent(pallet, name, _as_fields(fields), extrinsic))
        return events

    def failure(self, dispatch_error: Any) -> DispatchFailure:
        """The failure that a DispatchError in plain form stands for."""
        kind, detail = _only(dispatch_error)
        if kind == "Module":
            found = self._errors.get((detail["index"], detail["error"][0]))
            if found is None:
                return DispatchFailure("Unknown", f"{detail['index']}.{detail['error'].hex()}", "")
            pallet, error = found
            return DispatchFailure(pallet, error.name, _joined(error.docs))
        name, _ = _only(detail) if detail is not None else (kind, None)
        return DispatchFailure("System" if detail is None else kind, str(name), "")


def _joined(docs: Sequence[str]) -> str:
    return " ".join(line.strip() for line in docs).strip()


def _only(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return value, None
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, payload),) = value.items()
        return str(name), payload
    raise BadReply(f"An enum was expected, not {value!r}.")


def _as_fields(payload: Any) -> Mapping[str, Any]:
    if payload is None:
        return {}
    if isinstance(payload, Mapping):
        return payload
    values = payload if isinstance(payload, tuple) else (payload,)
    return {str(number): value for number, value in enumerate(values)}
