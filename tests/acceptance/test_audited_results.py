"""Audited jobs from end to end on a real node: a scheduler, a settler and agents as processes, a tenant's commands.

The first job is run by the only host, which lies: the chain draws an audit, a second and a third host agree on another
result, the liar is slashed and the tenant compensated. The second job is repeated and agrees. The third may run on one
host only, so that nobody repeats it, and its tenant accepts the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.port import HostRefused
from offchain.cli.kit.host_connection import fetch_result, open_lease_host, result_lease_of
from offchain.core.pricing import with_surcharge
from offchain.ports import ChainEvent
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.schema.protocol.messages import Code
from offchain.services.host_trust import read_host_trust
from offchain.services.record_views import read_task
from offchain.services.replica_verdicts import ReplicaVerdict
from tests.support.compared_host import MODEL, compared_host
from tests.support.final_events import FinalEvents, final_events
from tests.support.real_chain import PATIENCE, Chain, chain_of
from tests.support.worker_process import worker_process

TENANT, WORKER = from_uri("//Charlie"), "//Dave"
RIGHT, WRONG = "primes below 10: 4\n", "primes below 10: 5\n"
SURCHARGE_PPM = 50_000
GENESIS: dict[str, Any] = {
    "tasks": {"params": {"maxReplicas": 3, "auditSurchargePpm": SURCHARGE_PPM, "disputeWindowMs": 3_600_000}},
    "verification": {"params": {"resultRevealMs": 24_000, "resultCommitMs": 45_000}},
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
  duration: 3m
  verification: audit
  placement: {{allow_simulated: true, models: [{model}]{hosts}}}
"""


@dataclass
class Network:
    chain: Chain
    folder: Path
    events: FinalEvents
    stack: contextlib.ExitStack

    async def start(self, name: str, provider: str, output: str = RIGHT) -> str:
        """Start a host, and return its address when it is online."""
        self.stack.enter_context(compared_host(self.chain.url, self.folder / name, provider, output))
        return await self.chain.online(self.folder / name)

    async def submit(self, *hosts: str) -> int:
        """Submit an audited job, for any host or for these only."""
        named = f", hosts: [{', '.join(hosts)}]" if hosts else ""
        return await self.chain.submit(TENANT, MANIFEST.format(digest="ab" * 32, model=MODEL, hosts=named).encode())

    async def bond(self, host: str) -> int:
        record = await GantryChain(self.chain.link).host(host)
        assert record is not None
        return record.bond

    async def assigned(self, task: int, earlier: int = 0) -> tuple[int, str, int, int]:
        """Return lease, host, rate and deposit of the task's next lease."""
        (lease,) = (await self.events.until("Assigned", earlier=earlier, task=task)).fields["leases"]
        return tuple(lease)

    async def drawn(self, task: int) -> ChainEvent:
        drawn = await self.events.until("AuditDrawn", task=task)
        assert drawn.fields["probability_ppm"] == 1_000_000, "always, while a host has few valid results"
        return drawn

    async def refusal(self, task: int, what: str) -> Code | None:
        """Return why the host of the task's first pod shows the tenant no log or result; None: it does."""
        view = await read_task(self.chain.link, task)
        try:
            async with open_lease_host(self.chain.link, view.leases[0], TENANT) as client:
                if what == "result":
                    await client.result(view.leases[0].id, bytes(32))
                else:
                    async for _ in client.logs(view.leases[0].id):
                        pass
        except HostRefused as refused:
            return refused.refusal.code
        return None

    async def valid_results(self, host: str) -> int:
        return (await read_host_trust(self.chain.link, host)).valid_results


@pytest.fixture
async def network(tmp_path: Path) -> AsyncIterator[Network]:
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(tmp_path / "node", GENESIS))
        events = await stack.enter_async_context(final_events(chain.link, PATIENCE))
        processes = stack.enter_context(contextlib.ExitStack())
        processes.enter_context(worker_process("all", WORKER, chain.url, tmp_path / "worker"))
        yield Network(chain, tmp_path, events, processes)


async def test_audited_jobs_are_drawn_repeated_compared_and_paid(network: Network) -> None:
    honest = await a_lie_is_found_by_an_audit(network)
    await a_repeated_job_that_agrees_costs_its_price_once(network, honest)
    await a_job_that_nobody_repeats_is_accepted_by_its_tenant(network, honest[0])
    assert await network.chain.link.query("Billing", "TotalEscrowed") == 0


async def a_lie_is_found_by_an_audit(network: Network) -> tuple[str, str]:
    """Return the honest hosts."""
    liar = await network.start("liar", "//Ferdie", WRONG)
    bond = await network.bond(liar)
    task = await network.submit()
    lease, host, _, deposit = await network.assigned(task)
    assert host == liar, "the only one"
    await network.events.until("ResultCommitted", lease=lease)
    for what in ("log", "result"):
        assert await network.refusal(task, what) is Code.NOT_READY, "another host could copy it"
    assert (await network.drawn(task)).fields["repeated"]
    first = await network.start("first", "//Bob")
    second_lease, second_host, *_ = await network.assigned(task, earlier=1)
    assert second_host == first
    tags = [await network.events.until("ResultTagged", lease=one) for one in (lease, second_lease)]
    assert tags[0].fields["tag"] != tags[1].fields["tag"]
    third = await network.start("second", "//Eve")
    closed = await network.events.until("ResultsClosed", task=task)
    assert set(closed.fields["outcome"]) == {"Agreed"}
    (rejected,) = network.events.all("ReplicaRejected", task=task)
    assert (rejected.fields["host"], rejected.fields["reason"]) == (liar, "WrongResult")
    (slashed,) = network.events.all("Slashed", host=liar)
    assert slashed.fields["amount"] == min(bond, 19 * deposit)
    shared = {one.fields["who"]: one.fields["amount"] for one in network.events.all("SlashShared", task=task)}
    assert set(shared) == {who.address for who in (TENANT, from_uri("//Bob"), from_uri("//Eve"))}
    assert shared[TENANT.address] > 0
    settled = await network.events.until("Settled", task=task)
    paid = {bill["lease"]: bill["paid"] for bill in settled.fields["bills"]}
    assert paid.pop(lease) == 0
    assert all(paid.values())
    view = await read_task(network.chain.link, task)
    verdicts = [ReplicaVerdict.WRONG, ReplicaVerdict.AGREED, ReplicaVerdict.AGREED]
    assert [one.verdict for one in view.leases] == verdicts
    assert await fetch_result(network.chain.link, result_lease_of(view, None), TENANT) == RIGHT.encode()
    assert [await network.valid_results(host) for host in (liar, first, third)] == [0, 1, 1]
    return first, third


async def a_repeated_job_that_agrees_costs_its_price_once(network: Network, hosts: tuple[str, str]) -> None:
    task = await network.submit(*hosts)
    lease, host, rate, _ = await network.assigned(task)
    assert (await network.drawn(task)).fields["repeated"]
    other_lease, other, price, _ = await network.assigned(task, earlier=1)
    assert {host, other} == set(hosts)
    assert rate == with_surcharge(price, SURCHARGE_PPM), "both ask for the same, and the first gets a surcharge"
    settled = await network.events.until("Settled", task=task)
    paid = {bill["lease"]: bill["paid"] for bill in settled.fields["bills"]}
    assert paid[other_lease] > 0
    view = await read_task(network.chain.link, task)
    assert [one.verdict for one in view.leases] == [ReplicaVerdict.AGREED] * 2
    first = next(one for one in view.leases if one.id == lease)
    assert first.started_at is not None
    assert first.ended_at is not None
    assert first.usage is not None
    owed = rate * min(first.ended_at - first.started_at, first.usage["wall_ms"]) // 3_600_000
    assert sum(paid.values()) == max(owed, paid[other_lease]), "the first host pays the other out of its own price"
    assert not network.events.all("ReplicaRejected", task=task)
    assert [await network.valid_results(host) for host in hosts] == [2, 2]


async def a_job_that_nobody_repeats_is_accepted_by_its_tenant(network: Network, host: str) -> None:
    task = await network.submit(host)
    lease, *_ = await network.assigned(task)
    assert (await network.drawn(task)).fields["repeated"], "it is drawn, and no other host may take it"
    closed = await network.events.until("ResultsClosed", task=task)
    assert closed.fields["outcome"] == "NotRepeated"
    assert not network.events.all("ResultTagged", task=task)
    view = await read_task(network.chain.link, task)
    assert (view.state, view.leases[0].verdict) == ("Reported", ReplicaVerdict.NOT_REPEATED)
    assert await fetch_result(network.chain.link, result_lease_of(view, None), TENANT) == RIGHT.encode()
    assert await network.refusal(task, "log") is None
    await network.chain.do(TENANT, calls.tasks_accept_result(task=task))
    settled = await network.events.until("Settled", task=task)
    ((paid_lease, paid),) = [(bill["lease"], bill["paid"]) for bill in settled.fields["bills"]]
    assert (paid_lease, paid > 0) == (lease, True)
    assert await network.valid_results(host) == 2, "while it is always audited, only compared results count"
    assert await GantryChain(network.chain.link).read(storage.verification_results, task) is None
