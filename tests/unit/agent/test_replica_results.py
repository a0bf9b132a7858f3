"""Compared results: committed once, tag and result shown when those of all are final, whenever the agent is killed."""

import asyncio
import contextlib
import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from agent_builders import MANIFEST, a_lease, a_pod, an_ending
from agent_world import HELLO, TENANT, World

from node_agent.chain.replica_results import ReplicaResults
from node_agent.core.pod_steps import collect
from node_agent.core.replica_results import HeldResult, ResultStep, ResultView, next_step
from node_agent.core.states import Phase, Pod
from offchain.adapters.outbox.store import Store
from offchain.adapters.transport.port import HostRefused
from offchain.ports import DispatchFailure
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.protocol.messages import Code, Op, Request
from offchain.schema.protocol.operations import (
    Args,
    AttachArgs,
    DialArgs,
    ExecArgs,
    GetArgs,
    LogsArgs,
    PutArgs,
    ResultArgs,
)
from tests.support.chain_records import zeroed
from tests.support.fake_chain import FakeChain

COMPARED = MANIFEST + b"  verification: {replicas: 2}\n"
AUDITED = MANIFEST + b"  verification: audit\n"
POLICY = gen.VerificationPolicyRedundant(2)
RESULT = gen.PodResult(b"\7" * 32, 0, gen.Usage(1_000, 10, 1))
OTHER = gen.PodResult(b"\1" * 32, 0, gen.Usage(1_000, 10, 1))
KEY = bytes(range(32))
HELD = HeldResult(5, 1_000, RESULT, b"\3" * 32)
OURS, THEIRS = HELD.commitment(KEY), b"\2" * 32
TAG, OTHER_TAG = HELD.tag, b"\5" * 32
TAGGING, REVEALING = gen.ResultsPhase.TAGGING, gen.ResultsPhase.REVEALING
REVEAL_MS = 18_000


def a_record(
    phase: gen.ResultsPhase = REVEALING, tags: Sequence[bytes | None] = (TAG, TAG), **changes: object
) -> gen.ResultsRecord:
    bound = (("us", OURS), ("them", THEIRS), ("third", b"\6" * 32))
    replicas = tuple(
        gen.Replica(5 + place, who, commitment, tag, None)
        for place, ((who, commitment), tag) in enumerate(zip(bound, tags, strict=False))
    )
    audit = gen.AuditStateNotDrawn()
    record = zeroed(gen.ResultsRecord, phase=phase, until=20_000, wanted=2, audit=audit, replicas=replicas)
    return dataclasses.replace(record, **changes)


def a_view(best: gen.ResultsRecord | None = None, **changes: object) -> ResultView:
    """A view with the same record in the final block."""
    record = a_record() if best is None else best
    view = ResultView(5, OURS, record, record, is_over=True, now_ms=3_000, reveal_ms=REVEAL_MS)
    return dataclasses.replace(view, **changes)


COMMITTING = a_record(gen.ResultsPhase.COMMITTING, (None,))
UNTAGGED = a_record(TAGGING, (None, None))
REVEALED = dataclasses.replace(
    a_record(), replicas=(gen.Replica(5, "us", OURS, TAG, RESULT), gen.Replica(6, "them", THEIRS, TAG, None))
)
SINGLE = a_record(REVEALING, (None,), audit=gen.AuditStateSingle())


def test_a_commitment_binds_the_host_the_result_and_the_salt() -> None:
    assert len({OURS, HELD.commitment(bytes(32)), dataclasses.replace(HELD, salt=bytes(32)).commitment(KEY)}) == 3
    assert dataclasses.replace(HELD, result=OTHER).commitment(KEY) != OURS


def test_a_tag_is_that_of_what_makes_results_equal_in_one_task() -> None:
    used_more = dataclasses.replace(RESULT, usage=gen.Usage(2_000, 10, 1))
    failed = dataclasses.replace(RESULT, exit_code=-1)
    same_task = dataclasses.replace(HELD, lease=HELD.lease | 1 << 16, result=used_more, salt=bytes(32))
    assert same_task.tag == TAG
    others = [dataclasses.replace(HELD, result=OTHER), dataclasses.replace(HELD, result=failed)]
    others.append(dataclasses.replace(HELD, lease=HELD.lease + (1 << 24)))
    assert len({TAG, *(one.tag for one in others)}) == 4
    seventh = HeldResult(7 << 24, 0, gen.PodResult(b"\11" * 32, -2, RESULT.usage), b"")
    encoded = b"gantry/tag/v1" + b"\7" + bytes(7) + b"\11" * 32 + b"\xfe\xff\xff\xff"
    assert seventh.tag == hashlib.blake2b(encoded, digest_size=32).digest(), "SCALE of (context, task, digest, code)"


@pytest.mark.parametrize(
    ("view", "step"),
    [
        (a_view(), ResultStep.REVEAL),
        (a_view(final=COMMITTING), ResultStep.NOTHING),
        (a_view(final=None, is_over=False), ResultStep.NOTHING),
        (a_view(final=COMMITTING, now_ms=13_999), ResultStep.NOTHING),
        (a_view(final=COMMITTING, now_ms=14_001), ResultStep.REVEAL),
        (a_view(now_ms=20_001), ResultStep.NOTHING),
        (a_view(COMMITTING), ResultStep.NOTHING),
        (a_view(a_record(gen.ResultsPhase.DRAWING, (None,))), ResultStep.NOTHING),
        (a_view(REVEALED, final=a_record()), ResultStep.NOTHING),
        (a_view(REVEALED), ResultStep.FORGET),
        (a_view(commitment=b"\4" * 32), ResultStep.LOST),
        (ResultView(5, OURS, None, None, is_over=True, now_ms=0, reveal_ms=REVEAL_MS), ResultStep.FORGET),
        (ResultView(5, OURS, None, None, is_over=False, now_ms=0, reveal_ms=REVEAL_MS), ResultStep.NOTHING),
    ],
)
def test_a_result_is_shown_when_all_commitments_are_final_or_time_is_short(view: ResultView, step: ResultStep) -> None:
    assert next_step(view) is step


@pytest.mark.parametrize(
    ("view", "step"),
    [
        (a_view(UNTAGGED), ResultStep.TAG),
        (a_view(a_record(TAGGING, (None, OTHER_TAG)), final=UNTAGGED), ResultStep.TAG),
        (a_view(UNTAGGED, final=COMMITTING), ResultStep.NOTHING),
        (a_view(UNTAGGED, final=COMMITTING, now_ms=14_001), ResultStep.TAG),
        (a_view(UNTAGGED, now_ms=20_001), ResultStep.NOTHING),
        (a_view(UNTAGGED, commitment=b"\4" * 32), ResultStep.LOST),
        (a_view(a_record(TAGGING, (TAG, None))), ResultStep.NOTHING),
    ],
)
def test_a_tag_is_shown_once_when_all_commitments_are_final_or_time_is_short(
    view: ResultView, step: ResultStep
) -> None:
    assert next_step(view) is step


@pytest.mark.parametrize(
    ("view", "step"),
    [
        (a_view(a_record(tags=(TAG, TAG, OTHER_TAG))), ResultStep.REVEAL),
        (a_view(a_record(tags=(OTHER_TAG, TAG, TAG))), ResultStep.REVEAL),
        (a_view(a_record(tags=(TAG, OTHER_TAG))), ResultStep.NOTHING),
        (a_view(a_record(tags=(TAG, OTHER_TAG)), now_ms=19_000), ResultStep.NOTHING),
        (a_view(a_record(tags=(TAG,))), ResultStep.NOTHING),
        (a_view(final=a_record(tags=(TAG, OTHER_TAG))), ResultStep.NOTHING),
        (a_view(SINGLE), ResultStep.REVEAL),
    ],
)
def test_a_result_whose_tags_do_not_agree_is_not_shown(view: ResultView, step: ResultStep) -> None:
    assert next_step(view) is step


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
    """A chain on which all other replicas have committed, and show the tag of this host's result.

    `is_drawn`: whether an audited job is repeated.
    """

    def __init__(self, folder: Path, *, is_drawn: bool = True) -> None:
        super().__init__(folder, lambda _spec, _container: HELLO)
        self.commitments: list[bytes] = []
        self.tags: list[bytes] = []
        self.revealed: list[gen.PodResult] = []
        self.is_drawn = is_drawn
        params = zeroed(gen.VerificationParams, result_reveal_ms=REVEAL_MS)
        self.table("Verification", "Params")[()] = params.encode()

    @property
    def results(self) -> dict[tuple[int], dict]:
        return self.table("Verification", "Results")

    def record(self, lease: int) -> gen.ResultsRecord | None:
        found = self.results.get((lease_parts(lease)[0],))
        return None if found is None else gen.ResultsRecord.decode(found)

    def store(self, lease: int, record: gen.ResultsRecord, **first: object) -> None:
        """Store a record with these changes of the first replica."""
        mine = dataclasses.replace(record.replicas[0], **first)
        until = self.now_ms + REVEAL_MS
        changed = dataclasses.replace(record, until=until, replicas=(mine, *record.replicas[1:]))
        self.results[lease_parts(lease)[0],] = changed.encode()

    def _verdict(self, call, account):
        if call.function == "commit_result" and self.tasks.lease(call.args["lease"]).state.tag != "Active":
            return DispatchFailure("Tasks", "LeaseNotActive", "")
        if call.function in ("tag_result", "reveal_result"):
            record, shows_tag = self.record(call.args["lease"]), call.function == "tag_result"
            phase = TAGGING if shows_tag else REVEALING
            if record is None or record.phase is not phase or record.replicas[0].result is not None:
                return DispatchFailure("Verification", "NotTagging" if shows_tag else "NotRevealing", "")
        return super()._verdict(call, account)

    def _effects(self, call, account):
        lease = call.args.get("lease")
        if call.function == "commit_result":
            self.commitments.append(call.args["commitment"])
            mine = gen.Replica(lease, account, call.args["commitment"], None, None)
            replicas = (mine, gen.Replica(6, "them", THEIRS, None, None)) if self.is_drawn else (mine,)
            self.store(lease, dataclasses.replace(UNTAGGED if self.is_drawn else SINGLE, replicas=replicas))
            return [self.end_lease(lease)]
        if call.function == "tag_result":
            self.tags.append(call.args["tag"])
            record, tag = self.record(lease), call.args["tag"]
            theirs = dataclasses.replace(record.replicas[1], tag=tag)
            replicas = (record.replicas[0], theirs)
            self.store(lease, dataclasses.replace(record, phase=REVEALING, replicas=replicas), tag=tag)
            return [("Verification", "ResultTagged", {"task": lease_parts(lease)[0], "lease": lease, "tag": tag})]
        if call.function == "reveal_result":
            result, record = gen.PodResult.decode(call.args["result"]), self.record(lease)
            held = HeldResult(lease, 0, result, call.args["salt"])
            assert record.replicas[0].commitment == held.commitment(self.key.public_key)
            assert record.replicas[0].tag == (held.tag if self.is_drawn else None)
            self.revealed.append(result)
            self.store(lease, record, result=result)
            return [("Verification", "ResultRevealed", {"task": lease_parts(lease)[0], "lease": lease})]
        return super()._effects(call, account)


@pytest.fixture
def compared(tmp_path: Path) -> ComparedWorld:
    return ComparedWorld(tmp_path / "agent")


@pytest.mark.parametrize("is_drawn", [True, False])
@pytest.mark.parametrize("moment", range(14))
async def test_an_agent_killed_at_any_moment_commits_and_shows_its_tag_once_and_reveals_that(
    tmp_path: Path, moment: int, *, is_drawn: bool
) -> None:
    compared = ComparedWorld(tmp_path / "agent", is_drawn=is_drawn)
    text, policy = (COMPARED, POLICY) if is_drawn else (AUDITED, gen.VerificationPolicyAudit())
    number = compared.open_lease(text, verification=policy)
    async with compared.agent():
        for step in range(moment):
            await compared.chain.produce(finalize=step % 2 == 1)
            for _ in range(100):
                await asyncio.sleep(0)
    async with compared.agent() as agent:
        await compared.until(lambda: compared.revealed and not agent.state.pods)
    assert len(set(compared.commitments)) == 1
    assert len(compared.tags) == is_drawn, "a result that is not repeated has no tag"
    (result,) = compared.revealed
    assert result.exit_code == 0
    assert compared.reports == [], "the result is not reported"
    assert compared.tasks.lease(number).state.tag == "Ended"


@pytest.mark.parametrize("args", [ExecArgs(("sh",)), AttachArgs("0" * 32, 0), DialArgs(80), PutArgs("/", "0" * 32, 10)])
@pytest.mark.parametrize(("text", "policy"), [(COMPARED, POLICY), (AUDITED, gen.VerificationPolicyAudit())])
async def test_nobody_enters_a_pod_whose_result_is_compared(
    compared: ComparedWorld, args: Args, text: bytes, policy: gen.VerificationPolicy
) -> None:
    number = compared.open_lease(text, verification=policy)
    compared.tasks.change_lease(number, state=gen.LeaseStateActive())
    request = Request(
        args=args, account=TENANT.address, nonce="0" * 32, expires_ms=0, crypto=TENANT.crypto, lease=number
    )
    async with compared.agent() as agent:
        requests = agent._make_host_requests()
        with pytest.raises(HostRefused) as refused:
            await requests.authorise(request)
        assert refused.value.refusal.code is Code.UNSUPPORTED
        if policy is POLICY:
            await requests.authorise(dataclasses.replace(request, args=LogsArgs()))


@pytest.mark.parametrize("args", [LogsArgs(), ResultArgs(), GetArgs("/")])
async def test_output_of_an_audited_job_is_shown_to_nobody_before_its_result_is_revealed(
    compared: ComparedWorld, args: Args
) -> None:
    number = compared.open_lease(AUDITED, verification=gen.VerificationPolicyAudit())
    task = lease_parts(number)[0]
    request = Request(
        args=args, account=TENANT.address, nonce="0" * 32, expires_ms=0, crypto=TENANT.crypto, lease=number
    )
    pod = a_pod(lease=a_lease(redundant=True))

    async def refusal(seen: Pod | None) -> Code | None:
        requests._pod_of = lambda _: seen
        try:
            await requests.authorise(request)
        except HostRefused as refused:
            return refused.refusal.code
        return None

    async with compared.agent() as agent:
        requests = agent._make_host_requests()
        ended = gen.LeaseStateEnded(gen.EndReasonCompleted())
        compared.tasks.change_lease(number, state=gen.LeaseStateActive())
        for ran in (dataclasses.replace(pod, phase=Phase.RUNNING), dataclasses.replace(pod, began_at_ms=1), None):
            assert await refusal(ran) is Code.NOT_READY
        waits = dataclasses.replace(pod, phase=Phase.PREPARING, began_at_ms=None)
        assert await refusal(waits) is None, "its log has lines of the host only"
        compared.tasks.change_lease(number, state=ended)
        expected = Code.LEASE_ENDED if request.op is Op.GET else Code.NOT_READY
        assert await refusal(None) is expected
        shown = None if expected is Code.NOT_READY else expected
        compared.tasks.change_lease(number, result=RESULT)
        assert await refusal(None) is shown
        compared.tasks.change_lease(number, result=None)
        compared.tasks.change(task, state=gen.TaskStateFailed(gen.FailReason.NO_AGREEMENT))
        assert await refusal(None) is shown, "no other host repeats the work any more"


async def test_a_revealed_result_is_forgotten_and_still_served(compared: ComparedWorld) -> None:
    number = compared.open_lease(COMPARED, verification=POLICY)
    async with compared.agent() as agent:
        await compared.until(lambda: compared.revealed and not agent._replicas.held())
        compared.tasks.change_lease(number, result=compared.revealed[0])
        await compared.chain.produce()
        async with compared.asking(agent) as client:
            assert await client.result(number, compared.revealed[0].digest) == HELLO.output
