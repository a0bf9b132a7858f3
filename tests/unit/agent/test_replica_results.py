"""Results of replicas: committed once, revealed when all commitments are final, whenever the agent is killed."""

import asyncio
import contextlib
import dataclasses
from pathlib import Path

import pytest
from agent_builders import MANIFEST, a_lease, a_pod, an_ending
from agent_world import HELLO, TENANT, World

from node_agent.chain.replica_results import ReplicaResults
from node_agent.core.pod_steps import collect
from node_agent.core.replica_results import HeldResult, RevealStep, RevealView, reveal_step
from offchain.adapters.outbox.store import Store
from offchain.adapters.transport.port import HostRefused
from offchain.ports import DispatchFailure
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.protocol.messages import Code, Request
from offchain.schema.protocol.operations import Args, AttachArgs, DialArgs, ExecArgs, LogsArgs, PutArgs
from tests.support.chain_records import zeroed
from tests.support.fake_chain import FakeChain

COMPARED = MANIFEST + b"  verification: {replicas: 2}\n"
POLICY = gen.VerificationPolicyRedundant(2)
RESULT = gen.PodResult(b"\7" * 32, 0, gen.Usage(1_000, 10, 1))
OTHER = gen.PodResult(b"\1" * 32, 0, gen.Usage(1_000, 10, 1))
KEY = bytes(range(32))
HELD = HeldResult(5, 1_000, RESULT, b"\3" * 32)
OURS, THEIRS = HELD.commitment(KEY), b"\2" * 32
REVEAL_MS = 18_000


def a_record(phase: gen.ResultsPhase = gen.ResultsPhase.REVEALING, **changes: object) -> gen.ResultsRecord:
    replicas = (gen.Replica(5, "us", OURS, None), gen.Replica(6, "them", THEIRS, None))
    record = zeroed(gen.ResultsRecord, phase=phase, until=20_000, wanted=2, replicas=replicas)
    return dataclasses.replace(record, **changes)


def a_view(**changes: object) -> RevealView:
    view = RevealView(5, OURS, a_record(), a_record(), is_over=True, now_ms=3_000, reveal_ms=REVEAL_MS)
    return dataclasses.replace(view, **changes)


def without_last(record: gen.ResultsRecord) -> gen.ResultsRecord:
    return dataclasses.replace(record, phase=gen.ResultsPhase.COMMITTING, replicas=record.replicas[:1])


def revealed() -> gen.ResultsRecord:
    return a_record(replicas=(gen.Replica(5, "us", OURS, RESULT), gen.Replica(6, "them", THEIRS, None)))


def test_a_commitment_binds_the_host_the_result_and_the_salt() -> None:
    assert len({OURS, HELD.commitment(bytes(32)), dataclasses.replace(HELD, salt=bytes(32)).commitment(KEY)}) == 3
    assert dataclasses.replace(HELD, result=OTHER).commitment(KEY) != OURS


@pytest.mark.parametrize(
    ("view", "step"),
    [
        (a_view(), RevealStep.REVEAL),
        (a_view(final=without_last(a_record())), RevealStep.NOTHING),
        (a_view(final=None, is_over=False), RevealStep.NOTHING),
        (a_view(final=without_last(a_record()), now_ms=13_999), RevealStep.NOTHING),
        (a_view(final=without_last(a_record()), now_ms=14_001), RevealStep.REVEAL),
        (a_view(now_ms=20_001), RevealStep.NOTHING),
        (a_view(best=without_last(a_record()), final=without_last(a_record())), RevealStep.NOTHING),
        (a_view(best=revealed()), RevealStep.NOTHING),
        (a_view(best=revealed(), final=revealed()), RevealStep.FORGET),
        (a_view(commitment=b"\4" * 32), RevealStep.LOST),
        (a_view(best=None, final=None), RevealStep.FORGET),
        (a_view(best=None, final=None, is_over=False), RevealStep.NOTHING),
    ],
)
def test_a_result_is_shown_when_all_commitments_are_final_or_time_is_short(view: RevealView, step: RevealStep) -> None:
    assert reveal_step(view) is step


def test_a_replica_that_a_limit_ended_has_an_empty_result() -> None:
    for redundant, cut, oom_killed, is_empty in (
        (True, "", False, False),
        (True, "out of time", False, True),
        (True, "", True, True),
        (False, "out of time", True, False),
    ):
        ending = dataclasses.replace(an_ending(), oom_killed=oom_killed)
        pod = dataclasses.replace(a_pod(lease=a_lease(redundant=redundant)), cut=cut, ending=ending)
        started = dataclasses.replace(pod.containers[0], handle="handle")
        pod = dataclasses.replace(pod, containers=(started,))
        assert (collect(pod).handle is None) == is_empty


async def test_the_first_result_of_a_lease_is_never_replaced(tmp_path: Path) -> None:
    lease = a_lease(redundant=True)
    with contextlib.closing(Store(tmp_path / "agent.db")) as store:
        results = ReplicaResults(FakeChain(), store, KEY)
        first = await results.commitment(lease, RESULT)
        assert await results.commitment(lease, OTHER) == first
        again = await results.commitment(dataclasses.replace(lease, created_at_ms=2_000), RESULT)
        assert again != first, "the lease of another fork has a salt of its own"
        assert len({one.salt for one in results.held()}) == 2
    assert (tmp_path / "agent.db").stat().st_mode & 0o077 == 0
    with contextlib.closing(Store(tmp_path / "agent.db")) as store:
        assert await ReplicaResults(FakeChain(), store, KEY).commitment(lease, OTHER) == first


class ComparedWorld(World):
    """A chain on which all other replicas have committed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda _spec, _container: HELLO)
        self.commitments: list[bytes] = []
        self.revealed: list[gen.PodResult] = []
        params = zeroed(gen.VerificationParams, result_reveal_ms=REVEAL_MS)
        self.table("Verification", "Params")[()] = params.encode()

    @property
    def results(self) -> dict[tuple[int], dict]:
        return self.table("Verification", "Results")

    def _verdict(self, call, account):
        if call.function == "commit_result" and self.tasks.lease(call.args["lease"]).state.tag != "Active":
            return DispatchFailure("Tasks", "LeaseNotActive", "")
        if call.function == "reveal_result":
            found = self.results.get((lease_parts(call.args["lease"])[0],))
            record = None if found is None else gen.ResultsRecord.decode(found)
            if record is None or record.replicas[0].result is not None:
                return DispatchFailure("Verification", "AlreadyRevealed", "")
        return super()._verdict(call, account)

    def _effects(self, call, account):
        if call.function == "commit_result":
            number, bound = call.args["lease"], call.args["commitment"]
            self.commitments.append(bound)
            mine = gen.Replica(number, account, bound, None)
            record = a_record(until=self.now_ms + REVEAL_MS, replicas=(mine, gen.Replica(6, "them", THEIRS, None)))
            self.results[lease_parts(number)[0],] = record.encode()
            return [self.end_lease(number)]
        if call.function == "reveal_result":
            number, result = call.args["lease"], gen.PodResult.decode(call.args["result"])
            key = (lease_parts(number)[0],)
            record = gen.ResultsRecord.decode(self.results[key])
            bound = HeldResult(number, 0, result, call.args["salt"]).commitment(self.key.public_key)
            assert record.replicas[0].commitment == bound
            self.revealed.append(result)
            shown = dataclasses.replace(record.replicas[0], result=result)
            self.results[key] = dataclasses.replace(record, replicas=(shown, *record.replicas[1:])).encode()
            return [("Verification", "ResultRevealed", {"task": key[0], "lease": number})]
        return super()._effects(call, account)


@pytest.fixture
def compared(tmp_path: Path) -> ComparedWorld:
    return ComparedWorld(tmp_path / "agent")


@pytest.mark.parametrize("moment", range(10))
async def test_an_agent_killed_at_any_moment_commits_once_and_reveals_that(
    compared: ComparedWorld, moment: int
) -> None:
    number = compared.open_lease(COMPARED, verification=POLICY)
    async with compared.agent():
        for step in range(moment):
            await compared.chain.produce(finalize=step % 2 == 1)
            for _ in range(100):
                await asyncio.sleep(0)
    async with compared.agent() as agent:
        await compared.until(lambda: compared.revealed and not agent.state.pods)
    assert len(set(compared.commitments)) == 1
    (result,) = compared.revealed
    assert result.exit_code == 0
    assert compared.reports == [], "the result is not reported"
    assert compared.tasks.lease(number).state.tag == "Ended"


@pytest.mark.parametrize("args", [ExecArgs(("sh",)), AttachArgs("0" * 32, 0), DialArgs(80), PutArgs("/", "0" * 32, 10)])
async def test_nobody_enters_a_replica(compared: ComparedWorld, args: Args) -> None:
    number = compared.open_lease(COMPARED, verification=POLICY)
    compared.tasks.change_lease(number, state=gen.LeaseStateActive())
    request = Request(
        args=args, account=TENANT.address, nonce="0" * 32, expires_ms=0, crypto=TENANT.crypto, lease=number
    )
    async with compared.agent() as agent:
        requests = agent._make_host_requests()
        with pytest.raises(HostRefused) as refused:
            await requests.authorise(request)
        assert refused.value.refusal.code is Code.UNSUPPORTED
        await requests.authorise(dataclasses.replace(request, args=LogsArgs()))


async def test_a_revealed_result_is_forgotten_and_still_served(compared: ComparedWorld) -> None:
    number = compared.open_lease(COMPARED, verification=POLICY)
    async with compared.agent() as agent:
        await compared.until(lambda: compared.revealed and not agent._replicas.held())
        compared.tasks.change_lease(number, result=compared.revealed[0])
        await compared.chain.produce()
        async with compared.asking(agent) as client:
            assert await client.result(number, compared.revealed[0].digest) == HELLO.output
