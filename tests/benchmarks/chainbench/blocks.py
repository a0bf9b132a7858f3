"""What final blocks hold: how many extrinsics, how many bytes, which events."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chainbench.flood import INHERENTS
from chainbench.node import Code, Header, Node, header_of
from offchain.devnet.node_rpc import NodeRpc

_reader: Reader


@dataclass(frozen=True, slots=True)
class Filled:
    """One final block. `events` counts "Pallet.Name"; `extrinsics` includes the inherent one.

    `normal_ps`: weight of its extrinsics that are open to all, in picoseconds of execution.
    """

    header: Header
    extrinsics: int
    bytes: int
    event_bytes: int
    events: Counter[str]
    normal_ps: int

    @property
    def refused(self) -> int:
        """Items of batches that were refused, and extrinsics that failed."""
        return self.events["Tasks.ItemRefused"] + self.events["System.ExtrinsicFailed"]


class Reader:
    """Reads blocks of one node, in whichever process."""

    def __init__(self, port: int, code: Code) -> None:
        self._rpc = NodeRpc(port)
        self._runtime = code.runtime()
        self._events, self._weight = (self._key(item) for item in ("Events", "BlockWeight"))

    def _key(self, item: str) -> str:
        return "0x" + self._runtime.storage_key(self._runtime.entry("System", item)).hex()

    def _value(self, key: str, block_hash: str) -> bytes | None:
        found = self._rpc.call("state_getStorage", key, block_hash)
        return None if found is None else bytes.fromhex(found[2:])

    def read(self, number: int) -> Filled:
        """Return a block of the best chain."""
        block_hash = self._rpc.call("chain_getBlockHash", number)
        body = self._rpc.call("chain_getBlock", block_hash)["block"]["extrinsics"]
        raw = self._value(self._events, block_hash) or b"\0"
        events = Counter(f"{event.pallet}.{event.name}" for event in self._runtime.decode_events(raw))
        size = sum(len(each) // 2 - 1 for each in body)
        entry = self._runtime.entry("System", "BlockWeight")
        weight: Any = self._runtime.read_value(entry, self._value(self._weight, block_hash))
        normal_ps = int(weight["normal"]["ref_time"])
        return Filled(header_of(self._rpc, block_hash), len(body), size, len(raw), events, normal_ps)


def _begin(port: int, code: Code) -> None:
    global _reader  # noqa: PLW0603 - one for each process of the pool
    _reader = Reader(port, code)


def _read(number: int) -> Filled:
    return _reader.read(number)


def read(node: Node, numbers: Iterable[int]) -> list[Filled]:
    """These blocks, decoded by all processors."""
    with concurrent.futures.ProcessPoolExecutor(
        os.cpu_count(), multiprocessing.get_context("forkserver"), _begin, (node.port, node.code)
    ) as pool:
        return list(pool.map(_read, numbers))


@dataclass(frozen=True, slots=True)
class Sustained:
    """What the blocks of a stretch of slots hold. `operations`: by kind, counted by their events. `extrinsics`: signed
    ones."""

    seconds: float
    operations: Mapping[str, int]
    extrinsics: int
    missed_slots: int
    blocks: int
    block_bytes: int
    event_bytes: int
    refused: int

    @property
    def per_second(self) -> float:
        return sum(self.operations.values()) / self.seconds

    @property
    def signatures_each(self) -> float:
        """Signed extrinsics for each operation."""
        return self.extrinsics / max(1, sum(self.operations.values()))


def sustained(
    blocks: Sequence[Filled], first_slot: int, slots: int, events: Mapping[str, str], slot_seconds: float
) -> Sustained:
    """Of the blocks of `slots` slots from `first_slot` on, those without a block included in the time."""
    within = [block for block in blocks if first_slot <= block.header.slot < first_slot + slots]
    total: Counter[str] = Counter()
    for block in within:
        total.update(block.events)
    return Sustained(
        seconds=slots * slot_seconds,
        operations={kind: total[event] for kind, event in events.items()},
        extrinsics=sum(block.extrinsics - INHERENTS for block in within),
        missed_slots=slots - len(within),
        blocks=len(within),
        block_bytes=sum(block.bytes for block in within),
        event_bytes=sum(block.event_bytes for block in within),
        refused=sum(block.refused for block in within),
    )
