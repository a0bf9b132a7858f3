"""`gantry host attest`: what a host proves about its hardware and software now."""

from __future__ import annotations

from pathlib import Path

import click

from offchain.cli.kit import options
from offchain.cli.kit.attestation import TEST_ROOT, finding_line, proven_text, read_test_root
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import open_registered_host
from offchain.cli.kit.output import details, emit, say
from offchain.cli.kit.session import run
from offchain.cli.tenant.manifest import substituted
from offchain.schema.attestation.policy import AttestationPolicy, AttestationResult, parse_measurement
from offchain.schema.manifest.parse import parse_manifest
from offchain.services.sealed_delivery import NOT_ATTESTED, attest_host


@click.command()
@options.address
@click.option(
    "--manifest",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Compare with x-gantry.confidential of this manifest.",
)
@click.option(
    "--measurement",
    "measurements",
    type=options.Parsed("HEX", parse_measurement),
    multiple=True,
    help="Accept only this software. May be given several times.",
)
@TEST_ROOT
@options.gateway
@options.common(account=True)
def attest(
    address: str,
    manifest: Path | None,
    measurements: tuple[bytes, ...],
    test_root: Path | None,
    common: options.CommonOptions,
) -> None:
    """Have a host prove that it is a confidential machine, and print what is proven.

    The host makes a new document for this request. Exit status 1 if a check fails. "open": the policy does not name it.

    \b
    Examples:
      gantry host attest 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX
      gantry host attest 5F3sa2TJAWMqDhXG6jhV4N8ko9SxwGy8TpaNS1repo5EYjQX --manifest task.yaml --json
    """
    if manifest is not None and measurements:
        raise CliError("--manifest and --measurement exclude each other.", "Give one of them.", code="usage")
    policy = AttestationPolicy(measurements=measurements)
    if manifest is not None:
        policy = parse_manifest(substituted(str(manifest)), source=str(manifest)).confidential or policy
    signer, root = common.open_account(), read_test_root(test_root)

    async def work() -> AttestationResult:
        async with common.connected() as chain, open_registered_host(chain, address, signer) as client:
            return await attest_host(chain, client, address, policy, test_root=root)

    result = run(work())
    failure = result.failure
    if not common.as_json:
        for finding in result.findings:
            say(finding_line(finding))
        say()
        details([*result.facts, *((("measurement", result.measurement.hex()),) if result.measurement else ())])
    if failure is not None:
        raise CliError(
            f"host {address} does not prove that it is confidential ({failure.check}): {failure.text}.",
            failure.hint,
            code=NOT_ATTESTED,
            facts={"attestation": result.plain()},
        )
    if common.as_json:
        emit({"host": address, **result.plain()})
        return
    say(f"Host {address} is {proven_text(result)}.")
