"""Answers what tenants ask of their rentals' snapshots. Who may ask was checked before, against the chain."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Final, Protocol

from node_agent.core import events as ev
from node_agent.core.runs import RESTORABLE
from node_agent.core.states import Pod
from node_agent.core.values import TaskKind
from node_agent.drivers.port import DriverError, EngineBusy, EngineUnreachable, PodGone, SnapshotRefused
from node_agent.handlers.resumable import send_from
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.peer import Session
from offchain.adapters.transport.port import refused
from offchain.schema.protocol.messages import Code, Op, Request
from offchain.schema.protocol.operations import ImageArgs, SnapshotArgs
from offchain.schema.protocol.snapshots import Act, Snapshot, Snapshots

MAX_ARCHIVES: Final = 2
"""Images on their way out of this host at once."""


class SnapshotDriver(Protocol):
    """The part of :class:`node_agent.drivers.port.Driver` that is about snapshots."""

    async def snapshot(self, lease: int, name: str, most_mib: int) -> Snapshot:
        """See :class:`node_agent.drivers.port.Driver`."""
        ...

    async def snapshots(self, lease: int) -> tuple[Snapshot, ...]:
        """See :class:`node_agent.drivers.port.Driver`."""
        ...

    async def remove_snapshot(self, lease: int, name: str) -> None:
        """See :class:`node_agent.drivers.port.Driver`."""
        ...

    def archive(self, lease: int, name: str) -> AsyncGenerator[bytes, None]:
        """See :class:`node_agent.drivers.port.Driver`."""
        ...


class SnapshotRequests:
    """Handlers for `HostServer`. `emit` takes the wish to restore one."""

    def __init__(
        self,
        driver: SnapshotDriver,
        pod_of: Callable[[int], Pod | None],
        emit: Callable[[ev.RestoreRequested], Awaitable[None]],
    ) -> None:
        self._driver = driver
        self._pod_of = pod_of
        self._emit = emit
        self._taking: dict[int, asyncio.Task[Snapshot]] = {}
        self._archives = 0

    def handlers(self) -> Mapping[Op, Handler]:
        """By what is asked."""
        return {Op.SNAPSHOT: self.snapshot, Op.IMAGE: self.image}

    async def snapshot(self, request: Request, session: Session) -> None:
        """See :class:`offchain.adapters.transport.host_server.Handler`."""
        lease, args = request.lease, request.args
        assert lease is not None  # noqa: S101  (a request without is refused)
        assert isinstance(args, SnapshotArgs)  # noqa: S101  (decoded by its op)
        pod = self._rental(lease)
        session.accept()
        with _explained(lease):
            match args.act:
                case Act.TAKE:
                    await self._take(pod, _named(args))
                case Act.REMOVE:
                    await self._remove(pod, _named(args))
                case Act.RESTORE:
                    await self._restore(pod, _named(args))
            there = await self._driver.snapshots(lease)
        now = self._pod_of(lease)
        current = None if now is None or now.spec is None else now.spec.base
        await session.write(Snapshots(there, current).encode())

    async def image(self, request: Request, session: Session) -> None:
        """See :class:`offchain.adapters.transport.host_server.Handler`."""
        lease, args = request.lease, request.args
        assert lease is not None  # noqa: S101  (a request without is refused)
        assert isinstance(args, ImageArgs)  # noqa: S101  (decoded by its op)
        self._rental(lease)
        if self._archives >= MAX_ARCHIVES:
            raise refused(Code.BUSY, f"{MAX_ARCHIVES} images are being fetched here.", "Try again when one is done.")
        self._archives += 1
        try:
            with _explained(lease):
                async with aclosing(self._driver.archive(lease, args.name)) as archive:
                    await send_from(session, archive, args.offset, args.digest, f"the image {args.name}")
        finally:
            self._archives -= 1

    def _rental(self, lease: int) -> Pod:
        pod = self._pod_of(lease)
        if pod is None:
            raise refused(Code.NOT_READY, f"Lease {lease} has no pod here yet.", "Try again in a few seconds.")
        if pod.lease.kind is not TaskKind.RENTAL:
            raise refused(
                Code.UNSUPPORTED,
                f"Lease {lease} is of a {pod.lease.kind.value.lower()}; only rentals have snapshots.",
                "gantry cp fetches files.",
            )
        return pod

    async def _take(self, pod: Pod, name: str) -> None:
        lease = pod.lease.number
        if lease in self._taking:
            raise refused(Code.BUSY, "A snapshot of this rental is being taken.", "Try again when it is done.")
        if pod.phase not in RESTORABLE or pod.spec is None:
            raise refused(
                Code.NOT_READY, f"The machine is {pod.phase.value.lower()}.", "Try again when it runs or is stopped."
            )
        taking = asyncio.create_task(self._driver.snapshot(lease, name, pod.spec.disk_gib * 1024))
        self._taking[lease] = taking
        taking.add_done_callback(lambda _: self._taking.pop(lease))
        # What was begun is brought to an end, whether its tenant waits for it or not.
        await asyncio.shield(taking)

    async def _remove(self, pod: Pod, name: str) -> None:
        if pod.spec is not None and pod.renew and pod.spec.base == name:
            raise SnapshotRefused(f"the machine is about to be made of {name!r}; restore another snapshot first")
        await self._driver.remove_snapshot(pod.lease.number, name)

    async def _restore(self, pod: Pod, name: str) -> None:
        lease = pod.lease.number
        if name not in {one.name for one in await self._driver.snapshots(lease)}:
            raise SnapshotRefused(f"there is no snapshot {name!r}")
        now = self._pod_of(lease)
        if now is None or now.phase not in RESTORABLE:
            what = "gone" if now is None else now.phase.value.lower()
            raise refused(Code.NOT_READY, f"The machine is {what}.", "Try again when it runs or is stopped.")
        await self._emit(ev.RestoreRequested(lease, name))


def _named(args: SnapshotArgs) -> str:
    assert args.name is not None  # noqa: S101  (only a list has none)
    return args.name


@contextlib.contextmanager
def _explained(lease: int) -> Iterator[None]:
    """What a driver cannot do, in the words of the protocol."""
    try:
        yield
    except SnapshotRefused as error:
        raise refused(
            Code.NOT_FOUND, f"Lease {lease}: {error}.", "gantry task snapshot ID --list shows what there is."
        ) from None
    except PodGone:
        raise refused(
            Code.NOT_READY, f"Lease {lease} has no machine now.", "gantry task show tells how far it is."
        ) from None
    except (EngineUnreachable, EngineBusy) as error:
        raise refused(Code.BUSY, f"{error}.", "Try again in a minute.") from None
    except DriverError as error:
        raise refused(Code.INTERNAL, f"{error}.", "Try again.") from None
