"""gantry logs: the output of a pod, also over several leases."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import Final

import click

from offchain.adapters.transport.port import TransportError
from offchain.cli.kit import options
from offchain.cli.kit.host_connection import PodConnection, connected_host, pod_option, run_at_pod
from offchain.cli.kit.output import Screen, progress
from offchain.ports import ChainPort
from offchain.services.event_text import phrase
from offchain.services.record_views import LeaseView, TaskView, read_task

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_WAITS: Final = ("Queued", "Assigned", "Running")
"""States of tasks whose pods may run again."""
_AGAIN: Final = ("Preempted", "Moved", "HostLost", "HostRefused", "StartTimeout", "GangAborted", "Reclaimed")
"""Reasons of ended leases whose pods continue, or start again, on another host."""


def _unix_ms(text: str) -> int:
    """Return the Unix time of a duration before now, or of a date."""
    if text[:-1].isdecimal() and text[-1:] in _UNITS:
        ago_s = int(text[:-1]) * _UNITS[text[-1]]
        return max(0, int((datetime.now(UTC).timestamp() - ago_s) * 1000))
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time; write it like 10m, 2h, or 2026-05-01T12:00") from None
    return max(0, int((when if when.tzinfo else when.astimezone()).timestamp() * 1000))


@click.command()
@click.argument("number", metavar="ID", type=options.TASK)
@pod_option
@click.option("--service", metavar="NAME", help="Only this container, as the manifest names it.  [default: all]")
@click.option(
    "--follow",
    "-f",
    is_flag=True,
    help="Follow the log until the pod has ended; also on its next host, if it has to leave this one.",
)
@click.option("--tail", "-n", type=click.IntRange(0, 1_000_000), metavar="LINES", help="Only the last LINES lines.")
@click.option(
    "--since", type=options.Parsed("WHEN", _unix_ms), help="Only from then on: 10m, 2h, 3d, or 2026-05-01T12:00."
)
@options.gateway
@options.common(account=True, json=False)
def logs(
    number: int,
    pod: int,
    service: str | None,
    follow: bool,
    tail: int | None,
    since: int | None,
    common: options.CommonOptions,
) -> None:
    """Print the output of a pod, fetched from its host with your signature.

    If a pod has several containers, each line names its own; --service selects one. The host keeps the log for 30 days
    after the pod has ended, and serves it as long as the task is in the chain's storage: 7 days after its end. On a
    terminal, control sequences other than colours are escaped; into a file or a pipe every byte is written unchanged.

    \b
    Examples:
      gantry logs 7 --account //Charlie
      gantry logs 7 --follow --tail 20 --account anna
      gantry logs 7 --since 10m --service web
      gantry task logs 7                        (the same command)
    """

    async def work(found: PodConnection) -> None:
        lease = found.lease
        log = found.client.logs(lease.id, follow=follow, tail=tail, since_ms=since, service=service)
        if not follow:
            await _show(log)
            return
        failed = await _followed(log)
        while (then := await wait_for_next_lease(found.chain, number, pod, lease, progress)) is not None:
            lease = then
            async with connected_host(found.chain, lease, found.signer) as client:
                failed = await _followed(client.logs(lease.id, follow=True, service=service))
        # A host also closes the connection when the lease has ended: then there is no more output.
        if failed is not None and await is_live(found.chain, number, lease):
            raise failed

    run_at_pod(common, number, pod, work)


async def _show(log: AsyncGenerator[bytes, None]) -> None:
    screen = Screen()
    try:
        async with contextlib.aclosing(log):
            async for chunk in log:
                screen.show(chunk)
    finally:
        screen.end()


async def _followed(log: AsyncGenerator[bytes, None]) -> TransportError | None:
    """Print the log to its end; return the error if the connection broke, as it does when the lease has moved."""
    try:
        await _show(log)
    except TransportError as error:
        return error
    return None


async def wait_for_next_lease(
    chain: ChainPort, number: int, pod: int, last: LeaseView, notify: Callable[[str], None]
) -> LeaseView | None:
    """Return the lease under which the pod runs after `last`, as soon as it does; None if it does not run again.

    Reports once that the task waits, and why.
    """
    waiting = False
    async for _ in chain.best():
        view = await read_task(chain, number)
        lease = next((one for one in view.leases if one.pod == pod), None)
        if lease is not None and lease.id != last.id and lease.started_at is not None:
            notify(f"Pod {pod} of task {number} runs on {lease.host} (lease {lease.id}).")
            return lease
        if lease is not None and lease.id == last.id and lease.is_live and view.preemption is not None:
            # It is being preempted, and its host saw the block with its end before this node did.
            continue
        if not _comes_again(view, pod, lease, last):
            if waiting:
                notify(f"Task {number} is {view.state_text}: there is nothing more to follow.")
            return None
        if not waiting:
            notify(
                f"Pod {pod} of task {number} had to leave {last.host}{_why(view, lease, last)} and waits to run "
                "again. Its next run is followed from its first line; Ctrl-C stops."
            )
            waiting = True
    return None


async def is_live(chain: ChainPort, number: int, lease: LeaseView) -> bool:
    """Return whether this lease goes on."""
    view = await read_task(chain, number)
    return any(one.id == lease.id and one.is_live for one in view.leases)


def _comes_again(view: TaskView, pod: int, lease: LeaseView | None, last: LeaseView) -> bool:
    if view.state not in _WAITS:
        return False
    if lease is None:
        # A service's other pods run on meanwhile.
        return view.state == "Queued" or pod < view.pods_wanted
    if lease.id != last.id:
        # Assigned, and not started yet; or refused before it was.
        return True
    return not lease.is_live and _reason(lease).partition("(")[0] in _AGAIN


def _why(view: TaskView, lease: LeaseView | None, last: LeaseView) -> str:
    if view.preemption is not None:
        return f" for task {view.preemption.wanting} of a higher priority"
    return f" ({lease.reason_text or phrase(lease.state)})" if lease is not None and lease.id == last.id else ""


def _reason(lease: LeaseView) -> str:
    """Return the code of the reason why a lease ended."""
    return lease.state.removeprefix("Ended(").removesuffix(")")
