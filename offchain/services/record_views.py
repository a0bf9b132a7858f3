"""Tasks and leases as commands show them: records of the chain, read once into frozen values."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask, TaskAndSpec
from offchain.errors import CheckFailed
from offchain.ports import ChainPort
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.escrow import owed_by
from offchain.schema.chain_types.reasons import SENTENCES, code, innermost, sentence
from offchain.schema.chain_types.replicas import is_audited, replicas_of
from offchain.schema.chain_types.values import FINAL_TASK_STATES, LIVE_LEASE_STATES
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted
from offchain.services.event_text import state_phrase, state_text
from offchain.services.replica_verdicts import ReplicaVerdict, task_verdict_of

_OF_TASK = (ReplicaVerdict.AGREED, ReplicaVerdict.NOT_REPEATED, None)
_SIGNALLED = 128
"""Exit codes above it are those of programs that a signal ended."""
_KEY = "json"


def text_of(data: Any) -> str:
    """Return a name on the chain as text; bytes that are not UTF-8 are escaped."""
    return bytes(data).decode("utf-8", errors="backslashreplace")


def json_key(name: str | None) -> dict[str, str | None]:
    """Return metadata of a field that has another key in JSON; None: it is left out."""
    return {_KEY: name}


def json_fields(value: Any) -> Any:
    """Return a view as JSON values: a dataclass as an object, bytes as hex digits."""
    if is_dataclass(value):
        keys = {one.name: one.metadata.get(_KEY, one.name.rstrip("_")) for one in fields(value)}
        keys |= {name: name for name in getattr(value, "JSON_PROPERTIES", ())}
        return {key: json_fields(getattr(value, name)) for name, key in keys.items() if key is not None}
    if isinstance(value, (tuple, list)):
        return [json_fields(item) for item in value]
    if isinstance(value, dict):
        return {key: json_fields(item) for key, item in value.items()}
    if isinstance(value, gen.Survival):
        return value.value.lower()
    return value.hex() if isinstance(value, bytes) else value


class JsonView:
    """Base class of views."""

    __slots__ = ()

    def plain(self) -> dict[str, Any]:
        """Return the view for --json."""
        found: dict[str, Any] = json_fields(self)
        return found


@dataclass(frozen=True, slots=True)
class LeaseView(JsonView):
    """The lease of one pod, with its escrow. Amounts are base units, times ms."""

    id: int = field(metadata=json_key("lease"))
    pod: int
    host: str
    provider: str
    state: str
    rate_per_hour: int
    started_at: int | None
    ended_at: int | None
    result_digest: bytes | None
    exit_code: int | None
    usage: dict[str, int] | None
    deposit: int
    owed: int
    """The total owed until now; the unpaid part is paid when the task is settled."""
    paid: int
    fee: int
    scheduler_fee: int
    settler_fee: int
    assigned_by: str | None
    """The scheduler that opened it; None if its tenant did."""
    paid_until: int | None
    """When the deposit of a running service or rental is used up, or a job is stopped."""
    kept_until: int | None
    """When the retention of the data of an ended rental is over."""
    standby: str | None
    """The host on which the pod continues if its own fails."""
    created_at: int = field(default=0, metadata=json_key(None))
    reason: str | None = None
    """Why its pod was given up, as a stable code: input_missing."""
    reason_text: str | None = field(default=None, metadata=json_key(None))
    """The reason in words."""
    memory_mib: int = field(default=0, metadata=json_key(None))
    """The memory limit of its pod."""
    verdict: ReplicaVerdict | None = None
    """What is known of its result; None if results are not compared."""

    @property
    def exit_text(self) -> str | None:
        """The exit code, with what is known about a program that was killed."""
        if self.exit_code is None or self.exit_code <= _SIGNALLED:
            return None if self.exit_code is None else str(self.exit_code)
        number = self.exit_code - _SIGNALLED
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        peak = (self.usage or {}).get("memory_peak_mib", 0)
        cause = f"; it used {peak} of {self.memory_mib} MiB memory" if peak and self.memory_mib else ""
        return f"{self.exit_code} (killed by {name}{cause})"

    @property
    def is_live(self) -> bool:
        return self.state in LIVE_LEASE_STATES

    @property
    def state_text(self) -> str:
        """The state in words; why a pod was given up is in `reason_text`, how a replica ended in `verdict`."""
        has_ended = self.reason_text or (self.verdict is not None and self.ended_at is not None)
        return "Ended" if has_ended else state_phrase(self.state)


@dataclass(frozen=True, slots=True)
class TaskView(JsonView):
    """A task with the leases of its present attempt."""

    JSON_PROPERTIES: ClassVar = ("reason", "paid", "paid_gty", "fee")

    id: int = field(metadata=json_key("task"))
    tenant: str
    kind: str
    """job, service or rental."""
    state: str
    attempts: int
    submitted_at: int
    manifest_digest: bytes
    max_rate_per_hour: int
    max_duration_ms: int
    priority: int
    queue: str
    spot: bool
    preemption: gen.Preemption | None
    """Set from the notice of its preemption until it runs again."""
    survival: gen.Survival
    max_latency_ms: int | None
    """The longest round trip that its hosts may have measured; None: any."""
    checkpoints: tuple[gen.PodCheckpoint, ...]
    """The last checkpoint of each pod that has one."""
    leases: tuple[LeaseView, ...]
    pods_wanted: int = field(metadata=json_key(None))
    replicas: int | None = None
    """How many of its results are compared in any case; None if none are, or only those of a drawn audit."""
    audited: bool = False
    """Another host repeats its work if the chain draws it."""

    @property
    def is_compared(self) -> bool:
        """Whether hosts commit its results before they are revealed."""
        return self.audited or self.replicas is not None

    @property
    def result_leases(self) -> tuple[LeaseView, ...]:
        """The leases whose results are the task's: of compared ones those that agree, or the one not repeated."""
        return tuple(lease for lease in self.leases if lease.verdict in _OF_TASK)

    @property
    def comparison_text(self) -> str | None:
        """How far the comparison of its results is; None if they are not compared."""
        agreed = ", ".join(lease.host for lease in self.result_leases)
        if self.replicas is not None:
            more = max(0, self.pods_wanted - self.replicas)
            later = f", and {more} more because they differed" if more else ""
            return f"the results of {self.replicas} replicas{later}{f'; agreed: {agreed}' if agreed else ''}"
        if not self.audited:
            return None
        if len(self.result_leases) > 1:
            return f"audited: another host repeated the work; agreed: {agreed}"
        if agreed:
            return "audited at random, and not repeated: its result is the task's"
        if self.pods_wanted > 1:
            return "drawn for an audit: a host of another provider repeats the work"
        return "audited at random: the chain draws it when the first host has committed its result"

    @property
    def is_final(self) -> bool:
        return self.state.partition("(")[0] in FINAL_TASK_STATES

    @property
    def state_text(self) -> str:
        """The state in words; of a task that used up its attempts with the reason of the last one."""
        last = self.given_up
        if self.state != "Failed(AttemptsExhausted)" or last is None:
            return state_phrase(self.state)
        return f"Failed after {counted(self.attempts, 'attempt')}: {last.reason_text}"

    @property
    def activity_text(self) -> str:
        """The state in words; of a running task with what its pods do, if none of them runs."""
        states = {lease.state for lease in self.leases}
        if self.state != "Running" or len(states) != 1:
            return self.state_text
        return {"Suspended": "suspended", "Pending": "starting"}.get(states.pop(), self.state_text)

    @property
    def paid(self) -> int:
        """The sum that the tenant has paid so far, protocol fee included."""
        return sum(lease.paid for lease in self.leases)

    @property
    def paid_gty(self) -> str:
        return format_amount(self.paid)

    @property
    def fee(self) -> int:
        """The protocol fee in what was paid."""
        return sum(lease.fee for lease in self.leases)

    @property
    def given_up(self) -> LeaseView | None:
        """The lease whose failure ended the last attempt, if the chain still has it."""
        found = [lease for lease in self.leases if lease.reason is not None]
        return next((lease for lease in found if lease.reason != "gang_aborted"), None)

    @property
    def reason(self) -> str | None:
        """The code of the reason why the last attempt failed."""
        return None if self.given_up is None else self.given_up.reason


async def read_task(chain: ChainPort, task: int, at: bytes | None = None) -> TaskView:
    """Return a task. Raises CheckFailed if the chain has no task of this number, or no longer has it."""
    found = (await read_tasks(chain, [task], at)).get(task)
    if found is not None:
        return found
    if task < await GantryChain(chain).next_task(at):
        raise CheckFailed(
            f"task {task} ended long ago and was removed from the chain's storage. Its logs and results are no longer "
            "served.",
            f"gantry chain inspect task {task} shows its history, read from the chain's events.",
            code="pruned",
        )
    raise CheckFailed(f"there is no task {task}.", "gantry task list shows the existing ones.", code="no_such_task")


async def read_tasks(chain: ChainPort, numbers: Iterable[int], at: bytes | None = None) -> dict[int, TaskView]:
    """Return the tasks with these numbers that the chain keeps, by number."""
    typed = GantryChain(chain)
    tasks, now = await asyncio.gather(typed.tasks(numbers, at), typed.now_ms(at))
    names = {lease.record.host for task in tasks.values() for lease in task.leases}
    hosts = await typed.hosts_named(names, at)
    return {number: task_view(task, hosts, now) for number, task in tasks.items()}


def task_view(task: TaskAndSpec, hosts: Mapping[str, gen.HostRecord], now: int) -> TaskView:
    record, spec = task.record, task.spec
    return TaskView(
        id=task.id,
        tenant=record.tenant,
        kind=spec.kind.value.lower(),
        state=state_text(record.state.encode()),
        attempts=len(record.attempts),
        submitted_at=record.submitted_at,
        manifest_digest=spec.manifest_digest,
        max_rate_per_hour=spec.max_rate_per_hour,
        max_duration_ms=spec.max_duration_ms,
        priority=spec.priority,
        queue=text_of(spec.queue),
        spot=spec.spot,
        preemption=record.preemption,
        survival=spec.survival,
        max_latency_ms=spec.placement.max_latency_ms or None,
        checkpoints=record.checkpoints,
        leases=tuple(_lease_view(lease, hosts.get(lease.record.host), spec, now) for lease in task.leases),
        pods_wanted=record.pods_wanted,
        replicas=replicas_of(spec) or None,
        audited=is_audited(spec),
    )


def _lease_view(lease: LeaseOfTask, host: gen.HostRecord | None, spec: gen.TaskSpec, now: int) -> LeaseView:
    record, result = lease.record, lease.record.result
    ended = record.state.value.encode() if isinstance(record.state, gen.LeaseStateEnded) else None
    was_given_up = innermost(ended) in SENTENCES
    return LeaseView(
        id=lease.id,
        pod=record.pod,
        host=record.host,
        provider=host.provider if host is not None else "",
        state="Retained" if isinstance(record.state, gen.LeaseStateRetained) else state_text(record.state.encode()),
        rate_per_hour=record.escrow.rate_per_hour,
        started_at=record.started_at,
        ended_at=record.ended_at,
        result_digest=None if result is None else result.digest,
        exit_code=None if result is None else result.exit_code,
        usage=None if result is None else result.usage.encode(),
        deposit=record.escrow.deposit,
        owed=owed_by(record.escrow, now, host.downtime_ms if host is not None else 0),
        paid=record.escrow.paid,
        fee=record.escrow.fee,
        scheduler_fee=record.escrow.scheduler_fee,
        settler_fee=record.escrow.settler_fee,
        assigned_by=record.assigned_by,
        paid_until=record.escrow.until if record.state.tag in ("Active", "Suspended") else None,
        standby=None if record.standby is None else record.standby.host,
        created_at=record.created_at,
        reason=code(ended) if was_given_up else None,
        reason_text=sentence(ended) if was_given_up else None,
        memory_mib=spec.resources.memory_mib,
        kept_until=record.state.value if isinstance(record.state, gen.LeaseStateRetained) else None,
        verdict=task_verdict_of(lease.task.record, spec, record),
    )
