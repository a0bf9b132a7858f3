"""Transfers that continue at an offset if the bytes before it are unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import Session
from offchain.schema.protocol.messages import Code, Control


async def send_from(session: Session, body: AsyncIterator[bytes], offset: int, before: str | None, what: str) -> None:
    """Accept and send `body` from `offset` on, then its size and SHA-256. `before`: the digest of the bytes before.

    Raises HostRefused if those have changed.
    """
    digest, at = hashlib.sha256(), 0
    async for found in body:
        data = found
        if at < offset:
            skipped, data = data[: offset - at], data[offset - at :]
            digest.update(skipped)
            at += len(skipped)
        if at == offset and not session.accepted:
            if offset and digest.hexdigest() != before:
                raise refused(Code.CHANGED, f"{what} has changed since then.", "Copy it anew.")
            session.accept()
        if data:
            digest.update(data)
            at += len(data)
            await session.write(data)
    if not session.accepted:
        raise refused(Code.CHANGED, f"{what} is shorter now than it was.", "Copy it anew.")
    await session.say(Control(size=at, digest=digest.digest()))
