"""Connections to a service by its name: each goes to the next serving pod, of any version.

Serving are the running pods of the current version, and the healthy ones of a version that replaces it. A pod that
accepts no connection is skipped.
"""

from __future__ import annotations

import asyncio
from typing import Final

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.transport.port import TransportError
from offchain.adapters.transport.session import Session
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services.host_connections import HostConnections
from offchain.services.rolling_update import IsHealthy
from offchain.services.service_versions import ServiceError, ServiceVersion, TenantService, find_service, services_of

FRESH_S: Final = 2.0
"""How old the known state of the service may be; a block takes as long."""


class ServiceProxy:
    """The serving pods of a tenant's service. `word`: its name, or the number of one of its tasks."""

    def __init__(
        self, chain: GantryChain, healthy: IsHealthy, connections: HostConnections, tenant: str, word: str
    ) -> None:
        self._chain = chain
        self._is_healthy = healthy
        self._connections = connections
        self._tenant = tenant
        self._word = word
        self._turn = asyncio.Lock()
        self._pods: list[LeaseOfTask] = []
        self._seen_s = -FRESH_S
        self._next = 0

    async def dial(self, port: int) -> Session:
        """Open a connection to this port of one of the pods. Raises ServiceError if none runs."""
        pods = await self._known()
        if not pods:
            raise ServiceError(
                f"No pod of {self._word!r} runs now.", "gantry service status shows its pods.", code="no_pod"
            )
        first, self._next = self._next, self._next + 1
        error: TransportError | None = None
        for place in range(len(pods)):
            lease = pods[(first + place) % len(pods)]
            record = await self._chain.host(lease.record.host)
            if record is None:
                continue
            try:
                async with self._connections.to(record, lease.record.host) as host:
                    return await host.dial(lease.id, port)
            except TransportError as failed:
                error = failed
        self._seen_s = -FRESH_S
        raise error or ServiceError(f"The hosts of {self._word!r} are gone.", "Try again.", code="no_pod")

    async def _known(self) -> list[LeaseOfTask]:
        async with self._turn:
            now_s = asyncio.get_running_loop().time()
            if now_s - self._seen_s >= FRESH_S:
                service = find_service(await services_of(self._chain, self._tenant), self._word)
                # Whoever named a task goes on with the versions that take its place.
                self._word = service.name or str((service.coming or service.current).id)
                self._pods = await self._serving(service)
                self._seen_s = now_s
            return self._pods

    async def _serving(self, service: TenantService) -> list[LeaseOfTask]:
        pods = _running(service.current)
        if service.coming is not None:
            manifest, coming = service.coming.manifest, _running(service.coming)
            healthy = await asyncio.gather(*(self._is_healthy(lease, manifest) for lease in coming))
            pods += [lease for lease, is_well in zip(coming, healthy, strict=True) if is_well]
        return pods


def _running(version: ServiceVersion) -> list[LeaseOfTask]:
    return [lease for lease in version.task.leases if isinstance(lease.record.state, gen.LeaseStateActive)]
