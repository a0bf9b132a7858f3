"""A second implementation of the state trie: it builds whole tries, while the product only reads parts of them.

Written from the specification of the format (layouts V0 and V1 of sp-trie), without code of the product.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

HASHED_OVER = 32
"""Length over which layout V1 stores the hash of a value in its node."""


def blake2(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=32).digest()


def scale_length(number: int) -> bytes:
    if number < 64:
        return bytes([number * 4])
    if number < 16384:
        return (number * 4 + 1).to_bytes(2, "little")
    return (number * 4 + 2).to_bytes(4, "little")


def path_of(key: bytes) -> str:
    """A key as hex digits, which are its nibbles."""
    return key.hex()


@dataclass
class BuiltNode:
    """A node with the digits of its own part, its encoding, its value, and its children by digit."""

    digits: str
    encoded: bytes
    detached: bytes | None
    children: dict[str, "BuiltNode"] = field(default_factory=dict)


@dataclass
class BuiltTrie:
    root: BuiltNode

    @property
    def hash(self) -> bytes:
        return blake2(self.root.encoded)

    def nodes_for(self, keys: Iterable[bytes]) -> set[bytes]:
        """What a node sends as the proof of these keys: every node on their paths that has a hash, and long values."""
        found: set[bytes] = set()
        for key in keys:
            node: BuiltNode | None = self.root
            rest = path_of(key)
            found.add(self.root.encoded)
            while node is not None and rest.startswith(node.digits):
                rest = rest[len(node.digits) :]
                if rest == "":
                    if node.detached is not None:
                        found.add(node.detached)
                    break
                node = node.children.get(rest[0])
                rest = rest[1:]
                if node is not None and len(node.encoded) >= 32:
                    found.add(node.encoded)
        return found


def build_trie(values: Mapping[bytes, bytes], *, hashed: bool = True) -> BuiltTrie:
    """The trie of these values. `hashed`: in layout V1, else V0."""
    if not values:
        return BuiltTrie(BuiltNode("", b"\0", None))
    return BuiltTrie(_build({path_of(key): value for key, value in values.items()}, hashed=hashed))


def _build(values: dict[str, bytes], *, hashed: bool) -> BuiltNode:
    paths = sorted(values)
    shared = 0
    while all(len(path) > shared and path[shared] == paths[0][shared] for path in paths):
        shared += 1
    digits = paths[0][:shared]
    value = values.get(digits)
    below: dict[str, dict[str, bytes]] = {}
    for path in paths:
        if len(path) > shared:
            below.setdefault(path[shared], {})[path[shared + 1 :]] = values[path]
    children = {digit: _build(rest, hashed=hashed) for digit, rest in below.items()}
    is_long = hashed and value is not None and len(value) > HASHED_OVER
    if not children:
        head = _head(0x20, 5, shared) if is_long else _head(0x40, 6, shared)
    elif value is None:
        head = _head(0x80, 6, shared)
    else:
        head = _head(0x10, 4, shared) if is_long else _head(0xC0, 6, shared)
    encoded = head + bytes.fromhex(digits if shared % 2 == 0 else "0" + digits)
    if children:
        encoded += sum(1 << int(digit, 16) for digit in children).to_bytes(2, "little")
    if value is not None:
        encoded += blake2(value) if is_long else scale_length(len(value)) + value
    for digit in sorted(children):
        child = children[digit].encoded
        reference = child if len(child) < 32 else blake2(child)
        encoded += scale_length(len(reference)) + reference
    return BuiltNode(digits, encoded, value if is_long else None, children)


def _head(kind: int, bits: int, length: int) -> bytes:
    most = 2**bits - 1
    if length < most:
        return bytes([kind + length])
    rest = length - most
    return bytes([kind + most]) + b"\xff" * (rest // 255) + bytes([rest % 255])
