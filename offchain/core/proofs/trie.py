"""Values and absences in the state trie of a block, read from a part of its nodes.

The trie is the base-16 Patricia-Merkle trie of sp-trie with Blake2b-256, in both layouts: V0 stores values in nodes, V1
stores the hash of a value with more than 32 bytes. A node names its children by hash, or contains them if their
encoding is shorter than a hash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from offchain.core.proofs.reader import ProofReader
from offchain.errors import ProofRefused
from offchain.schema.chain_types.values import blake2_256

MOST_NODES: Final = 65_536
MOST_NODE_BYTES: Final = 1 << 20
"""The largest node, or value beside its node."""
MOST_KEY_BYTES: Final = 512
_HASH_BYTES: Final = 32
_NIBBLES_OF_KEY: Final = 2 * MOST_KEY_BYTES


@dataclass(frozen=True, slots=True)
class _Node:
    """A decoded node. `value`: None if it has none; `value_hash`: the hash of a value beside the node.

    `children`: by nibble, hashes or encodings of inline nodes; empty in a leaf.
    """

    partial: bytes
    value: bytes | None
    value_hash: bytes | None
    children: dict[int, bytes]


class TrieProof:
    """The nodes of a trie that lead to some of its keys. `root`: the state root in a header."""

    def __init__(self, root: bytes, nodes: Sequence[bytes], where: str) -> None:
        self._root = root
        self._where = where
        self._by_hash = {blake2_256(node): node for node in nodes}
        self._unused = set(self._by_hash)
        if len(self._by_hash) != len(nodes):
            raise ProofRefused(where, "a trie node is there twice")

    def read(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if the trie has no such key. Raises ProofRefused if neither is proven."""
        rest = nibbles(key)
        encoded = self._node(self._root)
        # Each step takes at least one nibble off `rest`.
        while True:
            node = _decode(encoded, self._where)
            if node is None or rest[: len(node.partial)] != node.partial:
                return None
            rest = rest[len(node.partial) :]
            if not rest:
                return node.value if node.value_hash is None else self._node(node.value_hash)
            child = node.children.get(rest[0])
            if child is None:
                return None
            rest = rest[1:]
            encoded = self._node(child) if len(child) == _HASH_BYTES else child

    def refuse_unused(self) -> None:
        """Refuse nodes that no key needed. Raises ProofRefused."""
        if self._unused:
            raise ProofRefused(self._where, f"{len(self._unused)} trie nodes prove nothing")

    def _node(self, digest: bytes) -> bytes:
        found = self._by_hash.get(digest)
        if found is None:
            raise ProofRefused(self._where, f"the trie node or value with the hash 0x{digest.hex()} is missing")
        self._unused.discard(digest)
        return found


def nibbles(key: bytes) -> bytes:
    """Return the halves of each byte, the upper one first, as a byte each."""
    return bytes(half for byte in key for half in (byte >> 4, byte & 15))


def _decode(encoded: bytes, where: str) -> _Node | None:
    """Return a node; None for the empty trie."""
    reader = ProofReader(encoded, where)
    first = reader.uint(1)
    if first == 0:
        reader.end()
        return None
    kind, bits = _kind(first, reader)
    partial = _partial(reader, _partial_length(first, bits, reader))
    is_branch, has_value, is_hashed = kind
    bitmap = reader.uint(2) if is_branch else 0
    if is_branch and bitmap == 0:
        raise reader.refuse("a branch of the trie has no children")
    value: bytes | None = None
    value_hash: bytes | None = None
    if is_hashed:
        value_hash = reader.take(_HASH_BYTES)
    elif has_value:
        value = reader.sized(MOST_NODE_BYTES, "a value of the trie")
    children = {nibble: reader.sized(_HASH_BYTES, "a child of a trie node") for nibble in _set_bits(bitmap)}
    reader.end()
    return _Node(partial, value, value_hash, children)


def _kind(first: int, reader: ProofReader) -> tuple[tuple[bool, bool, bool], int]:
    """Return (is a branch, has a value, its value is hashed), and the bits of the length in the first byte."""
    match first >> 6:
        case 0b01:
            return (False, True, False), 6
        case 0b10:
            return (True, False, False), 6
        case 0b11:
            return (True, True, False), 6
    if first >> 5 == 0b001:
        return (False, True, True), 5
    if first >> 4 == 0b0001:
        return (True, True, True), 4
    raise reader.refuse(f"a trie node begins with the unknown byte 0x{first:02x}")


def _partial_length(first: int, bits: int, reader: ProofReader) -> int:
    """Return the number of nibbles in the node's part of the key."""
    most = (1 << bits) - 1
    length = first & most
    if length < most:
        return length
    while True:
        further = reader.uint(1)
        length += further
        if length > _NIBBLES_OF_KEY:
            raise reader.refuse(f"a trie node has a key of more than {MOST_KEY_BYTES} bytes")
        if further < 255:
            return length


def _partial(reader: ProofReader, length: int) -> bytes:
    halves = nibbles(reader.take((length + 1) // 2))
    if length % 2 == 0:
        return halves
    if halves[0]:
        raise reader.refuse("the padding of a trie node is not zero")
    return halves[1:]


def _set_bits(bitmap: int) -> Iterator[int]:
    return (nibble for nibble in range(16) if bitmap >> nibble & 1)
