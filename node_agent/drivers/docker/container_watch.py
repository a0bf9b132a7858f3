"""State, ending and resource usage of containers, as the engine reports them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import replace
from typing import Any

from node_agent.core.values import Handle, Usage
from node_agent.drivers.docker.container_end import (
    ResourceSample,
    event_window,
    events_of_run,
    is_full,
    parse_ending,
    parse_health,
    parse_sample,
    parse_time_ms,
)
from node_agent.drivers.docker.engine import ContainerEventWatcher, Engine
from node_agent.drivers.port import EngineBusy, EngineUnreachable, Inspection

FIRST_POLL_S = 0.1
POLL_SHARE = 0.25
LONGEST_POLL_S = 5.0


class ContainerWatcher:
    """Watches and meters containers with this label. `root`: the engine's data folder, once it is known."""

    def __init__(self, engine: Engine, label: str) -> None:
        self._engine = engine
        self._events = ContainerEventWatcher(lambda: engine.client(None), label)
        self._samples: dict[str, ResourceSample] = {}
        self.root = ""

    async def watch(self, handle: Handle) -> AsyncGenerator[Inspection, None]:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        last: Inspection | None = None
        with self._events.subscribe(handle.reference) as changed:
            while True:
                changed.clear()
                with contextlib.suppress(EngineUnreachable, EngineBusy):
                    # The engine may be restarting; its later answers count.
                    now = await self.inspect(handle)
                    if now != last:
                        last = now
                        yield now
                    if now.ending is not None:
                        return
                    await self.stats(handle)
                # Usage after the last reading is not measured: at most a quarter of the time.
                pause_s = (loop.time() - began_s) * POLL_SHARE
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), min(max(pause_s, FIRST_POLL_S), LONGEST_POLL_S))

    async def inspect(self, handle: Handle) -> Inspection:
        return await self._engine.call(lambda: self._inspect(handle.reference))

    async def stats(self, handle: Handle) -> Usage:
        one = functools.partial(self._engine.api.stats, handle.reference, stream=False, one_shot=True)
        sample = parse_sample(await self._engine.call(one))
        sample = sample.joined(self._samples.get(handle.reference, ResourceSample()))
        self._samples[handle.reference] = sample
        return Usage(0, sample.cpu_ms, sample.memory_mib)

    def forget(self, container: str) -> None:
        """Forget the usage of a run that is over."""
        self._samples.pop(container, None)

    async def close(self) -> None:
        await self._events.close()

    def _inspect(self, identity: str) -> Inspection:
        inspection = self._engine.api.inspect_container(identity)
        state = inspection["State"]
        if state.get("Running") or state.get("Status") not in ("exited", "dead"):
            return Inspection(running=True, ending=None, healthy=parse_health(state))
        sample = self._samples.get(identity, ResourceSample())
        ending = parse_ending(inspection, sample, self._last_events(identity, state))
        return Inspection(running=False, ending=replace(ending, no_space=is_full(self.root)))

    def _last_events(self, identity: str, state: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        info = self._engine.api.info()
        # Not by this process's clock: the engine waits until the given time by its own clock.
        window = event_window(state, parse_time_ms(info.get("SystemTime")) / 1000)
        events = self._engine.api.events(since="1", until=f"{window[1]:.3f}", decode=True)
        outlives = bool(info.get("LiveRestoreEnabled"))
        return events_of_run(events, identity, state, window, outlives_engine=outlives)
