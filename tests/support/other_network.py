"""Runs a command in a network namespace of its own, as on another machine, with one way out: the chain's node.

`python other_network.py SOCKET PORT COMMAND…`: connections to 127.0.0.1:PORT in the namespace go to the Unix socket,
behind which the test connects them to the node. The namespace has to be new (`unshare --net`).
"""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

_CHUNK = 65_536


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()


async def join(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter], other: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    """Carry bytes between two connections until both have ended."""
    await asyncio.gather(_copy(one[0], other[1]), _copy(other[0], one[1]))


@contextlib.asynccontextmanager
async def node_at(socket: Path, port: int) -> AsyncIterator[None]:
    """Listen at the Unix socket and connect to the node's port on this machine, while the block runs."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await join((reader, writer), await asyncio.open_connection("127.0.0.1", port))

    server = await asyncio.start_unix_server(serve, socket)
    try:
        yield
    finally:
        server.close()


async def _main(socket: str, port: int, command: list[str]) -> int:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await join((reader, writer), await asyncio.open_unix_connection(socket))

    await asyncio.start_server(serve, "127.0.0.1", port)
    process = await asyncio.create_subprocess_exec("setpriv", "--pdeathsig", "KILL", "--", *command)
    return await process.wait()


if __name__ == "__main__":
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    sys.exit(asyncio.run(_main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])))
