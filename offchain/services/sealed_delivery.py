"""Attestation of hosts over their connection, and delivery of secrets only to hosts that meet a task's policy."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys import ss58
from offchain.adapters.transport.port import HostRefused
from offchain.core.attestation.verification import verify_attestation
from offchain.errors import CheckFailed
from offchain.ports import ChainPort
from offchain.schema.attestation.document import NONCE_BYTES
from offchain.schema.attestation.policy import AttestationPolicy, AttestationResult
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.protocol.messages import Code
from offchain.services.record_views import LeaseView

if TYPE_CHECKING:
    from offchain.adapters.transport.host_client import HostClient

NOT_ATTESTED: Final = "not_attested"
"""Code of the error if a host does not prove what it has to."""


async def require_test_network(chain: ChainPort, test_root: bytes | None) -> None:
    """Raise CheckFailed if a test root is given for a network that takes real devices only: a production network."""
    if test_root is not None and not (await GantryChain(chain).params("Hosts")).allow_simulated:
        raise CheckFailed(
            "A test root was given, and this network does not allow simulated devices: it is a production network.",
            "Leave out the test root: only the roots of AMD and Intel prove anything here.",
            code="test_root",
        )


async def attest_host(
    chain: ChainPort,
    client: HostClient,
    host: str,
    policy: AttestationPolicy,
    *,
    lease: int | None = None,
    test_root: bytes | None = None,
) -> AttestationResult:
    """Return what a host's document for a new nonce proves, at the time of the chain.

    `host`: the address whose key `client` dials; `lease`: one of the signer's on it; `test_root`: of test networks.
    Raises CheckFailed if the host makes no documents, and errors of the connection.
    """
    await require_test_network(chain, test_root)
    nonce = secrets.token_bytes(NONCE_BYTES)
    try:
        data = await client.attestation(nonce, lease)
    except HostRefused as no:
        # Hosts of earlier releases do not know the request.
        if no.refusal.code not in (Code.UNSUPPORTED, Code.BAD_REQUEST):
            raise
        raise CheckFailed(
            f"host {host} does not prove that it is confidential: {no.refusal.message}",
            "Use a host whose provider says that it is: name it in placement.hosts.",
            code=NOT_ATTESTED,
        ) from None
    now_s = await GantryChain(chain).now_ms() // 1000
    return verify_attestation(data, ss58.decode(host), nonce, policy, now_s, test_root=test_root)


async def policy_of_task(chain: ChainPort, task: int) -> AttestationPolicy | None:
    """Return what the manifest of a live task asks of hosts before they get secrets. Raises CheckFailed."""
    data = await GantryChain(chain).manifest(task)
    if data is None:
        raise CheckFailed(
            f"the chain has no manifest of task {task}, which says to which hosts secrets may be sent.",
            f"gantry task show {task} shows its state.",
            code="no_manifest",
        )
    return parse_manifest(data).confidential


async def deliver_sealed(
    chain: ChainPort,
    client: HostClient,
    lease: LeaseView,
    policy: AttestationPolicy | None,
    name: str,
    data: bytes,
    *,
    test_root: bytes | None = None,
) -> AttestationResult | None:
    """Seal a file for the host of a lease, and send it; with a policy, only if the host meets it.

    Then the file is sealed for the key in the host's attestation document, which exists in its memory only. Raises
    CheckFailed with the check that failed; then nothing was sent.
    """
    result, seal_key = None, None
    if policy is not None:
        result = await attest_host(chain, client, lease.host, policy, lease=lease.id, test_root=test_root)
        failure = result.failure
        if failure is not None:
            raise CheckFailed(
                f"host {lease.host} does not prove what the manifest asks for ({failure.check}): {failure.text}. "
                f"{name} was not sent.",
                failure.hint,
                code=NOT_ATTESTED,
                facts={"attestation": result.plain()},
            )
        seal_key = result.seal_key
    await client.deliver(lease.id, name, data, seal_key=seal_key)
    return result
