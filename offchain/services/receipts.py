"""Receipts for tenants: fetched from the host, verified, compared with the chain, and countersigned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import verify
from offchain.adapters.transport.port import HostMisbehaved
from offchain.core.receipt_check import LeaseFacts, problems
from offchain.errors import BadKey
from offchain.ports import Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.receipt import SignedReceipt


class ReceiptSource(Protocol):
    """A connection to a host, as far as receipts are concerned."""

    async def receipt(self, lease: int) -> bytes:
        """Return the newest receipt of this lease as the host wrote and signed it."""
        ...

    async def countersign(self, lease: int, digest: bytes, signature: bytes) -> None:
        """Send the tenant's signature of the receipt with this SHA-256."""
        ...


@dataclass(frozen=True, slots=True)
class CheckedReceipt:
    """A receipt that its host signed. `problems`: where it differs from the chain; if empty, it may be signed.

    `agreed_by`: the account that has signed it for the tenant. Only its owner knows whether it may, if it is not the
    tenant's own.
    """

    signed: SignedReceipt
    problems: tuple[str, ...]
    agreed_by: str | None


async def fetch(host: ReceiptSource, lease: LeaseOfTask) -> SignedReceipt:
    """Return the newest receipt of a lease. Raises :class:`HostMisbehaved` if its host did not sign it."""
    data = await host.receipt(lease.id)
    try:
        signed = SignedReceipt.decode(data)
    except WireError as error:
        raise HostMisbehaved(f"the host's receipt is malformed: {error}") from None
    if not is_signed_by(lease.record.host, signed):
        raise HostMisbehaved("the receipt is not signed with the host's key. It proves nothing; do not pay by it")
    if signed.receipt.lease != lease.id:
        raise HostMisbehaved(f"the host sent a receipt of lease {signed.receipt.lease}, not of {lease.id}")
    return signed


async def fetch_checked(host: ReceiptSource, chain: GantryChain, lease: LeaseOfTask) -> CheckedReceipt:
    """Return the newest receipt of a lease, compared with the chain. Raises as :func:`fetch`."""
    signed = await fetch(host, lease)
    return await compared(signed, chain, lease, (await chain.port.finalized_head()).hash)


def is_signed_by(host: str, signed: SignedReceipt) -> bool:
    """Whether a receipt is signed with the key of this host."""
    return verify(ss58.decode(host), "ed25519", signed.receipt.host_payload, signed.signature)


async def compared(signed: SignedReceipt, chain: GantryChain, lease: LeaseOfTask, at: bytes) -> CheckedReceipt:
    """Return a receipt, compared with the chain in the block with this hash. Its host's signature is not verified."""
    now = await chain.lease(lease.id, at) or lease
    facts = LeaseFacts(
        genesis_hash=await chain.port.genesis_hash(),
        task=lease.task.id,
        lease=lease.id,
        tenant=lease.task.record.tenant,
        spec=lease.task.spec,
        record=now.record,
        host_downtime_ms=_downtime_ms(await chain.host(lease.record.host, at)),
        now_ms=await chain.now_ms(at),
    )
    return CheckedReceipt(signed, problems(signed.receipt, facts), _agreed_by(signed))


async def countersign(host: ReceiptSource, checked: CheckedReceipt, tenant: Signer) -> None:
    """Sign a receipt, and send the signature to the host. Raises ValueError if the receipt differs from the chain."""
    if checked.problems:
        raise ValueError("; ".join(checked.problems))
    receipt = checked.signed.receipt
    await host.countersign(receipt.lease, receipt.digest, tenant.sign(receipt.tenant_payload))


def _agreed_by(signed: SignedReceipt) -> str | None:
    given = signed.countersignature
    if given is None:
        return None
    try:
        genuine = verify(ss58.decode(given.account), given.crypto, signed.receipt.tenant_payload, given.signature)
    except BadKey:
        return None
    return given.account if genuine else None


def _downtime_ms(host: gen.HostRecord | None) -> int:
    return 0 if host is None else host.downtime_ms
