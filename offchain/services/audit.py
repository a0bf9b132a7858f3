"""Read every balance of the chain at one finalized block, and audit them."""

from __future__ import annotations

from typing import Any

from offchain.adapters.chain.typed import GantryChain
from offchain.core.conservation import AuditInput, AuditReport, Balance, ExpectedHold, Hold, Reason, audit
from offchain.ports import BlockRef, ChainPort
from offchain.schema.chain_types._generated_chain import storage
from offchain.schema.chain_types.ids import key_task

_REASONS = {
    ("Billing", "Escrow"): Reason.ESCROW,
    ("Hosts", "Bond"): Reason.HOST_BOND,
    ("Tasks", "SchedulerBond"): Reason.SCHEDULER_BOND,
    ("Tasks", "Deposit"): Reason.TASK_DEPOSIT,
    ("Verification", "VerifierBond"): Reason.VERIFIER_BOND,
    ("Verification", "ChallengeFee"): Reason.CHALLENGE_FEE,
    ("Verification", "DisputeStake"): Reason.DISPUTE_STAKE,
}


async def audit_chain(chain: ChainPort) -> AuditReport:
    """Audit the last finalized block."""
    return audit(await read_audit_input(chain, await chain.finalized_head()))


async def read_audit_input(chain: ChainPort, at: BlockRef) -> AuditInput:
    """Return every balance, hold, escrow, bond and deposit at one block."""
    accounts = await chain.query_map("System", "Account", at=at.hash)
    held = await chain.query_map("Balances", "Holds", at=at.hash)
    return AuditInput(
        block=at.number,
        total_issuance=int(await chain.query("Balances", "TotalIssuance", at=at.hash) or 0),
        total_escrowed=await GantryChain(chain).total_escrowed(at.hash),
        balances=[Balance(account, info["data"]["free"], info["data"]["reserved"]) for account, info in accounts],
        holds=[Hold(account, hold_reason(hold["id"]), hold["amount"]) for account, holds in held for hold in holds],
        expected_holds=await _expected_holds(GantryChain(chain), at.hash),
    )


async def _expected_holds(chain: GantryChain, at: bytes) -> list[ExpectedHold]:
    expected_holds: list[ExpectedHold] = []
    for number, task in (await chain.all_tasks(at)).items():
        for lease in task.leases:
            if lease.escrow.open:
                held = lease.escrow.deposit - lease.escrow.paid
                expected_holds.append(
                    ExpectedHold(task.tenant, Reason.ESCROW, held, f"pod {lease.pod} of task {number}")
                )
            if (storage_deposit := lease.escrow.storage) is not None:
                about = f"kept data of pod {lease.pod} of task {number}"
                expected_holds.append(ExpectedHold(task.tenant, Reason.ESCROW, storage_deposit.held, about))
    for key, shared in (await chain.read_map(storage.tasks_specs, at=at)).items():
        # The manifest's deposit is 0 in the record once it is given back; each kept task has one of its own.
        held = shared.manifest_deposit + shared.task_deposit * shared.kept
        expected_holds.append(ExpectedHold(shared.tenant, Reason.TASK_DEPOSIT, held, f"tasks from {key_task(key)} on"))
    for host, record in (await chain.hosts(at)).items():
        expected_holds.append(ExpectedHold(record.provider, Reason.HOST_BOND, record.bond, f"host {host}"))
    for account, bond in (await chain.schedulers(at)).items():
        expected_holds.append(ExpectedHold(account, Reason.SCHEDULER_BOND, bond, f"scheduler {account}"))
    for account, leaving in (await chain.read_map(storage.tasks_leaving_schedulers, at=at)).items():
        expected_holds.append(
            ExpectedHold(account, Reason.SCHEDULER_BOND, leaving.bond, f"scheduler {account}, which leaves")
        )
    expected_holds += await _expected_verification_holds(chain, at)
    return [hold for hold in expected_holds if hold.amount]


async def _expected_verification_holds(chain: GantryChain, at: bytes) -> list[ExpectedHold]:
    expected_holds: list[ExpectedHold] = []
    for account, verifier in (await chain.read_map(storage.verification_verifiers, at=at)).items():
        expected_holds.append(ExpectedHold(account, Reason.VERIFIER_BOND, verifier.bond, f"verifier {account}"))
    for number, challenge in (await chain.read_map(storage.verification_challenges, at=at)).items():
        if challenge.opener is not None:
            expected_holds.append(
                ExpectedHold(challenge.opener, Reason.CHALLENGE_FEE, challenge.fee, f"challenge {number}")
            )
    for task, dispute in (await chain.read_map(storage.verification_disputes, at=at)).items():
        about = f"dispute about task {task}"
        expected_holds += [
            ExpectedHold(stake.who, Reason.DISPUTE_STAKE, stake.amount, about) for stake in dispute.stakes
        ]
    return expected_holds


def hold_reason(identity: Any) -> Reason | None:
    """Return the reason of a hold, which has the plain form `{pallet: reason}`."""
    if not isinstance(identity, dict):
        return None
    return _REASONS.get(next(iter(identity.items())))
