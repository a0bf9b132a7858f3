"""Collection of the evidence about a task in dispute, from the chain and from the hosts of the accused leases."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask, TaskAndSpec
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import verify
from offchain.adapters.transport.port import TransportError
from offchain.errors import CheckFailed
from offchain.schema.chain_types._generated_chain import DisputeRecord, HostRecord
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.types import ManifestError
from offchain.schema.protocol.evidence import (
    BUNDLE_FILE,
    LEASE_FILE,
    LOG_FILE,
    MANIFEST_FILE,
    MAX_BUNDLE,
    MAX_HOST_EVIDENCE,
    MAX_OWN_BYTES,
    MAX_OWN_FILES,
    OUTPUT_FILE,
    RECEIPT_FILE,
    lease_member,
    own_member,
    pack,
    unpack,
)
from offchain.schema.protocol.fields import WireError, canonical_json
from offchain.schema.protocol.messages import Code
from offchain.schema.protocol.receipt import SignedReceipt
from offchain.services.evidence_files import FilesPlace, fetch_files

FETCH_S: Final = 60.0
"""Timeout for the evidence of one host."""
BUSY_PAUSE_S: Final = 2.0
"""Time between two requests to a host that is busy."""
_OF_HOSTS: Final = frozenset({LEASE_FILE, LOG_FILE, OUTPUT_FILE, RECEIPT_FILE})


class EvidenceSource(FilesPlace, Protocol):
    """A connection to a host, as far as evidence is concerned; with the files of the opener."""

    async def evidence(self, lease: int) -> bytes:
        """Return the archive of evidence about an ended lease."""
        ...


OpenEvidenceSource = Callable[[HostRecord, str], AbstractAsyncContextManager[EvidenceSource]]
"""Opens a connection to the host with this record and address."""


@dataclass(frozen=True, slots=True)
class EvidenceBundle:
    """An archive of evidence. `problems`: what a host did not send, or what differs from the chain."""

    data: bytes
    problems: tuple[str, ...]

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the archive, as it is named on the chain."""
        return hashlib.sha256(self.data).digest()


async def collect(
    chain: GantryChain,
    task: TaskAndSpec,
    accused: Sequence[int],
    dial: OpenEvidenceSource,
    own: Mapping[str, bytes] | None = None,
    opener: str | None = None,
) -> EvidenceBundle:
    """Return the evidence about these leases of a task. `own`: further files of the opener, by name.

    `opener`: of the open dispute; its files are fetched from the hosts then, and `own` is not used.
    A host that sends nothing is no error: its leases are named in `problems`. Raises CheckFailed for too many or too
    large files.
    """
    own = own or {}
    size = sum(map(len, own.values()))
    if len(own) > MAX_OWN_FILES or size > MAX_OWN_BYTES:
        raise CheckFailed(
            f"{len(own)} files with {size} bytes are more than the {MAX_OWN_FILES} files with {MAX_OWN_BYTES} bytes "
            "that evidence may have.",
            "Leave out what jurors do not need, or cut it to the part that is wrong.",
            code="too_large",
        )
    problems: list[str] = []
    members = {own_member(name): data for name, data in own.items()}
    leases = [lease for number in sorted(accused) if (lease := task.lease(number)) is not None]
    if opener is not None:
        members, wrong_files = await fetch_files(chain, leases, opener, dial)
        problems += wrong_files
    # One at a time for each host, which makes few archives at once.
    turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
    found = await asyncio.gather(*(_of_host(chain, lease, dial, turns[lease.record.host]) for lease in leases))
    for lease, (files, wrong) in zip(leases, found, strict=True):
        members |= {lease_member(lease.id, name): data for name, data in files.items()}
        problems += wrong
    manifest = await chain.manifest(task.id)
    if manifest is not None:
        members[MANIFEST_FILE] = manifest
    genesis = await chain.port.genesis_hash()
    members[BUNDLE_FILE] = canonical_json(await asyncio.to_thread(_about, genesis, task, leases, manifest))
    try:
        return EvidenceBundle(await asyncio.to_thread(pack, members), tuple(problems))
    except ValueError as error:
        raise CheckFailed(f"{error}.", "Rename the file.", code="bad_name") from None


def read_bundle(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive of evidence. Raises CheckFailed if it is not one."""
    try:
        return unpack(data, MAX_BUNDLE)
    except WireError as error:
        hint = "Use the file that gantry dispute open has written."
        raise CheckFailed(f"{error}.", hint, code="bad_archive") from None


def named_by(record: DisputeRecord, digest: bytes) -> tuple[str, ...]:
    """Return the accounts that have named an archive with this digest on the chain."""
    return tuple(dict.fromkeys(one.by for one in record.evidence if one.digest == digest))


async def _of_host(
    chain: GantryChain, lease: LeaseOfTask, dial: OpenEvidenceSource, turn: asyncio.Lock
) -> tuple[dict[str, bytes], list[str]]:
    """Return what the host of a lease shows, and what is wrong with it."""
    host = await chain.host(lease.record.host)
    where = f"lease {lease.id} on {lease.record.host}"
    if host is None:
        return {}, [f"{where}: its host is no longer registered"]
    try:
        async with turn, asyncio.timeout(FETCH_S):
            data = await _fetched(host, lease, dial)
        files = await asyncio.to_thread(unpack, data, MAX_HOST_EVIDENCE)
    except TimeoutError:
        return {}, [f"{where}: its host did not send evidence within {FETCH_S:g} s"]
    except TransportError as error:
        return {}, [f"{where}: its host sent no evidence: {error.message}"]
    except WireError as error:
        return {}, [f"{where}: {error}"]
    files = {name: content for name, content in files.items() if name in _OF_HOSTS}
    return files, [f"{where}: {text}" for text in _problems(lease, files)]


async def _fetched(host: HostRecord, lease: LeaseOfTask, dial: OpenEvidenceSource) -> bytes:
    """Return the archive of a host, which is asked again while it is busy with other requests."""
    while True:
        try:
            async with dial(host, lease.record.host) as source:
                return await source.evidence(lease.id)
        except TransportError as error:
            if error.code != Code.BUSY:
                raise
        await asyncio.sleep(BUSY_PAUSE_S)


def _problems(lease: LeaseOfTask, files: Mapping[str, bytes]) -> list[str]:
    """Return what is wrong with the evidence of a host, compared with the chain."""
    found = []
    result, output = lease.record.result, files.get(OUTPUT_FILE)
    if output is not None and (result is None or hashlib.sha256(output).digest() != result.digest):
        shown, reported = hashlib.sha256(output).hexdigest(), "none" if result is None else result.digest.hex()
        found.append(f"its host shows an output with SHA-256 {shown}, and reported {reported}")
    receipt = files.get(RECEIPT_FILE)
    if receipt is not None:
        try:
            signed = SignedReceipt.decode(receipt)
            key = ss58.decode(lease.record.host)
            if signed.receipt.lease != lease.id:
                found.append(f"the receipt is about lease {signed.receipt.lease}")
            elif not verify(key, "ed25519", signed.receipt.host_payload, signed.signature):
                found.append("the receipt is not signed by its host")
        except WireError as error:
            found.append(f"the receipt is malformed: {error}")
    return found


def _about(genesis: bytes, task: TaskAndSpec, leases: Sequence[LeaseOfTask], manifest: bytes | None) -> dict[str, Any]:
    """Return what the chain says. Only facts that do not change any more: all collectors get the same bytes."""
    return {
        "v": 1,
        "genesis": genesis.hex(),
        "task": task.id,
        "tenant": task.record.tenant,
        "manifest_sha256": task.spec.manifest_digest.hex(),
        "images": [] if manifest is None else _images(manifest),
        "accused": [_lease(lease) for lease in leases],
    }


def _images(manifest: bytes) -> list[str]:
    try:
        return [service.image.reference for service in parse_manifest(manifest).services]
    except ManifestError:
        return []


def _lease(lease: LeaseOfTask) -> dict[str, Any]:
    record, result = lease.record, lease.record.result
    return {
        "lease": lease.id,
        "pod": record.pod,
        "host": record.host,
        "created_at_ms": record.created_at,
        "started_at_ms": record.started_at,
        "ended_at_ms": record.ended_at,
        "rate_per_hour": str(record.escrow.rate_per_hour),
        "unit": record.escrow.unit.value,
        "result": None
        if result is None
        else {"sha256": result.digest.hex(), "exit_code": result.exit_code, "usage": result.usage.encode()},
    }
