"""What follows from executing an accused job again."""

from dataclasses import replace

import pytest

from offchain.core.disputes.judgement import (
    MOST_RUNTIME_MS,
    Comparison,
    JudgementKind,
    LeaseComparison,
    ResultValue,
    compared,
    execution_problem,
    judgement,
)
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import Vote
from offchain.schema.manifest.parse import parse_manifest

REPORTED, OTHER, THIRD = (ResultValue(bytes([byte] * 32), 0) for byte in (1, 2, 3))
MANIFEST = parse_manifest(
    f"""
services:
  job:
    image: tool@sha256:{"ab" * 32}
    deploy: {{resources: {{limits: {{cpus: "1", memory: 64MiB}}}}}}
x-gantry:
  price: {{max_per_hour: "1 GTY"}}
  duration: 10m
  verification: deterministic
""".encode()
)
RESULT = gen.PodResult(bytes(32), 0, gen.Usage(wall_ms=MOST_RUNTIME_MS, cpu_ms=1, memory_peak_mib=1))


def of(*outcomes: Comparison) -> list[LeaseComparison]:
    return [LeaseComparison(number, outcome, f"lease {number}") for number, outcome in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("executions", "outcome"),
    [
        ([], None),
        ([REPORTED], Comparison.SAME),
        ([OTHER], None),
        ([OTHER, REPORTED], Comparison.SAME),
        ([OTHER, OTHER], Comparison.DIFFERENT),
        ([OTHER, THIRD], Comparison.UNSTABLE),
        ([replace(REPORTED, exit_code=1)] * 2, Comparison.DIFFERENT),
    ],
)
def test_two_equal_executions_are_needed_against_a_host_and_one_for_it(
    executions: list[ResultValue], outcome: Comparison | None
) -> None:
    found = compared(0, REPORTED, executions)
    assert (None if found is None else found.outcome) == outcome


@pytest.mark.parametrize(
    ("outcomes", "level", "kind"),
    [
        ([Comparison.DIFFERENT], 0, JudgementKind.UPHOLD),
        ([Comparison.DIFFERENT, Comparison.DIFFERENT], 0, JudgementKind.UPHOLD),
        ([Comparison.DIFFERENT], 1, JudgementKind.PERSON),
        ([Comparison.SAME], 2, JudgementKind.REJECT),
        ([Comparison.DIFFERENT, Comparison.SAME], 0, JudgementKind.REJECT),
        ([Comparison.IMPOSSIBLE, Comparison.SAME], 0, JudgementKind.REJECT),
        ([Comparison.DIFFERENT, Comparison.UNSTABLE], 0, JudgementKind.PERSON),
        ([Comparison.DIFFERENT, Comparison.IMPOSSIBLE], 0, JudgementKind.PERSON),
        ([Comparison.DIFFERENT, Comparison.NOT_YET], 0, JudgementKind.NOT_YET),
        ([], 0, JudgementKind.PERSON),
    ],
)
def test_a_complaint_is_right_only_if_every_accused_result_is_wrong(
    outcomes: list[Comparison], level: int, kind: JudgementKind
) -> None:
    found = judgement(of(*outcomes), level)
    assert found.kind is kind
    assert found.vote == {JudgementKind.UPHOLD: Vote.YES, JudgementKind.REJECT: Vote.NO}.get(kind)
    assert found.reason


def test_only_what_can_be_executed_the_same_way_is_executed() -> None:
    assert execution_problem(MANIFEST, RESULT) == ""
    assert "verification: deterministic" in execution_problem(replace(MANIFEST, verification="acceptance"), RESULT)
    assert execution_problem(replace(MANIFEST, verification="audit"), RESULT) == ""
    two = replace(MANIFEST, services=MANIFEST.services * 2, verification="audit")
    assert "several services or delivered files" in execution_problem(two, RESULT)
    assert "no result" in execution_problem(MANIFEST, None)
    assert "GPU" in execution_problem(replace(MANIFEST, gpus=replace(MANIFEST.gpus, count=1)), RESULT)
    longer = replace(RESULT, usage=replace(RESULT.usage, wall_ms=MOST_RUNTIME_MS + 1_000))
    assert "it ran 601 s, and at most 600 s are executed" in execution_problem(MANIFEST, longer)
