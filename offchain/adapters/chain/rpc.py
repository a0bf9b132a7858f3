"""JSON-RPC to a node over one WebSocket. The only file that imports the Substrate library.

The library's `Websocket` carries frames and pairs replies with requests. What it does not do the way workers need is
done here: it keeps codes and data of errors, leaves the reconnecting to one place with a back-off and a deadline,
tries every address of a host name, and tells a subscriber at once when its subscription is gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from offchain.errors import BadValue, ChainUnreachable

Websocket = Any  # the library's class: it has no types, and importing it takes longer than `gantry --help` may
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_QUIET_S = 30.0
_POLL_S = 0.1
_DONE_TRYING = 1  # the library shall not retry by itself


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


class ConnectionLost(Exception):  # noqa: N818 - becomes a typed error one layer up
    """The connection ended before the answer came."""


class Rpc:
    """One connection, made again whenever it is needed and gone."""

    def __init__(self, url: str, timeout: float) -> None:
        parts = urlsplit(url)
        try:
            usable = parts.scheme in ("ws", "wss") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            usable = False
        if not usable:
            raise BadValue(f"{url!r} is not the address of a chain node.", "Give one like ws://127.0.0.1:9944.")
        self.url = url
        self.timeout = timeout
        self.generation = 0
        """Grows with each new connection; whoever checked the chain behind an older one has to check again."""
        self._socket: Websocket | None = None
        self._connecting = asyncio.Lock()

    async def close(self) -> None:
        """End the connection. Another call opens it again."""
        socket, self._socket = self._socket, None
        if socket is not None:
            await _shut(socket)

    async def call(self, method: str, params: list[Any]) -> Any:
        """The result of a request. Waits for a node that is away until the timeout."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout
        pause = _FIRST_PAUSE_S
        again = False
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await self._once(method, params)
            except TimeoutError:
                raise ChainUnreachable(self.url, "no answer in time") from None
            except RpcRefused as refused:
                refused.again = again
                raise
            except ConnectionLost as lost:
                again = True
                if loop.time() + pause >= deadline:
                    raise ChainUnreachable(self.url, str(lost)) from None
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    async def subscribe(self, method: str, unsubscribe: str) -> AsyncGenerator[Any, None]:
        """Results of a subscription. Raises ConnectionLost when it is gone with its connection."""
        socket = await self._open()
        await socket.mark_waiting_for_response()
        subscription: str | None = None
        try:
            subscription = await self._request(socket, method, [])
            while True:
                socket.arm_response_event()
                try:
                    message = await socket.retrieve(subscription)
                except Exception as error:  # noqa: BLE001 - whatever ended the connection is passed on here
                    raise ConnectionLost(str(error)) from None
                if message is not None:
                    yield message["params"]["result"]
                elif self._dead(socket):
                    raise ConnectionLost("the connection was closed")
                else:
                    await socket.wait_response_event(_POLL_S)
        finally:
            await socket.mark_response_received()
            if subscription is not None and not self._dead(socket):
                with suppress(Exception):
                    await socket.unsubscribe(subscription, unsubscribe)

    async def _once(self, method: str, params: list[Any]) -> Any:
        socket = await self._open()
        await socket.mark_waiting_for_response()
        try:
            return await self._request(socket, method, params)
        finally:
            await socket.mark_response_received()

    async def _request(self, socket: Websocket, method: str, params: list[Any]) -> Any:
        request = await socket.send({"jsonrpc": "2.0", "method": method, "params": params})
        try:
            reply = await socket.wait_for_response(request)
        except asyncio.CancelledError:
            raise
        except Exception as lost:  # noqa: BLE001 - whatever ended the connection is passed on here
            raise ConnectionLost(str(lost) or type(lost).__name__) from None
        finally:
            await socket.discard_request(request)
        if reply is None:
            raise ConnectionLost("no answer")
        if "error" in reply:
            error = reply["error"]
            raise RpcRefused(error.get("code", 0), error.get("message", ""), error.get("data"))
        return reply.get("result")

    @staticmethod
    def _dead(socket: Websocket) -> bool:
        handler = socket._send_recv_task  # noqa: SLF001 - the library offers no other sign of it
        return handler is None or handler.done()

    async def _open(self) -> Websocket:
        async with self._connecting:
            if self._socket is not None and not self._dead(self._socket):
                return self._socket
            await self.close()
            self._socket = await self._dial()
            self.generation += 1
            return self._socket

    async def _dial(self) -> Websocket:
        from async_substrate_interface.async_substrate import Websocket as Transport  # noqa: PLC0415 - slow to import

        logging.getLogger("async_substrate_interface").setLevel(logging.CRITICAL + 1)
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "wss" else 80)
        loop = asyncio.get_running_loop()
        try:
            addresses = await loop.getaddrinfo(parts.hostname, port, type=1)
        except OSError as error:
            raise ConnectionLost(f"{parts.hostname} is unknown: {error.strerror or error}") from None
        reason = "no address"
        for address in addresses:
            socket: Websocket = Transport(
                self.url,
                shutdown_timer=None,
                options={"max_size": None, "open_timeout": 5},
                retry_timeout=_QUIET_S,
                max_retries=_DONE_TRYING,
            )
            socket._dns_cache = ([address], loop.time() + _QUIET_S)  # noqa: SLF001 - it would try the first one only
            try:
                await socket.connect()
            except asyncio.CancelledError:
                await _shut(socket)
                raise
            except Exception as error:  # noqa: BLE001 - refused, reset, not a WebSocket, no TLS: all mean no node here
                reason = _reason(error)
                await _shut(socket)
            else:
                return socket
        raise ConnectionLost(reason)


def _reason(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return f"{type(error).__name__}: {error}"


async def _shut(socket: Websocket) -> None:
    task = socket._send_recv_task  # noqa: SLF001 - its error has been reported; unasked, asyncio would print it
    if task is not None and task.done() and not task.cancelled():
        task.exception()
    connection = socket.ws
    with suppress(Exception):
        await socket.shutdown()
    # The library forgets a connection that has not closed in time, and would leave it open.
    transport = getattr(connection, "transport", None)
    if transport is not None and not transport.is_closing():
        transport.abort()
