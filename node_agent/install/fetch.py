"""Bundles and statements from a file or an http(s) address. Never more than a bound of what is served is read."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from node_agent.core.release_statement import MAX_STATEMENT_BYTES
from node_agent.install.bundle import MAX_BUNDLE_BYTES
from offchain.errors import OurError, TheirError

_DOWNLOAD_S = 600.0
_ELSEWHERE = "Give a file or an https address."


async def fetch(source: str, target: Path) -> None:
    """Copy a file, or what an http(s) address serves. Never more than a bundle may have."""
    if not _is_url(source):
        try:
            await asyncio.to_thread(_copy, Path(source), target)
        except OSError as error:
            raise OurError(f"{source} cannot be read: {error.strerror}.", _ELSEWHERE) from None
        return
    with target.open("wb") as file:
        async for chunk in _served(source, MAX_BUNDLE_BYTES):
            file.write(chunk)


async def fetch_statement(source: str) -> bytes:
    """Read a statement into memory. What is longer than a statement may be comes with one byte too many."""
    if not _is_url(source):
        try:
            return await asyncio.to_thread(_head, Path(source), MAX_STATEMENT_BYTES + 1)
        except OSError as error:
            raise OurError(f"{source} cannot be read: {error.strerror}.", _ELSEWHERE) from None
    return b"".join([chunk async for chunk in _served(source, MAX_STATEMENT_BYTES)])


def statement_beside(source: str) -> str:
    """Return where the statement of a bundle is unless somebody says otherwise: its name with .statement after it."""
    if not _is_url(source):
        return f"{source}.statement"
    parts = urlsplit(source)
    return urlunsplit(parts._replace(path=f"{parts.path}.statement"))


def _is_url(source: str) -> bool:
    return urlsplit(source).scheme in ("http", "https")


async def _served(source: str, limit: int) -> AsyncIterator[bytes]:
    try:
        timeout = aiohttp.ClientTimeout(total=_DOWNLOAD_S, sock_connect=15, sock_read=60)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(source) as answer:
            if answer.status != 200:
                raise TheirError(f"{source} answers with status {answer.status}.", "Check the address.")
            total = 0
            async for chunk in answer.content.iter_chunked(1 << 20):
                total += len(chunk)
                if total > limit:
                    raise TheirError(f"{source} serves more than {limit} bytes.", "Check the address.")
                yield chunk
    except (aiohttp.ClientError, TimeoutError) as error:
        raise TheirError(f"{source} cannot be fetched: {error or 'no answer'}.", "Try again.") from None


def _copy(source: Path, target: Path) -> None:
    if source.stat().st_size > MAX_BUNDLE_BYTES:
        raise OurError(f"{source} is longer than {MAX_BUNDLE_BYTES} bytes; no release is.", "Check the file.")
    shutil.copyfile(source, target)


def _head(source: Path, most: int) -> bytes:
    with source.open("rb") as file:
        return file.read(most)
