"""The option by which a provider says that its machine is confidential, and the check that it can prove that."""

from __future__ import annotations

import asyncio
import secrets
from typing import Final

import click

from node_agent.attestation.machine import MachineAttestation
from node_agent.attestation.port import AttestationSource, AttestationUnavailableError
from node_agent.attestation.sealing_key import SealingKey
from node_agent.runtime.settings import AgentSettings
from offchain.cli.provider.machine_checks import CheckResult, CheckVerdict
from offchain.clock import unix_ms
from offchain.core.attestation.verification import verify_attestation
from offchain.errors import OurError
from offchain.schema.attestation.document import NONCE_BYTES
from offchain.schema.attestation.policy import AttestationPolicy

CONFIDENTIAL: Final = click.option(
    "--confidential/--not-confidential",
    "confidential",
    default=None,
    help="Whether this is a confidential virtual machine (Intel TDX, AMD SEV-SNP), which proves that to tenants before "
    "they deliver secrets (docs/confidential.md).  [default: not confidential]",
)
CHECK: Final = "confidential"


async def confidential_checks(
    settings: AgentSettings, host_key: bytes, source: AttestationSource | None = None
) -> tuple[CheckResult, ...]:
    """Return a result if the host is said to be confidential: a document is made and verified as a tenant would."""
    if not settings.confidential:
        return ()
    nonce = secrets.token_bytes(NONCE_BYTES)
    source = source or MachineAttestation(settings.state)
    try:
        document = await asyncio.to_thread(source.document, host_key, nonce, SealingKey().public)
        result = verify_attestation(document.encode(), host_key, nonce, AttestationPolicy(), unix_ms() // 1000)
    except AttestationUnavailableError as error:
        return (CheckResult(CHECK, CheckVerdict.FAIL, str(error), error.hint),)
    except OurError as error:
        return (CheckResult(CHECK, CheckVerdict.WARN, error.message, error.hint),)
    failure = result.failure
    if failure is not None:
        return (CheckResult(CHECK, CheckVerdict.FAIL, f"tenants refuse it: {failure.text}", failure.hint),)
    measurement = "" if result.measurement is None else result.measurement.hex()
    return (CheckResult(CHECK, CheckVerdict.PASS, f"{document.kind}, software {measurement}"),)
