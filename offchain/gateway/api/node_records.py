"""Resources that are read from a node: terms of tasks, validators, reputation, and the arguments of calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from offchain.adapters.chain.json_calls import json_value
from offchain.adapters.chain.typed import GantryChain
from offchain.errors import OurError
from offchain.gateway.api import node_models as made
from offchain.gateway.api.answers import NotFound
from offchain.gateway.api.chain_access import ChainAccess, SigningChain, final_block
from offchain.gateway.api.history import exact
from offchain.gateway.api.models import ResourceAnswer
from offchain.gateway.api.parameters import BadParameter
from offchain.gateway.api.receipt_models import ReceiptBody, ReceiptCheckResource
from offchain.gateway.api.reputation_models import ReputationOf, ReputationResource
from offchain.gateway.api.reputation_records import reputation_of
from offchain.schema.chain_types._generated_chain import BillingUnit, storage
from offchain.schema.protocol.fields import WireError, canonical_json
from offchain.schema.protocol.receipt import SignedReceipt
from offchain.services.receipts import compared, is_signed_by

MOST_EXTRINSIC_BYTES: Final = 128 * 1024
"""Bytes of an extrinsic whose arguments are decoded: more than the largest manifest needs."""
_UNITS: Final[Mapping[BillingUnit, Any]] = {
    BillingUnit.SECOND: "second",
    BillingUnit.HOUR: "hour",
    BillingUnit.DAY: "day",
}


class ExtrinsicTooLarge(OurError):  # noqa: N818
    """An extrinsic that is not decoded for strangers."""

    code = "too_large"


class NodeRecordsApi:
    """Reads records and blocks of a node."""

    def __init__(self, access: ChainAccess[SigningChain]) -> None:
        self._access = access

    async def terms(self, asked: made.TermsOfTask) -> ResourceAnswer[made.TaskTermsResource]:
        """Return the billing terms of a task. Raises NotFound if the chain does not have its record any more."""
        async with self._access.use() as port:
            head, as_of = await final_block(port)
            chain = GantryChain(port)
            task = await chain.task(asked.task, head.hash)
            if task is None:
                raise NotFound(
                    f"The chain has no record of task {asked.task} in block {head.number}.",
                    "Records of final tasks are pruned; the index has what was paid.",
                )
            hosts, params = await asyncio.gather(
                chain.hosts_named({lease.record.host for lease in task.leases}, head.hash),
                chain.params("Tasks", head.hash),
            )
        leases = []
        for lease in task.leases:
            escrow, host = lease.record.escrow, hosts.get(lease.record.host)
            leases.append(
                made.LeaseTermsResource(
                    lease=lease.id,
                    accrued=escrow.accrued,
                    since_ms=escrow.since,
                    until_ms=escrow.until,
                    reclaim_ms=lease.record.reclaim_at,
                    downtime_ms=0 if host is None else max(0, host.downtime_ms - escrow.downtime_mark),
                )
            )
        data = made.TaskTermsResource(
            task=asked.task, unit=_UNITS[task.spec.unit], min_charge_ms=params.min_charge_ms, leases=leases
        )
        return ResourceAnswer[made.TaskTermsResource](as_of=as_of, data=data)

    async def validators(self) -> ResourceAnswer[made.ValidatorList]:
        """Return the validators of the session at the last final block."""
        async with self._access.use() as chain:
            head, as_of = await final_block(chain)
            names, disabled, session = await asyncio.gather(
                chain.query("Session", "Validators", at=head.hash),
                chain.query("Session", "DisabledValidators", at=head.hash),
                chain.query("Session", "CurrentIndex", at=head.hash),
            )
        # Newer runtimes give a severity with each index.
        off = {one[0] if isinstance(one, (list, tuple)) else one for one in disabled or ()}
        rows = [made.ValidatorResource(account=name, disabled=place in off) for place, name in enumerate(names or ())]
        data = made.ValidatorList(session=session or 0, validators=rows)
        return ResourceAnswer[made.ValidatorList](as_of=as_of, data=data)

    async def reputation(self, asked: ReputationOf) -> ResourceAnswer[ReputationResource]:
        """Return the reputation of an account at the last final block. Raises NotFound without any evidence."""
        async with self._access.use() as port:
            head, as_of = await final_block(port)
            chain, account = GantryChain(port), asked.account
            host = await chain.read(storage.reputation_host_scores, account, at=head.hash)
            tenant = await chain.read(storage.reputation_tenant_scores, account, at=head.hash)
            faults = await chain.read(storage.reputation_provider_faults, account, at=head.hash)
        if host is None and tenant is None and faults is None:
            raise NotFound(
                f"The chain has no evidence about {account} in block {head.number}.",
                "Hosts and tenants have some after their first lease, providers after a fault.",
            )
        data = reputation_of(account, host, tenant, faults)
        return ResourceAnswer[ReputationResource](as_of=as_of, data=data)

    async def receipt(self, asked: ReceiptBody) -> ResourceAnswer[ReceiptCheckResource]:
        """Compare a receipt with its lease at the last final block. Raises BadParameter, and NotFound."""
        try:
            signed = SignedReceipt.decode(canonical_json(asked.model_dump()))
        except (WireError, ValueError) as error:
            raise BadParameter("receipt", f"{error}.", "Give it as gantry task usage --json writes it.") from None
        receipt = signed.receipt
        async with self._access.use() as port:
            head, as_of = await final_block(port)
            chain = GantryChain(port)
            lease = await chain.lease(receipt.lease, head.hash)
            if lease is None:
                raise NotFound(
                    f"The chain has no record of lease {receipt.lease} in block {head.number}.",
                    "Only the last lease of each pod is kept, until its task is pruned.",
                )
            checked = await compared(signed, chain, lease, head.hash)
        data = ReceiptCheckResource(
            lease=lease.id,
            task=lease.task.id,
            host=lease.record.host,
            digest=receipt.digest.hex(),
            seq=receipt.seq,
            until_ms=receipt.until_ms,
            final=receipt.final,
            signed_by_host=is_signed_by(lease.record.host, signed),
            agreed_by=checked.agreed_by,
            problems=list(checked.problems),
        )
        return ResourceAnswer[ReceiptCheckResource](as_of=as_of, data=data)

    async def call(self, asked: made.CallOfExtrinsic) -> ResourceAnswer[made.ExtrinsicCallResource]:
        """Return the call of an extrinsic. Raises NotFound, and ExtrinsicTooLarge."""
        async with self._access.use() as chain:
            _, as_of = await final_block(chain)
            try:
                found = await chain.block_extrinsic(asked.block, asked.index, MOST_EXTRINSIC_BYTES)
            except LookupError as missing:
                raise NotFound(f"The node has no such extrinsic: {missing.args[0]}.", "Check the numbers.") from None
        if found.call is None:
            raise ExtrinsicTooLarge(
                f"Extrinsic {asked.index} of block {asked.block} has {found.size} bytes; the API decodes at most "
                f"{MOST_EXTRINSIC_BYTES}.",
                "Read the block from a node.",
            )
        data = made.ExtrinsicCallResource(
            block=asked.block,
            index=asked.index,
            hash=f"0x{found.hash.hex()}",
            call=f"{found.call.pallet}.{found.call.function}",
            signer=found.signer,
            args=exact(json_value(found.call.args)),
            runtime_known=found.runtime_known,
        )
        return ResourceAnswer[made.ExtrinsicCallResource](as_of=as_of, data=data)
