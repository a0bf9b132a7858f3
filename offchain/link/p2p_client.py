"""The tenant's side: asks a host for a result or for logs, and believes only the chain."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

from offchain.link.p2p import (
    Connection,
    HostMisbehaved,
    HostRefused,
    HostUnreachable,
    Stream,
    StreamClosed,
    Transport,
    read_frame,
    write_frame,
)
from offchain.link.p2p_iroh import IrohTransport
from offchain.link.ports import Signer
from offchain.schema.wire import Op, Refusal, Request, WireError, decode_reply, parse_endpoint

REQUEST_LIFE_MS = 30_000
DIAL_TIMEOUT_S = 10.0
REPLY_TIMEOUT_S = 30.0
MAX_RESULT = 64 << 20


def _unix_ms() -> int:
    return time.time_ns() // 1_000_000


class HostClient:
    """Questions to one host over one long-lived connection, made when first needed and again when it broke."""

    def __init__(
        self,
        transport: Transport,
        host_key: bytes,
        addresses: Sequence[str],
        *,
        genesis_hash: bytes,
        signer: Signer,
        now_ms: Callable[[], int] = _unix_ms,
    ) -> None:
        self._transport = transport
        self._host_key = host_key
        self._addresses = tuple(addresses)
        self._genesis_hash = genesis_hash
        self._signer = signer
        self._now_ms = now_ms
        self._connection: Connection | None = None
        self._stream: Stream | None = None
        self._turn = asyncio.Lock()

    async def ping(self) -> None:
        """Raises :class:`HostUnreachable` or :class:`HostRefused` unless the host answers."""
        await self._ask(Op.PING, None, 0)

    async def result(self, lease: int, digest: bytes) -> bytes:
        """The result of this lease. `digest` is the SHA-256 on chain; other bytes raise :class:`HostMisbehaved`."""
        data = await self._ask(Op.RESULT, lease, MAX_RESULT)
        got = hashlib.sha256(data).digest()
        if got != digest:
            raise HostMisbehaved(
                f"the host sent {len(data)} bytes with SHA-256 {got.hex()}, but the chain says {digest.hex()}. "
                "Do not use them; the result on chain is what the host is paid for."
            )
        return data

    async def logs(self, lease: int, *, follow: bool = False) -> AsyncGenerator[bytes, None]:
        """The pod's log in pieces; with `follow` until the pod ends. Uses a stream of its own."""
        connection = await self._connected()
        stream = await connection.open_stream()
        try:
            await self._request(stream, Op.LOGS, lease, follow=follow)
            while chunk := await read_frame(stream):
                yield chunk
        except StreamClosed as error:
            raise HostUnreachable(f"the connection to the host broke ({error}); ask again") from None
        finally:
            await stream.abort()

    async def close(self) -> None:
        """Drop the connection; the transport stays open."""
        connection, self._connection, self._stream = self._connection, None, None
        if connection is not None:
            await connection.close()

    async def _ask(self, op: Op, lease: int | None, limit: int) -> bytes:
        async with self._turn:
            fresh = self._stream is None
            try:
                return await self._ask_once(op, lease, limit)
            except (StreamClosed, HostUnreachable) as error:
                # An idle connection may have died unnoticed (the host restarted): one more try on a new one.
                await self.close()
                if fresh:
                    raise HostUnreachable(str(error)) from None
            try:
                return await self._ask_once(op, lease, limit)
            except StreamClosed as error:
                await self.close()
                raise HostUnreachable(f"the connection to the host broke ({error}); ask again") from None

    async def _ask_once(self, op: Op, lease: int | None, limit: int) -> bytes:
        if self._stream is None:
            self._stream = await (await self._connected()).open_stream()
        stream = self._stream
        try:
            async with asyncio.timeout(REPLY_TIMEOUT_S):
                await self._request(stream, op, lease)
                body = bytearray()
                while chunk := await read_frame(stream):
                    if len(body) + len(chunk) > limit:
                        raise HostMisbehaved(f"the host sent more than the {limit} bytes allowed")  # noqa: TRY301
                    body += chunk
                return bytes(body)
        except TimeoutError:
            await self._drop_stream()
            raise HostUnreachable(f"the host did not answer within {REPLY_TIMEOUT_S:g} s") from None
        except HostRefused:
            raise
        except BaseException:
            # The stream is in the middle of an answer; it must not serve the next question.
            await self._drop_stream()
            raise

    async def _drop_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.abort()

    async def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = await self._transport.dial(self._host_key, self._addresses, DIAL_TIMEOUT_S)
        return self._connection

    async def _request(self, stream: Stream, op: Op, lease: int | None, *, follow: bool = False) -> None:
        unsigned = Request(
            op=op,
            lease=lease,
            follow=follow,
            account=self._signer.address,
            nonce=secrets.token_hex(16),
            expires_ms=self._now_ms() + REQUEST_LIFE_MS,
            crypto=self._signer.crypto,
        )
        signature = self._signer.sign(unsigned.payload(self._genesis_hash, self._host_key))
        await write_frame(stream, dataclasses.replace(unsigned, signature=signature).encode())
        try:
            reply = decode_reply(await read_frame(stream))
        except WireError as error:
            raise HostMisbehaved(f"the host's answer is malformed: {error}") from None
        if isinstance(reply, Refusal):
            raise HostRefused(reply)
        if reply.op is not op:
            raise HostMisbehaved(f"the host answered {reply.op} to {op}")


@contextlib.asynccontextmanager
async def open_host(
    host_key: bytes, endpoint: bytes, *, genesis_hash: bytes, signer: Signer
) -> AsyncIterator[HostClient]:
    """A client to the host with this key and `HostRecord.endpoint`, over a transport that lives as long as the block.

    The transport's own key is random: the tenant is known by the signature on each request.
    """
    try:
        addresses = parse_endpoint(endpoint)
    except WireError as error:
        raise HostUnreachable(str(error)) from None
    transport = await IrohTransport.bind(secrets.token_bytes(32), _any_local(addresses), listen=False)
    client = HostClient(transport, host_key, addresses, genesis_hash=genesis_hash, signer=signer)
    try:
        yield client
    finally:
        await client.close()
        await transport.close()


def _any_local(addresses: Sequence[str]) -> str:
    # A socket bound to loopback can reach only loopback, and then nobody else can reach it.
    loopback = all(address.startswith("127.") for address in addresses)
    return "127.0.0.1:0" if loopback else "0.0.0.0:0"
