"""How the worker judges a dispute: what it reads, executes and compares."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.keys.signer import from_uri
from offchain.core.disputes.judgement import Judgement, JudgementKind
from offchain.errors import ExecutionFailed
from offchain.ports import Call, ExecutedResult
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import DisputePhase
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.manifest.types import Manifest
from offchain.services.juror import Juror
from offchain.services.submitter import CallOutcome
from offchain.services.vote_files import VoteFiles
from tests.support.chain_records import NO_GPU, Tasks, task_spec
from tests.support.dispute_records import TENANT, dispute, ended_lease, seat
from tests.support.fake_chain import FakeChain

ME = from_uri("//Dave")
HOST = from_uri("//Host", "ed25519").address
RIGHT, WRONG = ExecutedResult(bytes([1] * 32), 0), ExecutedResult(bytes([2] * 32), 0)
FIRST, SECOND = lease_id(0, 0, 0), lease_id(0, 1, 0)
TEXT = f"""
services:
  job:
    image: tool@sha256:{"ab" * 32}
    deploy: {{resources: {{limits: {{cpus: "1", memory: 64MiB}}}}}}
x-gantry:
  price: {{max_per_hour: "1 GTY"}}
  duration: 10m
  pods: 2
  verification: deterministic
"""


class Executions:
    """Gives these outcomes, one after the other, and notes the leases."""

    def __init__(self, outcomes: Sequence[ExecutedResult | ExecutionFailed]) -> None:
        self._outcomes = list(outcomes)
        self.leases: list[int] = []

    async def execute(self, lease: LeaseOfTask, manifest: Manifest) -> ExecutedResult:
        assert manifest.verification == "deterministic"
        self.leases.append(lease.id)
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, ExecutionFailed):
            raise outcome
        return outcome


class NoCalls:
    async def __call__(self, name: str, call: Call) -> CallOutcome:
        raise AssertionError(f"{name} was sent: {call}")

    async def forget(self, name: str) -> None:
        raise AssertionError(name)


async def judged(folder: Path, executions: Executions, *accused: int, level: int = 0, text: str = TEXT) -> Judgement:
    """Return the judgement of a task whose pods have both reported `RIGHT`."""
    chain, data = FakeChain(), text.encode()
    tasks = Tasks(chain)
    digest = hashlib.sha256(data).digest()
    spec = task_spec(manifest_digest=digest, resources=gen.Resources(1_000, 64, 1, NO_GPU), pods_min=2, pods_max=2)
    tasks.submit(TENANT, spec, manifest=data)
    leases = tuple(ended_lease(HOST, RIGHT.digest, pod=pod) for pod in range(2))
    tasks.change(0, state=gen.TaskStateDisputed(), leases=leases)
    votes = VoteFiles(folder, bytes(32), ME.address)
    juror = Juror(GantryChain(chain), NoCalls(), ME, votes, executions)
    record = dispute(DisputePhase.COMMITTING, seat(ME.address), accused=accused or (FIRST,), level=level)
    return await juror._judge(record, 0)


@pytest.mark.parametrize(
    ("outcomes", "level", "kind", "executed"),
    [
        ([RIGHT], 0, JudgementKind.REJECT, 1),
        ([WRONG, WRONG], 0, JudgementKind.UPHOLD, 2),
        ([WRONG, WRONG], 1, JudgementKind.PERSON, 2),
        ([WRONG, RIGHT], 0, JudgementKind.REJECT, 2),
        ([ExecutionFailed("No registry.", transient=True)], 0, JudgementKind.NOT_YET, 1),
        ([ExecutionFailed("No image.", transient=False)], 0, JudgementKind.PERSON, 1),
    ],
)
async def test_executions_decide(
    tmp_path: Path,
    outcomes: list[ExecutedResult | ExecutionFailed],
    level: int,
    kind: JudgementKind,
    executed: int,
) -> None:
    executions = Executions(outcomes)
    found = await judged(tmp_path, executions, level=level)
    assert (found.kind, len(executions.leases)) == (kind, executed)
    assert found.reason


async def test_one_right_result_of_several_rejects_the_dispute_without_further_executions(tmp_path: Path) -> None:
    executions = Executions([RIGHT])
    assert (await judged(tmp_path, executions, FIRST, SECOND)).kind is JudgementKind.REJECT
    assert executions.leases == [FIRST]
    executions = Executions([WRONG, WRONG, WRONG, WRONG])
    assert (await judged(tmp_path, executions, FIRST, SECOND)).kind is JudgementKind.UPHOLD
    assert executions.leases == [FIRST, FIRST, SECOND, SECOND]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT.replace("  verification: deterministic\n", ""), "verification: deterministic"),
        ("services: {}", "is not valid"),
    ],
)
async def test_what_cannot_be_judged_is_left_to_a_person_and_not_executed(tmp_path: Path, text: str, says: str) -> None:
    found = await judged(tmp_path, Executions([]), text=text)
    assert found.kind is JudgementKind.PERSON
    assert says in found.reason


async def test_a_lease_that_the_chain_no_longer_has_is_left_to_a_person(tmp_path: Path) -> None:
    found = await judged(tmp_path, Executions([]), lease_id(0, 0, 9))
    assert (found.kind, found.reason) == (JudgementKind.PERSON, f"lease {lease_id(0, 0, 9)} is not on the chain")
