"""The port through which the agent has its machine attested."""

from __future__ import annotations

from typing import Protocol

from offchain.schema.attestation.document import AttestationDocument


class AttestationUnavailableError(Exception):
    """The machine cannot make a document now. The text says why; `hint`: what its provider has to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class AttestationSource(Protocol):
    """Makes documents about the machine on which the agent runs."""

    def document(self, host: bytes, nonce: bytes, seal_key: bytes) -> AttestationDocument:
        """Return a new document for the host key, the verifier's nonce and the sealing key. Blocks up to some seconds.

        Raises :class:`AttestationUnavailableError`.
        """
        ...
