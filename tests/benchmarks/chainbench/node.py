"""Released nodes of a benchmark's own: fresh folder, own ports, loopback only. One validator or several."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import struct
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offchain.adapters.chain.runtime import ChainRuntime
from offchain.devnet import node, node_rpc
from offchain.devnet.release import Binaries
from tests.support.development_node import DevelopmentNode, endow

_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_STALL_SECONDS = 60.0
# ParityDB's tables: how many there are for each column, and what an entry of the last one and of an index takes.
_TIERS, _PART_BYTES, _INDEX_BYTES = 256, 4096, 16
_POLL_SECONDS = 0.1
_METRICS_SECONDS = 120.0
_SAMPLE = re.compile(r"^(\w+)(?:\{([^}]*)\})? ([0-9.eE+-]+)$", re.MULTILINE)
_TASK_SECONDS = "substrate_tasks_polling_duration_sum"
_LABEL = re.compile(r'(\w+)="([^"]*)"')
# By their names in the runtime's presets: who makes blocks where there are several.
_VALIDATORS = ("alice", "bob", "charlie", "dave")
SLOT_SECONDS = 2.0

# Of the production preset. The first block of an epoch holds no transactions: the SDK's session pallet takes all of it.
_EPOCH_SLOTS = 300


class NodeError(Exception):
    """The node did not do what the benchmark needs; the text says what."""


@dataclass(frozen=True, slots=True)
class Header:
    """A block's header: its slot is what BABE's author claimed."""

    number: int
    hash: str
    slot: int


@dataclass(frozen=True, slots=True)
class Code:
    """What a runtime is known by; can be handed to another process."""

    metadata: bytes
    spec_name: str
    spec_version: int
    transaction_version: int

    def runtime(self) -> ChainRuntime:
        return ChainRuntime(self.metadata, self.spec_name, self.spec_version, self.transaction_version)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Prometheus samples. `totals`: by name, the labels dropped, samples of one name added up. `task_seconds`: for how
    long each of the node's tasks had a thread, by the task's name."""

    totals: Mapping[str, float]
    task_seconds: Mapping[str, float]

    @classmethod
    def parse(cls, text: str) -> Metrics:
        """Read Prometheus' text format."""
        totals: dict[str, float] = {}
        tasks: dict[str, float] = {}
        for name, labels, value in _SAMPLE.findall(text):
            totals[name] = totals.get(name, 0.0) + float(value)
            if name == _TASK_SECONDS:
                task = dict(_LABEL.findall(labels))["task_name"]
                tasks[task] = tasks.get(task, 0.0) + float(value)
        return cls(totals, tasks)

    def since(self, before: Metrics) -> Metrics:
        """Return what was added since then."""
        return Metrics(_less(self.totals, before.totals), _less(self.task_seconds, before.task_seconds))

    def total(self, name: str) -> float:
        """Return a sample; 0 where there is none yet."""
        return self.totals.get(name, 0.0)


def _less(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


class Node(DevelopmentNode):
    """One running node and what is measured of it. `pruning`: which states it keeps, as --state-pruning says it."""

    def __init__(
        self,
        binaries: Binaries,
        folder: Path,
        patch: Mapping[str, Any],
        pruning: str = "archive",
        options: Sequence[str] = (),
        author: Sequence[str] = node.AUTHOR,
    ) -> None:
        # The pool's limits as scripts/up and docker-compose.yml set them: see docs/benchmarks.md.
        limits = (*node.LIMITS, *options)
        super().__init__(binaries, folder, *limits, patch=patch, pruning=pruning, metrics=True, author=author)
        self.rpc = node_rpc.NodeRpc(self.port)
        self.runtime: ChainRuntime
        self.genesis = b""
        self.code = Code(b"", "", 0, 0)

    def start(self) -> None:
        """Start it and wait for the first block."""
        self.launch()
        self.await_first_block()

    def launch(self) -> None:
        """Start it and wait until it answers."""
        super().start()

    def await_first_block(self) -> None:
        """Wait for it: the genesis block has no slot, so measurements begin there."""
        self.genesis = bytes.fromhex(self.hash_of(0)[2:])
        limit = time.monotonic() + _STALL_SECONDS
        while self.rpc.call("chain_getBlockHash", 1) is None:
            if time.monotonic() > limit:
                raise NodeError(f"the node makes no block:\n{self.last_lines()}")
            time.sleep(_POLL_SECONDS)
        version = self.rpc.call("state_getRuntimeVersion")
        metadata = bytes.fromhex(self.rpc.call("state_getMetadata")[2:])
        self.code = Code(metadata, version["specName"], version["specVersion"], version["transactionVersion"])
        self.runtime = self.code.runtime()

    def stop(self) -> None:
        """End it, and the connection to it."""
        self.rpc.close()
        super().stop()

    # --- what it says ---------------------------------------------------------------------------------------------

    def header(self) -> Header:
        """The header of the best block."""
        return header_of(self.rpc, self.rpc.call("chain_getBlockHash"))

    def await_final(self, number: int) -> None:
        """Until this block is final."""
        last, since = self.finalized(), time.monotonic()
        while last < number:
            time.sleep(_POLL_SECONDS)
            final = self.finalized()
            if final != last:
                last, since = final, time.monotonic()
            elif time.monotonic() - since > _STALL_SECONDS:
                raise NodeError(f"no block became final for {_STALL_SECONDS:g} s after block {last}")

    def finalized(self) -> int:
        """The number of the newest final block."""
        return int(self.rpc.call("chain_getHeader", self.rpc.call("chain_getFinalizedHead"))["number"], 16)

    def hash_of(self, number: int) -> str:
        """The hash of a block of the best chain."""
        return str(self.rpc.call("chain_getBlockHash", number))

    def metrics(self) -> Metrics:
        """Return the node's counters as they are now."""
        connection = http.client.HTTPConnection(node_rpc.LOOPBACK, self.metrics_port, timeout=_METRICS_SECONDS)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        return Metrics.parse(text)

    def cpu_seconds(self) -> float:
        """Processor time used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS

    def memory_bytes(self) -> int:
        """Resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1024

    def database_bytes(self) -> int:
        """What the database has filled of its files, which it makes larger by chunks; with the node stopped.

        A file `table_COLUMN_TIER` begins with two numbers, the second of which says how many entries are in use or
        free again. All entries of a tier have one size, from 32 bytes in the first to 32,760 in the last but one by
        equal factors; the last holds parts of larger values. Each entry has a place in an index that is half full.
        """
        used = 0
        for path in self.data.rglob("table_*"):
            with path.open("rb") as file:
                _, filled = struct.unpack("<QQ", file.read(16))
            used += filled * (_entry_bytes(int(path.name[-2:], 16)) + _INDEX_BYTES)
        return used


def _entry_bytes(tier: int) -> int:
    return _PART_BYTES if tier == _TIERS - 1 else round(32 * (32_760 / 32) ** (tier / (_TIERS - 2)))


def header_of(rpc: node_rpc.NodeRpc, block_hash: str) -> Header:
    """The header of a block. Raises NodeError for the genesis block, which has no slot."""
    head = rpc.call("chain_getHeader", block_hash)
    return Header(int(head["number"], 16), block_hash, _slot(head["digest"]["logs"]))


def _slot(logs: Iterable[str]) -> int:
    """The slot in BABE's pre-runtime digest: engine id, length, kind, authority (u32), slot (u64)."""
    for log in logs:
        raw = bytes.fromhex(log[2:])
        if raw[:5] == b"\x06BABE":
            body = raw[6:] if raw[5] & 3 == 0 else raw[7:]
            return int.from_bytes(body[5:13], "little")
    raise NodeError("a block without a slot")


@contextlib.contextmanager
def running(
    binaries: Binaries,
    endowed: Mapping[str, int],
    params: Mapping[str, Mapping[str, Any]],
    pruning: str = "archive",
    options: Sequence[str] = (),
) -> Iterator[Node]:
    """A fresh node for the length of the block; its folder is removed afterwards.

    Accounts (SS58 -> base units) are endowed beside those of the development preset, and these values of the pallets'
    parameters (pallet -> name -> value) go in place of its own. `options`: of the node's command line.
    """
    patch = _patch(binaries, endowed, params)
    with (
        tempfile.TemporaryDirectory(prefix="gantry-bench-") as folder,
        Node(binaries, Path(folder), patch, pruning, options) as one,
    ):
        yield one


@contextlib.contextmanager
def running_validators(
    binaries: Binaries, endowed: Mapping[str, int], params: Mapping[str, Mapping[str, Any]]
) -> Iterator[list[Node]]:
    """Four validators of one fresh chain that is otherwise like the one of :func:`running`, each connected to each."""
    patch = _patch(binaries, endowed, params)
    staging = preset_of(binaries, "staging")
    patch["session"] = {"keys": staging["session"]["keys"]}
    with contextlib.ExitStack() as stack:
        nodes = []
        for name in _VALIDATORS:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"gantry-bench-{name}-")))
            nodes.append(Node(binaries, folder, patch, author=(f"--{name}", "--validator")))
            stack.callback(nodes[-1].stop)
            nodes[-1].launch()
        for one in nodes:
            (address, *_) = one.rpc.call("system_localListenAddresses")
            for other in nodes:
                if other is not one:
                    other.rpc.call("system_addReservedPeer", address)
        for one in nodes:
            one.await_first_block()
        yield nodes


def preset_of(binaries: Binaries, name: str) -> dict[str, Any]:
    """Return a genesis preset of the runtime: pallet -> its genesis configuration."""
    spec = json.loads(node.chain_spec(binaries, "--plain", preset=name))
    preset: dict[str, Any] = spec["genesis"]["runtimeGenesis"]["patch"]
    return preset


def _patch(binaries: Binaries, endowed: Mapping[str, int], params: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    patch = {**endow(binaries, endowed), **{pallet: {"params": values} for pallet, values in params.items()}}
    patch["validators"] = {"epochSlots": _EPOCH_SLOTS, "slotMs": int(SLOT_SECONDS * 1000)}
    return patch
