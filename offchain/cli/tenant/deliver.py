"""gantry deliver: secrets and inputs for pods."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from offchain.cli.kit import options
from offchain.cli.kit.attestation import TEST_ROOT, proven_text, read_test_root
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import delivery_leases, open_lease_host
from offchain.cli.kit.output import emit, progress
from offchain.cli.kit.session import run
from offchain.schema.protocol.operations import MAX_SEALED
from offchain.schema.value_text import counted
from offchain.services.record_views import LeaseView, read_task
from offchain.services.sealed_delivery import deliver_sealed, policy_of_task


@click.command()
@click.argument("number", metavar="ID", type=options.TASK)
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--pod", type=click.IntRange(0), help="Only to this pod; else to every pod of the task.")
@TEST_ROOT
@options.gateway
@options.common(account=True)
def deliver(
    number: int, name: str, file: Path, pod: int | None, test_root: Path | None, common: options.CommonOptions
) -> None:
    """Deliver a secret or an input that the manifest names, sealed so that only the pod's host can open it.

    A pod starts when all files that it waits for are delivered. FILE -: read standard input, so that a secret need not
    be on a disk. With confidential in the manifest, each host first has to prove what it asks for.

    \b
    Examples:
      gantry deliver 7 db_password secret.txt --account //Charlie
      pass show db | gantry deliver 7 db_password -
    """
    signer = common.open_account()
    data, root = _read(file), read_test_root(test_root)

    async def work() -> list[LeaseView]:
        async with common.connected() as chain:
            leases = delivery_leases(await read_task(chain, number), pod)
            policy = await policy_of_task(chain, number)
            for lease in leases:
                async with open_lease_host(chain, lease, signer) as client:
                    proof = await deliver_sealed(chain, client, lease, policy, name, data, test_root=root)
                if not common.as_json:
                    size = counted(len(data), "byte")
                    shown = "" if proof is None else f", which is {proven_text(proof)}"
                    progress(f"{name} ({size}) delivered to pod {lease.pod} on host {lease.host}{shown}.")
            return leases

    leases = run(work())
    if common.as_json:
        emit({"task": number, "name": name, "bytes": len(data), "pods": [lease.pod for lease in leases]})


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
