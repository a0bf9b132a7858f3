"""Who may make others leave and who may be made to, by the chain's records; without numpy, for commands look, too."""

from __future__ import annotations

from offchain.core.queues.amount import Amount
from offchain.core.queues.rights import Rights
from offchain.core.scheduler.pod_request import sharing_account
from offchain.core.values import LeaseState, Task, TaskState

SHARES = "the spot tasks that hold enough are of others, who need not give them up"

_HELD = frozenset({LeaseState.PENDING, LeaseState.ACTIVE})


def may_ask(task: Task) -> bool:
    """Whether it may make others leave: it waits, is above somebody, and did not have to leave itself.

    None does that asks for a share: who shares the devices that others leave is not known in advance. None does for
    which others leave already.
    """
    waits = task.state is TaskState.QUEUED and task.preemption is None and task.notice_ends_at is None
    return waits and task.priority > 0 and not sharing_account(task)


def may_leave(task: Task) -> bool:
    """Whether the chain lets it be told to leave, and its room would be free then."""
    runs = task.spot and task.state is TaskState.RUNNING and task.preemption is None
    return runs and bool(task.leases) and all(lease.state in _HELD for lease in task.leases)


def by_shares(rights: Rights, part: int, asks: Amount) -> str:
    """Why shares stand against it, for people."""
    shares = f"its queue or account holds {rights.share(part):.1%} of the network, with the task "
    return f"{SHARES}: {shares}{rights.share(part, asks):.1%}, and has a right to {rights.right(part):.1%}"
