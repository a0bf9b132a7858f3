"""Evidence about an ended lease: for whom, and what is in it."""

import asyncio
import contextlib
import dataclasses
import hashlib

import pytest
from agent_world import TENANT, World, agent_running

from node_agent.handlers.evidence_requests import EvidenceRequests
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.transport.port import HostRefused
from offchain.schema.chain_types._generated_chain import DisputePhase, Evidence, LeaseStateEnded
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.protocol import evidence
from offchain.schema.protocol.evidence import LEASE_FILE, LOG_FILE, MAX_HOST_EVIDENCE, OUTPUT_FILE, unpack
from offchain.schema.protocol.messages import Code
from tests.support.dispute_records import dispute, seat
from tests.support.fake_engine import FakeProgram

JUROR, STRANGER = from_uri("//Dave"), from_uri("//Eve")
OUTPUT, LOG = b"hello\n", b"warned\n"


class Host(World):
    """An agent whose pods write `output` and end."""

    def __init__(self, folder, output=OUTPUT):
        super().__init__(folder, lambda *_: FakeProgram(output=output, errors=LOG))

    @contextlib.asynccontextmanager
    async def serving(self):
        state = StateDir(self.folder)
        agent = self.made(state, handlers=EvidenceRequests(GantryChain(self.chain), state).handlers())
        async with agent_running(agent, state):
            self.agent_now = agent
            self.lease = self.open_lease()
            await self.until(lambda: isinstance(self.tasks.lease(self.lease).state, LeaseStateEnded))
            yield self

    async def shown_to(self, signer):
        async with self.asking(self.agent_now, signer) as client:
            return unpack(await client.evidence(self.lease), MAX_HOST_EVIDENCE)

    def dispute(self, **changes):
        """A dispute by the tenant about the lease, before a jury of `JUROR`."""
        parties = {"opener": TENANT.address, "tenant": TENANT.address, "accused": (self.lease,), "evidence": ()}
        record = dispute(DisputePhase.COMMITTING, seat(JUROR.address), **{**parties, **changes})
        self.table("Verification", "Disputes")[(lease_parts(self.lease)[0],)] = record.encode()
        return record


@pytest.fixture
async def host(tmp_path):
    async with Host(tmp_path / "agent").serving() as made:
        yield made


async def refusal(host, signer):
    with pytest.raises(HostRefused) as refused:
        await host.shown_to(signer)
    return refused.value.refusal.code


async def test_the_tenant_gets_output_and_log(host):
    found = await host.shown_to(TENANT)
    assert found[OUTPUT_FILE] == OUTPUT
    assert LOG in found[LOG_FILE]
    assert hashlib.sha256(found[OUTPUT_FILE]).digest() == host.tasks.lease(host.lease).result.digest


async def test_a_juror_gets_the_same_while_its_ballot_is_open(host):
    of_tenant = await host.shown_to(TENANT)
    assert await refusal(host, JUROR) is Code.NOT_YOUR_LEASE
    record = host.dispute()
    assert await host.shown_to(JUROR) == of_tenant
    assert await refusal(host, STRANGER) is Code.NOT_ON_JURY
    host.dispute(ballot=dataclasses.replace(record.ballot, seats=(), former=(JUROR.address,)))
    assert await refusal(host, JUROR) is Code.NOT_ON_JURY
    host.dispute(accused=(host.lease + (1 << 16),))
    assert await refusal(host, JUROR) is Code.NOT_YOUR_LEASE


async def test_data_of_a_tenant_that_did_not_complain_stays_private_until_it_consents(host):
    host.dispute(opener=STRANGER.address)
    found = await host.shown_to(JUROR)
    assert set(found) == {LEASE_FILE}
    assert b'"withheld":true' in found[LEASE_FILE]
    host.dispute(opener=STRANGER.address, evidence=(Evidence(TENANT.address, bytes(32), 0),))
    assert (await host.shown_to(JUROR))[OUTPUT_FILE] == OUTPUT


async def test_a_running_pod_is_no_evidence(host):
    host.engine.programs = lambda *_: FakeProgram(runs=True)
    host.lease = host.open_lease()
    assert await refusal(host, TENANT) is Code.NOT_READY


async def test_archives_are_made_a_few_at_a_time(host):
    """While they are made, others are answered that they have to wait."""
    outcomes = await asyncio.gather(*(host.shown_to(TENANT) for _ in range(8)), return_exceptions=True)
    refused = [one.refusal.code for one in outcomes if isinstance(one, HostRefused)]
    assert len(refused) + sum(isinstance(one, dict) for one in outcomes) == len(outcomes)
    assert set(refused) <= {Code.BUSY}
    assert any(isinstance(one, dict) for one in outcomes)


async def test_a_large_output_is_left_out_and_a_long_log_cut(tmp_path):
    line = b"x" * 999 + b"\n"
    output = line * (evidence.MAX_OUTPUT_BYTES // len(line) + 100)
    async with Host(tmp_path / "agent", output).serving() as host:
        found = await host.shown_to(TENANT)
    assert OUTPUT_FILE not in found
    assert evidence.MAX_LOG_BYTES // 2 < len(found[LOG_FILE]) <= evidence.MAX_LOG_BYTES
    assert found[LOG_FILE].endswith(LOG)
