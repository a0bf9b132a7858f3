"""Disputes from end to end on a real node: hosts and two jurors as processes, a tenant, and a juror who is a person.

The jury is all three verifiers. Two of them execute the job again; one of these is killed with SIGKILL between the
commitment and the reveal of its vote.
"""

import contextlib
import hashlib
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.port import HostRefused
from offchain.adapters.transport.routing import open_host
from offchain.cli.kit import disputes
from offchain.errors import CheckFailed
from offchain.ports import Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls, storage
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.protocol.evidence import OUTPUT_FILE, RECEIPT_FILE, lease_member, own_member
from offchain.schema.protocol.messages import Code
from offchain.services.evidence import read_bundle
from tests.support.chain_records import ANY_RATE
from tests.support.disputed_host import played
from tests.support.final_events import FinalEvents, final_events
from tests.support.real_chain import PATIENCE, Chain, chain_of

TENANT, STRANGER = from_uri("//Charlie"), from_uri("//One")
DAVE, EVE, FERDIE = JURY = tuple(from_uri(f"//{name}") for name in ("Dave", "Eve", "Ferdie"))
REPORT = b"7 is a prime, too"
RIGHT, WRONG = "primes below 10: 4\n", "primes below 10: 5\n"
GENESIS: dict[str, Any] = {
    "validators": {"slotMs": 600},
    "tasks": {"params": {"disputeWindowMs": 60_000}},
    "verification": {
        "verifiers": [juror.address for juror in JURY],
        "params": {
            "committeeSize": 1,
            "jurySize": 3,
            "appealJurySize": 3,
            "minVerifiers": 3,
            "hearingMs": 3_000,
            "disputeCommitMs": 60_000,
            "disputeRevealMs": 12_000,
            "appealMs": 3_000,
        },
    },
}
MANIFEST = f"""
services:
  job:
    image: tool@sha256:{"ab" * 32}
    deploy: {{resources: {{limits: {{cpus: "1", memory: 64MiB}}}}}}
x-gantry:
  price: {{max_per_hour: "100 GTY"}}
  duration: 10m
  verification: deterministic
""".encode()


@dataclass
class Network:
    chain: Chain
    folder: Path
    events: FinalEvents
    stack: contextlib.ExitStack

    def play(self, what: str, name: str, account: str, output: str) -> subprocess.Popen[bytes]:
        return self.stack.enter_context(played(what, self.chain.url, self.folder / name, account, output))

    async def online(self, name: str) -> str:
        """Wait for a registered host that was heard of, and return its address."""
        return await self.chain.online(self.folder / name)

    async def reported(self, host: str) -> int:
        """Have a job of the tenant run on this host, and return its number when it is reported."""
        task = await self.chain.submit(TENANT, MANIFEST)
        pods = [gen.PodPlacement(0, host, b"", ANY_RATE)]
        await self.chain.do(TENANT, calls.tasks_assign(task=task, pods=pods))
        await self.events.until("PodReported", task=task)
        return task

    async def opened(self, task: int) -> disputes.StoredBundle:
        """Dispute the task with the evidence that its host shows, and a file of the tenant."""
        output = self.folder / f"evidence-{task}.tar"
        stored, _ = await disputes.open_dispute(
            self.chain.link, task, TENANT, own={"report.txt": REPORT}, output=output, quiet=True
        )
        return stored

    async def asked(self, task: int, signer: Signer) -> bytes:
        """Ask the host of the task for evidence."""
        typed, lease = GantryChain(self.chain.link), await self.lease(task)
        record = await typed.host(lease.host)
        assert record is not None
        genesis = await self.chain.link.genesis_hash()
        async with open_host(ss58.decode(lease.host), record.endpoint, genesis_hash=genesis, signer=signer) as client:
            return await client.evidence(lease_id(task, 0, 0))

    async def lease(self, task: int) -> gen.Lease:
        found = await GantryChain(self.chain.link).task(task)
        assert found is not None
        return found.record.leases[0]

    async def vote(self, task: int, juror: Signer, vote: gen.Vote) -> None:
        files = await disputes.vote_files(self.chain.link, juror, self.folder / "person")
        await disputes.cast_vote(self.chain.link, task, juror, files, vote, "read the log", quiet=True)

    async def reveal(self, task: int, juror: Signer) -> None:
        files = await disputes.vote_files(self.chain.link, juror, self.folder / "person")
        await disputes.until_reveals(self.chain.link, task, juror)
        await disputes.reveal_vote(self.chain.link, task, juror, files, quiet=True)


@pytest.fixture
async def network(tmp_path: Path) -> AsyncIterator[Network]:
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(tmp_path / "node", GENESIS))
        events = await stack.enter_async_context(final_events(chain.link, PATIENCE))
        processes = stack.enter_context(contextlib.ExitStack())
        made = Network(chain, tmp_path, events, processes)
        made.play("juror", "eve", "//Eve", RIGHT)
        yield made


async def test_a_wrong_result_is_unpaid_and_its_host_slashed(network: Network) -> None:
    dave = network.play("juror", "dave", "//Dave", RIGHT)
    network.play("host", "liar", "//Bob", WRONG)
    host = await network.online("liar")
    bond = await bond_of(network, host)
    task = await network.reported(host)
    matter = gen.MatterDispute(task).encode()
    await evidence_is_for_the_tenant_and_the_jury(network, task, matter)
    await network.events.until("VoteCommitted", matter=matter, who=DAVE.address)
    dave.kill()
    dave.wait()
    network.play("juror", "dave", "//Dave", RIGHT)
    await network.events.until("VoteCommitted", matter=matter, who=EVE.address)
    await network.vote(task, FERDIE, gen.Vote.YES)
    with pytest.raises(CheckFailed, match="has already voted"):
        await network.vote(task, FERDIE, gen.Vote.YES)
    # Ferdie withholds the reveal: its vote is lost, and it pays.
    closed = await network.events.until("DisputeClosed", task=task)
    assert closed.fields["outcome"] == "Upheld"
    revealed = {
        event.fields["who"]: event.fields["vote"] for event in network.events.all("VoteRevealed", matter=matter)
    }
    assert revealed == {DAVE.address: "Yes", EVE.address: "Yes"}
    (penalty,) = network.events.all("VerifierPenalised", matter=matter)
    assert (penalty.fields["who"], penalty.fields["reason"]) == (FERDIE.address, "Absent")
    await the_verdict_was_executed(network, task, host, bond)
    votes = network.folder / "dave" / "votes"
    assert all(path.stat().st_mode & 0o077 == 0 for path in votes.rglob("*"))


async def evidence_is_for_the_tenant_and_the_jury(network: Network, task: int, matter: Any) -> None:
    """Open the dispute, and wait for its jury."""
    with pytest.raises(HostRefused) as refused:
        await network.asked(task, STRANGER)
    assert refused.value.refusal.code is Code.NOT_YOUR_LEASE
    stored = await network.opened(task)
    assert stored.bundle.problems == ()
    members = read_bundle(stored.path.read_bytes())
    lease = lease_id(task, 0, 0)
    assert members[lease_member(lease, OUTPUT_FILE)] == WRONG.encode()
    assert lease_member(lease, RECEIPT_FILE) in members
    with pytest.raises(CheckFailed, match="in dispute already"):
        await network.opened(task)
    opened = await network.events.until("DisputeOpened", task=task)
    assert opened.fields["evidence"] == hashlib.sha256(stored.path.read_bytes()).digest()
    with pytest.raises(HostRefused):
        await network.asked(task, FERDIE)  # no jury is drawn yet

    drawn = await network.events.until("CommitteeDrawn", matter=matter)
    assert set(drawn.fields["members"]) == {juror.address for juror in JURY}
    shown = await disputes.fetch_evidence(
        network.chain.link, task, FERDIE, tuple(opened.fields["accused"]), opener=TENANT.address
    )
    assert shown.digest == stored.bundle.digest, "a juror gets what the tenant named on the chain"
    assert read_bundle(shown.data)[own_member("report.txt")] == REPORT
    with pytest.raises(HostRefused) as refused:
        await network.asked(task, STRANGER)
    assert refused.value.refusal.code is Code.NOT_ON_JURY
    with pytest.raises(CheckFailed, match="is not on the jury"):
        await network.vote(task, STRANGER, gen.Vote.NO)


async def the_verdict_was_executed(network: Network, task: int, host: str, bond: int) -> None:
    """The escrow is refunded, the host slashed, and the scores of both sides changed."""
    chain = network.chain
    found = await GantryChain(chain.link).task(task)
    assert found is not None
    assert found.record.state.encode() == {"Failed": "DisputeLost"}
    escrow = found.record.leases[0].escrow
    assert (escrow.paid, escrow.fee) == (0, 0)
    (slashed,) = network.events.all("Slashed", host=host)
    assert slashed.fields["fault"] == "WrongResult"
    assert await bond_of(network, host) <= bond - slashed.fields["amount"]
    score = await GantryChain(chain.link).read(storage.reputation_host_scores, host)
    assert score is not None
    assert score.verified.negative > 0
    assert network.events.all("StakeLost", task=task) == []
    tenant = await GantryChain(chain.link).read(storage.reputation_tenant_scores, TENANT.address)
    assert tenant is not None
    assert tenant.disputes.positive > 0


async def test_a_tenant_that_disputes_good_work_pays(network: Network) -> None:
    network.play("juror", "dave", "//Dave", RIGHT)
    network.play("host", "honest", "//Bob", RIGHT)
    host = await network.online("honest")
    bond = await bond_of(network, host)
    task = await network.reported(host)
    matter = gen.MatterDispute(task).encode()
    await network.opened(task)
    await network.events.until("CommitteeDrawn", matter=matter)
    await network.vote(task, FERDIE, gen.Vote.NO)
    await network.reveal(task, FERDIE)
    closed = await network.events.until("DisputeClosed", task=task)
    assert closed.fields["outcome"] == "Rejected"
    assert {event.fields["vote"] for event in network.events.all("VoteRevealed", matter=matter)} == {"No"}
    assert network.events.all("VerifierPenalised", matter=matter) == []
    (lost,) = network.events.all("StakeLost", task=task)
    assert lost.fields["who"] == TENANT.address
    await network.chain.do(from_uri("//Alice"), calls.tasks_settle(task=task))
    settled = await network.events.until("Settled", task=task)
    assert settled.fields["bills"][0]["paid"] > 0
    assert await bond_of(network, host) == bond
    tenant = await GantryChain(network.chain.link).read(storage.reputation_tenant_scores, TENANT.address)
    assert tenant is not None
    assert tenant.disputes.negative > 0


async def bond_of(network: Network, host: str) -> int:
    record = await GantryChain(network.chain.link).host(host)
    assert record is not None
    return record.bond
