"""Usage of containers of a :class:`tests.support.fake_driver.FakeEngine`: each reading adds a constant amount."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from node_agent.metering.usage import ContainerRun
from tests.support.fake_engine import FakeEngine

CPU_US = 10_000
MEMORY_BYTES = 1 << 20
NETWORK_BYTES = 1_000


class FakeUsageSource:
    def __init__(self, engine: FakeEngine, host: str) -> None:
        self._engine = engine
        self._host = host
        self._read: Counter[str] = Counter()

    async def read(self, leases: Collection[int]) -> Mapping[int, tuple[ContainerRun, ...]]:
        return {lease: runs for lease in leases if (runs := self._runs(lease))}

    async def close(self) -> None:
        """Do nothing."""

    def _runs(self, lease: int) -> tuple[ContainerRun, ...]:
        runs = []
        for one in self._engine.of(self._host, lease):
            if one.ending is None:
                name = f"{one.reference}@{one.start}"
                self._read[name] += 1
                times = self._read[name]
                runs.append(
                    ContainerRun(
                        name=name,
                        age_ms=times,
                        cpu_us=CPU_US * times,
                        memory_bytes=MEMORY_BYTES,
                        received_bytes=NETWORK_BYTES * times,
                        sent_bytes=NETWORK_BYTES * times,
                    )
                )
        return tuple(runs)
