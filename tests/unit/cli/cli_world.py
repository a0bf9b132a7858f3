"""A chain in memory for commands: one host, accounts with coins, and pallets that do what a test says."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from offchain.cli import main as cli
from offchain.cli import session
from offchain.link import keys
from offchain.link.fake import FakeChain
from offchain.link.ports import Call

GTY = 10**12
CHARLIE = keys.from_uri("//Charlie").address
BOB = keys.from_uri("//Bob").address
HOST = keys.from_uri("//Host", "ed25519").address
DIGEST = "sha256:" + "ab" * 32
RESULT = b"primes below 10: 4\n"

MANIFEST = f"""
services:
  train:
    image: tool@{DIGEST}
    deploy:
      resources:
        limits: {{cpus: "1", memory: 1GiB}}
        reservations: {{devices: [{{count: 1, capabilities: [gpu]}}]}}
x-gantry:
  price: {{max_per_hour: "2.5 GTY"}}
  duration: 1h
  placement: {{allow_simulated: true}}
"""


def host_record() -> dict[str, Any]:
    capacity = {"cpu_milli": 4000, "memory_mib": 8192, "disk_gib": 100}
    spec = {"vendor": "Nvidia", "model": b"SIM-1", "vram_mib": 8192, "simulated": True}
    return {
        "provider": BOB,
        "status": "Online",
        "total": dict(capacity),
        "free": dict(capacity),
        "devices": [{"spec": spec, "milli_free": 1000, "attested": False}],
        "ask": {
            "gpu_per_hour": GTY,
            "cpu_core_per_hour": GTY // 10,
            "memory_gib_per_hour": GTY // 100,
            "disk_gib_per_hour": 0,
        },
        "endpoint": b"127.0.0.1:4001",
        "region": b"here",
        "bond": 10 * GTY,
        "registered_at": 0,
        "last_heartbeat": 0,
        "live_leases": 0,
    }


RATE = GTY + GTY // 10 + GTY // 100


@dataclass
class World:
    """The chain, and what commands printed."""

    chain: FakeChain
    capture: pytest.CaptureFixture[str]
    sent: list[Call] = field(default_factory=list)

    def run(self, *arguments: str | Path) -> tuple[int, str, str]:
        """A command's exit status, standard output and standard error."""
        self.capture.readouterr()
        status = cli.main([str(argument) for argument in arguments])
        out, err = self.capture.readouterr()
        assert "Traceback" not in out + err
        return status, out, err

    def json(self, *arguments: str | Path) -> Any:
        """The one object that a command printed."""
        status, out, err = self.run(*arguments, "--json")
        assert status == 0, err
        (line,) = out.splitlines()
        return json.loads(line)

    def put(self, pallet: str, item: str, key: Any, value: Any) -> None:
        keys_ = key if isinstance(key, tuple) else (key,)
        self.chain.storage[pallet, item][keys_] = value


def make_chain() -> FakeChain:
    chain = FakeChain()
    chain.constants["Balances", "ExistentialDeposit"] = 10**9
    chain.storage["System", "Account"][CHARLIE,] = {"data": {"free": 1000 * GTY, "reserved": 0}}
    chain.storage["Hosts", "Hosts"][HOST,] = host_record()
    chain.storage["Tasks", "Params"][()] = {"deposit_base": GTY // 100, "deposit_per_byte": 10**7}
    return chain


@contextlib.asynccontextmanager
async def producing(chain: FakeChain) -> AsyncIterator[None]:
    """Makes a block whenever the pool has something, and one after it, as a live chain does."""

    async def produce() -> None:
        while True:
            await chain.produce()
            await asyncio.sleep(0.001)

    task = asyncio.create_task(produce())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def task_record(state: Any, leases: list[int], call: Call) -> dict[str, Any]:
    return {
        "tenant": CHARLIE,
        "spec": dict(call.args["spec"]),
        "state": state,
        "attempts": 0,
        "submitted_at": 1_700_000_000_000,
        "leases": leases,
        "pods_started": 1,
        "pods_reported": 1,
        "reported_at": None,
        "deposit": 0,
    }


def lease_record(exit_code: int = 0, data: bytes = RESULT) -> dict[str, Any]:
    usage = {"wall_ms": 5000, "cpu_ms": 4000, "memory_peak_mib": 9}
    return {
        "task": 0,
        "pod": 0,
        "attempt": 0,
        "host": HOST,
        "provider": BOB,
        "tenant": CHARLIE,
        "rate_per_hour": RATE,
        "state": {"Ended": "Completed"},
        "started_at": 1_700_000_001_000,
        "ended_at": 1_700_000_006_000,
        "result": {"digest": hashlib.sha256(data).digest(), "exit_code": exit_code, "usage": usage},
    }


def escrow(paid: int) -> dict[str, Any]:
    return {"tenant": CHARLIE, "provider": BOB, "deposit": RATE, "paid": paid, "fee": paid // 50, "state": "Closed"}


@dataclass
class Pallets:
    """What the chain does with calls: a submitted task runs through its states, one each block."""

    chain: FakeChain
    exit_code: int = 0
    ends: str | dict[str, str] = "Settled"
    path: tuple[str, ...] = ("Assigned", "Running", "Reported")
    window_is_open: bool = True
    """The task waits for its tenant; otherwise it is settled in the block of its report."""
    calls: list[Call] = field(default_factory=list)

    def effects(self, call: Call, account: str) -> list[tuple[str, str, dict[str, Any]]]:
        assert account == CHARLIE
        self.calls.append(call)
        if call.function == "submit":
            return self._submitted(call)
        if call.function == "accept_result":
            self.chain.storage["Tasks", "Tasks"][0,]["state"] = self.ends
            return [
                ("Tasks", "StateChanged", {"task": 0, "from": before, "to": to})
                for before, to in (("Reported", "Verified"), ("Verified", self.ends))
            ]
        if call.function == "cancel":
            self.chain.storage["Tasks", "Tasks"][0,]["state"] = "Cancelled"
            return [("Tasks", "StateChanged", {"task": 0, "from": "Queued", "to": "Cancelled"})]
        return []

    def _submitted(self, call: Call) -> list[tuple[str, str, dict[str, Any]]]:
        paid = RATE * 5000 // 3_600_000
        state = self.path[-1] if self.path and self.window_is_open else self.ends
        self.chain.storage["Tasks", "Tasks"][0,] = task_record(state, [7], call)
        self.chain.storage["Leases", "Leases"][7,] = lease_record(self.exit_code)
        self.chain.storage["Billing", "Escrows"][7,] = escrow(paid)
        beta = {"positive": 1_000_000, "negative": 0}
        self.chain.storage["Reputation", "HostScores"][HOST,] = {
            "completed": beta,
            "started": beta,
            "uptime": beta,
            "settled_leases": 1,
            "updated_at": 0,
        }
        result = {"digest": hashlib.sha256(RESULT).digest(), "exit_code": self.exit_code, "usage": {}}
        detail: dict[str, tuple[str, dict[str, Any]]] = {
            "Assigned": ("Assigned", {"task": 0, "attempt": 0, "leases": [(7, HOST)]}),
            "Running": ("PodStarted", {"task": 0, "lease": 7}),
            "Reported": ("PodReported", {"task": 0, "lease": 7, "result": result}),
        }
        found: list[tuple[str, str, dict[str, Any]]] = [
            ("Tasks", "Submitted", {"task": 0, "tenant": CHARLIE, "kind": "Job", "manifest_digest": bytes(32)})
        ]
        before: Any = "Queued"
        for state in self.path:
            found += [("Tasks", *detail[state]), ("Tasks", "StateChanged", {"task": 0, "from": before, "to": state})]
            before = state
        if not self.window_is_open:
            found.append(("Tasks", "StateChanged", {"task": 0, "from": before, "to": self.ends}))
        return found


Patch = Callable[[str, Any], None]


def install(monkeypatch: pytest.MonkeyPatch, chain: FakeChain) -> None:
    """Have commands use this chain, and blocks be made while they run."""
    monkeypatch.setattr(session, "make_chain", lambda _network: copy_of(chain))
    original = session.connected

    @contextlib.asynccontextmanager
    async def connected(url: str | None) -> AsyncIterator[Any]:
        async with original(url) as found, producing(chain):
            yield found

    for name in ("cmd_submit", "cmd_task", "cmd_host", "cmd_account", "cmd_doctor"):
        monkeypatch.setattr(f"offchain.cli.{name}.connected", connected)


def copy_of(chain: FakeChain) -> FakeChain:
    """The same chain with conditions of the running event loop."""
    chain._news = asyncio.Condition()
    return chain


def fresh(record: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(record)
