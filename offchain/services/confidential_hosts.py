"""Choice of the hosts of a confidential task: those that prove to its tenant what the manifest asks for.

The chain does not know which hosts are confidential. The tenant's program asks the hosts that could run the task, and
names in its placement those that prove it: then the chain refuses every other host, whichever scheduler places the pod.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from offchain.adapters.transport.port import HostRefused, TransportError
from offchain.core.feasibility import Fit, emptied, fit
from offchain.core.scheduler.pod_request import PodRequest
from offchain.core.values import Host, Task
from offchain.errors import CheckFailed
from offchain.ports import ChainPort
from offchain.schema.attestation.policy import AttestationResult
from offchain.schema.chain_types._generated_chain import TaskSpec
from offchain.schema.manifest.types import ManifestError
from offchain.schema.value_text import counted
from offchain.services.sealed_delivery import NOT_ATTESTED, policy_of_task
from offchain.services.submit_checks import task_of_spec

MOST_NAMED: Final = 8
"""Hosts that a placement can name (`Placement.hosts` of the chain)."""
MOST_ASKED: Final = 32
"""Hosts that are asked for one task."""
AT_ONCE: Final = 8
ANSWER_S: Final = 20.0
"""Time for the connection to a host and its document."""

AttestHost = Callable[[str], Awaitable[AttestationResult]]
"""Returns what the host with this address proves now. Raises CheckFailed and TransportError."""


@dataclass(frozen=True, slots=True)
class ConfidentialHosts:
    """Hosts that were asked for a task.

    `proven`: those that meet the policy, the best first. `refused`: why others do not, by host. `not_asked`: further
    hosts that could run the task.
    """

    proven: tuple[str, ...]
    refused: Mapping[str, str]
    not_asked: int

    @property
    def text(self) -> str:
        """The outcome in a phrase."""
        asked = len(self.proven) + len(self.refused)
        found = f"{len(self.proven)} of {counted(asked, 'host')} that could run it prove{'s' * (asked == 1)} it"
        named = f": {', '.join(self.proven)}" if self.proven else ""
        others = "; ".join(f"{count} {reason}" for reason, count in Counter(self.refused.values()).most_common())
        rest = f"; {counted(self.not_asked, 'host')} not asked" if self.not_asked else ""
        return f"{found}{named}" + (f"; not: {others}" if others else "") + rest

    def plain(self) -> dict[str, Any]:
        """Return the outcome as JSON fields."""
        return {"hosts": list(self.proven), "refused": dict(self.refused), "not_asked": self.not_asked}


async def find_confidential_hosts(
    spec: TaskSpec, tenant: str, hosts: Iterable[Host], attest: AttestHost, audit_surcharge_ppm: int = 0
) -> ConfidentialHosts:
    """Ask the hosts that could run the task, until enough have proven that they are confidential.

    Hosts with free resources are asked first, then cheap ones. `audit_surcharge_ppm`: the chain's parameter. Raises
    errors of the chain.
    """
    candidates = _candidates(spec, tenant, hosts, audit_surcharge_ppm)
    proven: list[str] = []
    refused: dict[str, str] = {}
    for first in range(0, min(len(candidates), MOST_ASKED), AT_ONCE):
        names = candidates[first : min(first + AT_ONCE, MOST_ASKED)]
        reasons = await asyncio.gather(*(_refusal(host, attest) for host in names))
        for host, reason in zip(names, reasons, strict=True):
            if reason is None:
                proven.append(host)
            else:
                refused[host] = reason
        if len(proven) >= MOST_NAMED:
            break
    asked = len(proven) + len(refused)
    return ConfidentialHosts(tuple(proven[:MOST_NAMED]), refused, len(candidates) - asked)


def with_hosts(spec: TaskSpec, hosts: tuple[str, ...]) -> TaskSpec:
    """Return the task with these hosts as the only ones that may run it."""
    return replace(spec, placement=replace(spec.placement, hosts=hosts))


def no_confidential_host(found: ConfidentialHosts) -> CheckFailed:
    """Return the error for a task that no host may run."""
    return CheckFailed(
        f"no host proves what x-gantry.confidential asks for: {found.text}.",
        "gantry host attest HOST --manifest FILE shows what one proves. Allow other hosts, kinds or measurements, or "
        "wait for one.",
        code=NOT_ATTESTED,
        facts={"confidential": found.plain()},
    )


async def confidential_text(chain: ChainPort, task: Task) -> str | None:
    """Return how a live task is kept to confidential hosts; None if its manifest does not ask for them."""
    try:
        policy = await policy_of_task(chain, task.id)
    except (CheckFailed, ManifestError):
        return None
    if policy is None:
        return None
    hosts = task.placement.hosts
    if not hosts:
        return (
            f"{policy.text}; its placement names no hosts, so it may be placed on any, and nothing is delivered to one "
            "that does not prove it"
        )
    return f"{policy.text}; placed only on the hosts that its tenant named: {', '.join(hosts)}"


def _candidates(spec: TaskSpec, tenant: str, hosts: Iterable[Host], audit_surcharge_ppm: int) -> list[str]:
    """Return the online hosts that could run the task if nothing else ran there, the best first."""
    request = PodRequest.of(task_of_spec(spec, tenant, audit_surcharge_ppm=audit_surcharge_ppm))
    found: list[tuple[bool, int, str]] = []
    for host in hosts:
        when_empty = fit(emptied(host), request)
        if isinstance(when_empty, Fit):
            found.append((not isinstance(fit(host, request), Fit), when_empty.rate_per_hour, host.id))
    return [host for _, _, host in sorted(found)]


async def _refusal(host: str, attest: AttestHost) -> str | None:
    """Return why a host does not count as confidential; None if it does."""
    try:
        async with asyncio.timeout(ANSWER_S):
            failure = (await attest(host)).failure
    except TimeoutError:
        return "without an answer"
    except HostRefused as error:
        return f"refusing to prove it ({error.refusal.code})"
    except TransportError:
        return "out of reach"
    except CheckFailed as error:
        if error.code != NOT_ATTESTED:
            raise
        return "without attestation"
    return None if failure is None else f"failing the check {failure.check}"
