"""Asks the chain what a task has to expect: one that is kept there, or one that was not sent yet."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit.failures import CliError
from offchain.cli.tenant.submit_checks import layout_of
from offchain.core.leaving import Leaving, leaving
from offchain.core.outlook import Outlook, outlook
from offchain.core.scheduler.host_risk import PodAtRisk, pods_at_risk
from offchain.core.scheduler.queue_definitions import QueueTree
from offchain.core.values import RetainedData, Task, TaskState
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import TaskSpec
from offchain.services.snapshot_reader import Reads

_NOT_SENT = 1 << 62
"""Greater than any task's number: whoever waits is before it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A task, what it has to expect, and the chain time at which that was so.

    `at_risk`: its pods that run on hosts that deteriorate. `leaving`: who would leave for it, `notice_ms` after being
    told, where it has no room; None: nobody could, or it was not looked for.
    """

    task: Task
    outlook: Outlook
    now_ms: int
    at_risk: tuple[PodAtRisk, ...] = ()
    leaving: Leaving | None = None
    notice_ms: int = 0


async def outlook_of(chain: ChainPort, spec: TaskSpec, tenant: str, queues: QueueTree) -> Asked:
    """The outlook of a task that was not sent, with these queues."""
    snapshot = await Reads(chain).snapshot(await chain.finalized_head())
    data = None
    if spec.data_from is not None:
        lease = await GantryChain(chain).lease(spec.data_from)
        data = None if lease is None else RetainedData(lease.record.host, lease.task.spec.resources.disk_gib)
    task = Task(
        id=_NOT_SENT,
        tenant=tenant,
        state=TaskState.QUEUED,
        kind=spec.kind,
        resources=spec.resources,
        placement=spec.placement,
        unit=spec.unit,
        pods_min=spec.pods_min,
        max_rate_per_hour=spec.max_rate_per_hour,
        max_duration_ms=spec.max_duration_ms,
        deadline=spec.deadline,
        priority=spec.priority,
        queue=spec.queue,
        generation=0,
        submitted_at=snapshot.now_ms,
        changed_at=snapshot.now_ms,
        open_pods=tuple(range(spec.pods_max)),
        takes_over=data,
        manifest=spec.manifest_digest,
        layout=layout_of(spec),
        spot=spec.spot,
        survival=spec.survival,
    )
    found = outlook(snapshot, task)
    leaves = None if found.pods_now >= found.pods_needed else leaving(snapshot, task, queues)
    notice_ms = 0 if leaves is None else (await GantryChain(chain).params("Tasks")).preemption_notice_ms
    return Asked(task, found, snapshot.now_ms, leaving=leaves, notice_ms=notice_ms)


async def outlook_at(chain: ChainPort, number: int) -> Asked:
    """The outlook of a task that is not final. CliError where it is, or there is none."""
    head = await chain.finalized_head()
    snapshot = await Reads(chain).snapshot(head)
    task = snapshot.tasks.get(number)
    if task is None:
        raise await _why_not_there(chain, number, head)
    return Asked(task, outlook(snapshot, task), snapshot.now_ms, pods_at_risk(task, snapshot.hosts.values()))


async def _why_not_there(chain: ChainPort, number: int, head: BlockRef) -> CliError:
    typed = GantryChain(chain)
    if number < await typed.next_task(head.hash):
        return CliError(
            f"task {number} is final: nothing is decided about it any more.",
            f"gantry chain inspect task {number} tells its story.",
            code="no_task",
        )
    if number < await typed.next_task():
        return CliError(
            f"task {number} is in no final block yet.", "Ask again in a few seconds.", code="not_in_a_final_block"
        )
    return CliError(f"there is no task {number}.", "gantry task list shows those there are.", code="no_such_task")
