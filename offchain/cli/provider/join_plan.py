"""What is left to do until a machine is a paid host: decided from what is there. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offchain.errors import OurError, RefusedError
from offchain.schema.chain_types._generated_chain import HostRecord


class JoinStep(StrEnum):
    """The steps of `join`, in their order."""

    REGISTER = "register"
    SERVICE = "service"
    ONLINE = "online"


@dataclass(frozen=True, slots=True)
class JoinState:
    """What is there. `record`: the host on the chain; `running`: the service runs with the present configuration."""

    host: str
    provider: str
    record: HostRecord | None
    running: bool


def remaining_steps(now: JoinState) -> tuple[JoinStep, ...]:
    """The steps that are left. Raises where the host cannot be joined any more, or belongs to somebody else."""
    record = now.record
    if record is None:
        return (JoinStep.REGISTER, JoinStep.SERVICE, JoinStep.ONLINE)
    if record.provider != now.provider:
        raise RefusedError(
            f"Host {now.host} is registered already, under the provider {record.provider}.",
            "Use that provider's key, or another --state folder for a new host key.",
        )
    if record.status.tag in ("Retiring", "Retired"):
        raise OurError(
            f"Host {now.host} has left the network ({record.status.tag}), and a host's key is used once.",
            "Join with another --state folder.",
        )
    left = () if now.running else (JoinStep.SERVICE,)
    return (*left, JoinStep.ONLINE)


def is_online(record: HostRecord | None) -> bool:
    """Whether the host takes work, or would if it were not drained."""
    return record is not None and record.status.tag in ("Online", "Draining")


def why_not_online(record: HostRecord | None) -> str:
    """What keeps a registered host from coming online by itself; empty where it only needs its heartbeat."""
    match None if record is None else record.status.tag:
        case "Unverified":
            return "this network lets hosts in one by one: its operators have to verify yours first"
        case "Suspended":
            return "the host is suspended; gantry agent status says why, and what ends it"
        case _:
            return ""
