"""Quotes of the machine from the kernel: the reports of configfs-tsm, for Intel TDX and AMD SEV-SNP (Linux 6.7)."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node_agent.attestation.port import AttestationUnavailableError
from offchain.schema.attestation.document import MAX_COLLATERAL, MAX_QUOTE, EvidenceKind

REPORTS: Final = Path("/sys/kernel/config/tsm/report")
_PROVIDERS: Final = {"tdx_guest": EvidenceKind.TDX, "sev_guest": EvidenceKind.SEV_SNP}
_MACHINE_HINT: Final = (
    "Run the agent as root in a virtual machine of Intel TDX or AMD SEV-SNP with Linux 6.7 or newer, where "
    "/sys/kernel/config is mounted (docs/confidential.md)."
)


@dataclass(frozen=True, slots=True)
class MachineQuote:
    """A quote. `certificates`: those that the hypervisor passed with it (AMD), empty if none."""

    kind: EvidenceKind
    quote: bytes
    certificates: bytes


def machine_quote(
    data: bytes, reports: Path = REPORTS, make_entry: Callable[[Path], None] = Path.mkdir
) -> MachineQuote:
    """Return a quote that contains these 64 bytes. Raises AttestationUnavailableError.

    `make_entry`: creates the folder in which the kernel answers.
    """
    entry = reports / f"gantry-{secrets.token_hex(8)}"
    try:
        make_entry(entry)
    except OSError as error:
        raise AttestationUnavailableError(
            f"the kernel makes no report: {entry.parent}: {error.strerror}", _MACHINE_HINT
        ) from None
    try:
        return _answer(entry, data)
    except OSError as error:
        raise AttestationUnavailableError(
            f"the kernel made no report: {error.strerror}", "See the kernel's messages: dmesg."
        ) from None
    finally:
        with contextlib.suppress(OSError):
            entry.rmdir()


def _answer(entry: Path, data: bytes) -> MachineQuote:
    provider = _read(entry / "provider", 64).decode(errors="replace").strip()
    kind = _PROVIDERS.get(provider)
    if kind is None:
        raise AttestationUnavailableError(
            f"the kernel's reports are those of {provider!r}, and known are {', '.join(_PROVIDERS)}", _MACHINE_HINT
        )
    (entry / "inblob").write_bytes(data)
    quote = _read(entry / "outblob", MAX_QUOTE)
    certificates = b""
    if kind is EvidenceKind.SEV_SNP:
        with contextlib.suppress(FileNotFoundError):
            certificates = _read(entry / "auxblob", MAX_COLLATERAL)
    return MachineQuote(kind, quote, certificates)


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise AttestationUnavailableError(
            f"{path.name} of the kernel's report has more than {most} bytes", "Report it, with the kernel's version."
        )
    return data
