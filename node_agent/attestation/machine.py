"""Attestation documents about this machine: a quote from the kernel, collateral, and reports of GPUs."""

from __future__ import annotations

from pathlib import Path

from node_agent.attestation.collateral import FOLDER, collateral
from node_agent.attestation.nvidia_gpus import gpu_evidence
from node_agent.attestation.tsm import machine_quote
from offchain.schema.attestation.document import AttestationDocument, gpu_nonce, report_data


class MachineAttestation:
    """An :class:`~node_agent.attestation.port.AttestationSource`. `state`: the agent's folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def document(self, host: bytes, nonce: bytes, seal_key: bytes) -> AttestationDocument:
        """See :meth:`AttestationSource.document`."""
        made = machine_quote(report_data(host, nonce, seal_key))
        return AttestationDocument(
            kind=made.kind,
            host=host,
            nonce=nonce,
            seal_key=seal_key,
            quote=made.quote,
            collateral=collateral(made.kind, self._folder, made.certificates),
            gpus=gpu_evidence(gpu_nonce(host, nonce, seal_key)),
        )
