"""gantry task snapshot and restore: images of a rental's machine on its host."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import PodConnection, run_at_pod
from offchain.cli.kit.output import TransferProgress, details, emit, progress, say, size_text, table
from offchain.schema.protocol.snapshots import RentalSnapshot, SnapshotAction, Snapshots, snapshot_name
from offchain.services.event_text import time_text

_NUMBER = click.argument("number", metavar="ID", type=options.TASK)


_NAME = options.Parsed("NAME", snapshot_name)


def register(group: click.Group) -> None:
    group.add_command(snapshot)
    group.add_command(restore)


@click.command()
@_NUMBER
@click.option("--name", type=_NAME, help="What it is called.  [default: the time, as in 20260501-120000]")
@click.option("--list", "listed", is_flag=True, help="Take none; show those there are.")
@click.option("--remove", type=_NAME, help="Take none; remove this one.")
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Take none; write the one with --name, or the newest, to a file that docker load takes.",
)
@options.common(account=True)
def snapshot(
    number: int, name: str | None, listed: bool, remove: str | None, save: Path | None, common: options.CommonOptions
) -> None:
    """Store the state of a rental's machine as a snapshot on its host; gantry task restore brings it back.

    A snapshot contains what the first container has on its own file system: installed programs, settings, files. It
    does NOT contain volumes (so restoring never reverts them), delivered secrets and inputs, ssh keys, and what is in
    memory: /tmp, /dev/shm, running programs. The machine is paused while a snapshot is taken.

    Snapshots use the rental's disk, at most 8 are kept, and they last as long as its data: also after it has ended,
    until its volumes are deleted. A new rental on the same host that takes over the data (data_from) can start from one
    (snapshot: NAME in x-gantry). An interrupted save continues where it stopped when you run the command again.

    \b
    Examples:
      gantry task snapshot 7 --name before-upgrade --account anna
      gantry task snapshot 7 --list --account anna
      gantry task snapshot 7 --remove before-upgrade --account anna
      gantry task snapshot 7 --name before-upgrade --save machine.tar --account anna
    """
    if listed + (remove is not None) + (save is not None) > 1 or (name is not None and (listed or remove is not None)):
        raise CliError(
            "--list, --remove and --save exclude each other, and --name goes with none or --save.",
            "Give one of them.",
            code="usage",
        )
    if save is not None:
        _save(number, name, save, common)
        return
    wanted = name or f"{datetime.now(UTC):%Y%m%d-%H%M%S}"

    async def work(pod: PodConnection) -> Snapshots:
        if listed:
            return await pod.client.snapshots(pod.lease.id, SnapshotAction.LIST)
        if remove is not None:
            return await pod.client.snapshots(pod.lease.id, SnapshotAction.REMOVE, remove)
        return await pod.client.snapshots(pod.lease.id, SnapshotAction.TAKE, wanted)

    there = run_at_pod(common, number, 0, work)
    if common.as_json:
        emit({"task": number, "current": there.current, "snapshots": [asdict(one) for one in there.snapshots]})
    elif listed:
        _show(there)
    elif remove is not None:
        say(f"There is no snapshot {remove} of task {number} any more.")
    else:
        taken = _found(there, wanted, number)
        details(
            [
                ("snapshot", taken.name),
                ("takes", f"{size_text(taken.size_bytes)} of the rental's disk"),
                ("holds", "the first container's own files; no volumes, secrets, memory"),
                ("restore it", f"gantry task restore {number} --name {taken.name}"),
            ]
        )


@click.command()
@_NUMBER
@click.option("--name", type=_NAME, help="Which snapshot.  [default: the newest]")
@options.common(account=True)
def restore(number: int, name: str | None, common: options.CommonOptions) -> None:
    """Reset a rental's machine to a snapshot. What its first container has written since is lost.

    Volumes stay as they are. A running machine is restarted, which ends its programs and sessions; a suspended one
    starts from the snapshot when it is resumed.

    \b
    Example:
      gantry task restore 7 --name before-upgrade --account anna
    """

    async def work(pod: PodConnection) -> tuple[Snapshots, str]:
        chosen = name
        if chosen is None:
            chosen = _found(await pod.client.snapshots(pod.lease.id, SnapshotAction.LIST), None, number).name
        return await pod.client.snapshots(pod.lease.id, SnapshotAction.RESTORE, chosen), pod.lease.state

    there, state = run_at_pod(common, number, 0, work)
    if common.as_json:
        emit({"task": number, "current": there.current, "state": state})
    elif state == "Suspended":
        say(f"The machine is made of {there.current} when you resume it: gantry task resume {number}")
    else:
        say(f"The machine stops, and starts again as it was in {there.current}, in some seconds.")


def _save(number: int, name: str | None, target: Path, common: options.CommonOptions) -> None:
    """Download a snapshot's image into a file."""
    from offchain.adapters.transport import copy  # noqa: PLC0415 - loaded when it is used

    if target.exists():
        raise CliError(f"{target} already exists.", "Remove it first, or choose another FILE.", code="exists")
    transfer = TransferProgress()

    async def work(pod: PodConnection) -> RentalSnapshot:
        found = _found(await pod.client.snapshots(pod.lease.id, SnapshotAction.LIST), name, number)
        # Named by the image too, so that what came of another one is not gone on with.
        key = hashlib.sha256(repr((pod.lease.id, found.digest)).encode()).hexdigest()[:12]
        part = target.parent / f".{target.name}.{key}.gantry-part"
        await copy.get_image(pod.client, pod.lease.id, found.name, part, transfer)
        await asyncio.to_thread(part.replace, target)
        return found

    with transfer:
        saved = run_at_pod(common, number, 0, work)
    if common.as_json:
        emit({"task": number, "file": str(target), "bytes": transfer.bytes, **asdict(saved)})
    else:
        progress(f"{size_text(transfer.bytes)} in {target}: docker load -i {target}, then run it as {saved.digest}")


def _found(there: Snapshots, name: str | None, number: int) -> RentalSnapshot:
    """Return the snapshot with this name, or the newest."""
    fitting = [one for one in there.snapshots if name in (None, one.name)]
    if not fitting:
        what = "no snapshot" if name is None else f"no snapshot {name}"
        raise CliError(
            f"there is {what} of task {number}.",
            f"gantry task snapshot {number} --list shows what there is.",
            code="no_snapshot",
        )
    return fitting[-1]


def _show(there: Snapshots) -> None:
    if not there.snapshots:
        say("There is no snapshot.")
        return
    table(
        ("NAME", "TAKEN (UTC)", "TAKES", "IMAGE", ""),
        [
            (
                one.name,
                time_text(one.created_ms),
                size_text(one.size_bytes),
                one.digest[:19],
                "the machine is made of it" if one.name == there.current else "",
            )
            for one in there.snapshots
        ],
    )
