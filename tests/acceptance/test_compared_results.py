"""Replicas from end to end on a real node: a scheduler, a settler and agents as processes, a tenant's commands.

One host is killed with SIGKILL between commitment, tag and reveal of its result. Two others cheat: one commits a copy
of the other's commitment, and that one never shows its tag. A host that lies is in `scripts/demo-cheater`.
"""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit.host_connection import fetch_result, result_lease_of
from offchain.devnet.paths import ROOT
from offchain.schema.chain_types._generated_chain import storage
from offchain.services.record_views import read_task
from offchain.services.replica_verdicts import ReplicaVerdict
from tests.support.compared_host import GO, MODEL, compared_host
from tests.support.final_events import FinalEvents, final_events
from tests.support.real_chain import PATIENCE, Chain, chain_of
from tests.support.worker_process import worker_process

TENANT, WORKER = from_uri("//Charlie"), "//Dave"
RIGHT = "primes below 10: 4\n"
GENESIS: dict[str, Any] = {
    "tasks": {"params": {"maxReplicas": 3}},
    "verification": {"params": {"resultRevealMs": 24_000}},
}
MANIFEST = """
services:
  job:
    image: tool@sha256:{digest}
    deploy:
      resources:
        limits: {{cpus: "1", memory: 64MiB}}
        reservations: {{devices: [{{count: 1, capabilities: [gpu]}}]}}
x-gantry:
  price: {{max_per_hour: "100 GTY"}}
  duration: 10m
  verification: {{replicas: 2}}
  placement: {{allow_simulated: true, models: [{model}], hosts: [{hosts}]}}
"""


@dataclass
class Network:
    chain: Chain
    folder: Path
    events: FinalEvents
    stack: contextlib.ExitStack

    def play(self, name: str, provider: str, behaviour: str = "") -> subprocess.Popen[bytes]:
        return self.stack.enter_context(compared_host(self.chain.url, self.folder / name, provider, RIGHT, behaviour))

    async def online(self, name: str) -> str:
        """Wait for a registered host that was heard of, and return its address."""
        return await self.chain.online(self.folder / name)

    async def submit(self, *hosts: str) -> int:
        """Submit a job with two replicas, for these hosts only."""
        text = MANIFEST.format(digest="ab" * 32, model=MODEL, hosts=", ".join(hosts))
        return await self.chain.submit(TENANT, text.encode())

    async def bond(self, host: str) -> int:
        record = await GantryChain(self.chain.link).host(host)
        assert record is not None
        return record.bond


@pytest.fixture
async def network(tmp_path: Path) -> AsyncIterator[Network]:
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(tmp_path / "node", GENESIS))
        events = await stack.enter_async_context(final_events(chain.link, PATIENCE))
        processes = stack.enter_context(contextlib.ExitStack())
        processes.enter_context(worker_process("all", WORKER, chain.url, tmp_path / "worker"))
        yield Network(chain, tmp_path, events, processes)


async def test_replicas_are_placed_committed_compared_and_paid(network: Network) -> None:
    first = network.play("first", "//Bob")
    network.play("late", "//Eve", "late")
    hosts = [await network.online(name) for name in ("first", "late")]
    await two_honest_hosts_agree(network, first, hosts)
    network.play("copier", "//Ferdie", "copy")
    network.play("silent", "//Alice", "withhold")
    cheats = [await network.online(name) for name in ("copier", "silent")]
    await hosts_that_reveal_nothing_are_slashed_and_unpaid(network, cheats)
    assert await network.chain.link.query("Billing", "TotalEscrowed") == 0


async def two_honest_hosts_agree(network: Network, first: subprocess.Popen[bytes], hosts: list[str]) -> None:
    task = await network.submit(*hosts)
    assigned = await network.events.until("Assigned", task=task)
    leases = {host: lease for lease, host, *_ in assigned.fields["leases"]}
    assert set(leases) == set(hosts)
    bound = await network.events.until("ResultCommitted", lease=leases[hosts[0]])
    first.kill()
    await asyncio.to_thread(first.wait)
    (network.folder / "late" / GO).touch()
    await network.events.until("TagsOpened", task=task)
    first = network.play("first", "//Bob")
    tagged = await network.events.until("ResultTagged", lease=leases[hosts[0]])
    first.kill()
    await asyncio.to_thread(first.wait)
    await network.events.until("ResultsOpened", task=task)
    network.play("first", "//Bob")
    closed = await network.events.until("ResultsClosed", task=task)
    assert set(closed.fields["outcome"]) == {"Agreed"}
    assert network.events.all("ResultCommitted", lease=leases[hosts[0]]) == [bound], "it committed once"
    assert network.events.all("ResultTagged", lease=leases[hosts[0]]) == [tagged], "it showed its tag once"
    assert {one.fields["tag"] for one in network.events.all("ResultTagged", task=task)} == {tagged.fields["tag"]}
    settled = await network.events.until("Settled", task=task)
    assert all(bill["paid"] > 0 for bill in settled.fields["bills"])
    assert not network.events.all("ReplicaRejected", task=task)
    view = await read_task(network.chain.link, task)
    assert [lease.verdict for lease in view.leases] == [ReplicaVerdict.AGREED] * 2
    assert await fetch_result(network.chain.link, result_lease_of(view, None), TENANT) == RIGHT.encode()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (network.folder / "first").glob("agent.db*"))


async def hosts_that_reveal_nothing_are_slashed_and_unpaid(network: Network, cheats: list[str]) -> None:
    bonds = {host: await network.bond(host) for host in cheats}
    task = await network.submit(*cheats)
    deposits = await deposits_of(network, task)
    one, other = [await network.events.until("ResultCommitted", lease=lease) for lease in deposits]
    assert one.fields["commitment"] == other.fields["commitment"], "a copy is accepted, and of no use"
    closed = await network.events.until("ResultsClosed", task=task)
    assert closed.fields["outcome"] == "NoAgreement"
    rejected = network.events.all("ReplicaRejected", task=task)
    assert {event.fields["host"]: event.fields["reason"] for event in rejected} == dict.fromkeys(
        cheats, "ResultNotRevealed"
    )
    for host, bond in bonds.items():
        (slashed,) = network.events.all("Slashed", host=host)
        assert slashed.fields["amount"] == min(bond, 3 * max(deposits.values()))
    assert not network.events.all("SlashShared", task=task), "nobody agreed"
    (failed,) = network.events.all("NotVerified", task=task)
    assert [bill["paid"] for bill in failed.fields["bills"]] == [0, 0]
    view = await read_task(network.chain.link, task)
    assert view.state == "Failed(NoAgreement)"
    assert await GantryChain(network.chain.link).read(storage.verification_results, task) is None


async def deposits_of(network: Network, task: int) -> dict[int, int]:
    """Return the deposits of a task's first leases."""
    assigned = await network.events.until("Assigned", task=task)
    return {lease: deposit for lease, *_, deposit in assigned.fields["leases"]}


def test_a_lying_host_is_detected_slashed_and_replaced(tmp_path: Path) -> None:
    """The demo prints what happened; its numbers agree with each other."""
    line = [str(ROOT / "scripts" / "demo-cheater"), "--json", "--folder", str(tmp_path / "demo")]
    made = subprocess.run(line, capture_output=True, text=True, check=False, timeout=110)
    assert made.returncode == 0, made.stderr[-4_000:]
    found = json.loads(made.stdout.splitlines()[-1])
    hosts = {host["role"]: host for host in found["hosts"]}
    liar = hosts["liar"]
    assert liar["slashed"] == 3 * liar["deposited"] < liar["bond_before"], "three deposits of its lease"
    assert liar["bond_after"] == liar["bond_before"] - liar["slashed"]
    assert (liar["paid"], liar["verdict"]) == (0, "wrong")
    honest = [hosts["honest"], hosts["replacement"]]
    assert [(host["slashed"], host["verdict"]) for host in honest] == [(0, "agreed")] * 2
    assert all(host["paid"] > 0 for host in honest)
    assert found["tenant_paid"] == sum(host["paid"] for host in honest)
    assert found["refunded"] == found["deposited"] - found["tenant_paid"]
    assert liar["refunded"] == liar["deposited"]
    shared = found["shared"]
    assert len(shared) == 3, "the tenant and two providers"
    assert found["compensation"] == max(shared.values())
    others = sum(shared.values()) - found["compensation"]
    assert 0 <= found["compensation"] - others <= 2, "a quarter of the basis each, rounded down"
    assert sum(shared.values()) <= found["tenant_paid"] // 50, "at most half of the fees for the leases that agree"
    assert found["treasury_received"] >= liar["slashed"] - sum(shared.values())
    assert found["result"] == "primes below 1000000: 78498\n"
