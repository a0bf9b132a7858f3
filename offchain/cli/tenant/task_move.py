"""gantry task move: move a pod to another host."""

from __future__ import annotations

from typing import Final

import click

from offchain.cli.tenant.task_lifecycle import action
from offchain.ports import Call, ChainPort
from offchain.services import tenant_calls
from offchain.services.record_views import TaskView

_RUNS: Final = ("Pending", "Active")
"""States of leases whose pods can be moved."""


@click.command()
@action
@click.option("--host", "to", required=True, metavar="ADDRESS", help="The new host; see gantry host list.")
@click.option("--pod", type=click.IntRange(0), help="Which pod.  [default: the only one]")
async def move(chain: ChainPort, view: TaskView, to: str, pod: int | None) -> list[Call]:
    """Move a pod of a running job or service to another host, with what is left of its deposit.

    For tasks whose manifest says survival: move or standby. The pod stops and starts again on the other host, from its
    last checkpoint if it has one. The first host is paid for the time that the pod ran; the new one asks its own price,
    within the limit of the manifest. Schedulers move such pods by themselves when a host deteriorates.

    \b
    Examples:
      gantry task move 7 --host 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY --account //Charlie
      gantry task move 7 --pod 1 --host 5DAAnrj7VHTznn2AWBemMuyBwZWs6FNFjdyVXUeYum3PTXFy --account anna --json
    """
    return await tenant_calls.move(chain, view, to, pod)
