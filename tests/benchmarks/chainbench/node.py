"""A released node of its own for a benchmark: fresh folder, own ports, loopback only."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import secrets
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offchain.link.runtime import Runtime
from offchain.local import ports
from offchain.local.process import Child
from offchain.local.release import Binaries

_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_START_SECONDS = 60.0
_STALL_SECONDS = 60.0
# ParityDB's tables: how many there are for each column, and what an entry of the last one and of an index takes.
_TIERS, _PART_BYTES, _INDEX_BYTES = 256, 4096, 16
_POLL_SECONDS = 0.1
_RPC_SECONDS = 120.0
_SAMPLE = re.compile(r"^(\w+)(\{[^}]*\})? ([0-9.eE+-]+)$", re.MULTILINE)


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

    def runtime(self) -> Runtime:
        return Runtime(self.metadata, self.spec_name, self.spec_version, self.transaction_version)


class Rpc:
    """JSON-RPC over one kept HTTP connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_RPC_SECONDS)

    def call(self, method: str, *params: Any) -> Any:
        """The result. Raises NodeError where the node refuses."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        try:
            self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
            answer = json.loads(self._connection.getresponse().read())
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if "error" in answer:
            raise NodeError(f"{method}: {answer['error']}")
        return answer["result"]


class Node:
    """One running node. `pruning`: which states it keeps, as its option --state-pruning says it."""

    def __init__(self, binaries: Binaries, folder: Path, pruning: str) -> None:
        self.binaries = binaries
        self.folder = folder
        self.port = ports.free()
        self.metrics_port = ports.free()
        self._child = Child("node", self._command(pruning), log=folder, run=folder, env=_environment())
        self.pid = 0
        self.rpc = Rpc(self.port)
        self.runtime: Runtime
        self.genesis = b""
        self.code = Code(b"", "", 0, 0)

    def _command(self, pruning: str) -> list[str]:
        return [
            str(self.binaries.node),
            f"--chain={self.folder / 'spec.json'}",
            f"--base-path={self.data}",
            "--alice",
            "--validator",
            "--force-authoring",
            "--database=paritydb",
            f"--state-pruning={pruning}",
            f"--node-key={secrets.token_hex(32)}",
            f"--rpc-port={self.port}",
            f"--prometheus-port={self.metrics_port}",
            f"--listen-addr=/ip4/127.0.0.1/tcp/{ports.free()}",
            "--no-telemetry",
            "--no-mdns",
            # As scripts/up and docker-compose.yml start it: see docs/benchmarks.md.
            "--pool-limit=32768",
            "--pool-kbytes=65536",
        ]

    @property
    def data(self) -> Path:
        """The chain's database and keys."""
        return self.folder / "data"

    def write_spec(self, endowed: Mapping[str, int], params: Mapping[str, Mapping[str, Any]]) -> None:
        """The development preset with `endowed` accounts (SS58 -> base units) beside its own, and with these values of
        the pallets' parameters (pallet -> name -> value) in place of its own."""
        preset = json.loads(self._chain_spec("--plain"))["genesis"]["runtimeGenesis"]["patch"]
        balances = [*preset["balances"]["balances"], *([who, amount] for who, amount in endowed.items())]
        patch = {pallet: {"params": {**preset[pallet]["params"], **values}} for pallet, values in params.items()}
        file = self.folder / "patch.json"
        file.write_text(json.dumps({**patch, "balances": {"balances": balances}}), encoding="utf-8")
        (self.folder / "spec.json").write_bytes(self._chain_spec(f"--patch={file}"))

    def _chain_spec(self, *options: str) -> bytes:
        command = [str(self.binaries.node), "chain-spec", f"--runtime={self.binaries.runtime}"]
        made = subprocess.run([*command, "--preset=development", *options], capture_output=True, check=False)
        if made.returncode != 0:
            raise NodeError(f"the chain's specification could not be made: {made.stderr.decode()[-500:].strip()}")
        return made.stdout

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.pid = self._child.start()
        limit = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.genesis = bytes.fromhex(self.hash_of(0)[2:])
                # The genesis block has no slot: measurements begin at the next one.
                if self.rpc.call("chain_getBlockHash", 1) is not None:
                    break
            except (OSError, http.client.HTTPException):
                pass
            if self._child.ended() is not None or time.monotonic() > limit:
                raise NodeError(f"the node did not start:\n{self._child.last_lines()}")
            time.sleep(_POLL_SECONDS)
        version = self.rpc.call("state_getRuntimeVersion")
        metadata = bytes.fromhex(self.rpc.call("state_getMetadata")[2:])
        self.code = Code(metadata, version["specName"], version["specVersion"], version["transactionVersion"])
        self.runtime = self.code.runtime()

    def stop(self) -> None:
        """End it."""
        self._child.stop()

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

    def metrics(self) -> dict[str, float]:
        """Prometheus samples, the labels dropped, samples of one name added up."""
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=_RPC_SECONDS)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        found: dict[str, float] = {}
        for name, _, value in _SAMPLE.findall(text):
            found[name] = found.get(name, 0.0) + float(value)
        return found

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


def header_of(rpc: Rpc, block_hash: str) -> Header:
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


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}


@contextlib.contextmanager
def running(
    binaries: Binaries,
    endowed: Mapping[str, int],
    params: Mapping[str, Mapping[str, Any]],
    pruning: str = "archive",
) -> Iterator[Node]:
    """A fresh node for the length of the block; its folder is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="gantry-bench-"))
    node = Node(binaries, folder, pruning)
    try:
        node.write_spec(endowed, params)
        node.start()
        yield node
    finally:
        node.stop()
        shutil.rmtree(folder, ignore_errors=True)
