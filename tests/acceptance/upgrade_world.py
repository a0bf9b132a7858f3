"""A chain that starts from the previous release, and the people on it. Works on any release by its own metadata."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from offchain.link import ss58
from offchain.link.keys import from_uri
from offchain.link.once import submit_once
from offchain.link.ports import Block, Call, ChainEvent, Signer
from offchain.link.runtime import Runtime
from offchain.link.substrate import SubstrateChain
from offchain.local import node_rpc
from offchain.local.ports import free
from offchain.local.process import Child
from offchain.local.release import binaries

ROOT = Path(__file__).resolve().parent.parent.parent
PREVIOUS = ROOT / "chain" / "release" / "previous"
PATIENCE = 120.0
"""Seconds. A limit for a broken chain, not a measure of a good one."""
GTY = 10**12
MANIFEST = b"services: {}"

SUDO = from_uri("//Alice")
PROVIDER = from_uri("//Bob")
TENANT = from_uri("//Charlie")
SCHEDULER = from_uri("//Dave")
ANYONE = from_uri("//Ferdie")
ONLOOKERS = [from_uri(f"//{name}") for name in ("Eve", "Alice//stash", "Bob//stash", "Charlie//stash", "Dave//stash")]
HOST = from_uri("//Host", "ed25519")


def previous_runtime() -> Path:
    """The runtime of the release before this one, checked against its manifest."""
    newest = max(json.loads((PREVIOUS / "MANIFEST.json").read_text())["releases"], key=lambda one: one["spec_version"])
    path: Path = PREVIOUS / newest["file"]
    assert sha256(path.read_bytes()).hexdigest() == newest["sha256"], f"{path} was altered"
    return path


@dataclass
class Chain:
    """A running node. `link` reads and signs by the runtime of the moment it was connected."""

    port: int
    link: SubstrateChain

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def runtime(self) -> Runtime:
        """The runtime of the newest block."""
        version = node_rpc.ask(self.port, "state_getRuntimeVersion")
        raw = bytes.fromhex(str(node_rpc.ask(self.port, "state_getMetadata"))[2:])
        assert version is not None
        return Runtime(raw, version["specName"], version["specVersion"], version["transactionVersion"])

    async def reconnect(self) -> None:
        """Forget what was known of the chain's types."""
        await self.link.close()
        self.link = await connect(self.url)

    async def do(self, who: Signer, *calls: Call) -> tuple[ChainEvent, ...]:
        """Have calls take effect, several as one batch that is all or nothing; gives their events."""
        call = calls[0] if len(calls) == 1 else Call("Utility", "batch_all", {"calls": [plain(one) for one in calls]})
        included, block = await submit_once(self.link, who, call, PATIENCE)
        return tuple(event for event in block.events if event.extrinsic == included.index)

    async def coins(self, at: bytes) -> dict[str, Any]:
        """Every coin of a moment: who has how many, and for which reason they are held."""
        accounts = await self.link.query_map("System", "Account", at=at)
        holds = await self.link.query_map("Balances", "Holds", at=at)
        return {
            "accounts": {who: record["data"] for who, record in accounts},
            "holds": {who: sorted((str(hold["id"]), hold["amount"]) for hold in held) for who, held in holds},
            "issuance": await self.link.query("Balances", "TotalIssuance", at=at),
            "escrowed": await self.link.query("Billing", "TotalEscrowed", at=at),
        }

    async def block_with(self, number: int) -> Block:
        """A block, once it is final."""
        async with asyncio.timeout(PATIENCE):
            async for head in self.link.finalized():
                if head.number >= number:
                    return await self.link.block(number)
        raise AssertionError("the chain ended")


async def connect(url: str) -> SubstrateChain:
    # While it compiles a new runtime a node answers nobody.
    link = SubstrateChain(url, check_metadata=False, timeout=PATIENCE)
    await link.connect()
    return link


@asynccontextmanager
async def chain_of(runtime: Path, folder: Path, patch: Mapping[str, Any] | None = None) -> AsyncIterator[Chain]:
    """A chain with one validator that starts from this runtime; `patch` goes over the development preset."""
    node = binaries().node
    spec, port = folder / "spec.json", free()
    make_spec = [str(node), "chain-spec", f"--runtime={runtime}", "--preset=development", f"--output={spec}"]
    if patch is not None:
        (folder / "patch.json").write_text(json.dumps(patch), encoding="utf-8")
        make_spec.append(f"--patch={folder / 'patch.json'}")
    await asyncio.to_thread(subprocess.run, make_spec, check=True, capture_output=True)
    command = [str(node), f"--chain={spec}", f"--base-path={folder / 'data'}", "--alice", "--validator"]
    command += ["--force-authoring", "--database=paritydb", "--state-pruning=archive", f"--node-key={'02' * 32}"]
    command += [f"--rpc-port={port}", f"--listen-addr=/ip4/127.0.0.1/tcp/{free()}"]
    command += ["--no-prometheus", "--no-telemetry", "--no-mdns"]
    child = Child("node", command, log=folder / "log", run=folder / "run", env=os.environ)
    child.start()
    chain: Chain | None = None
    try:
        chain = Chain(port, await connect(f"ws://127.0.0.1:{port}"))
        yield chain
    except BaseException:
        sys.stderr.write(child.last_lines(40))
        raise
    finally:
        if chain is not None:
            await chain.link.close()
        child.stop()


def plain(call: Call) -> dict[str, Any]:
    """A call as calls of calls take it."""
    return {call.pallet: {call.function: dict(call.args)} if call.args else call.function}


def hardware() -> dict[str, Any]:
    gpu = {"vendor": "Nvidia", "model": b"SIM-1", "vram_mib": 24_576, "simulated": True}
    return {"cpu_milli": 64_000, "memory_mib": 65_536, "disk_gib": 1_000, "devices": [gpu, gpu]}


def ask() -> dict[str, int]:
    prices = {"gpu_per_hour": 3_600 * GTY, "cpu_core_per_hour": 36 * GTY}
    return {**prices, "memory_gib_per_hour": 0, "disk_gib_per_hour": 0}


def register(chain: Chain, genesis: bytes) -> Call:
    """The registration of HOST by PROVIDER as release 1 wants it signed."""
    runtime = chain.runtime()
    (function,) = [v for v in runtime.metadata.variants(runtime.pallet("Hosts").calls) if v.name == "register"]
    args = {"hardware": hardware(), "endpoint": b"here", "region": b"eu", "ask": ask()}
    encoded = b"".join(runtime.codec.encode(f.type, args[f.name], f.name) for f in function.fields if f.name in args)
    message = b"gantry/register/v1" + genesis + ss58.decode(PROVIDER.address) + encoded
    signature = HOST.sign(blake2b(message, digest_size=32).digest())
    return Call("Hosts", "register", {"host": HOST.address, **args, "host_signature": signature})


HEARTBEAT = Call("Hosts", "heartbeat", {})
"""A host that is silent for longer than the absence limit is not paid for the silence."""


def submit(*, pods: int = 1, gpus: int = 0) -> Call:
    """A task as release 1 takes it: so many pods of one core each."""
    spec = {
        "kind": "Job",
        "manifest_digest": sha256(MANIFEST).digest(),
        "resources": {
            "cpu_milli": 1_000,
            "memory_mib": 512,
            "disk_gib": 1,
            "gpus": {"count": gpus, "milli": 1_000, "min_vram_mib": 0, "models": []},
        },
        "pods_min": pods,
        "pods_max": pods,
        "max_rate_per_hour": 4_000 * GTY,
        "unit": "Second",
        "max_duration_ms": 3_600_000,
        "deadline": None,
        "priority": 3,
        "queue": b"default",
        "verification": "Acceptance",
        "placement": {"regions": [b"eu"], "hosts": [], "allow_simulated": True},
    }
    return Call("Tasks", "submit", {"spec": spec, "manifest": MANIFEST})


def assign(task: int, devices: Sequence[bytes] = (b"",)) -> Call:
    pods = [{"pod": pod, "host": HOST.address, "devices": chosen} for pod, chosen in enumerate(devices)]
    return Call("Tasks", "assign", {"task": task, "pods": pods})


def started(lease: int) -> Call:
    return Call("Tasks", "report_started", {"lease": lease})


def result(lease: int, wall_ms: int) -> Call:
    usage = {"wall_ms": wall_ms, "cpu_ms": wall_ms, "memory_peak_mib": 1}
    value = {"digest": bytes([9] * 32), "exit_code": 0, "usage": usage}
    return Call("Tasks", "report_result", {"lease": lease, "result": value})


def failed(lease: int) -> Call:
    return Call("Tasks", "report_failed", {"lease": lease, "reason": "DriverError"})


def on_task(function: str, task: int) -> Call:
    """accept_result, settle, cancel."""
    return Call("Tasks", function, {"task": task})
