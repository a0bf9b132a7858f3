"""A connection relayed by a gateway: TLS 1.3 from end to end, so that the gateway cannot read it.

The certificate proves the key of the host (`transport.certificate`). The caller proves its key inside the connection:
it signs a random number of the host together with the host's key. Bytes that are changed, left out, repeated or
reordered break the connection.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

from offchain.adapters.keys.signer import Ed25519Signer, verify
from offchain.adapters.transport.certificate import client_context, is_certificate_of
from offchain.adapters.transport.port import ConnectionLost, HostUnreachable
from offchain.adapters.transport.session import Session
from offchain.errors import GantryError

PROOF_CONTEXT: Final = b"gantry/carried-client/v1"
PIECE: Final = 1 << 18
"""Bytes encrypted at a time."""
_NONCE, _KEY, _SIGNATURE = 32, 32, 64


class SessionStream:
    """A session as a stream of bytes. `after` is called once it is closed."""

    def __init__(self, session: Session, after: Callable[[], Awaitable[None]] | None = None) -> None:
        self._session = session
        self._after = after

    async def read(self) -> bytes:
        """The next bytes, never none. Raises :class:`ConnectionLost`."""
        try:
            data = await self._session.read_main()
        except GantryError as error:
            raise ConnectionLost(error.message) from None
        if data is None:
            raise ConnectionLost("the other side ended the stream")
        return data

    async def write(self, data: bytes) -> None:
        """Send all of `data`, as fast as it is relayed. Raises :class:`ConnectionLost`."""
        try:
            await self._session.write(data)
        except GantryError as error:
            raise ConnectionLost(error.message) from None

    async def wait_closed(self) -> None:
        """Wait until the session is over."""
        await self._session.gone()

    async def close(self) -> None:
        """Drop the session. Never raises."""
        self._session.drop()
        after, self._after = self._after, None
        if after is not None:
            await after()


class RelayedConnection:
    """One end of a relayed connection, made by :func:`dial` or :func:`answer`, which prove the keys of both ends."""

    via = "gateway"
    remote_address = "gateway"
    """The address behind a gateway is not known: all relayed peers count as one address."""

    def __init__(self, stream: SessionStream, context: ssl.SSLContext, *, server: bool) -> None:
        self._stream = stream
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server)
        self._flushing = asyncio.Lock()
        self._closed = False
        self.remote_key = b""

    async def handshake(self) -> None:
        """Perform the TLS handshake. Raises :class:`ConnectionLost`."""
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                self._incoming.write(await self._stream.read())
            except ssl.SSLError as error:
                raise _broken(error) from None
            else:
                await self._flush()
                return

    async def read(self) -> bytes:
        data = await self.read_record()
        if not self._incoming.pending:
            return data
        records, size = [data], len(data)
        while size < PIECE and (data := self._decrypted()):
            records.append(data)
            size += len(data)
        return b"".join(records)

    async def read_record(self) -> bytes:
        """The bytes of the next TLS record, never none. Raises :class:`ConnectionLost`."""
        while not (data := self._decrypted()):
            if self._closed:
                raise ConnectionLost("the connection is closed")
            self._incoming.write(await self._stream.read())
        return data

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            if self._closed:
                raise ConnectionLost("the connection is closed")
            try:
                self.tls.write(data[start : start + PIECE])
            except ssl.SSLError as error:
                raise _broken(error) from None
            await self._flush()

    async def wait_closed(self) -> None:
        await self._stream.wait_closed()

    async def close(self) -> None:
        self._closed = True
        await self._stream.close()

    def _decrypted(self) -> bytes:
        """The next TLS record; empty where none has arrived completely."""
        try:
            return self.tls.read(PIECE)
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLError as error:
            raise _broken(error) from None

    async def _flush(self) -> None:
        # Records have to be sent in the order in which they were encrypted.
        async with self._flushing:
            while self._outgoing.pending:
                await self._stream.write(self._outgoing.read(PIECE))


async def dial(stream: SessionStream, host_key: bytes, signer: Ed25519Signer) -> RelayedConnection:
    """Open the caller's end. Raises :class:`HostUnreachable` where the other end does not have the host's key."""
    made = RelayedConnection(stream, client_context(), server=False)
    try:
        await made.handshake()
        if not is_certificate_of(host_key, made.tls.getpeercert(binary_form=True)):
            raise HostUnreachable("the other end does not have the host's key")  # noqa: TRY301
        nonce = await _exactly(made, _NONCE)
        await made.write(signer.public_key + signer.sign(_proof(nonce, host_key)))
    except ConnectionLost as error:
        await made.close()
        raise HostUnreachable(error.message) from None
    except BaseException:
        await made.close()
        raise
    made.remote_key = host_key
    return made


async def answer(stream: SessionStream, context: ssl.SSLContext, host_key: bytes) -> RelayedConnection:
    """Open the host's end; `context` has its key. Raises ConnectionLost where the caller does not prove a key."""
    made = RelayedConnection(stream, context, server=True)
    try:
        await made.handshake()
        nonce = secrets.token_bytes(_NONCE)
        await made.write(nonce)
        said = await _exactly(made, _KEY + _SIGNATURE)
        key, signature = said[:_KEY], said[_KEY:]
        if not verify(key, "ed25519", _proof(nonce, host_key), signature):
            raise ConnectionLost("the caller did not prove its key")  # noqa: TRY301
    except BaseException:
        await made.close()
        raise
    made.remote_key = key
    return made


async def _exactly(connection: RelayedConnection, size: int) -> bytes:
    """The first `size` bytes. The other end must not send more before it is answered."""
    data = b""
    while len(data) < size:
        data += await connection.read_record()
    if len(data) > size:
        raise ConnectionLost("the other side does not speak this protocol")
    return data


def _proof(nonce: bytes, host_key: bytes) -> bytes:
    return PROOF_CONTEXT + nonce + host_key


def _broken(error: ssl.SSLError) -> ConnectionLost:
    return ConnectionLost(f"what came is not what the other side sent ({error.reason or type(error).__name__})")
