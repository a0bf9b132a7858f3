"""Requests for snapshots of rentals. They are authorised against the chain before."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

from node_agent.core import events as ev
from node_agent.core.container_events import RESTORABLE
from node_agent.core.states import Pod
from node_agent.core.values import TaskKind
from node_agent.drivers.port import Driver, DriverError, EngineBusy, EngineUnreachable, PodGone, SnapshotRefused
from node_agent.handlers.resumable import send_from
from node_agent.runtime.loop_thread import bound_to
from offchain.adapters.transport.host_server import Handler
from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import Session
from offchain.schema.protocol.messages import Code, Op, Request
from offchain.schema.protocol.operations import ImageArgs, SnapshotArgs
from offchain.schema.protocol.snapshots import RentalSnapshot, SnapshotAction, Snapshots

MAX_ARCHIVES: Final = 2
"""Maximum of concurrent image transfers from this host."""


class SnapshotRequests:
    """Handlers for `HostServer`.

    They run in the loop of the link; `loop` is the agent's, in which snapshots are taken and removed. `emit` takes the
    request to restore one.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        driver: Driver,
        pod_of: Callable[[int], Pod | None],
        emit: Callable[[ev.RestoreRequested], Coroutine[Any, Any, None]],
    ) -> None:
        self._loop = loop
        self._driver = driver
        self._pod_of = pod_of
        self._emit = bound_to(loop, emit)
        self._taking: dict[int, asyncio.Future[RentalSnapshot]] = {}
        self._archives = 0

    def handlers(self) -> Mapping[Op, Handler]:
        return {Op.SNAPSHOT: self.snapshot, Op.IMAGE: self.image}

    async def snapshot(self, request: Request, session: Session) -> None:
        lease, args = request.lease, request.args
        assert lease is not None  # noqa: S101  (a request without is refused)
        assert isinstance(args, SnapshotArgs)  # noqa: S101  (decoded by its op)
        pod = self._rental(lease)
        session.accept()
        with _explained(lease):
            match args.act:
                case SnapshotAction.TAKE:
                    await self._take(pod, _named(args))
                case SnapshotAction.REMOVE:
                    await self._remove(pod, _named(args))
                case SnapshotAction.RESTORE:
                    await self._restore(pod, _named(args))
            existing = await bound_to(self._loop, self._driver.snapshots)(lease)
        now = self._pod_of(lease)
        current = None if now is None or now.spec is None else now.spec.base
        await session.write(Snapshots(existing, current).encode())

    async def image(self, request: Request, session: Session) -> None:
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
        taking = asyncio.ensure_future(
            bound_to(self._loop, self._driver.snapshot)(lease, name, pod.spec.disk_gib * 1024)
        )
        self._taking[lease] = taking
        taking.add_done_callback(lambda _: self._taking.pop(lease))
        # A snapshot that was begun is completed even if its tenant does not wait for it.
        await asyncio.shield(taking)

    async def _remove(self, pod: Pod, name: str) -> None:
        if pod.spec is not None and pod.renew and pod.spec.base == name:
            raise SnapshotRefused(f"the machine is about to be made of {name!r}; restore another snapshot first")
        await bound_to(self._loop, self._driver.remove_snapshot)(pod.lease.number, name)

    async def _restore(self, pod: Pod, name: str) -> None:
        lease = pod.lease.number
        if name not in {one.name for one in await bound_to(self._loop, self._driver.snapshots)(lease)}:
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
    """Turn errors of the driver into refusals of the protocol."""
    try:
        yield
    except SnapshotRefused as error:
        raise refused(
            Code.NOT_FOUND, f"Lease {lease}: {error}.", "gantry task snapshot ID --list shows what there is."
        ) from None
    except PodGone:
        raise refused(
            Code.NOT_READY, f"Lease {lease} has no machine now.", "gantry task show shows its state."
        ) from None
    except (EngineUnreachable, EngineBusy) as error:
        raise refused(Code.BUSY, f"{error}.", "Try again in a minute.") from None
    except DriverError as error:
        raise refused(Code.INTERNAL, f"{error}.", "Try again.") from None
