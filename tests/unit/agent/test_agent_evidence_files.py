"""Files of the opener of a dispute at the host of an accused lease: who sends them, who sees them, how long."""

import contextlib
import dataclasses

import pytest
from agent_world import TENANT, World, agent_running

from node_agent.handlers import evidence_files
from node_agent.handlers.evidence_files import FOLDER, EvidenceFiles
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.port import HostRefused
from offchain.schema.chain_types._generated_chain import DisputePhase
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.protocol.messages import Code
from tests.support.dispute_records import dispute, seat
from tests.support.fake_engine import FakeProgram

JUROR, STRANGER = from_uri("//Dave"), from_uri("//Eve")
FILES = b"signed archive" * 40_000
"""More than one window of a session."""


class Host(World):
    """An agent with a lease, which keeps files of disputes."""

    def __init__(self, folder):
        super().__init__(folder, lambda *_: FakeProgram(runs=True))

    @contextlib.asynccontextmanager
    async def serving(self):
        state = StateDir(self.folder)
        agent = self.made(state, handlers=EvidenceFiles(GantryChain(self.chain), state.path).handlers())
        async with agent_running(agent, state):
            self.agent_now = agent
            self.lease = self.open_lease()
            yield self

    def dispute(self, lease=None, **changes):
        """A dispute by the tenant about a lease, before a jury of `JUROR`."""
        lease = self.lease if lease is None else lease
        parties = {"opener": TENANT.address, "tenant": TENANT.address, "accused": (lease,), "evidence": ()}
        record = dispute(DisputePhase.COMMITTING, seat(JUROR.address), **{**parties, **changes})
        self.table("Verification", "Disputes")[(lease_parts(lease)[0],)] = record.encode()
        return record

    async def send(self, signer, data=FILES, lease=None):
        async with self.asking(self.agent_now, signer) as client:
            await client.send_evidence_files(self.lease if lease is None else lease, data)

    async def shown_to(self, signer):
        async with self.asking(self.agent_now, signer) as client:
            return await client.evidence_files(self.lease)


@pytest.fixture
async def host(tmp_path):
    async with Host(tmp_path / "agent").serving() as made:
        yield made


async def refusal(asked):
    with pytest.raises(HostRefused) as refused:
        await asked
    return refused.value.refusal.code


async def test_parties_and_jurors_see_what_the_opener_has_sent(host):
    host.dispute()
    assert await refusal(host.shown_to(JUROR)) is Code.GONE
    await host.send(TENANT)
    assert await host.shown_to(JUROR) == FILES
    assert await host.shown_to(TENANT) == FILES
    assert await refusal(host.shown_to(STRANGER)) is Code.NOT_ON_JURY
    await host.send(TENANT, b"corrected")
    assert await host.shown_to(JUROR) == b"corrected"


async def test_only_the_opener_sends_files(host):
    host.dispute()
    assert await refusal(host.send(JUROR)) is Code.NOT_YOUR_LEASE
    assert await refusal(host.send(STRANGER)) is Code.NOT_YOUR_LEASE
    host.dispute(opener=STRANGER.address)
    await host.send(STRANGER)
    assert await refusal(host.send(TENANT)) is Code.NOT_YOUR_LEASE
    assert await host.shown_to(TENANT) == FILES, "the tenant sees what is said about its task"


async def test_without_a_dispute_about_the_lease_nothing_is_kept_or_shown(host):
    assert await refusal(host.send(TENANT)) is Code.NOT_FOUND
    assert await refusal(host.send(STRANGER)) is Code.NOT_YOUR_LEASE
    host.dispute(accused=(host.lease + (1 << 16),))
    assert await refusal(host.send(TENANT)) is Code.NOT_FOUND
    assert not (host.folder / FOLDER).exists()


async def test_jurors_of_earlier_juries_see_nothing(host):
    record = host.dispute()
    await host.send(TENANT)
    host.dispute(ballot=dataclasses.replace(record.ballot, seats=(), former=(JUROR.address,)))
    assert await refusal(host.shown_to(JUROR)) is Code.NOT_ON_JURY


async def test_files_are_removed_when_their_dispute_is_over_and_bounded_until_then(host, monkeypatch):
    monkeypatch.setattr(evidence_files, "MAX_KEPT", 1)
    host.dispute()
    await host.send(TENANT)
    other = host.open_lease()
    host.dispute(other)
    assert await refusal(host.send(TENANT, lease=other)) is Code.BUSY
    host.table("Verification", "Disputes").pop((lease_parts(host.lease)[0],))
    await host.send(TENANT, lease=other)
    (kept,) = (host.folder / FOLDER).iterdir()
    assert kept.name == str(lease_parts(other)[0])
    assert kept.stat().st_mode & 0o777 == 0o600
