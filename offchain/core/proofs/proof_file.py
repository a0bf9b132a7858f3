"""Proof files: their parts and their only encoding (docs/audit.md, "File format")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offchain.core.proofs.grandpa import FinalityVotes, read_votes
from offchain.core.proofs.header import BlockHeader, read_header
from offchain.core.proofs.reader import ProofReader
from offchain.core.proofs.subject import ProofSubject, read_subject
from offchain.core.proofs.trie import MOST_NODE_BYTES, MOST_NODES
from offchain.errors import ProofRefused
from offchain.schema.chain_types.values import compact

MAGIC: Final = b"GTYPROOF"
VERSION: Final = 1
MOST_FILE_BYTES: Final = 64 << 20
MOST_LINKS: Final = 65_536
MOST_DESCENDANTS: Final = 2_048
"""Headers from the block of a proof to the block that the votes finalise. Nodes keep votes for every 512 blocks."""
MOST_METADATA_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class GenesisPart:
    """Block 0, and the trie nodes that lead to the first authorities in its state."""

    header: BlockHeader
    nodes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class AuthorityLink:
    """A block that changes the authorities, finalised by the authorities before the change."""

    header: BlockHeader
    votes: FinalityVotes


@dataclass(frozen=True, slots=True)
class AuditProof:
    """A proof of facts in the state of one block.

    `genesis`: None if the proof starts from a checkpoint. `first_set`: the set that finalises the first link.
    `header`: the block whose state is proven. `descendants`: the headers after it, up to the one that `votes` finalise;
    empty if it is that one. `metadata`: the types of the values, which the verifier knows by their SHA-256.
    """

    subject: ProofSubject
    genesis: GenesisPart | None
    first_set: int
    links: tuple[AuthorityLink, ...]
    header: BlockHeader
    descendants: tuple[BlockHeader, ...]
    votes: FinalityVotes
    nodes: tuple[bytes, ...]
    metadata: bytes

    @property
    def finalised(self) -> BlockHeader:
        """The header that the votes finalise."""
        return self.descendants[-1] if self.descendants else self.header

    def encode(self) -> bytes:
        """Return the bytes of the file. Raises ProofRefused if there would be too many."""
        parts = [MAGIC, VERSION.to_bytes(2, "little"), self.subject.encode()]
        if self.genesis is None:
            parts.append(b"\0")
        else:
            parts += [b"\1", self.genesis.header.raw, _encode_nodes(self.genesis.nodes)]
        parts += [self.first_set.to_bytes(8, "little"), compact(len(self.links))]
        for link in self.links:
            parts += [link.header.raw, _encode_votes(link.votes)]
        parts += [self.header.raw, _encode_headers(self.descendants), _encode_votes(self.votes)]
        parts += [_encode_nodes(self.nodes), compact(len(self.metadata)), self.metadata]
        data = b"".join(parts)
        _check_size(len(data))
        return data


def decode_proof(data: bytes) -> AuditProof:
    """Return the proof in a file. Raises ProofRefused for any other bytes than those that `encode` gives."""
    _check_size(len(data))
    reader = ProofReader(data, "The start of the file")
    if reader.take(len(MAGIC)) != MAGIC:
        raise ProofRefused(reader.where, "this is not a proof file", "Give a file that gantry audit prove has written.")
    version = reader.uint(2)
    if version != VERSION:
        raise ProofRefused(
            reader.where, f"it has version {version}, and this program reads {VERSION}", "Use the matching release."
        )
    reader.where = "The subject"
    subject = read_subject(reader)
    genesis = _read_genesis(reader)
    reader.where = "The number of links"
    first_set = reader.uint(8)
    links = []
    for number in range(reader.count(MOST_LINKS, "links")):
        reader.where = link_name(number, first_set + number)
        links.append(AuthorityLink(read_header(reader), read_votes(reader)))
    reader.where = "The header of the block"
    header = read_header(reader)
    reader.where = "The headers after the block"
    descendants = tuple(read_header(reader) for _ in range(reader.count(MOST_DESCENDANTS, "headers")))
    reader.where = "The finality of the block"
    votes = read_votes(reader)
    reader.where = "The storage proof"
    nodes = _read_nodes(reader)
    reader.where = "The metadata"
    metadata = reader.sized(MOST_METADATA_BYTES, "the metadata")
    reader.where = "The file"
    reader.end()
    return AuditProof(subject, genesis, first_set, tuple(links), header, descendants, votes, nodes, metadata)


def link_name(number: int, set_id: int) -> str:
    """Return the name of a link in errors. `number` counts from 0."""
    return f"Link {number + 1}, the change from authority set {set_id} to {set_id + 1}"


def _read_genesis(reader: ProofReader) -> GenesisPart | None:
    reader.where = "The genesis block"
    there = reader.uint(1)
    if there > 1:
        raise reader.refuse(f"its flag is {there}, not 0 or 1")
    return GenesisPart(read_header(reader), _read_nodes(reader)) if there else None


def _read_nodes(reader: ProofReader) -> tuple[bytes, ...]:
    nodes = tuple(reader.sized(MOST_NODE_BYTES, "a trie node") for _ in range(reader.count(MOST_NODES, "trie nodes")))
    if list(nodes) != sorted(nodes):
        raise reader.refuse("its trie nodes are not in their order")
    return nodes


def _encode_nodes(nodes: Sequence[bytes]) -> bytes:
    return compact(len(nodes)) + b"".join(compact(len(node)) + node for node in sorted(nodes))


def _encode_headers(headers: Sequence[BlockHeader]) -> bytes:
    return compact(len(headers)) + b"".join(header.raw for header in headers)


def _encode_votes(votes: FinalityVotes) -> bytes:
    precommits = (
        vote.voter + vote.target_number.to_bytes(4, "little") + vote.target_hash + vote.signature
        for vote in votes.precommits
    )
    return (
        votes.round.to_bytes(8, "little")
        + compact(len(votes.precommits))
        + b"".join(precommits)
        + _encode_headers(votes.ancestry)
    )


def _check_size(size: int) -> None:
    if size > MOST_FILE_BYTES:
        raise ProofRefused(
            "The file",
            f"it has {size} bytes, and at most {MOST_FILE_BYTES} are allowed",
            "Prove fewer leases at once, or start from a newer checkpoint (--checkpoint).",
        )
