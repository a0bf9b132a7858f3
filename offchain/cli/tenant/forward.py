"""gantry forward: TCP ports of pods on this machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from offchain.cli.kit import options
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import PodConnection, pod_option, run_at_pod
from offchain.cli.kit.output import emit, progress
from offchain.errors import GantryError
from offchain.schema.protocol.messages import Code

if TYPE_CHECKING:
    from offchain.adapters.transport.session import Session

_PIECE = 1 << 17
_LAST_PORT = 65_535
_FATAL = frozenset({Code.LEASE_ENDED, Code.NOT_YOUR_LEASE, Code.UNKNOWN_LEASE})


def _ports(text: str) -> tuple[int, int]:
    """Return the local port and the port in the pod."""
    local, _, inside = text.rpartition(":")
    ports = [int(text) if text.isdecimal() else -1 for text in (local or inside, inside)]
    if max(ports) > _LAST_PORT:
        raise ValueError(f"{max(ports)} is out of range: a port is a number from 1 to {_LAST_PORT}")
    if ports[0] < 0 or ports[1] < 1:
        raise ValueError(f"{text!r} is not [LOCAL:]PORT; write it like 8888 or 8080:80 (LOCAL 0: any free one)")
    return ports[0], ports[1]


PORTS = options.Parsed("[LOCAL:]PORT", _ports)


@click.command()
@click.argument("number", metavar="ID", type=options.TASK)
@click.argument("ports", metavar="[LOCAL:]PORT...", nargs=-1, required=True, type=PORTS)
@pod_option
@options.gateway
@options.common(account=True)
def forward(number: int, ports: tuple[tuple[int, int], ...], pod: int, common: options.CommonOptions) -> None:
    """Forward TCP ports of a pod to this machine's 127.0.0.1, until Ctrl-C.

    The ports are open to nobody else, on the host or here. Programs in the pod that listen on 127.0.0.1 can be reached,
    too. All containers of a pod share its ports.

    \b
    Examples:
      gantry forward 7 8888                     (a notebook: http://127.0.0.1:8888)
      gantry forward 7 8080:80 5432 --account anna
    """

    async def work(found: PodConnection) -> None:
        async with contextlib.AsyncExitStack() as stack:
            failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            dial = partial(found.client.dial, found.lease.id)
            for local, inside in ports:
                at = await stack.enter_async_context(listen_locally(dial, local, inside, failed, _FATAL))
                if common.as_json:
                    emit({"task": number, "pod": pod, "local": f"127.0.0.1:{at}", "port": inside})
                else:
                    progress(f"127.0.0.1:{at} is port {inside} of {found.name} ({found.client.via}).")
            progress("Ctrl-C ends it.")
            await failed

    run_at_pod(common, number, pod, work)


@contextlib.asynccontextmanager
async def listen_locally(
    dial: Callable[[int], Awaitable[Session]],
    local: int,
    inside: int,
    failed: asyncio.Future[None],
    fatal: Collection[str],
) -> AsyncIterator[int]:
    """Forward connections to a local port to those that `dial` opens, and yield the port.

    An error with a code in `fatal` means that no connection can be opened any more; it is set on `failed`.
    """
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        tasks.add(task)
        try:
            session = await dial(inside)
            await _both_ways(session, reader, writer)
        except GantryError as error:
            if error.code in fatal and not failed.done():
                failed.set_exception(error)
            elif error.code != Code.GONE:
                progress(f"A connection to port {inside} ended: {error}")
        except OSError:
            pass  # the program here went away
        finally:
            tasks.discard(task)
            writer.close()

    try:
        server = await asyncio.start_server(serve, "127.0.0.1", local, limit=_PIECE)
    except OSError as error:
        raise CliError(
            f"port {local} on 127.0.0.1 cannot be opened: {error.strerror}.",
            f"Choose another: gantry forward ID {local + 1}:{inside}, or 0:{inside} for any free one.",
            code="port_taken",
        ) from None
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _both_ways(session: Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async def outwards() -> None:
        while data := await reader.read(_PIECE):
            await session.write(data)
        session.end()

    sending = asyncio.create_task(outwards())
    try:
        while (data := await session.read_main()) is not None:
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        await sending
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        session.drop()
