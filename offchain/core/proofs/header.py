"""Block headers with Blake2b-256 hashes, and the changes of GRANDPA's authority set in their digests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offchain.core.proofs.reader import ProofReader
from offchain.errors import ProofRefused
from offchain.schema.chain_types.values import blake2_256

MOST_HEADER_BYTES: Final = 128 * 1024
"""A header that names 1,000 authorities for each of BABE and GRANDPA has 80 KB."""
MOST_AUTHORITIES: Final = 1_000
"""Limit of the runtime (`MaxAuthorities`)."""
_MOST_DIGEST_ITEMS: Final = 64
_GRANDPA_ENGINE: Final = b"FRNK"

# Variants of sp_runtime's DigestItem.
_OTHER: Final = 0
_CONSENSUS: Final = 4
_SEAL: Final = 5
_PRE_RUNTIME: Final = 6
_RUNTIME_UPDATED: Final = 8
# Variants of sp_consensus_grandpa's ConsensusLog.
_SCHEDULED_CHANGE: Final = 1
_FORCED_CHANGE: Final = 2

AuthorityList = tuple[tuple[bytes, int], ...]
"""ed25519 keys of GRANDPA authorities with their weights."""


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """A block header. `raw`: its encoding, of which `hash` is the BLAKE2b-256."""

    raw: bytes
    hash: bytes
    number: int
    parent_hash: bytes
    state_root: bytes
    grandpa_logs: tuple[bytes, ...]
    """GRANDPA's messages in the digest, encoded."""

    def __str__(self) -> str:
        """Return number and hash."""
        return f"block {self.number} (0x{self.hash.hex()})"


def read_header(reader: ProofReader) -> BlockHeader:
    """Read a header. Raises ProofRefused."""
    start = reader.pos
    parent_hash = reader.take(32)
    number = reader.compact()
    state_root = reader.take(32)
    reader.take(32)
    logs = []
    for _ in range(reader.count(_MOST_DIGEST_ITEMS, "digest items")):
        kind = reader.uint(1)
        if kind in (_CONSENSUS, _SEAL, _PRE_RUNTIME):
            engine = reader.take(4)
            payload = reader.sized(MOST_HEADER_BYTES, "a digest item")
            if kind == _CONSENSUS and engine == _GRANDPA_ENGINE:
                logs.append(payload)
        elif kind == _OTHER:
            reader.sized(MOST_HEADER_BYTES, "a digest item")
        elif kind != _RUNTIME_UPDATED:
            raise reader.refuse(f"the header has a digest item of the unknown kind {kind}")
    raw = reader.since(start)
    if len(raw) > MOST_HEADER_BYTES:
        raise reader.refuse(f"the header has {len(raw)} bytes, and at most {MOST_HEADER_BYTES} are allowed")
    return BlockHeader(raw, blake2_256(raw), number, parent_hash, state_root, tuple(logs))


def decode_header(raw: bytes, where: str) -> BlockHeader:
    """Return the header with exactly these bytes. Raises ProofRefused."""
    reader = ProofReader(raw, where)
    header = read_header(reader)
    reader.end()
    return header


def decode_authorities(raw: bytes, where: str) -> AuthorityList:
    """Return the list in the storage item `Grandpa.Authorities`. Raises ProofRefused."""
    reader = ProofReader(raw, where)
    authorities = read_authorities(reader)
    reader.end()
    return authorities


def read_authorities(reader: ProofReader) -> AuthorityList:
    """Read a list of authorities. Raises ProofRefused."""
    count = reader.count(MOST_AUTHORITIES, "authorities")
    return tuple((reader.take(32), reader.uint(8)) for _ in range(count))


def scheduled_change(header: BlockHeader, where: str) -> AuthorityList | None:
    """Return the authorities that finalise the blocks after this one; None if they do not change.

    Raises ProofRefused for a change that cannot be followed: one that was forced after GRANDPA had stalled, or that is
    in force only some blocks later, which this chain's runtime never schedules.
    """
    found: AuthorityList | None = None
    for log in header.grandpa_logs:
        reader = ProofReader(log, where)
        kind = reader.uint(1)
        if kind == _FORCED_CHANGE:
            raise ProofRefused(
                where,
                f"{header} forces a change of the authorities, which the previous authorities did not finalise",
                "Start from a checkpoint after that block, which you have checked in another way.",
            )
        if kind != _SCHEDULED_CHANGE:
            continue
        authorities = read_authorities(reader)
        delay = reader.uint(4)
        reader.end()
        if delay or found is not None:
            raise ProofRefused(where, f"{header} has a second or a delayed change of the authorities")
        found = authorities
    return found
