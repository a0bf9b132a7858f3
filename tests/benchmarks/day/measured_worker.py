"""A scheduler and settler under measurement: a worker with clocks on its outbox and its event loop.

Arguments: the node's address, the folder of the worker's state, the file of the report, the name of the account.
SIGUSR1 begins the measurement: what was measured before is forgotten.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import json
import signal
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil
from chainbench.signing import Account

from offchain.adapters.outbox.call_queue import CallQueue
from offchain.adapters.outbox.inclusions import InclusionScanner
from offchain.adapters.outbox.intents import IntentTable
from offchain.services.kernel_cache import enable_kernel_cache
from offchain.services.runner import run_worker

REPORT_EVERY_S: Final = 5.0
LOOP_TICK_S: Final = 0.01
_FULL: Final = 2


class Clocks:
    """Durations in milliseconds, by what took them."""

    def __init__(self) -> None:
        self.took_ms: dict[str, array[float]] = {}

    def attach(self, owner: type, name: str) -> None:
        """Take the time of each call of a method that does not wait."""
        inner: Callable[..., Any] = getattr(owner, name)
        key = f"{owner.__name__}.{name.lstrip('_')}"

        @functools.wraps(inner)
        def timed(*args: Any, **named: Any) -> Any:
            began_s = time.perf_counter()
            try:
                return inner(*args, **named)
            finally:
                self.note(key, time.perf_counter() - began_s)

        setattr(owner, name, timed)

    def note(self, key: str, seconds: float) -> None:
        self.took_ms.setdefault(key, array("d")).append(1000 * seconds)

    def summary(self) -> dict[str, dict[str, float]]:
        """[key]: how often, and milliseconds."""
        found = {}
        for key, took in self.took_ms.items():
            ordered = sorted(took)
            p99 = ordered[max(0, -(-99 * len(ordered) // 100) - 1)]
            found[key] = {"count": len(ordered), "p99_ms": round(p99, 3), "most_ms": round(ordered[-1], 3)}
        return found


def _watch_collections(clocks: Clocks) -> None:
    """Take the time of each full garbage collection."""
    began_s = 0.0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal began_s
        if info["generation"] == _FULL and phase == "start":
            began_s = time.perf_counter()
        elif info["generation"] == _FULL:
            clocks.note("gc", time.perf_counter() - began_s)

    gc.callbacks.append(note)


async def _watch_loop(clocks: Clocks) -> None:
    """Note for how long the event loop was kept from other work."""
    while True:
        began_s = time.perf_counter()
        await asyncio.sleep(LOOP_TICK_S)
        clocks.note("loop", max(0.0, time.perf_counter() - began_s - LOOP_TICK_S))


async def _report(clocks: Clocks, path: Path) -> None:
    memory_mib: list[float] = []
    while True:
        await asyncio.sleep(REPORT_EVERY_S)
        memory_mib.append(round(psutil.Process().memory_info().rss / 1024 / 1024, 1))
        # In a thread: sorting a long list would be measured as well.
        text = json.dumps({"took": await asyncio.to_thread(clocks.summary), "memory_mib": memory_mib})
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.rename(path)


async def _work(url: str, folder: Path, report: Path, account: Account) -> None:
    clocks = Clocks()
    for name, found in list(vars(IntentTable).items()):
        if inspect.isfunction(found) and not name.startswith("_"):
            clocks.attach(IntentTable, name)
    clocks.attach(CallQueue, "_store_oldest")
    clocks.attach(InclusionScanner, "record")
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, clocks.took_ms.clear)
    _watch_collections(clocks)
    beside = [asyncio.create_task(_watch_loop(clocks)), asyncio.create_task(_report(clocks, report))]
    try:
        await run_worker(["scheduler", "settler"], url, folder, account.signer, None)
    finally:
        for task in beside:
            task.cancel()


def main() -> None:
    url, folder, report, account = sys.argv[1:]
    enable_kernel_cache()
    asyncio.run(_work(url, Path(folder), Path(report), Account(account)))


if __name__ == "__main__":
    main()
