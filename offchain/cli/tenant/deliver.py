"""gantry deliver: secrets and inputs for pods."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import lease_of, open_lease_host
from offchain.cli.kit.output import emit, progress
from offchain.cli.kit.session import run
from offchain.schema.protocol.operations import MAX_SEALED
from offchain.schema.value_text import counted
from offchain.services.record_views import LeaseView, TaskView, read_task

_LIVE = ("Pending", "Active")


@click.command()
@click.argument("number", metavar="ID", type=options.TASK)
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--pod", type=click.IntRange(0), help="Only to this pod; else to every pod of the task.")
@options.gateway
@options.common(account=True)
def deliver(number: int, name: str, file: Path, pod: int | None, common: options.CommonOptions) -> None:
    """Deliver a secret or an input that the manifest names, sealed so that only the pod's host can open it.

    A pod starts when all files that it waits for are delivered. FILE -: read standard input, so that a secret need not
    be on a disk.

    \b
    Examples:
      gantry deliver 7 db_password secret.txt --account //Charlie
      pass show db | gantry deliver 7 db_password -
    """
    signer = common.open_account()
    data = _read(file)

    async def work() -> list[LeaseView]:
        async with common.connected() as chain:
            leases = _wanted(await read_task(chain, number), pod)
            for lease in leases:
                async with open_lease_host(chain, lease, signer) as client:
                    await client.deliver(lease.id, name, data)
                if not common.as_json:
                    progress(
                        f"{name} ({counted(len(data), 'byte')}) delivered to pod {lease.pod} on host {lease.host}."
                    )
            return leases

    leases = run(work())
    if common.as_json:
        emit({"task": number, "name": name, "bytes": len(data), "pods": [lease.pod for lease in leases]})


def _wanted(view: TaskView, pod: int | None) -> list[LeaseView]:
    if pod is not None:
        return [lease_of(view, pod)]
    live = [lease for lease in view.leases if lease.state.partition("(")[0] in _LIVE]
    if not live:
        lease_of(view, 0)
        raise CliError(f"no pod of task {view.id} runs or waits.", "gantry task show shows its state.", code="no_lease")
    return live


def _read(file: Path) -> bytes:
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(MAX_SEALED + 1)
        else:
            with file.open("rb") as opened:
                data = opened.read(MAX_SEALED + 1)
    except OSError as error:
        raise CliError(f"{file} cannot be read: {error.strerror}.", "Check the path.") from None
    if len(data) > MAX_SEALED:
        raise CliError(
            f"{file} has more than the {MAX_SEALED} bytes that can be delivered sealed.",
            "Copy it into the running pod: gantry cp.",
            code="too_large",
        )
    return data
