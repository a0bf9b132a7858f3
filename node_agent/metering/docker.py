"""Usage counters of pods' containers from a Docker engine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import docker

from node_agent.drivers.docker.container_end import memory_bytes, parse_time_ms
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.spec import LABEL_HOST, LABEL_LEASE, is_pod_sandbox
from node_agent.metering.usage import ContainerRun


class DockerUsageSource:
    """The containers of one host key on an engine, over a connection of its own."""

    def __init__(self, url: str | None, host: str, *, now_ms: Callable[[], int]) -> None:
        self._engine = Engine(url)
        self._host = host
        self._now_ms = now_ms

    async def read(self, leases: Collection[int]) -> Mapping[int, tuple[ContainerRun, ...]]:
        if self._engine.api is None:
            await self._engine.info()
        return await self._engine.call(functools.partial(self._read, frozenset(leases)))

    async def close(self) -> None:
        self._engine.close()

    def _read(self, leases: frozenset[int]) -> dict[int, tuple[ContainerRun, ...]]:
        filters = {"label": [f"{LABEL_HOST}={self._host}", LABEL_LEASE], "status": ["running"]}
        found: dict[int, tuple[ContainerRun, ...]] = {}
        for one in self._engine.api.containers(filters=filters):
            lease = int(one["Labels"][LABEL_LEASE])
            if lease not in leases:
                continue
            # Containers that share a network all report its counters, which count with the one that holds it.
            shares = str((one.get("HostConfig") or {}).get("NetworkMode", "")).startswith("container:")
            run = self._run(str(one["Id"]), own=not is_pod_sandbox(one["Labels"]), network=not shares)
            if run is not None:
                found[lease] = (*found.get(lease, ()), run)
        return found

    def _run(self, identity: str, *, own: bool, network: bool) -> ContainerRun | None:
        """Return the container's present run; None if it has just ended."""
        api = self._engine.api
        try:
            before = api.inspect_container(identity)["State"]
            stats = api.stats(identity, stream=False, one_shot=True)
            after = api.inspect_container(identity)["State"]
        except docker.errors.NotFound:
            return None
        if not after.get("Running") or before.get("StartedAt") != after.get("StartedAt"):
            return None  # the counters may belong to another run; the next sample includes them
        age_ms = max(0, self._now_ms() - parse_time_ms(after["StartedAt"]))
        return parse_run(f"{identity}@{after['StartedAt']}", stats, age_ms=age_ms, own=own, network=network)


def parse_run(name: str, stats: Mapping[str, Any], *, age_ms: int, own: bool, network: bool) -> ContainerRun:
    """Parse the engine's stats of a run. A pod sandbox counts for nothing but its network.

    `network` False: the network is counted with another container.
    """
    cpu_ns = ((stats.get("cpu_stats") or {}).get("cpu_usage") or {}).get("total_usage") or 0
    networks = (stats.get("networks") or {}).values() if network else ()
    return ContainerRun(
        name=name,
        age_ms=age_ms,
        cpu_us=int(cpu_ns) // 1000 if own else 0,
        memory_bytes=memory_bytes(stats) if own else 0,
        received_bytes=sum(int(one.get("rx_bytes") or 0) for one in networks),
        sent_bytes=sum(int(one.get("tx_bytes") or 0) for one in networks),
        own=own,
    )
