"""What a task's pods wait for before they start, as the chain tells it: files of the tenant, and the start timeout."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit.views import LeaseView, TaskView
from offchain.ports import ChainPort
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import ManifestError


@dataclass(frozen=True, slots=True)
class Waited:
    """`files`: names that each pod needs from the tenant. `start_by`: chain time in ms of the first start timeout."""

    files: tuple[str, ...] = ()
    start_by: int | None = None
    now: int = 0


async def waited_for(chain: ChainPort, view: TaskView) -> Waited:
    """What the pods that have not started wait for; nothing where all have."""
    pending = [lease for lease in view.leases if lease.state == "Pending"]
    if not pending:
        return Waited()
    typed = GantryChain(chain)
    data, params, now = await asyncio.gather(typed.manifest(view.id), typed.params("Tasks"), typed.now_ms())
    try:
        files = () if data is None else tuple(sorted(parse_manifest(data).deliveries))
    except ManifestError:
        files = ()
    return Waited(files, min(lease.created_at for lease in pending) + params.start_timeout_ms, now)


def waiting_text(waited: Waited, view: TaskView, lease: LeaseView) -> str | None:
    """One line about a pod that has not started; None for others."""
    if lease.state != "Pending" or waited.start_by is None:
        return None
    left_s = max(0, waited.start_by - waited.now) // 1000
    files = "".join(
        f"{name}, unless it was delivered (gantry deliver {view.id} {name} FILE); " for name in waited.files
    )
    return f"{files}its image, as gantry logs {view.id} tells; it is given up in {left_s} s"
