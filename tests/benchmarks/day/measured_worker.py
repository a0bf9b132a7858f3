"""A scheduler and settler under measurement: a worker with clocks on its outbox and its event loop.

The outbox reads in the event loop and writes in a thread. Each is measured by itself: what the event loop does for the
outbox (reads, and what `Store.begin_write` does before and after the work of the thread), and the transactions.

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
import threading
import time
import traceback
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
from chainbench.signing import Account

from offchain.adapters.outbox.account_intents import AccountIntents
from offchain.adapters.outbox.call_queue import CallQueue
from offchain.adapters.outbox.intent_reads import IntentReads
from offchain.adapters.outbox.intents import IntentTable
from offchain.adapters.outbox.store import Store
from offchain.services.kernel_cache import enable_kernel_cache
from offchain.services.runner import run_worker

REPORT_EVERY_S: Final = 5.0
LOOP_TICK_S: Final = 0.01
LONG_S: Final = 0.1
MOST_STACKS: Final = 20
_FULL: Final = 2


class Clocks:
    """Durations in milliseconds, by what took them: in the event loop, and in the thread that writes."""

    def __init__(self) -> None:
        self.loop_ms: dict[str, array[float]] = {}
        self.writer_ms: dict[str, array[float]] = {}
        self._loop_thread = threading.get_ident()

    def attach(self, owner: type, name: str) -> None:
        """Take the time of each call of a method or property that does not wait."""
        inner = vars(owner)[name]
        key = f"{owner.__name__}.{name.lstrip('_')}"
        is_property = isinstance(inner, property)
        timed = self.timed(key, inner.fget if is_property else inner)
        setattr(owner, name, property(timed) if is_property else timed)

    def timed(self, key: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a clock."""

        @functools.wraps(inner)
        def timed(*args: Any, **named: Any) -> Any:
            began_s = time.perf_counter()
            try:
                return inner(*args, **named)
            finally:
                self.note(key, time.perf_counter() - began_s)

        return timed

    def note(self, key: str, seconds: float) -> None:
        took_ms = self.loop_ms if threading.get_ident() == self._loop_thread else self.writer_ms
        took_ms.setdefault(key, array("d")).append(1000 * seconds)

    def forget(self) -> None:
        """Forget what was measured so far."""
        self.loop_ms.clear()
        self.writer_ms.clear()

    @staticmethod
    def summary(took_ms: dict[str, array[float]]) -> dict[str, dict[str, float]]:
        """[key]: how often, and milliseconds."""
        found = {}
        for key, took in list(took_ms.items()):
            # A copy, because an array cannot grow while numpy reads it. Sorting leaves the lock to the event loop.
            ordered = np.sort(np.array(took[:]))
            p99 = float(ordered[max(0, -(-99 * len(ordered) // 100) - 1)])
            found[key] = {"count": len(ordered), "p99_ms": round(p99, 3), "most_ms": round(float(ordered[-1]), 3)}
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


def _watch_outbox(clocks: Clocks) -> None:
    """Take the time of what the outbox does in the event loop and in its thread."""
    for owner in (IntentReads, IntentTable):
        for name, found in list(vars(owner).items()):
            if (inspect.isfunction(found) or isinstance(found, property)) and not name.startswith("_"):
                clocks.attach(owner, name)
    clocks.attach(AccountIntents, "next_batch")
    for name in ("_store_oldest", "_end_storing", "wake_waiters"):
        clocks.attach(CallQueue, name)
    clocks.attach(Store, "_write")  # in the thread: a transaction with its commit
    begin = Store.begin_write

    def begin_write(store: Store, change: Callable[[], Any], then: Callable[[Any], None] | None = None) -> Any:
        return begin(store, change, then and clocks.timed("Store.then", then))

    Store.begin_write = clocks.timed("Store.begin_write", begin_write)  # type: ignore[method-assign]


class _LoopWatch:
    """Notes for how long the event loop was kept from other work, and in which functions where that was long."""

    def __init__(self, clocks: Clocks) -> None:
        self.blocked_in: list[str] = []
        self._clocks = clocks
        self._loop_thread = threading.get_ident()
        self._due_s = float("inf")
        threading.Thread(target=self._look, name="loop watch", daemon=True).start()

    async def run(self) -> None:
        while True:
            self._due_s = time.perf_counter() + LOOP_TICK_S
            await asyncio.sleep(LOOP_TICK_S)
            self._clocks.note("loop", max(0.0, time.perf_counter() - self._due_s))

    def _look(self) -> None:
        seen_s = 0.0
        while True:
            time.sleep(LONG_S / 2)
            due_s = self._due_s
            if time.perf_counter() - due_s > LONG_S and due_s != seen_s and len(self.blocked_in) < MOST_STACKS:
                seen_s = due_s
                stack = traceback.extract_stack(sys._current_frames()[self._loop_thread])[-4:]
                self.blocked_in.append(
                    " < ".join(f"{Path(at.filename).name}:{at.lineno} {at.name}" for at in stack[::-1])
                )


async def _report(clocks: Clocks, watch: _LoopWatch, path: Path) -> None:
    memory_mib: list[float] = []
    while True:
        await asyncio.sleep(REPORT_EVERY_S)
        memory_mib.append(round(psutil.Process().memory_info().rss / 1024 / 1024, 1))
        # In a thread: sorting a long list and waiting for the disk would be measured as well.
        took = await asyncio.to_thread(clocks.summary, clocks.loop_ms)
        writer = await asyncio.to_thread(clocks.summary, clocks.writer_ms)
        report = {"took": took, "writer": writer, "memory_mib": memory_mib, "blocked_in": watch.blocked_in}
        await asyncio.to_thread(_write, path, json.dumps(report))


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.rename(path)


async def _work(url: str, folder: Path, report: Path, account: Account) -> None:
    clocks = Clocks()
    _watch_outbox(clocks)
    watch = _LoopWatch(clocks)

    def begin() -> None:
        clocks.forget()
        watch.blocked_in.clear()

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, begin)
    _watch_collections(clocks)
    async with asyncio.TaskGroup() as beside:
        tasks = [beside.create_task(watch.run()), beside.create_task(_report(clocks, watch, report))]
        await run_worker(["scheduler", "settler"], url, folder, account.signer, None)
        for task in tasks:
            task.cancel()


def main() -> None:
    url, folder, report, account = sys.argv[1:]
    enable_kernel_cache()
    asyncio.run(_work(url, Path(folder), Path(report), Account(account)))


if __name__ == "__main__":
    main()
