"""Preparation of a task before it is submitted: its checks, and for a confidential one the hosts that may run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from offchain.cli.kit.failures import CliError
from offchain.cli.kit.host_connection import open_registered_host
from offchain.cli.kit.output import progress
from offchain.core.placement_forecast import PlacementForecast, forecast_placement
from offchain.core.pricing import deposit
from offchain.errors import CheckFailed
from offchain.ports import ChainPort, Signer
from offchain.schema.attestation.policy import AttestationPolicy, AttestationResult
from offchain.schema.chain_types._generated_chain import TaskSpec
from offchain.schema.chain_types.replicas import is_audited, replicas_of
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.schema.manifest.types import Manifest
from offchain.schema.manifest.values import format_amount
from offchain.services.confidential_hosts import (
    ConfidentialHosts,
    find_confidential_hosts,
    no_confidential_host,
    with_hosts,
)
from offchain.services.sealed_delivery import attest_host, require_test_network
from offchain.services.submit_checks import check_hosts, check_terms, read_conditions, surcharge_text, task_of_spec

_ANYWAY: Final = " With --anyway it is sent, and waits for a suitable host."


@dataclass(frozen=True, slots=True)
class PreparedTask:
    """A task that can be submitted.

    `forecast`: how many pods could start now. `confidential`: the hosts that were asked; None if any may run it.
    """

    spec: TaskSpec
    text: bytes
    forecast: PlacementForecast
    confidential: ConfidentialHosts | None


async def prepare_task(
    chain: ChainPort,
    manifest: Manifest,
    text: bytes,
    signer: Signer,
    *,
    anyway: bool = False,
    notify: Callable[[str], None] = progress,
    count: int = 1,
    test_root: bytes | None = None,
) -> PreparedTask:
    """Check a task, and name the hosts that prove what its manifest asks for as the only ones that may run it.

    `anyway`: a task that no host could ever run is prepared, too. `count`: how many such jobs are submitted together.
    `test_root`: for attestation on test networks. Raises CliError if no host could ever run it, or coins are missing.
    """
    spec = to_task_spec(manifest, manifest_digest(text))
    found = await read_conditions(chain, signer.address)
    check_terms(spec, len(text), found, count)
    surcharge_ppm, each = found.params.audit_surcharge_ppm, deposit(spec.max_rate_per_hour, spec.max_duration_ms)
    if is_audited(spec):
        notify(
            f"note: its price includes {surcharge_text(surcharge_ppm)}. While an audit runs, another "
            f"{format_amount(each)} at most are deposited: without them the job is not audited."
        )
    if replicas_of(spec):
        notify(
            f"note: {spec.pods_max} replicas are deposited for, at most {format_amount(each)} each. If their results "
            "differ, another one is placed: have as much free then, or the task fails unpaid."
        )
    try:
        check_hosts(spec, found.hosts, signer.address, surcharge_ppm)
    except CheckFailed as error:
        if not anyway:
            raise CliError(error.message, error.hint + _ANYWAY, code=error.code, facts=error.facts) from None
        notify(f"note: {error.message}")
    confidential = None
    if manifest.confidential is not None:
        await require_test_network(chain, test_root)
        attest = partial(_attest, chain, signer, manifest.confidential, test_root)
        confidential = await find_confidential_hosts(spec, signer.address, found.hosts, attest, surcharge_ppm)
        if confidential.proven:
            notify(f"Confidential: {confidential.text}. No other host may run it.")
            spec = with_hosts(spec, confidential.proven)
            check_hosts(spec, found.hosts, signer.address, surcharge_ppm)
        elif anyway:
            refusal = no_confidential_host(confidential).message
            notify(f"note: {refusal} Any host may get the task, and nothing is delivered to one.")
        else:
            raise no_confidential_host(confidential)
    waiting = task_of_spec(spec, signer.address, audit_surcharge_ppm=surcharge_ppm)
    forecast = forecast_placement({host.id: host for host in found.hosts}, waiting)
    return PreparedTask(spec, text, forecast, confidential)


async def _attest(
    chain: ChainPort, signer: Signer, policy: AttestationPolicy, test_root: bytes | None, host: str
) -> AttestationResult:
    async with open_registered_host(chain, host, signer) as client:
        return await attest_host(chain, client, host, policy, test_root=test_root)
