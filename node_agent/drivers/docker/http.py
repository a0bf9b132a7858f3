"""HTTP client for a Docker engine's API, for access to pods without a thread for each session.

The Docker SDK holds a thread for every stream, and loses buffered data when it hands over the socket of a program;
sessions may last for hours.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from node_agent.drivers.port import DriverError, EngineBusy, EngineUnreachable, PodGone

PIECE: Final = 1 << 18
HEAD_BYTES: Final = 16_384
CALL_S: Final = 60.0
DEFAULT_URL: Final = "unix:///var/run/docker.sock"
_HEAD: Final = struct.Struct(">B3xI")
_LONGEST_FRAME: Final = 1 << 24


class HijackedStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._left = 0
        self._channel = 0

    async def read_output(self, most: int) -> tuple[int, bytes] | None:
        """Return the next piece of a program's output and its channel: 1 standard output, 2 standard error.

        For programs without a terminal, whose output the engine sends in frames. None at the end, and when the
        connection is lost. Raises EngineBusy for a stream that is not understood.
        """
        try:
            while not self._left:
                self._channel, self._left = _HEAD.unpack(await self.reader.readexactly(_HEAD.size))
                if self._channel not in (1, 2) or self._left > _LONGEST_FRAME:
                    raise EngineBusy("the Docker engine's stream is not understood")
            data = await self.reader.read(min(self._left, most))
        except (OSError, EOFError):
            return None
        self._left -= len(data)
        return (self._channel, data) if data else None

    async def close(self) -> None:
        """Close the connection. Never raises."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class DockerHttp:
    """One engine, at a `unix://` or `tcp://` address."""

    def __init__(self, url: str | None) -> None:
        self._url = url or DEFAULT_URL
        parts = urlsplit(self._url)
        self._path = parts.path if parts.scheme == "unix" else None
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 2375
        self._session: Any = None

    async def json(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: dict[str, Any] | None = None
    ) -> Any:
        """Send a request and return the JSON of the response. Raises PodGone (404), DriverError."""
        async with self._asked(method, path, query, json=body) as response:
            return await response.json() if response.content_type == "application/json" else None

    async def path_stat(self, path: str, inside: str) -> dict[str, Any] | None:
        """Return the engine's description of a path in a container; None if it does not exist or cannot be reached.

        Raises EngineUnreachable, EngineBusy.
        """
        try:
            async with self._asked("HEAD", path, {"path": inside}) as response:
                header = response.headers.get("X-Docker-Container-Path-Stat", "")
        except EngineUnreachable:
            raise
        except DriverError:
            return None  # a response to HEAD has no text; the copy itself fails with the reason
        try:
            found = json.loads(base64.b64decode(header))
        except ValueError:
            raise EngineBusy("the Docker engine's answer about a path is not understood") from None
        return found if isinstance(found, dict) else None

    async def download(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """Yield the body of a response in pieces."""
        async with self._asked("GET", path, query) as response:
            async for piece in response.content.iter_chunked(PIECE):
                yield piece

    async def upload(self, path: str, query: Mapping[str, str], body: AsyncIterator[bytes]) -> None:
        """Send a body in pieces."""
        async with self._asked("PUT", path, query, data=body, headers={"Content-Type": "application/x-tar"}):
            pass

    async def hijack(self, path: str, body: dict[str, Any]) -> HijackedStream:
        """Send a POST request and take over the connection."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        )
        try:
            if self._path is not None:
                reader, writer = await asyncio.open_unix_connection(self._path, limit=PIECE)
            else:
                reader, writer = await asyncio.open_connection(self._host, self._port, limit=PIECE)
        except OSError as error:
            raise self._unreachable(error) from None
        stream = HijackedStream(reader, writer)
        try:
            writer.write(head.encode() + content)
            async with asyncio.timeout(CALL_S):
                answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                status = int(answer.split(" ", 2)[1])
                if status not in (101, 200):
                    text = await reader.read(HEAD_BYTES)
                    raise _fault(status, _message(text))  # noqa: TRY301
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, TimeoutError) as error:
            await stream.close()
            raise self._unreachable(error) from None
        except BaseException:
            await stream.close()
            raise
        return stream

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    @contextlib.asynccontextmanager
    async def _asked(
        self, method: str, path: str, query: Mapping[str, str] | None, **options: Any
    ) -> AsyncIterator[Any]:
        import aiohttp  # noqa: PLC0415  (an agent that nobody logs into does not need it)

        if self._session is None:
            connector = aiohttp.UnixConnector(self._path) if self._path else aiohttp.TCPConnector()
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CALL_S, sock_read=CALL_S)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        where = "http://docker" if self._path else f"http://{self._host}:{self._port}"
        target = f"{where}{path}{'?' + urlencode(query) if query else ''}"
        try:
            async with self._session.request(method, target, **options) as response:
                if response.status >= 400:
                    raise _fault(response.status, _message(await response.content.read(HEAD_BYTES)))
                yield response
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> DriverError:
        return EngineUnreachable(f"the Docker engine at {self._url} does not answer ({error or type(error).__name__})")


def _fault(status: int, message: str) -> DriverError:
    if status == 404:
        return PodGone(message)
    return EngineBusy(message) if status >= 500 else DriverError(message)


def _message(body: bytes) -> str:
    with contextlib.suppress(ValueError, AttributeError):
        return str(json.loads(body).get("message"))[:500]
    return "the Docker engine refused"
