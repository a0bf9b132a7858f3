"""Collateral of quotes: what a verifier needs beside its own roots. The provider keeps it in the agent's folder.

The agent makes no connections to the manufacturers: docs/confidential.md has the commands that fetch the files. They
are read for each document, so that the provider renews them without a restart.
"""

from __future__ import annotations

import ssl
import struct
import uuid
from pathlib import Path
from typing import Final

from node_agent.attestation.port import AttestationUnavailableError
from offchain.schema.attestation.document import MAX_COLLATERAL, EvidenceKind

FOLDER: Final = "attestation"
"""Name of the folder in the agent's."""
TDX_FILE: Final = "tdx-collateral.json"
"""Intel's collateral, as `dcap_qvl.QuoteCollateralV3.to_json` writes it."""
SNP_CERTIFICATES_FILE: Final = "sev-snp-certificates.pem"
"""The processor's certificate (VCEK, or VLEK of a cloud), AMD's signing key (ASK) and root (ARK), in this order."""
SNP_CRL_FILE: Final = "sev-snp-crl.pem"
"""AMD's revocation list."""
_HINT: Final = "docs/confidential.md has the command that fetches it."
_ENTRY: Final = struct.Struct("<16sII")
_MOST_ENTRIES: Final = 16
# The names of certificates in the table of a hypervisor (GHCB specification), in the order of a chain.
_CHAIN: Final = (
    (uuid.UUID("63da758d-e664-4564-adc5-f4b93be8accd"), uuid.UUID("a8074bc2-a25a-483e-aae6-39c045a0b8a1")),
    (uuid.UUID("4ab7b379-bbac-4fe4-a02f-05aef327c782"),),
    (uuid.UUID("c0b406a4-a803-4952-9743-3fb6014cd0ae"),),
)


def collateral(kind: EvidenceKind, folder: Path, table: bytes) -> str:
    """Return the collateral for quotes of this kind. Raises AttestationUnavailableError.

    `table`: the hypervisor's certificates of AMD; empty: the file is used.
    """
    if kind is EvidenceKind.TDX:
        return _file(folder / TDX_FILE)
    chain = chain_of(table) or _file(folder / SNP_CERTIFICATES_FILE)
    found = f"{chain.rstrip()}\n{_file(folder / SNP_CRL_FILE)}"
    if len(found) > MAX_COLLATERAL:
        raise AttestationUnavailableError(
            f"certificates and revocation list have {len(found)} characters, more than {MAX_COLLATERAL}", _HINT
        )
    return found


def chain_of(table: bytes) -> str:
    """Return the chain in a hypervisor's table as PEM, the processor's certificate first; empty if it is incomplete."""
    found: dict[uuid.UUID, bytes] = {}
    for number in range(min(_MOST_ENTRIES, len(table) // _ENTRY.size)):
        name, offset, size = _ENTRY.unpack_from(table, number * _ENTRY.size)
        if not any(name):
            break
        found[uuid.UUID(bytes=name)] = table[offset : offset + size]
    chain = [next((found[name] for name in names if found.get(name)), b"") for names in _CHAIN]
    return "".join(map(ssl.DER_cert_to_PEM_cert, chain)) if all(chain) else ""


def _file(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            text = file.read(MAX_COLLATERAL + 1)
    except FileNotFoundError:
        raise AttestationUnavailableError(f"the file {path} is missing", _HINT) from None
    except (OSError, UnicodeDecodeError) as error:
        raise AttestationUnavailableError(f"the file {path} cannot be read: {error}", _HINT) from None
    if len(text) > MAX_COLLATERAL:
        raise AttestationUnavailableError(f"the file {path} has more than {MAX_COLLATERAL} characters", _HINT)
    return text
