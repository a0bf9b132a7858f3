"""What the log of a pod says before its containers run: what it waits for, and how far its images are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from node_agent.core.states import Phase, Pod
from node_agent.drivers.port import Driver
from node_agent.images.late import progress_text
from node_agent.runtime.periodic import run_periodically

PROGRESS_S: Final = 5.0


class StartProgress:
    """Tells tenants how the start of their pods goes on. `say`: into the log of a lease's pod."""

    def __init__(self, driver: Driver, pods: Callable[[], Mapping[int, Pod]], say: Callable[[int, str], None]) -> None:
        self._driver = driver
        self._pods = pods
        self._say = say
        self._said: dict[int, str] = {}

    async def run(self) -> None:
        """Say how far images are, now and then, until it is cancelled."""
        await run_periodically(PROGRESS_S, self.look)

    async def look(self) -> None:
        """Say of each pod that waits for images how far they are, where that has changed."""
        pods = self._pods()
        for number in self._said.keys() - pods.keys():
            del self._said[number]
        for number, pod in pods.items():
            if pod.phase is not Phase.PREPARING or pod.spec is None:
                continue
            text = "; ".join(progress_text(pull) for pull in self._driver.progress(pod.spec))
            if text and text != self._said.get(number):
                self._said[number] = text
                self._say(number, text)


def waiting_text(before: Pod | None, pod: Pod) -> str:
    """What a pod has begun to wait for its tenant for; empty where it has not."""
    has_begun = pod.phase is Phase.AWAITING and (before is None or before.phase is not Phase.AWAITING)
    if not has_begun:
        return ""
    files = "; ".join(f"gantry deliver {pod.lease.task} {name} FILE" for name in pod.awaited)
    until = "" if pod.start_due_ms is None else f" until {_time_text(pod.start_due_ms)} UTC"
    return f"this pod waits for its tenant{until}: {files}"


def _time_text(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%H:%M:%S")
