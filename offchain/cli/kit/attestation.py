"""The option for a test root, and results of attestations as text."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

import click

from offchain.cli.kit.failures import CliError
from offchain.schema.attestation.policy import AttestationFinding, AttestationResult

MAX_CERTIFICATE: Final = 16_384
TEST_ROOT: Final = click.option(
    "--test-root",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Verify with this root certificate (PEM) in place of those of AMD and Intel. For tests: it proves nothing, "
    "and production networks refuse it.",
)
_WORDS: Final = {True: "proven", False: "FAILED", None: "open"}


def read_test_root(file: Path | None) -> bytes | None:
    """Return the certificate as DER. Raises CliError."""
    if file is None:
        return None
    try:
        with file.open(encoding="ascii") as opened:
            return ssl.PEM_cert_to_DER_cert(opened.read(MAX_CERTIFICATE).strip())
    except (OSError, ValueError) as error:
        raise CliError(f"{file} is not a certificate in PEM: {error}.", "Check the path and its content.") from None


def finding_line(finding: AttestationFinding) -> str:
    """Return a line with the word of the finding's outcome, its check and its text."""
    return f"{_WORDS[finding.passed]:<8}{finding.check.value:<14}{finding.text}"


def proven_text(result: AttestationResult) -> str:
    """Return what a passed verification proves, in a sentence."""
    kind = "" if result.kind is None else f" by {result.kind}"
    by_test = ", by a test root, which proves nothing about hardware" if result.test_root else ""
    open_checks = ", ".join(one.check for one in result.findings if one.passed is None)
    left = f"; not compared: {open_checks}" if open_checks else ""
    return f"confidential{kind}{by_test}{left}"
