"""The state of a final block about a subject: the stored values that its proof is about."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from offchain.adapters.chain.proof_chain import ProofChain
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.storage_queries import StoredValue
from offchain.core.proofs.header import BlockHeader, decode_header
from offchain.core.proofs.subject import ProofSubject, SubjectKind
from offchain.errors import OurError
from offchain.ports import BlockRef
from offchain.services.audit_facts import read_facts

MOST_STATE_BYTES: Final = 1 << 19
"""Bytes of the values of an answer."""
_COMMON: Final = frozenset(
    {
        ("System", "BlockHash"),
        ("System", "LastRuntimeUpgrade"),
        ("MultiBlockMigrations", "Cursor"),
        ("Timestamp", "Now"),
        ("Tasks", "NextTaskId"),
    }
)
"""What every proof contains to identify chain, runtime and time."""


class StateTooLarge(OurError):  # noqa: N818
    """Values with more bytes than are read at once."""

    code = "too_large"


@dataclass(frozen=True, slots=True)
class BlockState:
    """Stored values at a block, in the order of pallets, items and storage keys. `time_ms`: of the block, Unix ms."""

    header: BlockHeader
    time_ms: int
    values: tuple[StoredValue, ...]


async def read_state(chain: ProofChain, subject: ProofSubject, block: BlockRef) -> BlockState:
    """Return the values that the proof of the subject at this final block proves, without those of every proof.

    Raises ProofRefused for a state that this program cannot read, BadReply for one that the node does not have, and
    StateTooLarge.
    """
    runtime, genesis_hash = await chain.runtime(), await chain.genesis_hash()
    header = decode_header(await chain.header(block.hash), "The header of the block")
    with chain.noted_values() as noted:
        facts = await read_facts(chain, runtime, subject, block.hash, genesis_hash)
    size = sum(len(raw) for raw in noted.values() if raw is not None)
    if size > MOST_STATE_BYTES:
        raise StateTooLarge(
            f"The values have {size} bytes; at most {MOST_STATE_BYTES} are read at once.", "Ask for fewer keys."
        )
    if subject.kind is SubjectKind.STORAGE:
        values = list(facts.storage)
    else:
        values = await asyncio.to_thread(_values, runtime, noted)
    return BlockState(header, facts.now_ms, tuple(values))


def _values(runtime: ChainRuntime, noted: Mapping[bytes, bytes | None]) -> list[StoredValue]:
    found = []
    for key, raw in noted.items():
        named = runtime.entry_of(key)
        assert named is not None  # noqa: S101 - it was queried by name
        pallet, entry = named
        if (pallet, entry.name) in _COMMON:
            continue
        parts = runtime.read_keys(entry, key)
        found.append(StoredValue(pallet, entry.name, parts, key, raw, runtime.read_value(entry, raw)))
    return sorted(found, key=lambda value: (value.pallet, value.item, value.storage_key))
