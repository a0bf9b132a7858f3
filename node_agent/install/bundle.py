"""Bundle of a release: the agent's modules and the lock of its requirements in one reproducible file.

scripts/release-agent (:mod:`node_agent.install.make_release`) makes one.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from node_agent import VERSION
from node_agent.core.release_statement import MAX_STATEMENT_BYTES, ReleaseVersion, parse_keys, parse_version
from node_agent.install.launch import ROOT
from offchain.adapters.http_bodies import BodyTooLong, body_chunks
from offchain.errors import OurError, TheirError

PACKAGES = ("node_agent", "offchain")
LOCK = "requirements.lock"
FACTS = "bundle.json"
FORMAT = 1
UNNUMBERED = "0.1.0"
"""Version of bundles without a version."""
MAX_BUNDLE_BYTES = 256 << 20
MAX_FILE_BYTES = 64 << 20
MAX_UNPACKED_BYTES = 512 << 20
MAX_FILES = 20_000
_SUFFIXES = (".py", ".json", ".typed")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class UnpackedBundle:
    """An unpacked bundle. `lock_sha256`: digest of its requirements.

    `release_keys`: the keys with which its publisher signs; empty without signatures.
    """

    lock: Path
    lock_sha256: str
    version: ReleaseVersion
    release_keys: tuple[str, ...]


def build(target: Path, root: Path = ROOT, *, version: str = VERSION, release_keys: Sequence[str] = ()) -> str:
    """Write a bundle of the sources below `root` and return its SHA-256 in hex."""
    raw = io.BytesIO()
    lock = (root / LOCK).read_bytes()
    known = {"format": FORMAT, "lock_sha256": hashlib.sha256(lock).hexdigest(), "version": version}
    if release_keys:
        known["release_keys"] = list(release_keys)
    facts = json.dumps(known, sort_keys=True).encode()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        _add(tar, FACTS, facts)
        _add(tar, LOCK, lock)
        for path in _sources(root):
            _add(tar, f"app/{path.relative_to(root).as_posix()}", path.read_bytes())
    data = gzip.compress(raw.getvalue(), compresslevel=9, mtime=0)
    target.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex. Raises OurError if it is too large for a bundle."""
    digest = hashlib.sha256()
    total = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total += len(chunk)
            if total > MAX_BUNDLE_BYTES:
                raise OurError(f"{path} is longer than {MAX_BUNDLE_BYTES} bytes; no release is.", "Check the file.")
            digest.update(chunk)
    return digest.hexdigest()


def unpack(bundle: Path, target: Path) -> UnpackedBundle:
    """Unpack a bundle with a verified digest into a new folder. Raises OurError if it is not a bundle."""
    try:
        _write_all(bundle, target)
        return facts_of(target)
    except (tarfile.TarError, OSError, ValueError, KeyError, TypeError, EOFError, RecursionError) as error:
        raise OurError(
            f"{bundle.name} is not a release of the agent: {error}.", "Use a file made by scripts/release-agent."
        ) from None


def facts_of(folder: Path) -> UnpackedBundle:
    """Read the facts of an unpacked bundle. Raises OSError, ValueError, KeyError or TypeError."""
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    lock = folder / LOCK
    found = hashlib.sha256(lock.read_bytes()).hexdigest()
    if facts["format"] != FORMAT or facts["lock_sha256"] != found or not (folder / "app/node_agent").is_dir():
        raise ValueError("its parts do not fit together")
    # Bundles had no version before they were signed.
    version = parse_version(str(facts.get("version", UNNUMBERED)))
    return UnpackedBundle(lock, found, version, parse_keys(facts["release_keys"]) if "release_keys" in facts else ())


def _write_all(bundle: Path, target: Path) -> None:
    total = 0
    with tarfile.open(bundle, "r:gz") as tar:
        for number, member in enumerate(tar):
            total += member.size
            if number >= MAX_FILES or member.size > MAX_FILE_BYTES or total > MAX_UNPACKED_BYTES:
                raise tarfile.TarError("it is larger than any release")
            _write(tar, member, target)


def _sources(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and path.suffix in _SUFFIXES:
                yield path


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    member.mode = 0o644
    tar.addfile(member, io.BytesIO(data))


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Write one member if it is a plain file below the folder."""
    name = PurePosixPath(member.name)
    if member.isdir():
        return
    if not member.isfile() or name.is_absolute() or ".." in name.parts or "\\" in member.name:
        raise ValueError(f"it holds {member.name!r}, which is not a plain file below it")
    source = tar.extractfile(member)
    if source is None:
        raise ValueError(f"{member.name!r} cannot be read")
    path = target.joinpath(*name.parts)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write(source.read())


_DOWNLOAD_S = 600.0
_ELSEWHERE = "Give a file or an https address."


async def fetch(source: str, target: Path) -> None:
    """Copy a bundle from a file or an http(s) address, up to the size limit."""
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
    """Read a statement into memory; one that is too long is cut one byte above the limit."""
    if not _is_url(source):
        try:
            return await asyncio.to_thread(_head, Path(source), MAX_STATEMENT_BYTES + 1)
        except OSError as error:
            raise OurError(f"{source} cannot be read: {error.strerror}.", _ELSEWHERE) from None
    return b"".join([chunk async for chunk in _served(source, MAX_STATEMENT_BYTES)])


def statement_beside(source: str) -> str:
    """Return the default place of a bundle's statement: its name with .statement."""
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
            async for chunk in body_chunks(answer, limit):
                yield chunk
    except BodyTooLong:
        raise TheirError(f"{source} serves more than {limit} bytes.", "Check the address.") from None
    except (aiohttp.ClientError, OSError) as error:
        raise TheirError(f"{source} cannot be fetched: {error or 'no answer'}.", "Try again.") from None


def _copy(source: Path, target: Path) -> None:
    if source.stat().st_size > MAX_BUNDLE_BYTES:
        raise OurError(f"{source} is longer than {MAX_BUNDLE_BYTES} bytes; no release is.", "Check the file.")
    shutil.copyfile(source, target)


def _head(source: Path, most: int) -> bytes:
    with source.open("rb") as file:
        return file.read(most)
