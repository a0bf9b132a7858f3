"""Archives of evidence: of one lease, by its host; and of a task in dispute, by the account that collects it. Pure.

An archive is a tar file (POSIX ustar) whose bytes follow from the names and contents of its members alone: sorted by
name, without times and owners. So two accounts that collect the same evidence have archives with the same SHA-256.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from typing import Final

from offchain.schema.protocol.fields import WireError

MAX_OUTPUT_BYTES: Final = 1 << 20
"""The largest output of a pod that is part of evidence; of a larger one the digest is."""
MAX_LOG_BYTES: Final = 1 << 20
"""The end of a pod's log that is part of evidence."""
MAX_OWN_FILES: Final = 8
"""The most files that the opener of a dispute adds."""
MAX_OWN_BYTES: Final = 4 << 20
"""The most bytes of these files together."""
MAX_FILES: Final = MAX_OWN_BYTES + (32 << 10)
"""The largest archive of these files with the opener's signature."""
MAX_HOST_EVIDENCE: Final = 3 << 20
"""The largest archive of a lease: output, log, receipt, and the headers of the archive."""
MAX_LEASES: Final = 16
MAX_BUNDLE: Final = MAX_LEASES * MAX_HOST_EVIDENCE + MAX_OWN_BYTES + (1 << 20)
"""The largest archive of a task in dispute."""

LEASE_FILE: Final = "lease.json"
"""Member of a host's archive: lease, host, and what the archive has of output and log."""
LOG_FILE: Final = "log"
OUTPUT_FILE: Final = "output"
RECEIPT_FILE: Final = "receipt.json"
"""Member of a host's archive: the newest receipt, with the signatures of both sides as far as they exist."""
BUNDLE_FILE: Final = "bundle.json"
"""Member of a task's archive: what the chain says about the task and the leases."""
MANIFEST_FILE: Final = "manifest.yaml"
OWN_FILES: Final = "files/"
"""Beginning of the names of the opener's files."""
_MODE: Final = 0o600
_LONGEST_NAME: Final = 100
_MOST_MEMBERS: Final = 128


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return the archive of these members, by their names. Raise ValueError for a name that ustar cannot hold."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(members.items()):
            if not name.isascii() or not 0 < len(name) <= _LONGEST_NAME:
                raise ValueError(f"{name[:120]!r} is not a name of 1 to {_LONGEST_NAME} ASCII characters")
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), _MODE
            tar.addfile(member, io.BytesIO(data))
    return made.getvalue()


def unpack(data: bytes, most_bytes: int) -> dict[str, bytes]:
    """Return the members of an archive. Raise :class:`WireError` unless it is one that :func:`pack` makes."""
    if len(data) > most_bytes:
        raise WireError(f"the archive of {len(data)} bytes is longer than {most_bytes}")
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                if member.type != tarfile.REGTYPE or member.issparse() or member.size > len(data):
                    raise WireError(f"the archive has {member.name[:100]!r}, which is not a plain file")
                if len(found) >= _MOST_MEMBERS:
                    raise WireError(f"the archive has more than {_MOST_MEMBERS} members")
                content = tar.extractfile(member)
                found[member.name] = b"" if content is None else content.read()
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        if isinstance(error, WireError):
            raise
        raise WireError(f"the archive is malformed: {error}") from None
    # One form only: nothing is hidden in headers, between members or behind the last one.
    if _packed(found) != data:
        raise WireError("the archive has another form than the one that its members give")
    return found


def lease_member(lease: int, name: str) -> str:
    """Return the name of a member of a host's archive in the archive of the task."""
    return f"leases/{lease}/{name}"


def own_member(name: str) -> str:
    """Return the name of a file of the opener in the archive of the task."""
    return f"{OWN_FILES}{name}"


def files_payload(genesis: bytes, task: int, digest: bytes) -> bytes:
    """Return what the opener of a dispute about a task signs: `digest` is the SHA-256 of the archive of its files."""
    return b"gantry/dispute-files/v1" + genesis + task.to_bytes(8, "little") + digest


def _packed(members: Mapping[str, bytes]) -> bytes:
    try:
        return pack(members)
    except ValueError as error:
        raise WireError(f"the archive is malformed: {error}") from None
