"""Why a host fails a challenge, and what its provider can do: texts for the agent's log and the command line. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offchain.schema.chain_types._generated_chain import ChallengeOutcome

_BUILD: Final = (
    "Build the image (docker build --target challenge, docs/providers.md), and name it: gantry agent join "
    "--challenge-image sha256:…"
)
_NO_GPU: Final = (
    "Check that containers get the GPU: docker run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi, and make the CDI "
    "file again (docs/providers.md)."
)
_BUSY: Final = "Check that no other program uses the GPU (nvidia-smi), and its clocks and temperature."
_REMEDIES: Final = (
    ("has no image", _BUILD),
    ("cupy is not installed", _BUILD),
    ("No module named", _BUILD),
    ("executable file not found", _BUILD),
    ("exec python3 failed", _BUILD),
    # CUDA says so as well where there is no driver at all.
    ("cudaErrorInsufficientDriver", f"{_NO_GPU} If they do, install a newer driver."),
    ("cudaErrorNoDevice", _NO_GPU),
    ("CDI", "Make the CDI file again (nvidia-ctk cdi generate, docs/providers.md), and restart the engine."),
    ("could not select device driver", "Install NVIDIA's container toolkit, and restart the engine."),
    (
        "OutOfMemory",
        "Another program uses the GPU's memory: end it (nvidia-smi shows it), or keep the GPU (--keep-gpu).",
    ),
    ("out of memory", "Keep more memory of the machine for the agent (--reserve-memory-mib)."),
    ("memory limit", "Keep more memory of the machine for the agent (--reserve-memory-mib)."),
    ("numpy is not installed", "Install numpy for the agent's Python, or name an image (--challenge-image)."),
    ("no Docker engine", "Start the engine, or give its address with --docker-host."),
    ("took longer than", _BUSY),
    ("no answer to", _BUSY),
    ("would be late", _BUSY),
)
"""A part of a cause, and what to do about it; the first that fits counts."""
LOG: Final = "See gantry agent logs."


def remedy_for(cause: str) -> str:
    """Return what a provider can do about a cause, as a sentence."""
    lower = cause.lower()
    return next((remedy for part, remedy in _REMEDIES if part.lower() in lower), LOG)


@dataclass(frozen=True, slots=True)
class ChallengeReport:
    """How a challenge ended. `outcome`: in words; `remedy`: empty unless the host can do better the next time."""

    challenge: int
    outcome: str
    cause: str = ""
    remedy: str = ""

    @property
    def text(self) -> str:
        """The report as one line."""
        return f"{self.outcome}{f': {self.cause}' if self.cause else ''}{f'. {self.remedy}' if self.remedy else ''}"

    @property
    def is_failure(self) -> bool:
        """Whether the provider has to do something."""
        return bool(self.remedy)


_SLOW: Final = (
    "two committees found the proof wrong or late; the GPU may be slower than its model, in use by another program, or "
    "registered with another model or more memory than it has"
)
_COMPARE: Final = (
    "Compare it with the registration (gantry agent change-hardware --check), end other programs on the GPU, then pass "
    "a challenge: gantry host challenge."
)
_UNKNOWN: Final = "the agent did not run, or reached no node in time"


def report_of(challenge: int, outcome: ChallengeOutcome, cause: str, remedy: str) -> ChallengeReport:
    """Return the report of a challenge that is over. `cause`, `remedy`: the last problem that the agent itself had."""
    missed = f"the host did not answer challenge {challenge}"
    match outcome:
        case ChallengeOutcome.PASSED:
            return ChallengeReport(challenge, f"the host passed challenge {challenge}")
        case ChallengeOutcome.FAILED:
            said = f"the host failed challenge {challenge}"
            return ChallengeReport(challenge, said, cause or _SLOW, remedy or _COMPARE)
        case ChallengeOutcome.MISSED:
            said = f"{missed}, which has no consequence the first time"
            return ChallengeReport(challenge, said, cause or _UNKNOWN, remedy or LOG)
        case ChallengeOutcome.NOT_ANSWERED:
            said = f"{missed}, nor one shortly before"
            return ChallengeReport(challenge, said, cause or _UNKNOWN, remedy or LOG)
        case ChallengeOutcome.HARDWARE_CHANGED:
            said = f"challenge {challenge} has no effect, because the GPU is registered differently now"
            return ChallengeReport(challenge, said)
        case ChallengeOutcome.NO_VERDICT | ChallengeOutcome.TOO_FEW_VERIFIERS:
            return ChallengeReport(challenge, f"challenge {challenge} ended without a verdict")
