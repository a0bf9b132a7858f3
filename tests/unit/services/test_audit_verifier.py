"""Facts and bills from proof files, and states that this program refuses to read."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from offchain.adapters.keys import ss58
from offchain.core.bill_check import BillBasis, check_bill
from offchain.core.conservation import Reason
from offchain.core.proofs.subject import ProofSubject, SubjectKind, leases_subject, storage_subject, task_subject
from offchain.errors import BadValue, ProofRefused
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id, task_key
from offchain.services.audit_facts import subject_of_storage
from offchain.services.audit_verifier import verify_file
from tests.support.chain_records import GTY, escrow, lease
from tests.support.proof_samples import (
    HOST,
    NOW,
    PAID,
    PROVIDER,
    RAN_MS,
    RUNTIME,
    TASK,
    TENANT,
    SampleChain,
    encoded_state,
    task_state,
)

LEASE = lease_id(TASK, 0, 0)
MIN_CHARGE_MS = 60_000


def keys_of(*items):
    common = (
        ("System", "BlockHash", 0),
        ("System", "LastRuntimeUpgrade"),
        ("MultiBlockMigrations", "Cursor"),
        ("Timestamp", "Now"),
        ("Tasks", "NextTaskId"),
    )
    return [RUNTIME.storage_key(RUNTIME.entry(pallet, item), params) for pallet, item, *params in (*common, *items)]


def account_keys(address):
    return (
        ("System", "Account", address),
        ("Balances", "Holds", address),
        ("Tasks", "Schedulers", address),
        ("Verification", "Verifiers", address),
    )


def verified(sample, proof):
    return asyncio.run(verify_file(proof.encode(), sample.genesis.hash))


def refusal(sample, proof):
    with pytest.raises(ProofRefused) as refused:
        verified(sample, proof)
    return f"{refused.value.where}: {refused.value.reason}"


def with_state(**changes):
    state = task_state()
    for name, value in changes.items():
        pallet, item = name.split("__")
        state[pallet, item] = value
    return SampleChain(encoded_state(state))


def test_the_bill_of_a_settled_task_follows_from_its_records():
    sample = SampleChain()
    facts = verified(sample, sample.proof()).facts
    (task,) = facts.tasks
    assert (task.id, task.record.tenant, task.record.state.tag, facts.now_ms) == (TASK, TENANT, "Settled", NOW)
    (bill,) = facts.bills
    assert (bill.lease, bill.basis, bill.agrees) == (LEASE, BillBasis.TIME, True)
    assert (bill.billed_ms, bill.owed, bill.paid) == (RAN_MS, PAID, PAID)
    assert (bill.fee, bill.refunded) == (PAID * 2 // 100, GTY - PAID)
    assert facts.account is not None
    assert facts.account.balance.free == 100 * GTY


def test_a_changed_amount_has_another_state_root():
    honest, forged = SampleChain(), SampleChain(encoded_state(task_state(paid=PAID - 1)))
    changed = replace(honest.proof(), nodes=forged.proof().nodes)
    assert "The storage proof: the trie node" in refusal(honest, changed)
    assert "The headers after the block" in refusal(honest, replace(changed, header=forged.header))


def test_a_task_that_is_not_in_the_state_is_proven_absent():
    sample = SampleChain()
    for number in (3, 99):
        subject = task_subject(number)
        facts = verified(sample, sample.proof(sample.task_keys(number), subject)).facts
        assert (facts.tasks, facts.bills, facts.next_task) == ((), (), TASK + 1)


def test_nodes_for_another_task_do_not_prove_that_one_is_absent():
    sample = SampleChain()
    assert "is missing" in refusal(sample, sample.proof(sample.task_keys(99)))


def test_nodes_that_no_fact_needs_are_refused():
    sample = with_state(Billing__TotalEscrowed=5)
    assert "prove nothing" in refusal(
        sample, replace(sample.proof(), nodes=tuple(sorted(sample.trie.nodes_for(sample.state))))
    )


def test_leases_are_proven_with_their_tasks_and_hosts():
    sample = SampleChain()
    other = lease_id(99, 1, 2)
    subject = leases_subject({LEASE, other, LEASE + 1})
    keys = [key for key in sample.task_keys() if key not in keys_of(*account_keys(TENANT))[5:]]
    keys += [key for key in sample.task_keys(99) if key not in keys]
    facts = verified(sample, sample.proof(keys, subject)).facts
    assert [bill.lease for bill in facts.bills] == [LEASE]
    assert facts.missing_leases == (LEASE + 1, other)
    assert facts.hosts[HOST].provider == PROVIDER


def test_an_account_is_proven_with_what_its_coins_are_held_for():
    state = task_state()
    state["Balances", "Holds", TENANT] = [{"id": {"Billing": "Escrow"}, "amount": 5}]
    state["Tasks", "Schedulers", TENANT] = 70
    sample = SampleChain(encoded_state(state))
    subject = ProofSubject(SubjectKind.ACCOUNT, key=ss58.decode(TENANT))
    account = verified(sample, sample.proof(keys_of(*account_keys(TENANT)), subject)).facts.account
    assert account is not None
    assert (account.address, account.balance.free, account.scheduler_bond) == (TENANT, 100 * GTY, 70)
    assert [(hold.reason, hold.amount) for hold in account.holds] == [(Reason.ESCROW, 5)]


def test_a_host_is_proven_with_its_leases_and_the_coins_of_its_provider():
    state = task_state()
    state["Leases", "ByHost", HOST] = [LEASE]
    sample = SampleChain(encoded_state(state))
    subject = ProofSubject(SubjectKind.HOST, key=ss58.decode(HOST))
    of_host = (("Hosts", "Hosts", HOST), ("Reputation", "HostScores", HOST), ("Leases", "ByHost", HOST))
    facts = verified(sample, sample.proof(keys_of(*of_host, *account_keys(PROVIDER)), subject)).facts
    assert facts.host is not None
    assert facts.host.record is not None
    assert (facts.host.record.provider, facts.host.leases, facts.host.score) == (PROVIDER, (LEASE,), None)
    assert facts.account is not None
    assert facts.account.balance.free == 0


def test_a_host_that_is_not_registered_is_proven_absent():
    sample = SampleChain()
    address = ss58.encode(bytes(32))
    subject = ProofSubject(SubjectKind.HOST, key=bytes(32))
    of_host = (("Hosts", "Hosts", address), ("Reputation", "HostScores", address), ("Leases", "ByHost", address))
    facts = verified(sample, sample.proof(keys_of(*of_host), subject)).facts
    assert facts.host is not None
    assert facts.host.record is None


def storage_proof(sample, pallet, item, *keys):
    """The proof of values of a storage item, made as the prover makes it."""
    subject = subject_of_storage(RUNTIME, pallet, item, keys)
    return sample.proof(keys_of(*((pallet, item, *key) for key in keys)), subject)


def test_any_stored_values_are_proven_as_bytes_and_decoded():
    sample = SampleChain()
    found = verified(sample, storage_proof(sample, "System", "Account", (TENANT,), (PROVIDER,))).facts
    assert (found.tasks, found.account, found.now_ms) == ((), None, NOW)
    stored = {value.keys: value for value in found.storage}
    tenant, provider = stored[TENANT,], stored[PROVIDER,]
    assert tenant.raw == sample.state[tenant.storage_key]
    assert tenant.value["data"]["free"] == 100 * GTY
    # Nothing is stored, and the item has a default.
    assert provider.raw is None
    assert provider.value["data"]["free"] == 0


def test_an_item_without_keys_is_proven_and_one_without_default_is_proven_absent():
    sample = SampleChain()
    (next_task,) = verified(sample, storage_proof(sample, "Tasks", "NextTaskId", ())).facts.storage
    assert (next_task.keys, next_task.value) == ((), TASK + 1)
    (absent,) = verified(sample, storage_proof(sample, "Tasks", "Tasks", (task_key(99),))).facts.storage
    assert (absent.raw, absent.value) == (None, None)


def test_nodes_for_another_key_prove_no_value():
    sample = SampleChain()
    honest = storage_proof(sample, "Tasks", "Tasks", (task_key(TASK),))
    other = subject_of_storage(RUNTIME, "Tasks", "Tasks", [(task_key(99),)])
    # The branch above proves that task 99 is absent; the nodes for task 7 prove nothing about it.
    assert "The storage proof" in refusal(sample, replace(honest, subject=other))
    account = subject_of_storage(RUNTIME, "System", "Account", [(TENANT,)])
    assert "The storage proof" in refusal(sample, replace(honest, subject=account))


@pytest.mark.parametrize(
    ("pallet", "item", "key", "named"),
    [
        ("Nothing", "Here", b"", "no pallet Nothing"),
        ("Tasks", "Nowhere", b"", "no storage item Nowhere"),
        ("System", "Account", bytes(31), "is not the encoding of the keys of System.Account"),
        ("System", "Account", bytes(33), "is not the encoding of the keys of System.Account"),
        ("Tasks", "NextTaskId", b"\0", "is not the encoding of the keys of Tasks.NextTaskId"),
    ],
)
def test_a_subject_that_the_runtime_does_not_have_is_refused(pallet, item, key, named):
    sample = SampleChain()
    found = refusal(sample, sample.proof(keys_of(), storage_subject(pallet, item, [key])))
    assert found.startswith("The subject: ")
    assert named in found


def test_keys_of_a_subject_have_the_types_of_the_item():
    with pytest.raises(BadValue, match="has 1 keys, 2 were given"):
        subject_of_storage(RUNTIME, "System", "Account", [(TENANT, TENANT)])
    with pytest.raises(BadValue, match="33 keys"):
        subject_of_storage(RUNTIME, "System", "BlockHash", [(number,) for number in range(33)])


def test_the_state_of_another_chain_with_the_same_authorities_is_refused():
    other = SampleChain(named_genesis=bytes(32))
    assert other.genesis.hash == SampleChain().genesis.hash
    assert f"The chain: the state of the block names the genesis hash 0x{bytes(32).hex()}" in refusal(
        other, other.proof()
    )


@pytest.mark.parametrize(
    ("upgraded", "named"),
    [
        ({"spec_version": gen.SPEC_VERSION + 1, "spec_name": gen.SPEC_NAME}, f"gantry {gen.SPEC_VERSION + 1}"),
        ({"spec_version": gen.SPEC_VERSION, "spec_name": "other"}, "other "),
    ],
)
def test_the_state_of_another_runtime_is_refused(upgraded, named):
    sample = with_state(System__LastRuntimeUpgrade=upgraded)
    assert f"The runtime: the state of the block has the version {named}" in refusal(sample, sample.proof())


def test_a_state_without_a_runtime_version_is_refused():
    state = task_state()
    del state["System", "LastRuntimeUpgrade"]
    sample = SampleChain(encoded_state(state))
    assert "has the version none" in refusal(sample, sample.proof())


def test_a_state_that_is_being_migrated_is_refused():
    sample = with_state(MultiBlockMigrations__Cursor="Stuck")
    assert "is being migrated" in refusal(sample, sample.proof())


def test_other_metadata_is_refused():
    sample = SampleChain()
    proof = sample.proof()
    for metadata in (b"", proof.metadata[:-1], proof.metadata + b"\0"):
        assert refusal(sample, replace(proof, metadata=metadata)).startswith("The metadata: its SHA-256 is")


def test_a_value_that_is_not_of_its_type_is_refused():
    sample = SampleChain()
    key = RUNTIME.storage_key(RUNTIME.entry("Timestamp", "Now"))
    broken = SampleChain({**sample.state, key: b"\1"})
    assert "a value cannot be read" in refusal(broken, broken.proof())


# --- bills --------------------------------------------------------------------------------------------------------


def checked(**changes):
    record = lease(HOST, **{"state": gen.LeaseStateEnded(gen.EndReasonCompleted()), "created_at": 1_000, **changes})
    return check_bill(LEASE, record, gen.TaskKind.JOB, 0, 10_000_000, MIN_CHARGE_MS)


def test_a_lease_that_runs_owes_up_to_the_block():
    bill = checked(state=gen.LeaseStateActive(), started_at=6_400_000, escrow=escrow(since=6_400_000))
    assert (bill.basis, bill.billed_ms, bill.owed, bill.refunded) == (BillBasis.RUNNING, 3_600_000, GTY, 0)
    assert bill.agrees


def test_a_lease_that_never_started_owes_nothing():
    bill = checked(ended_at=5_000, escrow=escrow(open=False))
    assert (bill.basis, bill.owed, bill.refunded, bill.agrees) == (BillBasis.NOTHING, 0, GTY, True)


def test_an_end_before_the_start_costs_the_placement_charge():
    charge = GTY * MIN_CHARGE_MS // 3_600_000
    bill = checked(ended_at=5_000, escrow=escrow(open=False, accrued=charge, paid=charge, fee=charge))
    assert (bill.basis, bill.owed, bill.fee_by_rule, bill.agrees) == (BillBasis.PLACEMENT, charge, charge, True)
    other = escrow(open=False, accrued=charge + 1, paid=charge + 1, fee=charge)
    assert (checked(ended_at=5_000, escrow=other).basis, checked(ended_at=5_000, escrow=other).agrees) == (
        BillBasis.RECORD,
        None,
    )


def test_a_fee_above_the_rate_is_wrong():
    ended = {"started_at": 0, "ended_at": 3_600_000}
    right = checked(**ended, escrow=escrow(open=False, accrued=GTY, paid=GTY, fee=GTY // 50))
    assert (right.basis, right.agrees) == (BillBasis.TIME, True)
    assert checked(**ended, escrow=escrow(open=False, accrued=GTY, paid=GTY, fee=GTY // 50 + 1)).agrees is False


def test_an_amount_that_no_time_explains_is_marked():
    bill = checked(started_at=0, ended_at=1_800_000, escrow=escrow(open=False, accrued=GTY, paid=GTY))
    assert (bill.basis, bill.billed_ms, bill.agrees) == (BillBasis.RECORD, None, None)
