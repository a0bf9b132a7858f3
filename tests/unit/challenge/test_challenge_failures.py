"""Causes and remedies of challenges that a host did not pass."""

import pytest

from offchain.schema.chain_types._generated_chain import ChallengeOutcome
from offchain.schema.challenge.failures import LOG, remedy_for, report_of


@pytest.mark.parametrize(
    ("cause", "part"),
    [
        ("the engine has no image sha256:00", "--target challenge"),
        ("prepare: cupy is not installed here: No module named 'cupy'", "--target challenge"),
        ("prepare: CUDARuntimeError: cudaErrorNoDevice: no CUDA-capable device is detected", "nvidia-smi"),
        ("prepare: CUDARuntimeError: cudaErrorInsufficientDriver: CUDA driver version is insufficient", "nvidia-smi"),
        ("the Docker engine refused: CDI device injection failed: unresolvable CDI devices", "nvidia-ctk cdi generate"),
        ("compute: OutOfMemoryError: Out of memory allocating 1 bytes", "--keep-gpu"),
        ("the program ended at the order compute: it reached its memory limit of 5000 MiB", "--reserve-memory-mib"),
        ("no Docker engine answers at unix:///none", "--docker-host"),
        ("compute: the proof took longer than 600 s", "clocks"),
        ("the answer would be late", "clocks"),
        ("something else", LOG),
    ],
)
def test_each_cause_has_a_remedy(cause: str, part: str) -> None:
    assert part in remedy_for(cause)


@pytest.mark.parametrize("outcome", ChallengeOutcome)
def test_each_outcome_is_a_sentence_and_failures_have_a_remedy(outcome: ChallengeOutcome) -> None:
    report = report_of(7, outcome, "", "")
    assert "challenge 7" in report.text
    failed = {ChallengeOutcome.FAILED, ChallengeOutcome.MISSED, ChallengeOutcome.NOT_ANSWERED}
    assert report.is_failure is (outcome in failed)
    assert bool(report.cause) is (outcome in failed)


def test_what_the_agent_knows_is_the_cause() -> None:
    report = report_of(7, ChallengeOutcome.MISSED, "the engine has no image sha256:00", "Build it.")
    assert report.text == (
        "the host did not answer challenge 7, which has no consequence the first time: the engine has no image "
        "sha256:00. Build it."
    )
