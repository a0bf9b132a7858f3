"""Receipts as a tenant gets them: asked of the host, its signature proven, compared with the chain, signed in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.keys import ss58
from offchain.adapters.keys.signer import verify
from offchain.adapters.transport.port import HostMisbehaved
from offchain.core.receipt import Facts, problems
from offchain.errors import BadKey
from offchain.ports import Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.receipt import SignedReceipt


class ReceiptSource(Protocol):
    """The way to a host, as far as receipts go."""

    async def receipt(self, lease: int) -> bytes:
        """The newest receipt of this lease as the host wrote and signed it."""
        ...

    async def countersign(self, lease: int, digest: bytes, signature: bytes) -> None:
        """Give the tenant's signature under the receipt with this SHA-256."""
        ...


@dataclass(frozen=True, slots=True)
class Checked:
    """A receipt that its host signed. `problems`: in what it does not fit the chain; empty: it may be signed.

    `agreed_by`: who has signed it for the tenant, by a signature that is genuine. Whether that account may, only its
    owner knows where it is not the tenant's own.
    """

    signed: SignedReceipt
    problems: tuple[str, ...]
    agreed_by: str | None


async def fetch(host: ReceiptSource, lease: LeaseOfTask) -> SignedReceipt:
    """The newest receipt of a lease. Raises :class:`HostMisbehaved` where its host did not sign it, and as the way."""
    data = await host.receipt(lease.id)
    try:
        signed = SignedReceipt.decode(data)
    except WireError as error:
        raise HostMisbehaved(f"the host's receipt is malformed: {error}") from None
    if not verify(ss58.decode(lease.record.host), "ed25519", signed.receipt.host_payload, signed.signature):
        raise HostMisbehaved("the receipt is not signed with the host's key. It proves nothing; do not pay by it")
    if signed.receipt.lease != lease.id:
        raise HostMisbehaved(f"the host sent a receipt of lease {signed.receipt.lease}, not of {lease.id}")
    return signed


async def ask(host: ReceiptSource, chain: GantryChain, lease: LeaseOfTask) -> Checked:
    """The newest receipt of a lease, compared with the chain. Raises as :func:`fetch`."""
    signed = await fetch(host, lease)
    at = (await chain.port.finalized_head()).hash
    now = await chain.lease(lease.id, at) or lease
    facts = Facts(
        genesis_hash=await chain.port.genesis_hash(),
        task=lease.task.id,
        lease=lease.id,
        tenant=lease.task.record.tenant,
        spec=lease.task.spec,
        record=now.record,
        host_downtime_ms=_downtime_ms(await chain.host(lease.record.host, at)),
        now_ms=await chain.now_ms(at),
    )
    return Checked(signed, problems(signed.receipt, facts), _agreed_by(signed))


async def countersign(host: ReceiptSource, checked: Checked, tenant: Signer) -> None:
    """Sign a receipt, and have the host keep the signature. ValueError where it does not fit the chain."""
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
