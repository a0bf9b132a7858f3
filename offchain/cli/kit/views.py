"""What commands show: the chain's records, read once into frozen values."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask, TaskAndSpec
from offchain.cli.kit.event_text import state_text
from offchain.cli.kit.failures import CliError
from offchain.ports import ChainPort
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.escrow import owed_by
from offchain.schema.chain_types.reasons import SENTENCES, code, innermost, sentence
from offchain.schema.chain_types.score import host_ppm
from offchain.schema.chain_types.suspension import Suspension, suspension_of
from offchain.schema.manifest.values import format_amount

FINAL_STATES = ("Settled", "Expired", "Cancelled", "Failed")
_PPM = 1_000_000


def text_of(data: Any) -> str:
    """A name on the chain; bytes that are no text are shown as such."""
    return bytes(data).decode("utf-8", errors="backslashreplace")


@dataclass(frozen=True, slots=True)
class LeaseView:
    """One pod's lease with its escrow."""

    id: int
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
    """What is owed in all by now; what of it is not paid yet is paid when the task is settled."""
    paid: int
    fee: int
    scheduler_fee: int
    settler_fee: int
    assigned_by: str | None
    """The scheduler that opened it; None where its tenant did."""
    paid_until: int | None
    """Until when a running service or rental lasts with what is deposited, in ms; jobs: when they are stopped."""
    kept_until: int | None
    """Until when the data of an ended rental is kept."""
    standby: str | None
    """The host at which the pod goes on where its own fails."""
    created_at: int = 0
    reason: str | None = None
    """Why its pod was given up, as a stable code: input_missing. None where it was not."""
    reason_text: str | None = None
    """The same in words."""

    def plain(self) -> dict[str, Any]:
        """For --json."""
        return {
            "lease": self.id,
            "pod": self.pod,
            "host": self.host,
            "provider": self.provider,
            "state": self.state,
            "rate_per_hour": self.rate_per_hour,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "result_digest": self.result_digest.hex() if self.result_digest is not None else None,
            "exit_code": self.exit_code,
            "usage": self.usage,
            "deposit": self.deposit,
            "owed": self.owed,
            "paid": self.paid,
            "fee": self.fee,
            "scheduler_fee": self.scheduler_fee,
            "settler_fee": self.settler_fee,
            "assigned_by": self.assigned_by,
            "paid_until": self.paid_until,
            "kept_until": self.kept_until,
            "standby": self.standby,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task with the leases of its present attempt."""

    id: int
    tenant: str
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
    """It was told to leave for another task, and has not run anew since."""
    survival: gen.Survival
    max_latency_ms: int
    """The longest round trip that its hosts may have measured; 0: any."""
    checkpoints: tuple[gen.PodCheckpoint, ...]
    """The last one of each pod that has any."""
    leases: tuple[LeaseView, ...]
    pods_wanted: int

    @property
    def final(self) -> bool:
        """Whether nothing can change any more."""
        return self.state.partition("(")[0] in FINAL_STATES

    @property
    def paid(self) -> int:
        """What the tenant paid so far, protocol fee included."""
        return sum(lease.paid for lease in self.leases)

    @property
    def given_up(self) -> LeaseView | None:
        """The lease because of which the last attempt came to nothing, where the chain still has it."""
        found = [lease for lease in self.leases if lease.reason is not None]
        return next((lease for lease in found if lease.reason != "gang_aborted"), None)

    @property
    def fee(self) -> int:
        """The protocol's part of what was paid."""
        return sum(lease.fee for lease in self.leases)

    def plain(self) -> dict[str, Any]:
        """For --json."""
        return {
            "task": self.id,
            "state": self.state,
            "tenant": self.tenant,
            "attempts": self.attempts,
            "reason": None if self.given_up is None else self.given_up.reason,
            "submitted_at": self.submitted_at,
            "manifest_digest": self.manifest_digest.hex(),
            "max_rate_per_hour": self.max_rate_per_hour,
            "max_duration_ms": self.max_duration_ms,
            "priority": self.priority,
            "queue": self.queue,
            "spot": self.spot,
            "max_latency_ms": self.max_latency_ms or None,
            "preemption": self.preemption and self.preemption.encode(),
            "survival": self.survival.value.lower(),
            "checkpoints": [
                {"pod": one.pod, "digest": one.digest.hex(), "bytes": one.bytes_, "host": one.host, "at": one.at}
                for one in self.checkpoints
            ],
            "paid": self.paid,
            "paid_gty": format_amount(self.paid),
            "fee": self.fee,
            "leases": [lease.plain() for lease in self.leases],
        }


@dataclass(frozen=True, slots=True)
class HostView:
    """A host with its score in parts per million; None: it has none yet."""

    id: str
    provider: str
    status: str
    region: str
    tier: str
    capabilities: tuple[str, ...]
    endpoint: bytes
    network_mbps: tuple[int, int]
    """To the host and from it, as it measured; zeros: not yet."""
    latency_ms: int
    """Of a round trip to its gateways, or to other hosts, as it measured; 0: not yet."""
    total: dict[str, int]
    free: dict[str, int]
    devices: tuple[dict[str, Any], ...]
    ask: dict[str, Any]
    bond: int
    last_heartbeat: int
    live_leases: int
    answers_challenges: bool
    challenged: int | None
    """The GPU that takes no lease until the host has answered a challenge of it."""
    suspension: Suspension | None
    score_ppm: int | None
    settled_leases: int

    def plain(self) -> dict[str, Any]:
        """For --json."""
        return {
            "host": self.id,
            "provider": self.provider,
            "status": self.status,
            "region": self.region,
            "tier": self.tier,
            "capabilities": list(self.capabilities),
            "endpoint": text_of(self.endpoint),
            "network_mbps": list(self.network_mbps),
            "latency_ms": self.latency_ms or None,
            "total": self.total,
            "free": self.free,
            "devices": list(self.devices),
            "ask": self.ask,
            "bond": self.bond,
            "last_heartbeat": self.last_heartbeat,
            "live_leases": self.live_leases,
            "answers_challenges": self.answers_challenges,
            "challenged": self.challenged,
            "suspension": None if self.suspension is None else self.suspension.plain(),
            "host_score": self.score_ppm,
            "settled_leases": self.settled_leases,
        }


def score_text(score_ppm: int | None) -> str | None:
    """A score as a number between 0 and 1 with all its digits."""
    return None if score_ppm is None else f"{score_ppm / _PPM:.6f}"


async def read_task(chain: ChainPort, task: int, at: bytes | None = None) -> TaskView:
    """One task. Raises CliError where there is none of this number, or no longer."""
    found = (await read_tasks(chain, [task], at)).get(task)
    if found is not None:
        return found
    if task < await GantryChain(chain).next_task(at):
        raise CliError(
            f"task {task} was final for long, and was removed from the chain's storage.",
            f"gantry chain inspect task {task} tells its story from the chain's events.",
            code="pruned",
        )
    raise CliError(f"there is no task {task}.", "gantry task list shows those there are.", code="no_such_task")


async def read_tasks(chain: ChainPort, numbers: Iterable[int], at: bytes | None = None) -> dict[int, TaskView]:
    """Return the tasks with these numbers that the chain keeps, by number."""
    typed = GantryChain(chain)
    tasks, now = await asyncio.gather(typed.tasks(numbers, at), typed.now_ms(at))
    names = {lease.record.host for task in tasks.values() for lease in task.leases}
    hosts = await typed.hosts_named(names, at)
    return {number: _task_view(task, hosts, now) for number, task in tasks.items()}


def _task_view(task: TaskAndSpec, hosts: Mapping[str, gen.HostRecord], now: int) -> TaskView:
    record, spec = task.record, task.spec
    return TaskView(
        id=task.id,
        tenant=record.tenant,
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
        max_latency_ms=spec.placement.max_latency_ms,
        checkpoints=record.checkpoints,
        leases=tuple(_lease_view(lease, hosts.get(lease.record.host), now) for lease in task.leases),
        pods_wanted=record.pods_wanted,
    )


def _lease_view(lease: LeaseOfTask, host: gen.HostRecord | None, now: int) -> LeaseView:
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
        kept_until=record.state.value if isinstance(record.state, gen.LeaseStateRetained) else None,
    )


async def read_host(chain: ChainPort, host: str, at: bytes | None = None) -> HostView:
    """One host. Raises CliError where none is registered under this address."""
    record, score = await asyncio.gather(
        chain.query("Hosts", "Hosts", [host], at), chain.query("Reputation", "HostScores", [host], at)
    )
    if record is None:
        raise CliError(f"no host {host} is registered.", "gantry host list shows those there are.", code="no_such_host")
    return host_view(host, record, score)


async def read_hosts(chain: ChainPort, at: bytes | None = None) -> list[HostView]:
    """All hosts."""
    records, scores = await asyncio.gather(
        chain.query_map("Hosts", "Hosts", at=at), chain.query_map("Reputation", "HostScores", at=at)
    )
    by_host = dict(scores)
    return sorted((host_view(host, record, by_host.get(host)) for host, record in records), key=lambda view: view.id)


def _suspension(host: str, record: dict[str, Any]) -> Suspension | None:
    if not isinstance(gen.HostStatus.decode(record["status"]), gen.HostStatusSuspended):
        return None
    return suspension_of(host, gen.HostRecord.decode(record))


def host_view(host: str, record: dict[str, Any], score: dict[str, Any] | None) -> HostView:
    """A `HostRecord` and a `HostScore`."""
    return HostView(
        id=host,
        provider=record["provider"],
        status=state_text(record["status"]),
        region=text_of(record["region"]),
        tier=record["tier"],
        capabilities=tuple(name for name, there in record["capabilities"].items() if there),
        endpoint=bytes(record["endpoint"]),
        network_mbps=(record["network_mbps_down"], record["network_mbps_up"]),
        latency_ms=record["latency_ms"],
        total=dict(record["total"]),
        free=dict(record["free"]),
        devices=tuple(
            {
                "vendor": state_text(device["spec"]["vendor"]),
                "model": text_of(device["spec"]["model"]),
                "vram_mib": device["spec"]["vram_mib"],
                "simulated": device["spec"]["simulated"],
                "milli_free": device["milli_free"],
                "shared_by": device["shared_by"],
                "attested": device["attested"],
                "healthy": device["healthy"],
            }
            for device in record["devices"]
        ),
        ask=record["ask"]
        | {
            "gpu": [{"model": text_of(price["model"]), "per_hour": price["per_hour"]} for price in record["ask"]["gpu"]]
        },
        bond=record["bond"],
        last_heartbeat=record["last_heartbeat"],
        live_leases=record["live_leases"],
        answers_challenges=record["answers_challenges"],
        challenged=record["challenged"],
        suspension=_suspension(host, record),
        score_ppm=None if score is None else host_ppm(gen.HostScore.decode(score)),
        settled_leases=0 if score is None else score["settled_leases"],
    )
