"""Files of the opener of a dispute: signed by it, kept by the accused hosts, checked by jurors."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, Protocol, TypeVar

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import verify
from offchain.adapters.transport.port import TransportError
from offchain.errors import BadKey
from offchain.ports import Signer
from offchain.schema.chain_types._generated_chain import HostRecord
from offchain.schema.protocol.evidence import MAX_FILES, OWN_FILES, files_payload, own_member, pack, unpack
from offchain.schema.protocol.fields import WireError, canonical_json, hexadecimal, json_object, text
from offchain.schema.protocol.messages import Code

T = TypeVar("T")

SEND_S: Final = 60.0
"""Timeout for one host: it may see the dispute some blocks later, or be busy."""
PAUSE_S: Final = 2.0
_SIGNATURE: Final = "signature.json"
_LATER: Final = frozenset({Code.NOT_YOUR_LEASE, Code.NOT_FOUND, Code.BUSY})
"""Refusals after which files are sent again: the host does not know the dispute yet, or is busy."""
_NOTHING: Final = frozenset({Code.GONE, Code.NOT_FOUND, Code.UNSUPPORTED, Code.BAD_REQUEST})
"""Refusals of hosts without files: none were sent, or the agent is of an earlier release."""


class FilesPlace(Protocol):
    """A connection to a host, as far as files of disputes are concerned."""

    async def send_evidence_files(self, lease: int, data: bytes) -> None:
        """Have the host keep the files of the opener of the dispute about this lease."""
        ...

    async def evidence_files(self, lease: int) -> bytes:
        """Return the files of the opener of the dispute about this lease."""
        ...


OpenFilesPlace = Callable[[HostRecord, str], AbstractAsyncContextManager[FilesPlace]]
"""Opens a connection to the host with this record and address."""


def signed_files(own: Mapping[str, bytes], genesis: bytes, task: int, opener: Signer) -> bytes:
    """Return the archive of files, by their names, with the opener's signature. Raises ValueError for a bad name."""
    members = {own_member(name): data for name, data in own.items()}
    payload = files_payload(genesis, task, hashlib.sha256(pack(members)).digest())
    signature = {"v": 1, "crypto": opener.crypto, "signature": opener.sign(payload).hex()}
    return pack({**members, _SIGNATURE: canonical_json(signature)})


def checked_files(data: bytes, genesis: bytes, task: int, opener: str) -> dict[str, bytes]:
    """Return the members of an archive that the opener has signed for this dispute. Raises WireError."""
    members = unpack(data, MAX_FILES)
    signed = json_object(members.pop(_SIGNATURE, b""))
    crypto, signature = text(signed, "crypto", 16), hexadecimal(signed, "signature", 64)
    if not members or any(not name.startswith(OWN_FILES) for name in members):
        raise WireError("the files of the opener have other names than files of an opener")
    payload = files_payload(genesis, task, hashlib.sha256(pack(members)).digest())
    try:
        is_signed = verify(ss58.decode(opener), crypto, payload, signature)
    except BadKey as error:
        raise WireError(error.message) from None
    if not is_signed:
        raise WireError("the files are not signed by the opener of the dispute")
    return members


async def send_files(
    chain: GantryChain, leases: Sequence[LeaseOfTask], dial: OpenFilesPlace, data: bytes
) -> tuple[str, ...]:
    """Send the opener's signed files to the host of each accused lease; return which do not keep them, and why."""
    found = await asyncio.gather(*(_send(chain, lease, dial, data) for lease in leases))
    return tuple(problem for problem in found if problem is not None)


async def _send(chain: GantryChain, lease: LeaseOfTask, dial: OpenFilesPlace, data: bytes) -> str | None:
    async def send(place: FilesPlace) -> None:
        await place.send_evidence_files(lease.id, data)

    where = f"lease {lease.id} on {lease.record.host}"
    try:
        host = await chain.host(lease.record.host)
        if host is None:
            return f"{where}: its host is no longer registered"
        async with asyncio.timeout(SEND_S):
            await _asked(host, lease, dial, send, _LATER)
    except TimeoutError:
        return f"{where}: its host did not take the files within {SEND_S:g} s"
    except TransportError as error:
        return f"{where}: its host did not take the files: {error.message}"
    return None


async def fetch_files(
    chain: GantryChain, leases: Sequence[LeaseOfTask], opener: str, dial: OpenFilesPlace
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the opener's files from the first accused host that shows them, and what is wrong with others.

    No file is no problem: the opener may have added none.
    """
    problems: list[str] = []
    genesis = await chain.port.genesis_hash()
    for lease in leases:
        where = f"lease {lease.id} on {lease.record.host}"
        host = await chain.host(lease.record.host)
        if host is None:
            continue
        try:
            async with asyncio.timeout(SEND_S):
                data = await _asked(host, lease, dial, partial(_shown, lease), frozenset({Code.BUSY}))
            return await asyncio.to_thread(checked_files, data, genesis, lease.task.id, opener), tuple(problems)
        except TimeoutError:
            problems.append(f"{where}: its host did not send the opener's files within {SEND_S:g} s")
        except TransportError as error:
            if error.code not in _NOTHING:
                problems.append(f"{where}: its host did not send the opener's files: {error.message}")
        except WireError as error:
            problems.append(f"{where}: {error}")
    return {}, tuple(problems)


async def _shown(lease: LeaseOfTask, place: FilesPlace) -> bytes:
    return await place.evidence_files(lease.id)


async def _asked(
    host: HostRecord,
    lease: LeaseOfTask,
    dial: OpenFilesPlace,
    ask: Callable[[FilesPlace], Awaitable[T]],
    later: Collection[Code],
) -> T:
    """Ask a host, again after a pause while it refuses with one of the codes `later`."""
    while True:
        try:
            async with dial(host, lease.record.host) as place:
                return await ask(place)
        except TransportError as error:
            if error.code not in later:
                raise
        await asyncio.sleep(PAUSE_S)
