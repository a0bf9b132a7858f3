"""What every benchmark of tasks starts from: hosts online, bonded schedulers, tasks that wait.

One host has room for one cohort at a time; a cohort is tasks with neighbouring numbers, all for that host.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from chain import blocks
from chain.crowd import Crowd
from chain.node import Node, NodeError
from chain.signing import Account, Order

from offchain.link.registration import sign_registration
from offchain.schema._generated_chain import (
    Ask,
    BillingUnit,
    Capabilities,
    GpuRequest,
    HardwareSpec,
    Placement,
    PodPlacement,
    PodResult,
    ReportResult,
    ReportStarted,
    Resources,
    TaskKind,
    TaskSpec,
    Tier,
    Usage,
    VerificationPolicyAcceptance,
    calls,
)

GTY = 10**12
ENDOWMENT = 1_000_000_000 * GTY
ARRAY = 4096
PROVIDER = Account("provider")
TENANT = Account("tenant")
MANIFEST = b"services:\n  job:\n    image: registry.example/train@sha256:" + b"0" * 64 + b"\n"
_YEAR_MS = 365 * 24 * 3_600_000
_CAPABILITIES = Capabilities(docker=True, kvm=False, kubernetes=False, cdi=False, mig=False)
_ASK = Ask(
    gpu=(),
    gpu_per_hour=GTY,
    cpu_core_per_hour=GTY // 100,
    memory_gib_per_hour=GTY // 1000,
    disk_gib_per_hour=0,
    network_gib=0,
    storage_gib_per_hour=0,
    second_ppm=1_000_000,
    hour_ppm=1_000_000,
    day_ppm=1_000_000,
)
SPEC = TaskSpec(
    kind=TaskKind.JOB,
    manifest_digest=hashlib.sha256(MANIFEST).digest(),
    resources=Resources(
        cpu_milli=1000, memory_mib=1024, disk_gib=1, gpus=GpuRequest(count=0, milli=0, min_vram_mib=0, models=())
    ),
    pods_min=1,
    pods_max=1,
    max_rate_per_hour=GTY,
    unit=BillingUnit.SECOND,
    max_duration_ms=600_000,
    deadline=None,
    priority=0,
    queue=b"",
    verification=VerificationPolicyAcceptance(),
    placement=Placement(
        regions=(),
        hosts=(),
        providers_allowed=(),
        providers_denied=(),
        tiers=(),
        verified_only=False,
        allow_simulated=True,
        min_network_mbps=0,
        capabilities=_CAPABILITIES,
    ),
    data_from=None,
)
RESULT = PodResult(
    digest=hashlib.sha256(b"result").digest(), exit_code=0, usage=Usage(wall_ms=1, cpu_ms=1, memory_peak_mib=1)
)


# Periods that let a benchmark settle and prune at once, and hosts that need no heartbeat while it runs.
PARAMS: dict[str, dict[str, Any]] = {
    "hosts": {"heartbeatPeriodMs": _YEAR_MS // 2, "absenceLimitMs": _YEAR_MS, "verificationRequired": False},
    "tasks": {"disputeWindowMs": 1, "archiveAfterMs": 1, "startTimeoutMs": _YEAR_MS},
}


def host(number: int) -> Account:
    return Account(f"host/{number}", "ed25519")


def scheduler(number: int) -> Account:
    return Account(f"scheduler/{number}")


def crank(number: int) -> Account:
    """Settles and prunes."""
    return Account(f"crank/{number}")


def lease_of(task: int) -> int:
    """The number of the only lease of a task's first attempt."""
    return task << 24


def endowed(schedulers: int, cranks: int) -> dict[str, int]:
    """Who has coins from the start."""
    named = [PROVIDER, TENANT, *map(scheduler, range(schedulers)), *map(crank, range(cranks))]
    return {account.signer.address: ENDOWMENT for account in named}


class Scene:
    """A chain with hosts and schedulers on it."""

    def __init__(self, node: Node, hosts: int, room: int, schedulers: int) -> None:
        self.node = node
        self.crowd = Crowd(node)
        self.hosts = hosts
        self.room = room
        self.schedulers = schedulers
        self._addresses: dict[int, str] = {}

    def build(self) -> None:
        """Register the hosts, bring them online, bond the schedulers."""
        registered = [self.crowd.order(PROVIDER, self._registration(number)) for number in range(self.hosts)]
        bonded = [self.crowd.order(scheduler(number), calls.tasks_bond_scheduler()) for number in range(self.schedulers)]
        self.crowd.run(registered + bonded, at_once=200)
        self.crowd.run([self.crowd.order(host(number), calls.hosts_heartbeat()) for number in range(self.hosts)])
        self.expect("Hosts.Registered", self.hosts)

    def _registration(self, number: int) -> bytes:
        signer = host(number).signer
        hardware = HardwareSpec(
            tier=Tier.CONSUMER,
            capabilities=_CAPABILITIES,
            cpu_milli=1000 * self.room,
            memory_mib=1024 * self.room,
            disk_gib=self.room,
            network_mbps_down=1000,
            network_mbps_up=1000,
            devices=(),
        )
        endpoint, region = signer.public_key, b"bench"
        provider = PROVIDER.signer.address
        signature = sign_registration(signer, self.node.genesis, provider, hardware, endpoint, region, _ASK)
        call = calls.hosts_register(
            host=signer.address,
            hardware=hardware,
            endpoint=endpoint,
            region=region,
            ask=_ASK,
            host_signature=signature,
        )
        return self.node.runtime.encode_call(call)

    def submit_tasks(self, count: int) -> int:
        """So many tasks more, all waiting; gives the number of the first."""
        entry = self.node.runtime.entry("Tasks", "NextTaskId")
        key = "0x" + self.node.runtime.storage_key(entry).hex()
        first = self.node.runtime.read_value(entry, _bytes(self.node.rpc.call("state_getStorage", key))) or 0
        sizes = [min(ARRAY, count - start) for start in range(0, count, ARRAY)]
        orders = [
            self.crowd.order(TENANT, calls.tasks_submit_array(spec=SPEC, manifest=MANIFEST, count=size))
            for size in sizes
        ]
        self.crowd.run(orders, at_once=64)
        after = self.node.runtime.read_value(entry, _bytes(self.node.rpc.call("state_getStorage", key)))
        if after != first + count:
            raise NodeError(f"{after - first} of {count} tasks were submitted")
        return int(first)

    def expect(self, event: str, count: int) -> None:
        """Refuse to go on where the blocks so far hold fewer of this event."""
        seen: Counter[str] = Counter()
        for number in range(1, self.node.header().number + 1):
            seen.update(blocks.read(self.node, number).events)
        if seen[event] < count:
            raise NodeError(f"{seen[event]} events {event} instead of {count}: {dict(seen)}")

    # --- the stages of a cohort, as calls -------------------------------------------------------------------------

    def _address(self, number: int) -> str:
        if number not in self._addresses:
            self._addresses[number] = host(number).signer.address
        return self._addresses[number]

    def assign(self, number: int, tasks: Sequence[int]) -> bytes:
        """By a scheduler: the tasks go to this host."""
        pods = (PodPlacement(pod=0, host=self._address(number), devices=b""),)
        return self.node.runtime.encode_call(calls.tasks_assign_batch(assignments=[(task, pods) for task in tasks]))

    def started(self, tasks: Sequence[int]) -> bytes:
        """By the host."""
        reports = [(lease_of(task), ReportStarted()) for task in tasks]
        return self.node.runtime.encode_call(calls.tasks_report_batch(reports=reports))

    def finished(self, tasks: Sequence[int]) -> bytes:
        """By the host."""
        reports = [(lease_of(task), ReportResult(RESULT)) for task in tasks]
        return self.node.runtime.encode_call(calls.tasks_report_batch(reports=reports))

    def settle(self, tasks: Sequence[int]) -> bytes:
        """By anyone."""
        return self.node.runtime.encode_call(calls.tasks_settle_batch(tasks=tasks))

    def prune(self, tasks: Sequence[int]) -> bytes:
        """By anyone."""
        return self.node.runtime.encode_call(calls.tasks_prune(tasks=tasks))

    def stages(self, number: int, tasks: Sequence[int]) -> Iterator[tuple[str, Account, bytes]]:
        """A cohort's whole life on one host: stage, who signs, call."""
        yield "assign", scheduler(number % self.schedulers), self.assign(number, tasks)
        yield "start", host(number), self.started(tasks)
        yield "result", host(number), self.finished(tasks)
        yield "settle", crank(number % self.schedulers), self.settle(tasks)
        yield "prune", crank(number % self.schedulers), self.prune(tasks)

    def orders(self, made: Sequence[tuple[Account, bytes]]) -> list[Order]:
        """With nonces."""
        return [self.crowd.order(account, call) for account, call in made]


def _bytes(raw: str | None) -> bytes | None:
    return None if raw is None else bytes.fromhex(raw[2:])
