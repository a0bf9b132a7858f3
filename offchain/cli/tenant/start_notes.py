"""What hosts say of pods that have not started: what they wait for, and how far their images are."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import Final

from offchain.adapters.transport.port import TransportError
from offchain.cli.kit.host_connection import host_of
from offchain.cli.kit.views import LeaseView, read_task
from offchain.errors import GantryError
from offchain.ports import ChainPort, Signer

ASK_AGAIN_S: Final = 3.0
ANSWER_S: Final = 5.0
"""A host that has not answered for so long is asked again later."""
LARGEST_LOG: Final = 1 << 16
"""Bytes that are read of a log: before a pod starts it has the host's own lines alone."""
_WAITS: Final = ("Queued", "Assigned")
_NOTE: Final = re.compile(r"\S+ \[(.*)\]")


async def tell_notes(chain: ChainPort, number: int, signer: Signer, tell: Callable[[str], None]) -> None:
    """Tell each note once, until every pod of the task has started or the task has ended."""
    said: set[tuple[int, str]] = set()
    loop = asyncio.get_running_loop()
    due_s = loop.time()
    async for _ in chain.best():
        if loop.time() < due_s:
            continue
        due_s = loop.time() + ASK_AGAIN_S
        view = await read_task(chain, number)
        if view.state.partition("(")[0] not in _WAITS:
            return
        for lease in view.leases:
            if lease.state != "Pending":
                continue
            for note in await _notes_of(chain, lease, signer):
                if (lease.id, note) not in said:
                    said.add((lease.id, note))
                    tell(f"Pod {lease.pod}: {note}.")


async def _notes_of(chain: ChainPort, lease: LeaseView, signer: Signer) -> list[str]:
    log = bytearray()
    try:
        async with asyncio.timeout(ANSWER_S), host_of(chain, lease, signer) as client:
            async for piece in client.logs(lease.id):
                log += piece
                if len(log) > LARGEST_LOG:
                    break
    except (TransportError, GantryError, TimeoutError):
        return []  # no log yet, or no way to the host now; what matters comes from the chain
    return list(notes_in(log.decode("utf-8", errors="replace").splitlines()))


def notes_in(lines: Iterable[str]) -> Iterable[str]:
    """The host's own lines in a log, without time and brackets."""
    for line in lines:
        if (found := _NOTE.fullmatch(line)) is not None:
            yield "".join(letter for letter in found[1] if letter.isprintable())
