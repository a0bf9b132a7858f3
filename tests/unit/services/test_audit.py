from __future__ import annotations

from toy_network import HOST, PROVIDER, TENANT, WORKER, Toy

from offchain.core.conservation import Reason
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import task_key
from offchain.services.audit import audit_chain
from tests.support.chain_records import escrow, lease, spec_record, task_spec


async def books() -> Toy:
    toy = Toy()
    shared = spec_record(TENANT.address, task_spec(), count=2, manifest_deposit=3, task_deposit=1)
    toy.host(bond=30)
    toy.put("Tasks", "Schedulers", WORKER.address, value=7)
    toy.tasks.submit(TENANT.address, task_spec(), count=2)
    toy.put("Tasks", "Specs", task_key(0), value=shared.encode())
    kept = gen.StorageDeposit(held=6, since=0)
    open_, closed = escrow(deposit=37, paid=3), escrow(deposit=40, paid=3, open=False, storage=kept)
    toy.tasks.change(0, state=gen.TaskStateAssigned(), leases=(lease(HOST, escrow=open_),))
    toy.tasks.change(1, state=gen.TaskStateSettled(), leases=(lease(HOST, escrow=closed),))
    toy.put("Billing", "TotalEscrowed", value=40)
    toy.put("Balances", "TotalIssuance", value=1_000)
    for account, free, held in ((TENANT, 455, 45), (PROVIDER, 270, 30), (WORKER, 176, 24)):
        toy.put("System", "Account", account.address, value={"data": {"free": free, "reserved": held, "frozen": 0}})
    tenant_holds = [
        {"id": {"Billing": "Escrow"}, "amount": 40},
        {"id": {"Tasks": "Deposit"}, "amount": 5},
    ]
    toy.put("Balances", "Holds", TENANT.address, value=tenant_holds)
    toy.put("Balances", "Holds", PROVIDER.address, value=[{"id": {"Hosts": "Bond"}, "amount": 30}])
    worker_holds = [
        {"id": {"Tasks": "SchedulerBond"}, "amount": 7},
        {"id": {"Verification": "VerifierBond"}, "amount": 9},
        {"id": {"Verification": "ChallengeFee"}, "amount": 3},
        {"id": {"Verification": "DisputeStake"}, "amount": 5},
    ]
    toy.put("Balances", "Holds", WORKER.address, value=worker_holds)
    judge(toy)
    await toy.block()
    return toy


def judge(toy: Toy) -> None:
    """The worker is a verifier, has challenged a host, and disputes a task."""
    device = {"vendor": "Nvidia", "model": b"", "vram_mib": 1, "simulated": False}
    ballot = {"round": 0, "asked_in": 0, "seed": None, "seats": [], "former": []}
    toy.put("Verification", "Verifiers", WORKER.address, value={"bond": 9, "status": "Active", "duties": 0})
    challenge = {
        "host": HOST,
        "provider": PROVIDER.address,
        "device": 0,
        "claim": device,
        "opener": WORKER.address,
        "fee": 3,
        "phase": "Waiting",
        "until": 0,
        "opened_at": 0,
        "answer": None,
        "role": "First",
        "ballot": ballot,
    }
    toy.put("Verification", "Challenges", 4, value=challenge)
    dispute = {
        "opener": WORKER.address,
        "tenant": TENANT.address,
        "providers": [],
        "opened_at": 0,
        "phase": "Hearing",
        "until": 0,
        "level": 0,
        "retried": False,
        "verdict": None,
        "accused": [],
        "stakes": [{"who": WORKER.address, "amount": 5, "fee_paid": 0, "side": "Yes"}],
        "evidence": [],
        "ballot": ballot,
    }
    toy.put("Verification", "Disputes", 1, value=dispute)


async def test_balanced_holds_and_deposits_are_sound():
    report = await audit_chain((await books()).chain)
    assert report.sound, report.differences
    assert report.held == {
        Reason.ESCROW: 40,
        Reason.HOST_BOND: 30,
        Reason.SCHEDULER_BOND: 7,
        Reason.TASK_DEPOSIT: 5,
        Reason.VERIFIER_BOND: 9,
        Reason.CHALLENGE_FEE: 3,
        Reason.DISPUTE_STAKE: 5,
    }


async def test_a_hold_without_a_deposit_is_found():
    toy = await books()
    toy.host(bond=29)
    await toy.block()
    (difference,) = (await audit_chain(toy.chain)).differences
    assert (difference.expected, difference.found) == (29, 30)
    assert PROVIDER.address in difference.what
