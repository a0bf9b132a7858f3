"""Suspensions and challenges of a host as text, for the agent's log, `gantry agent status` and `gantry host show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from offchain.schema.chain_types._generated_chain import HostRecord, HostStatusSuspended, SuspendReason
from offchain.schema.chain_types.reasons import code
from offchain.schema.manifest.values import format_amount

_REASONS: Final[Mapping[SuspendReason, str]] = {
    SuspendReason.BY_ROOT: "the network's council suspended it",
    SuspendReason.FAILED_CHALLENGE: "it failed a challenge, or left two challenges unanswered",
    SuspendReason.SLASHED: "slashes have left less than half of its bond",
    SuspendReason.HARDWARE_CHANGED: "its hardware is not what it is registered with",
}
COUNCIL: Final = "Ask the network's council to call hosts.unsuspend for this host (docs/governance.md)."
TOP_UP: Final = "gantry agent top-up"
CHANGE_HARDWARE: Final = "gantry agent change-hardware"


@dataclass(frozen=True, slots=True)
class Suspension:
    """A suspended host. `reason`: a stable code; `text`: the reason in words, without a full stop.

    `bond_missing`: in base units. `way_back`: what ends the suspension, as sentences, with the exact commands.
    """

    reason: str
    text: str
    bond_missing: int
    way_back: tuple[str, ...]

    def plain(self, since_ms: int | None = None) -> dict[str, Any]:
        """Return the JSON fields. `since_ms`: start of the suspension; None if it is not known."""
        return {
            "reason": self.reason,
            "text": self.text,
            "since_ms": since_ms,
            "bond_missing": self.bond_missing,
            "way_back": list(self.way_back),
        }


def suspension_of(host: str, record: HostRecord) -> Suspension | None:
    """Return why the host is suspended; None for a host that is not."""
    if not isinstance(record.status, HostStatusSuspended):
        return None
    reason = record.status.value
    missing = max(0, record.bond_required - record.bond)
    return Suspension(code(reason.value), _REASONS[reason], missing, tuple(_way_back(host, record, reason, missing)))


def _way_back(host: str, record: HostRecord, reason: SuspendReason, missing: int) -> Iterator[str]:
    if reason is SuspendReason.SLASHED:
        yield f"Top the bond up by {format_amount(missing)}: {TOP_UP}"
        return
    if record.bond * 2 < record.bond_required:
        # The chain reactivates no host with less than half of its bond.
        yield f"First top the bond up by {format_amount(missing)}: {TOP_UP}"
    match reason:
        case SuspendReason.FAILED_CHALLENGE if record.answers_challenges:
            yield f"Pass a challenge: gantry host challenge {host}"
            yield f"Or, after a change of the GPUs, register them as they are: {CHANGE_HARDWARE}"
        case SuspendReason.FAILED_CHALLENGE:
            yield "The host does not answer challenges, so it cannot pass one."
            yield COUNCIL
        case SuspendReason.HARDWARE_CHANGED:
            yield f"Register the hardware as it is: {CHANGE_HARDWARE}"
            if record.answers_challenges:
                yield f"Then pass a challenge: gantry host challenge {host}"
            else:
                yield "Then ask the network's council to call hosts.verify for this host (docs/governance.md)."
        case _:
            yield COUNCIL


def challenges_text(*, answers: bool, challenged: int | None) -> str:
    """Return whether a host answers challenges, and which GPU is `challenged`, in words."""
    if challenged is not None:
        return f"GPU {challenged} is challenged and takes no lease until the host has answered"
    return "answered" if answers else "not answered, so nobody can challenge the host"
