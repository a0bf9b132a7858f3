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

from offchain.adapters.keys import signer
from offchain.cli import main as cli
from offchain.cli.kit import session
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import GTY, Tasks, ask, device, escrow, host_record, hosts_params, lease, tasks_params
from tests.support.fake_chain import FakeChain

CHARLIE = signer.from_uri("//Charlie").address
BOB = signer.from_uri("//Bob").address
HOST = signer.from_uri("//Host", "ed25519").address
DIGEST = "sha256:" + "ab" * 32
RESULT = b"primes below 10: 4\n"
SENT = "Sent; it takes effect when its block is final, in some seconds.\n"

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


def the_host(**changes: Any) -> dict[str, Any]:
    capacity = gen.Capacity(4000, 8192, 100)
    plain: dict[str, Any] = host_record(
        BOB,
        total=capacity,
        free=capacity,
        devices=(device(model=b"SIM-1", vram_mib=8192, simulated=True),),
        ask=ask(gpu_per_hour=GTY, cpu_core_per_hour=GTY // 10, memory_gib_per_hour=GTY // 100),
        endpoint=b"127.0.0.1:4001",
        region=b"here",
        bond=10 * GTY,
    ).encode()
    return {**plain, **changes}


RATE = GTY + GTY // 10 + GTY // 100
PAID = RATE * 5000 // 3_600_000
LEASE = lease_id(0, 0, 0)
Happened = tuple[str, str, dict[str, Any]]


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
    chain.storage["Hosts", "Hosts"][HOST,] = the_host()
    chain.storage["Hosts", "Params"][()] = hosts_params()
    chain.storage["Tasks", "Params"][()] = tasks_params(deposit_base=GTY // 100, deposit_per_byte=10**7)
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


def the_lease(paid: int, exit_code: int = 0, data: bytes = RESULT) -> gen.Lease:
    usage = gen.Usage(wall_ms=5000, cpu_ms=4000, memory_peak_mib=9)
    return lease(
        HOST,
        state=gen.LeaseStateEnded(gen.EndReasonCompleted()),
        started_at=1_700_000_001_000,
        ended_at=1_700_000_006_000,
        result=gen.PodResult(hashlib.sha256(data).digest(), exit_code, usage),
        escrow=escrow(deposit=RATE, rate_per_hour=RATE, accrued=paid, paid=paid, fee=paid // 50, open=False),
    )


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

    def effects(self, call: Call, account: str) -> list[Happened]:
        assert account == CHARLIE
        self.calls.append(call)
        tasks = Tasks(self.chain)
        if call.function == "submit":
            return self._submitted(call)
        if call.function == "accept_result":
            tasks.change(0, state=gen.TaskState.decode(self.ends))
            return [("Tasks", "ResultAccepted", {"task": 0}), self._ended()]
        if call.function == "cancel":
            tasks.change(0, state=gen.TaskStateCancelled())
            return [("Tasks", "Cancelled", {"task": 0, "bills": []})]
        return []

    def _ended(self) -> Happened:
        if self.ends == "Settled":
            bill = {"lease": LEASE, "paid": PAID, "fee": PAID // 50, "refunded": RATE - PAID}
            return ("Tasks", "Settled", {"task": 0, "bills": [bill]})
        why = {"task": 0, "lease": LEASE, "reason": "StartTimeout", "bills": [], "failures": 3, "state": self.ends}
        return ("Tasks", "Requeued", why)

    def _submitted(self, call: Call) -> list[Happened]:
        state = self.path[-1] if self.path and self.window_is_open else self.ends
        tasks = Tasks(self.chain)
        tasks.submit(CHARLIE, gen.TaskSpec.decode(call.args["spec"]), now=1_700_000_000_000)
        tasks.change(0, state=gen.TaskState.decode(state), leases=(the_lease(PAID, self.exit_code),))
        beta = {"positive": 1_000_000, "negative": 0}
        none = {"positive": 0, "negative": 0}
        self.chain.storage["Reputation", "HostScores"][HOST,] = {
            "completed": beta,
            "verified": none,
            "uptime": none,
            "start_latency": beta,
            "rating": none,
            "sla": {"promised_ms": 0, "met_ms": 0},
            "settled_leases": 1,
            "updated_at": 0,
        }
        result = {"digest": hashlib.sha256(RESULT).digest(), "exit_code": self.exit_code, "usage": {}}
        detail: dict[str, tuple[str, dict[str, Any]]] = {
            "Assigned": ("Assigned", {"task": 0, "generation": 0, "leases": [(LEASE, HOST, RATE, RATE)]}),
            "Running": ("PodStarted", {"task": 0, "lease": LEASE, "depletes_at": 1_700_003_601_000}),
            "Reported": ("PodReported", {"task": 0, "lease": LEASE, "result": result}),
        }
        found: list[Happened] = [
            (
                "Tasks",
                "Submitted",
                {"first": 0, "count": 1, "tenant": CHARLIE, "kind": "Job", "manifest_digest": bytes(32)},
            )
        ]
        for state in self.path:
            name, fields = detail[state]
            found.append(("Tasks", name, {**fields, "state": state}))
        if not self.window_is_open:
            found.append(self._ended())
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

    monkeypatch.setattr(session, "connected", connected)


def copy_of(chain: FakeChain) -> FakeChain:
    """The same chain with conditions of the running event loop."""
    chain._news = asyncio.Condition()
    return chain


def fresh(record: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(record)


def refused(world: World, *arguments: str | Path) -> tuple[str, str]:
    """Code and text of the one error; nothing was sent."""
    status, out, err = world.run("submit", *arguments, "--json")
    assert status in (1, 2)
    (line,) = out.splitlines()
    assert err.startswith("error: ")
    assert not world.chain.executed
    return json.loads(line)["error"]["code"], err
