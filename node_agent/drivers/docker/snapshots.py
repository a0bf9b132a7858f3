"""Snapshots of leases' main containers, as images on the engine.

Their names say whose they are: the repository has the host and the number under which the lease's data is, the tag is
the snapshot's name. Labels would not do: an image that comes from elsewhere may carry any. Each layer that a snapshot
adds is marked in the image's history, so what snapshots take is known even where one was made of another.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import secrets
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

from node_agent.drivers.docker.container_paths import tenant_config
from node_agent.drivers.docker.data_volumes import DockerVolumes, snapshots_on
from node_agent.drivers.docker.engine import Engine
from node_agent.drivers.docker.spec import LABEL_HOST, MIB, snapshot_name
from node_agent.drivers.port import ImageUnavailable, PodGone, SnapshotRefused
from node_agent.images.ports import SNAPSHOT_MARK
from offchain.schema.protocol.snapshots import MAX_SNAPSHOTS, Snapshot

COMMIT_TIMEOUT_S = 3600
"""The engine reads and writes all that changed; a large file system on a slow disk takes its time."""
PIECE = 1 << 20
MAX_ARCHIVES = 4


class DockerSnapshots:
    """The snapshots of one host on an engine."""

    def __init__(self, engine: Engine, host: str, data: DockerVolumes) -> None:
        self._engine = engine
        self._host = host
        self._data = data
        self._committing = asyncio.Lock()
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """By lease: what changes its snapshots waits for what did so before; purging waits for no other lease."""
        self._pool = ThreadPoolExecutor(MAX_ARCHIVES, thread_name_prefix="docker-archives")
        self._layers: dict[str, dict[str, int]] = {}
        """What the layers of a snapshot take, bytes by mark; an image never changes."""

    def close(self) -> None:
        """End what is being read."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def take(self, lease: int, container: str, name: str, room_bytes: int) -> Snapshot:
        """See :class:`node_agent.drivers.port.Driver`. `room_bytes`: what it may take; one at a time on this host."""
        async with self._turn(lease), self._committing:
            repository, found = await self._of(lease)
            if name in found:
                raise SnapshotRefused(f"there is a snapshot {name!r} already; remove it first, or choose another name")
            if len(found) >= MAX_SNAPSHOTS:
                raise SnapshotRefused(f"there are {len(found)} snapshots, and no more are kept; remove one first")
            size = await self._engine.call(lambda: self._own_size(container))
            _check_room(size, room_bytes)
            image = await self._engine.call(lambda: self._commit(container, repository, name))
            layers = await self._layers_of(image)
            # The container ran on between the two looks.
            if next(iter(layers.values()), 0) > room_bytes:
                await self._remove(f"{repository}:{name}")
                _check_room(next(iter(layers.values())), room_bytes)
            return await self._snapshot(name, image)

    async def list(self, lease: int) -> tuple[Snapshot, ...]:
        """See :class:`node_agent.drivers.port.Driver`."""
        _, found = await self._of(lease)
        made = [await self._snapshot(name, image) for name, image in found.items()]
        return tuple(sorted(made, key=lambda one: (one.created_ms, one.name)))

    async def image(self, lease: int, name: str) -> str:
        """The engine's image of a snapshot. Raises ImageUnavailable."""
        _, found = await self._of(lease)
        if name not in found:
            raise ImageUnavailable(f"there is no snapshot {name!r} among the data of lease {lease}")
        return found[name]

    async def remove(self, lease: int, name: str) -> None:
        """See :class:`node_agent.drivers.port.Driver`."""
        async with self._turn(lease):
            repository, found = await self._of(lease)
            if name not in found:
                return
            if found[name] in await self._engine.call(self._in_use):
                raise SnapshotRefused(f"the machine is made of {name!r}; restore another snapshot before it is removed")
            await self._remove(f"{repository}:{name}")

    async def purge(self, lease: int) -> None:
        """Remove all of a lease. One of which a container is made stays until that is gone."""
        async with self._turn(lease):
            repository, found = await self._of(lease)
            for name in found:
                with contextlib.suppress(PodGone):
                    await self._remove(f"{repository}:{name}")

    async def archive(self, lease: int, name: str) -> AsyncGenerator[bytes, None]:
        """See :class:`node_agent.drivers.port.Driver`."""
        repository, found = await self._of(lease)
        if name not in found:
            raise SnapshotRefused(f"there is no snapshot {name!r}")
        loop = asyncio.get_running_loop()
        reference = f"{repository}:{name}"
        stream = await self._engine.call(lambda: self._engine.api.get_image(reference, chunk_size=PIECE))
        try:
            while (piece := await loop.run_in_executor(self._pool, next, stream, None)) is not None:
                yield piece
        finally:
            stream.close()

    async def used_mib(self) -> dict[int, int]:
        """What the snapshots of each lease take; a layer that several have is counted once."""
        held = await self._data.held()
        layers: dict[int, dict[str, int]] = {}
        for data, images in (await self._all()).items():
            of_lease = layers.setdefault(held.owner(data), {})
            for image in images.values():
                of_lease |= await self._layers_of(image)
        return {lease: -(-sum(sizes.values()) // MIB) for lease, sizes in layers.items()}

    async def leases(self) -> frozenset[int]:
        """Everyone who has any."""
        held = await self._data.held()
        return frozenset(held.owner(data) for data in await self._all())

    def _turn(self, lease: int) -> asyncio.Lock:
        return self._turns.setdefault(lease, asyncio.Lock())

    async def _of(self, lease: int) -> tuple[str, dict[str, str]]:
        """The repository of a lease's snapshots, and what is in it: images by name."""
        data = (await self._data.held()).data_of(lease)
        if data is None:
            return "", {}  # another lease has taken over what it had
        return snapshot_name(self._host, data), (await self._all()).get(data, {})

    async def _all(self) -> dict[int, dict[str, str]]:
        """By the number of the data: images by name."""
        return await self._engine.call(lambda: snapshots_on(self._engine.api, self._host))

    async def _snapshot(self, name: str, image: str) -> Snapshot:
        layers = await self._layers_of(image)
        found = await self._engine.call(lambda: self._engine.api.history(image))
        created_ms = int(found[0].get("Created") or 0) * 1000
        return Snapshot(name, created_ms, next(iter(layers.values()), 0), image)

    async def _layers_of(self, image: str) -> dict[str, int]:
        """The layers that snapshots added, the newest first."""
        if image not in self._layers:
            found = await self._engine.call(lambda: self._engine.api.history(image))
            marked = [one for one in found if str(one.get("Comment", "")).startswith(SNAPSHOT_MARK)]
            self._layers[image] = {str(one["Comment"]): int(one.get("Size") or 0) for one in marked}
        return self._layers[image]

    def _in_use(self) -> frozenset[str]:
        """Images of which containers of this host are made. Those made of an image's descendants do not hold it."""
        wanted = {"label": [f"{LABEL_HOST}={self._host}"]}
        return frozenset(str(one["ImageID"]) for one in self._engine.api.containers(all=True, filters=wanted))

    def _own_size(self, container: str) -> int:
        """What a container has written besides its volumes, bytes."""
        found = self._engine.api.containers(all=True, size=True, filters={"id": container})
        return int(found[0].get("SizeRw") or 0) if found else 0

    def _commit(self, container: str, repository: str, name: str) -> str:
        api = self._engine.client(COMMIT_TIMEOUT_S)
        try:
            mark = SNAPSHOT_MARK + secrets.token_hex(8)
            own = tenant_config(api.inspect_container(container)["Config"])
            made = api.commit(container, repository=repository, tag=name, message=mark, pause=True, conf=own)
            return str(made["Id"])
        finally:
            api.close()

    async def _remove(self, reference: str) -> None:
        await self._engine.call(functools.partial(self._engine.api.remove_image, reference))


def _check_room(size: int, room_bytes: int) -> None:
    if size > room_bytes:
        raise SnapshotRefused(
            f"the snapshot takes {-(-size // MIB)} MiB, and {max(0, room_bytes) // MIB} MiB are left of the "
            "lease's disk; delete files in the machine, or remove another snapshot first"
        )
