"""JSON-RPC to a chain node over one WebSocket, which is opened again when it is needed and gone.

Several nodes may be named: the next one is used when one cannot be reached or does not answer.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import socket as sockets
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from offchain.backoff import backoff
from offchain.errors import BadValue, ChainUnreachable

FIRST_PAUSE_MS = 100
LONGEST_PAUSE_MS = 5_000
_OPEN_S = 5.0
_CLOSE_S = 1.0
_NEXT_ADDRESS_S = 0.25
"""Time after which the next address of a host name is tried beside the first (RFC 8305)."""

_log = logging.getLogger("gantry.rpc")
_log.setLevel(logging.CRITICAL)  # the library logs connections that end; callers get a typed error instead


class RpcRefused(Exception):  # noqa: N818 - becomes a typed error one layer up
    """The node answered with an error object.

    `again`: the request had been sent before, over a connection that ended without an answer.
    """

    again = False

    def __init__(self, code: int, message: str, data: Any) -> None:
        super().__init__(f"{message}{f': {data}' if data else ''}")
        self.code = code
        self.message = message
        self.data = data


class RpcConnectionLost(Exception):  # noqa: N818 - becomes a typed error one layer up
    """The connection could not be opened, or ended before the answer."""


class _Connection:
    """One open WebSocket: pairs replies with requests and subscriptions with their notifications."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._last_id = 0
        self._replies: dict[int, asyncio.Future[dict[str, Any] | None]] = {}
        """By request; the result None means that the connection has ended."""
        self._subscribing: set[int] = set()
        self._notifications: dict[str, asyncio.Queue[Any]] = {}
        self._lost = ""
        self._reader = asyncio.create_task(self._read())

    @property
    def is_open(self) -> bool:
        return not self._reader.done()

    async def close(self) -> None:
        with suppress(Exception):
            await self._socket.close()
        await asyncio.wait([self._reader])

    async def request(self, method: str, params: list[Any], *, subscribe: bool = False) -> Any:
        """The result. Raises RpcRefused, RpcConnectionLost."""
        self._last_id += 1
        number = self._last_id
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        if subscribe:
            self._subscribing.add(number)
        try:
            await self._send(number, method, params)
            answer = await reply if self.is_open else None
        finally:
            del self._replies[number]
            self._subscribing.discard(number)
        if answer is None:
            raise RpcConnectionLost(self._lost)
        if "error" in answer:
            error = answer["error"]
            raise RpcRefused(error.get("code", 0), error.get("message", ""), error.get("data"))
        return answer.get("result")

    async def notifications(self, subscription: str) -> AsyncGenerator[Any, None]:
        """The results of a subscription that :meth:`request` made. Raises RpcConnectionLost when they end."""
        queue = self._notifications[subscription]
        try:
            while self.is_open or not queue.empty():
                found = await queue.get()
                if found is None:
                    break
                yield found["result"]
            raise RpcConnectionLost(self._lost)
        finally:
            del self._notifications[subscription]

    async def unsubscribe(self, method: str, subscription: str) -> None:
        """Tell the node, without waiting for its answer. Never raises."""
        self._last_id += 1
        with suppress(RpcConnectionLost, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._send(self._last_id, method, [subscription])

    async def _send(self, number: int, method: str, params: list[Any]) -> None:
        from websockets.exceptions import WebSocketException  # noqa: PLC0415 - slow to import

        text = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            await self._socket.send(text)
        except (WebSocketException, OSError) as error:
            raise RpcConnectionLost(self._lost or str(error)) from None

    async def _read(self) -> None:
        try:
            async for text in self._socket:
                self._take(json.loads(text))
            self._lost = "the node closed the connection"
        except Exception as error:  # noqa: BLE001 - all that ends a connection: the network, or what is not JSON-RPC
            self._lost = str(error) or type(error).__name__
            self._socket.transport.abort()
        finally:
            for reply in self._replies.values():
                if not reply.done():
                    reply.set_result(None)
            for queue in self._notifications.values():
                queue.put_nowait(None)

    def _take(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if number is None:
            queue = self._notifications.get(message["params"]["subscription"])
            if queue is not None:
                queue.put_nowait(message["params"])
            return
        reply = self._replies.get(number)
        if reply is None or reply.done():
            return
        if number in self._subscribing and "result" in message:
            # Here, and not where the reply is awaited: the first notification may be the next message.
            self._notifications[message["result"]] = asyncio.Queue()
        reply.set_result(message)


def node_addresses(text: str) -> list[str]:
    """The addresses of nodes in a text, which separates them by commas. Raises BadValue for a malformed one."""
    addresses = [part.strip() for part in text.split(",")]
    for address in addresses:
        try:
            parts = urlsplit(address)
            usable = parts.scheme in ("ws", "wss") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            usable = False
        if not usable:
            raise BadValue(
                f"{address!r} is not the address of a chain node.",
                "Give one like ws://127.0.0.1:9944, or several with commas between them.",
            )
    return addresses


class RpcClient:
    """The RPC of a node, or of the first of several nodes that can be reached.

    `url`: their addresses, with commas between them. `timeout`: how long, in seconds, a call waits for a node that is
    away or restarting.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._addresses = node_addresses(url)
        self._used = 0
        """The address that is tried first."""
        self.url = url
        self.timeout = timeout
        self.generation = 0
        """Grows with each new connection: the chain behind it has to be checked again."""
        self._connection: _Connection | None = None
        self._connecting = asyncio.Lock()

    async def close(self) -> None:
        """End the connection. Another call opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def call(self, method: str, params: list[Any]) -> Any:
        """The result of a request. Raises RpcRefused, and ChainUnreachable after the timeout."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout
        failures = 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await (await self._open()).request(method, params)
            except TimeoutError:
                await self.skip_node()
                raise ChainUnreachable(self.url, "no answer in time") from None
            except RpcRefused as refused:
                refused.again = failures > 0
                raise
            except RpcConnectionLost as lost:
                failures += 1
                pause_s = backoff(failures - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS) / 1000
                if loop.time() + pause_s >= deadline:
                    raise ChainUnreachable(self.url, str(lost)) from None
            await asyncio.sleep(pause_s)

    @property
    def is_connected(self) -> bool:
        """Whether there is an open connection now."""
        return self._connection is not None and self._connection.is_open

    @property
    def nodes(self) -> int:
        """The number of nodes that may be used."""
        return len(self._addresses)

    async def skip_node(self) -> None:
        """Use the next node from now on; without another one, the connection stays."""
        if self.nodes > 1:
            self._used = (self._used + 1) % self.nodes
            await self.close()

    async def subscribe(self, method: str, unsubscribe: str) -> AsyncGenerator[Any, None]:
        """Results of a subscription. Raises RpcRefused, and RpcConnectionLost when the connection ends."""
        connection = await self._open()
        subscription: str = await connection.request(method, [], subscribe=True)
        try:
            async for found in connection.notifications(subscription):
                yield found
        finally:
            await connection.unsubscribe(unsubscribe, subscription)

    async def _open(self) -> _Connection:
        async with self._connecting:
            if self._connection is not None and self._connection.is_open:
                return self._connection
            await self.close()
            self._connection = await self._dial()
            self.generation += 1
            return self._connection

    async def _dial(self) -> _Connection:
        lost: list[str] = []
        for number in range(self._used, self._used + self.nodes):
            address = self._addresses[number % self.nodes]
            try:
                connection = await _connect(address)
            except RpcConnectionLost as error:
                lost.append(f"{address}: {error}" if self.nodes > 1 else str(error))
            else:
                self._used = number % self.nodes
                return connection
        raise RpcConnectionLost("; ".join(lost))


async def _connect(address: str) -> _Connection:
    from websockets.asyncio.client import connect  # noqa: PLC0415 - slow to import
    from websockets.exceptions import WebSocketException  # noqa: PLC0415

    try:
        socket = await connect(
            address,
            compression=None,
            happy_eyeballs_delay=_NEXT_ADDRESS_S,
            logger=_log,
            max_size=None,
            open_timeout=_OPEN_S,
            close_timeout=_CLOSE_S,
            proxy=None,
        )
    except sockets.gaierror as error:
        raise RpcConnectionLost(f"{urlsplit(address).hostname} is unknown: {error.strerror or error}") from None
    except (WebSocketException, OSError, EOFError) as error:
        raise RpcConnectionLost(_reason(error)) from None
    return _Connection(socket)


def _reason(error: Exception) -> str:
    # With several addresses, asyncio joins the texts of their errors in one OSError.
    if isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return "nothing listens there"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return f"{type(error).__name__}: {error}"
