"""An agent's answers to challenges on a chain in memory: pods on the device, failures, and what is told of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from agent_builders import HOST, a_lease, a_service, a_spec

from node_agent.chain.challenge_responder import ChallengeResponder
from node_agent.challenge.child_process import ChildPrograms
from node_agent.challenge.container import ContainerPrograms
from node_agent.challenge.program_port import ProgramSource
from node_agent.core.states import AgentState, Phase, Pod
from node_agent.telemetry.hardware import Hardware, HostDevice
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox.store import Store
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.challenge.sizing import SIMULATED_DEADLINE_S
from tests.support.challenge_records import challenge
from tests.support.fake_chain import FakeChain
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeEngine, FakeProgram

NUMBER, LEASE, TENANT = 7, 3, "5Tenant"
ANSWER_MS = 60_000
HARDWARE = Hardware(4000, 8192, 100, (HostDevice("Nvidia", "SIM-1", 24_576, None),), answers_challenges=True)
NOBODY = gen.HostChallenges(None, None, None, None, None)
ASKED = challenge(gen.ChallengePhase.ANSWERING, host=HOST.address, answer=None, until=10**9)
NOWHERE = "sha256:" + "0" * 64
PATIENCE_S = 240.0  # the program runs at low priority beside everything that is tested at once


@dataclass
class Agent:
    """The part of an agent that the responder uses."""

    state: AgentState
    sent: list[Call] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, key: str, call: Call) -> bool:
        assert key.startswith(f"answer-challenge:{NUMBER}:")
        self.sent.append(call)
        self.news.set()
        return True


class Rig:
    """A host with one simulated GPU, which is challenged; its pod runs on that GPU if there is one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chain = FakeChain()
        self.store = Store(folder / "agent.db")
        self.driver = FakeDriver(FakeEngine(self), HOST.address)
        self.agent = Agent(AgentState(HOST))
        params = dict.fromkeys(gen.VerificationParams.__dataclass_fields__, 1)
        self.chain.storage["Verification", "Params"][()] = params | {"answer_ms": ANSWER_MS}

    def __call__(self, *_: Any, **__: Any) -> FakeProgram:
        return FakeProgram(runs=True)

    def open(self, **changes: Any) -> None:
        record = replace(ASKED, **changes)
        self.chain.storage["Verification", "ByHost"][(HOST.address,)] = replace(NOBODY, open=NUMBER).encode()
        self.chain.storage["Verification", "Challenges"][(NUMBER,)] = record.encode()

    async def close(self, outcome: gen.ChallengeOutcome) -> None:
        """End the challenge in the next block, with its event."""
        self.chain.storage["Verification", "ByHost"][(HOST.address,)] = NOBODY.encode()
        self.chain.storage["Verification", "Challenges"].clear()
        fields = {"challenge": NUMBER, "host": HOST.address, "device": 0, "outcome": outcome.value, "returned": 0}
        self.chain.effects = lambda _call, _account: [("Verification", "ChallengeClosed", fields)]
        signer = from_uri("//Alice")
        signed = await self.chain.sign(
            Call("System", "remark", {}), signer, await self.chain.next_nonce(signer.address)
        )
        await self.chain.broadcast(signed)
        await self.chain.produce()

    async def run_pod(self) -> None:
        spec = a_spec(LEASE, a_service())
        await self.driver.prepare(spec)
        await self.driver.start(spec, "main", 1)
        lease = a_lease(LEASE, devices=(0,), tenant=TENANT)
        self.agent.state = AgentState(HOST, {LEASE: Pod(lease=lease, phase=Phase.RUNNING, spec=spec)})

    @asynccontextmanager
    async def responder(self, programs: ProgramSource | None = None) -> AsyncIterator[ChallengeResponder]:
        source = programs or ChildPrograms(self.folder)
        made = ChallengeResponder(self.chain, self.store, source, self.driver, HOST.address, HARDWARE)
        running = asyncio.create_task(made.run(self.agent))
        try:
            yield made
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await source.close()

    async def blocks_until(self, holds: Callable[[], object]) -> None:
        """Make blocks until something holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await self.chain.produce()
                await asyncio.sleep(0.01)  # the responder's turn: it computes in another process


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_a_pod_on_the_device_is_left_alone_until_it_ends(rig: Rig) -> None:
    await rig.run_pod()
    rig.open()
    async with rig.responder() as responder:
        await rig.blocks_until(lambda: "waiting for the end of a pod" in responder.state_text)
        assert f"the pod of lease {LEASE} has GPU 0. Pods are not disturbed" in responder.state_text
        await rig.chain.produce(5)
        (found,) = await rig.driver.recover(LEASE)
        assert found.running
        assert rig.agent.sent == []
        await rig.driver.destroy(LEASE, keep_data=False)
        await rig.blocks_until(lambda: rig.agent.sent)
        assert "has GPU 0" not in responder.state_text


async def test_a_tenant_that_challenges_its_own_gpu_has_it_proven_beside_its_pod(rig: Rig) -> None:
    await rig.run_pod()
    rig.open(opener=TENANT)
    async with rig.responder():
        await rig.blocks_until(lambda: rig.agent.sent)
    (found,) = await rig.driver.recover(LEASE)
    assert found.running


async def test_a_pod_on_another_device_is_not_waited_for(rig: Rig) -> None:
    await rig.run_pod()
    (pod,) = rig.agent.state.pods.values()
    rig.agent.state = AgentState(HOST, {LEASE: replace(pod, lease=replace(pod.lease, devices=(1,)))})
    rig.open()
    async with rig.responder():
        await rig.blocks_until(lambda: rig.agent.sent)


async def test_why_a_challenge_was_missed_is_told_also_after_a_restart(rig: Rig) -> None:
    rig.open()
    away = ContainerPrograms(f"unix://{rig.folder}/none.sock", HOST.address, NOWHERE)
    async with rig.responder(away) as responder:
        await rig.blocks_until(lambda: "no Docker engine answers" in responder.state_text)
        assert responder.last_text == ""
        await rig.close(gen.ChallengeOutcome.MISSED)
        # The report is stored before the challenge is over for the agent, so that a crash in between does not lose it.
        await rig.blocks_until(lambda: responder.last_text and not responder.state_text)
    async with rig.responder() as responder:
        assert responder.last_text.startswith(f"the host did not answer challenge {NUMBER}, which has no consequence")
        assert "no Docker engine answers" in responder.last_text
        assert "Start the engine" in responder.last_text


async def test_a_passed_challenge_replaces_the_report(rig: Rig) -> None:
    rig.open()
    async with rig.responder() as responder:
        await rig.blocks_until(lambda: rig.agent.sent)
        await rig.close(gen.ChallengeOutcome.PASSED)
        await rig.blocks_until(lambda: responder.last_text)
        assert responder.last_text == f"the host passed challenge {NUMBER}"
    deadline = ASKED.until - ANSWER_MS + 1000 * SIMULATED_DEADLINE_S
    assert {answer.args["not_after"] for answer in rig.agent.sent} == {deadline}


async def test_a_challenge_whose_end_is_pruned_is_over_without_a_report(rig: Rig) -> None:
    rig.open()
    async with rig.responder() as responder:
        await rig.blocks_until(lambda: rig.agent.sent)
        rig.chain.pruned_before = 10**6
        await rig.close(gen.ChallengeOutcome.PASSED)
        await rig.blocks_until(lambda: not responder.state_text)
        assert responder.last_text == ""


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"device": 1}, "GPU 1 cannot be proven: it is not in this machine"),
        ({"claim": replace(ASKED.claim, simulated=False)}, "the table of models does not have its model"),
        ({"claim": replace(ASKED.claim, model=b"NVIDIA H200", simulated=False)}, "it is not in this machine"),
    ],
)
async def test_a_device_that_is_not_here_is_told(rig: Rig, changes: Mapping[str, Any], part: str) -> None:
    rig.open(**changes)
    async with rig.responder() as responder:
        await rig.blocks_until(lambda: part in responder.state_text)
        assert "gantry agent change-hardware" in responder.state_text
    assert rig.agent.sent == []


async def test_an_answer_that_would_be_late_is_not_sent(rig: Rig) -> None:
    rig.open(until=60_000)
    rig.chain.storage["Timestamp", "Now"][()] = 60_000
    async with rig.responder() as responder:
        await rig.blocks_until(lambda: "the answer would be late" in responder.state_text)
    assert rig.agent.sent == []


async def test_a_program_that_cannot_be_started_is_a_trouble_before_any_challenge(rig: Rig) -> None:
    away = ContainerPrograms(f"unix://{rig.folder}/none.sock", HOST.address, NOWHERE)
    made = ChallengeResponder(rig.chain, rig.store, away, rig.driver, HOST.address, HARDWARE)
    await made.check()
    assert made.trouble.startswith("the challenge program cannot be started: no Docker engine answers")
    await away.close()
    made = ChallengeResponder(rig.chain, rig.store, ChildPrograms(rig.folder), rig.driver, HOST.address, HARDWARE)
    await made.check()
    assert made.trouble == ""
