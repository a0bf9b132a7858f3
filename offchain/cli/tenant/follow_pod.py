"""Where a pod goes on after a run of it has ended, for those who follow it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from offchain.cli.kit.views import LeaseView, TaskView, read_task
from offchain.ports import ChainPort

_LIVE: Final = ("Pending", "Active", "Suspended")
_WAITS: Final = ("Queued", "Assigned", "Running")
"""Tasks whose pods may run again."""
_AGAIN: Final = ("Preempted", "Moved", "HostLost", "HostRefused", "StartTimeout", "GangAborted", "Reclaimed")
"""Reasons for which a lease ends and its pod goes on, or starts anew, elsewhere."""


async def next_run(
    chain: ChainPort, number: int, pod: int, last: LeaseView, tell: Callable[[str], None]
) -> LeaseView | None:
    """The lease under which the pod runs after `last`, as soon as it does; None: that was its last run.

    While it has none it is said why, once, that the task waits, and that this goes on with the next run.
    """
    told = False
    async for _ in chain.best():
        view = await read_task(chain, number)
        lease = next((one for one in view.leases if one.pod == pod), None)
        if lease is not None and lease.id != last.id and lease.started_at is not None:
            tell(f"Pod {pod} of task {number} runs on {lease.host} (lease {lease.id}).")
            return lease
        if lease is not None and lease.id == last.id and lease.state in _LIVE and view.preemption is not None:
            # It was told to leave, and its host saw a block with its end before this node did.
            continue
        if not _comes_again(view, pod, lease, last):
            if told:
                tell(f"Task {number} is {view.state}: there is nothing more to follow.")
            return None
        if not told:
            tell(
                f"Pod {pod} of task {number} had to leave {last.host}{_why(view, lease, last)}, and waits to run "
                "again. Its next run is followed from its first line; Ctrl-C ends that."
            )
            told = True
    return None


async def still_runs(chain: ChainPort, number: int, lease: LeaseView) -> bool:
    """Whether this lease goes on."""
    view = await read_task(chain, number)
    return any(one.id == lease.id and one.state in _LIVE for one in view.leases)


def _comes_again(view: TaskView, pod: int, lease: LeaseView | None, last: LeaseView) -> bool:
    if view.state not in _WAITS:
        return False
    if lease is None:
        # A service's other pods run on meanwhile.
        return view.state == "Queued" or pod < view.pods_wanted
    if lease.id != last.id:
        # Assigned, and not started yet; or refused before it was.
        return True
    return lease.state not in _LIVE and _reason(lease).partition("(")[0] in _AGAIN


def _why(view: TaskView, lease: LeaseView | None, last: LeaseView) -> str:
    if view.preemption is not None:
        return f" for task {view.preemption.wanting}, of a higher priority"
    return f" ({_reason(lease)})" if lease is not None and lease.id == last.id else ""


def _reason(lease: LeaseView) -> str:
    """Why it ended, in the chain's word."""
    return lease.state.removeprefix("Ended(").removesuffix(")")
