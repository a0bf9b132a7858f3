"""What every benchmark of tasks starts from: hosts online, bonded schedulers, tasks that wait.

One host has room for one cohort at a time; a cohort is tasks with neighbouring numbers, all for that host.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from chainbench.crowd import Crowd
from chainbench.driver import Stage
from chainbench.node import Node, NodeError
from chainbench.progress import say
from chainbench.signing import Account
from offchain.adapters.chain.registration import register
from offchain.schema.chain_types._generated_chain import (
    HardwareSpec,
    PodPlacement,
    PodResult,
    ReportResult,
    ReportStarted,
    Resources,
    Tier,
    Usage,
    calls,
)
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE, DOCKER, NO_GPU, ask, placement, task_spec

GTY = 10**12
ENDOWMENT = 1_000_000_000 * GTY
ARRAY = 4096
# Items of a batch. Larger ones cost a little less an operation, but leave more of a block unused at its end.
BATCH = 256
PROVIDER = Account("provider")
MANIFEST = b"services:\n  job:\n    image: registry.example/train@sha256:" + b"0" * 64 + b"\n"
_YEAR_MS = 365 * 24 * 3_600_000
_ASK = ask(gpu_per_hour=GTY, cpu_core_per_hour=GTY // 100, memory_gib_per_hour=GTY // 1000)
SPEC = task_spec(
    manifest_digest=hashlib.sha256(MANIFEST).digest(),
    resources=Resources(cpu_milli=1000, memory_mib=1024, disk_gib=1, gpus=NO_GPU),
    max_rate_per_hour=GTY,
    queue=b"",
    placement=placement(capabilities=DOCKER),
)
# Of one provider's extrinsics, which wait in the pool for each other.
_REGISTRATIONS_AT_ONCE = 200
# The most calls in the pool of transactions while a scene is prepared.
_CALLS_AT_ONCE = 2000
_USAGE = Usage(wall_ms=1, cpu_ms=1, memory_peak_mib=1)


# Periods that let a benchmark settle and prune at once, and hosts that need no heartbeat while it runs.
PARAMS: dict[str, dict[str, Any]] = {
    "hosts": {"heartbeatPeriodMs": _YEAR_MS // 2, "absenceLimitMs": _YEAR_MS, "verificationRequired": False},
    "tasks": {"disputeWindowMs": 1, "archiveAfterMs": 1, "startTimeoutMs": _YEAR_MS},
}


def host(number: int) -> Account:
    return Account(f"host/{number}", "ed25519")


def provider(number: int) -> Account:
    """One of several; the only one is PROVIDER."""
    return Account(f"provider/{number}")


def scheduler(number: int) -> Account:
    return Account(f"scheduler/{number}")


def tenant(number: int) -> Account:
    return Account(f"tenant/{number}")


def crank(number: int) -> Account:
    """Settles and prunes."""
    return Account(f"crank/{number}")


def lease_of(task: int) -> int:
    """The number of the only lease of a task's first attempt."""
    return lease_id(task, 0, 0)


def result_of(task: int) -> PodResult:
    """Another for each task: the database keeps values that are equal only once."""
    return PodResult(digest=hashlib.sha256(task.to_bytes(8, "big")).digest(), exit_code=0, usage=_USAGE)


def endowed(*, schedulers: int, cranks: int, tenants: int = 1, providers: int = 0) -> dict[str, int]:
    """Who has coins from the start."""
    kinds = ((tenant, tenants), (provider, providers), (scheduler, schedulers), (crank, cranks))
    named = [PROVIDER, *(account(number) for account, count in kinds for number in range(count))]
    return {account.signer.address: ENDOWMENT for account in named}


@dataclass(frozen=True, slots=True)
class Line:
    """One stage of many cohorts: who signs which call."""

    stage: str
    calls: Sequence[tuple[Account, bytes]]


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
        say(f"registers {self.hosts} hosts")
        registrations = [(self.provider_of(number), self._registration(number)) for number in range(self.hosts)]
        providers = len({account for account, _ in registrations})
        self.crowd.act(registrations, at_once=min(2000, _REGISTRATIONS_AT_ONCE * providers))
        self.crowd.act([(scheduler(number), calls.tasks_bond_scheduler()) for number in range(self.schedulers)])
        self.crowd.act([(host(number), calls.hosts_heartbeat()) for number in range(self.hosts)])

    def provider_of(self, _host: int) -> Account:
        """Who registers a host and is paid for it."""
        return PROVIDER

    def hardware(self) -> HardwareSpec:
        """Return what each host is registered with."""
        return HardwareSpec(
            tier=Tier.CONSUMER,
            capabilities=DOCKER,
            answers_challenges=False,
            cpu_milli=1000 * self.room,
            memory_mib=1024 * self.room,
            disk_gib=self.room,
            network_mbps_down=1000,
            network_mbps_up=1000,
            devices=(),
        )

    def _registration(self, number: int) -> bytes:
        signer, payee = host(number).signer, self.provider_of(number).signer.address
        call = register(signer, self.node.genesis, payee, self.hardware(), signer.public_key, b"bench", _ASK)
        return self.node.runtime.encode_call(call)

    def submit_tasks(self, count: int) -> int:
        """So many tasks more, all waiting; gives the number of the first."""
        say(f"submits {count:,} tasks")
        first = self.next_task()
        sizes = [min(ARRAY, count - start) for start in range(0, count, ARRAY)]
        self.crowd.act([self.submission(size) for size in sizes], at_once=64)
        self.check_submitted(first, count)
        return first

    def check_submitted(self, first: int, count: int) -> None:
        """Raise NodeError unless so many tasks were submitted since the next one had the number `first`."""
        made = self.next_task() - first
        if made != count:
            raise NodeError(f"{made} of {count} tasks were submitted")

    def submission(self, count: int) -> tuple[Account, bytes]:
        """The call for at most 4,096 tasks more, and who makes it."""
        call = calls.tasks_submit_array(spec=SPEC, manifest=MANIFEST, count=count)
        return tenant(0), self.node.runtime.encode_call(call)

    def newest(self, count: int) -> range:
        """The last tasks that were submitted."""
        end = self.next_task()
        return range(end - count, end)

    def next_task(self) -> int:
        """The number that the next task gets."""
        runtime = self.node.runtime
        entry = runtime.entry("Tasks", "NextTaskId")
        raw = self.node.rpc.call("state_getStorage", "0x" + runtime.storage_key(entry).hex())
        return int(runtime.read_value(entry, None if raw is None else bytes.fromhex(raw[2:])) or 0)

    def bring(self, first: int, count: int, until: str) -> None:
        """Take waiting tasks as far as this stage, in batches; task `first + n` is on host `n % hosts`."""
        lines: dict[str, list[tuple[Account, bytes]]] = {}
        for number in range(self.hosts):
            mine = range(first + number, first + count, self.hosts)
            for start in range(0, len(mine), BATCH):
                for stage, account, call in self.stages(number, mine[start : start + BATCH]):
                    lines.setdefault(stage, []).append((account, call))
                    if stage == until:
                        break
        # As many calls at once as carry 100 full batches.
        at_once = 100 * BATCH // min(BATCH, -(-count // self.hosts))
        for line in lines.values():
            self.crowd.act(line, at_once=min(_CALLS_AT_ONCE, at_once))

    def lives(self, first: int) -> list[Line]:
        """The whole lives of one batch of tasks on each host, stage by stage."""
        shares = [range(first + number * BATCH, first + (number + 1) * BATCH) for number in range(self.hosts)]
        whole = [list(self.stages(number, share)) for number, share in enumerate(shares)]
        return [
            Line(parts[0][0], [(account, call) for _, account, call in parts]) for parts in zip(*whole, strict=True)
        ]

    def settle_down(self) -> None:
        """Until two blocks are made without anything to do, so that nothing of the preparation is measured."""
        self.node.await_final(self.node.header().number + 2)

    def cohort_stages(self, number: int, tasks: Sequence[int]) -> list[Stage]:
        """The whole life of tasks on one host, in one batch a stage."""
        return [Stage(kind, [(account, call)], len(tasks)) for kind, account, call in self.stages(number, tasks)]

    # --- the stages of a cohort, as calls -------------------------------------------------------------------------

    def address(self, number: int) -> str:
        """A host's account."""
        if number not in self._addresses:
            self._addresses[number] = host(number).signer.address
        return self._addresses[number]

    def assign(self, number: int, tasks: Sequence[int]) -> bytes:
        """By a scheduler: the tasks go to this host."""
        pods = (PodPlacement(pod=0, host=self.address(number), devices=b"", rate_per_hour=ANY_RATE),)
        return self.node.runtime.encode_call(calls.tasks_assign_batch(assignments=[(task, pods) for task in tasks]))

    def started(self, tasks: Sequence[int]) -> bytes:
        """By the host."""
        reports = [(lease_of(task), ReportStarted()) for task in tasks]
        return self.node.runtime.encode_call(calls.tasks_report_batch(reports=reports))

    def finished(self, tasks: Sequence[int]) -> bytes:
        """By the host."""
        reports = [(lease_of(task), ReportResult(result_of(task))) for task in tasks]
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
