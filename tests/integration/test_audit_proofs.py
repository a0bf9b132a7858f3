"""Proofs that a real node gives: the bill of a settled task, and a chain whose authorities have changed."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from offchain.adapters.chain.proof_chain import ProofChain
from offchain.adapters.chain.typed import AccountBalance, GantryChain
from offchain.core.proofs.proof_file import decode_proof
from offchain.core.proofs.subject import task_subject
from offchain.devnet.paths import ROOT
from offchain.devnet.release import binaries
from offchain.errors import BadReply, BadValue
from offchain.services import audit_prover
from offchain.services.audit_prover import AuthorityHistory, build_proof
from offchain.services.audit_verifier import AuditResult, verify_file
from tests.support.changed_authorities import ACCOUNT, ALICE, CHANGES, EPOCHS, chain_with_changes
from tests.support.development_node import DevelopmentNode
from tests.support.fast_chain import fast
from tests.support.local_network import Done, Net, run
from tests.support.real_chain import Chain


async def verify_without_network(file: Path, genesis: str) -> Done:
    """Run the command in a network namespace of its own, which has no interface that is up."""
    alone = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--net")
    command = (sys.executable, "-m", "offchain.cli", "audit", "verify", file, "--genesis", genesis, "--json")
    return await run(*alone, *command, env={"PYTHONPATH": str(ROOT), "GANTRY_URL": "ws://127.0.0.1:1"})


async def test_the_bill_of_a_settled_task_is_verified_without_a_network(net: Net, settled: int, tmp_path: Path):
    file = tmp_path / "task.proof"
    paid = await net.assert_paid_once(settled)  # waits until the payment is final
    made = await net.check("audit", "prove", "task", str(settled), "-o", file, "--json")
    genesis = f"0x{net.genesis.hex()}"
    done = await verify_without_network(file, genesis)
    assert done.code == 0, done.said
    found = done.json
    assert (found["genesis_hash"], found["block"]) == (genesis, made.json["block"])
    (bill,) = found["bills"]
    assert (bill["paid"], bill["owed"], bill["basis"], bill["agrees"]) == (paid, paid, "time", True)
    assert found["tasks"][0]["state"] == "Settled"

    data = file.read_bytes()
    amount = paid.to_bytes(16, "little")
    assert amount in data
    file.write_bytes(data.replace(amount, (paid - 1).to_bytes(16, "little")))
    changed = await verify_without_network(file, genesis)
    assert (changed.code, changed.json["error"]["code"]) == (1, "proof_refused"), changed.said
    assert "The storage proof" in changed.json["error"]["message"]


async def test_a_host_an_account_and_leases_are_proven(net: Net, settled: int, tmp_path: Path):
    (lease,) = (await net.task(settled)).leases
    provider = (await net.typed.host(lease.record.host)).provider
    subjects = {"host": [lease.record.host], "account": [provider], "lease": [str(lease.id), str(lease.id + 1)]}
    for kind, arguments in subjects.items():
        file = tmp_path / f"{kind}.proof"
        await net.check("audit", "prove", kind, *arguments, "-o", file)
        found = (await net.check("audit", "verify", file, "--genesis", net.genesis.hex(), "--json")).json
        match kind:
            case "host":
                assert found["host"]["provider"] == found["account"]["address"] == provider
            case "account":
                assert found["account"]["free"] > 0
            case "lease":
                assert [bill["lease"] for bill in found["bills"]] == [lease.id]
                assert found["subject"]["missing"] == [lease.id + 1]


async def test_a_task_that_never_was_is_proven_absent(net: Net, tmp_path: Path):
    file = tmp_path / "absent.proof"
    made = (await net.check("audit", "prove", "task", "123456789", "-o", file, "--json")).json
    assert made["subject"]["exists"] is False
    assert (await net.check("audit", "verify", file, "--genesis", net.genesis.hex())).code == 0


async def test_any_storage_item_is_proven_from_its_name_and_keys(net: Net, settled: int, tmp_path: Path):
    tenant = (await net.task(settled)).record.tenant
    file = tmp_path / "storage.proof"
    choices = {
        ("System", "Account", tenant): lambda value: value["data"]["free"] > 0,
        ("Tasks", "NextTaskId"): lambda value: value > settled,
        ("Tasks", "Tasks", f"0x{settled:016x}", f"0x{10**9:016x}"): lambda value: value is None or value["tenant"],
    }
    for names, is_right in choices.items():
        await net.check("audit", "prove", "storage", *names, "-o", file)
        done = await verify_without_network(file, f"0x{net.genesis.hex()}")
        assert done.code == 0, done.said
        values = done.json["values"]
        assert len(values) == max(1, len(names) - 2)
        assert all(is_right(value["value"]) for value in values)
    assert [value["raw"] is None for value in values] == [False, True]
    done = await net.gantry("audit", "prove", "storage", "Tasks", "Nothing", "-o", file, "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "bad_value")


async def test_a_block_that_is_not_final_is_refused(net: Net, tmp_path: Path):
    file = tmp_path / "future.proof"
    done = await net.gantry("audit", "prove", "task", "0", "--at", "4000000000", "-o", file, "--json")
    assert done.code == 1
    assert "is not final" in done.json["error"]["message"]
    assert not file.exists()


# --- a chain whose authorities change ------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def changed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chain]:
    async with chain_with_changes(tmp_path_factory.mktemp("sets") / "node") as chain:
        yield chain


async def proven(chain: Chain, **options: Any) -> tuple[AuditResult, bytes]:
    source = ProofChain(chain.url)
    await source.connect()
    try:
        subject = options.pop("subject", ACCOUNT)
        data = (await build_proof(source, subject, **options)).encode()
        return await verify_file(data, await source.genesis_hash(), options.get("checkpoint")), data
    finally:
        await source.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_proof_follows_the_changes_of_the_authorities_from_genesis(changed: Chain):
    found, data = await proven(changed)
    assert found.verified.finalised_by.set_id == CHANGES
    assert len(decode_proof(data).links) == CHANGES
    assert found.facts.account is not None
    assert found.facts.account.balance == await balance(changed, found.verified.header.hash)


async def balance(chain: Chain, at: bytes) -> AccountBalance:
    return await GantryChain(chain.link).balance(ALICE.address, at)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_block_of_an_earlier_set_is_proven_by_that_set(changed: Chain):
    found, data = await proven(changed, at=2)
    assert (found.verified.header.number, found.verified.finalised_by.set_id) == (2, 0)
    assert decode_proof(data).links == ()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_known_history_of_the_authorities_gives_the_same_proof(changed: Chain):
    history = AuthorityHistory()
    await proven(changed, at=2, history=history)
    assert (history.genesis is not None, history.links) == (True, [])
    head = (await changed.link.finalized_head()).number
    await proven(changed, at=head, history=history)
    assert len(history.links) == CHANGES
    known = list(history.links)
    proofs = [decode_proof((await proven(changed, at=head, **options))[1]) for options in ({"history": history}, {})]
    assert len({(proof.genesis, proof.links, proof.header, proof.nodes) for proof in proofs}) == 1
    assert history.links == known
    assert decode_proof((await proven(changed, at=2, history=history))[1]).links == ()


@pytest.mark.asyncio(loop_scope="module")
async def test_later_proofs_start_from_a_checkpoint(changed: Chain):
    first, _ = await proven(changed)
    later, data = await proven(changed, checkpoint=first.verified.checkpoint)
    proof = decode_proof(data)
    assert (proof.genesis, proof.first_set, proof.links) == (None, CHANGES, ())
    assert later.verified.checkpoint == first.verified.checkpoint
    with pytest.raises(BadValue, match="before the checkpoint"):
        await proven(changed, at=2, checkpoint=first.verified.checkpoint)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_old_block_is_proven_by_a_justification_that_the_node_keeps(
    changed: Chain, monkeypatch: pytest.MonkeyPatch
):
    # The node keeps one for the block that changes the authorities; the one for every 512 blocks takes too long here.
    monkeypatch.setattr(audit_prover, "_NEAR", 0)
    monkeypatch.setattr(audit_prover, "_STORED_EVERY", 1)
    found, _ = await proven(changed, at=2)
    assert found.verified.finalised_by.set_id == 0
    assert found.verified.finalised.grandpa_logs


@pytest.mark.asyncio(loop_scope="module")
async def test_every_block_has_a_proof(changed: Chain):
    head = await changed.link.finalized_head()
    sets = []
    for number in range(1, head.number + 1):
        found, _ = await proven(changed, at=number, subject=task_subject(0))
        sets.append(found.verified.finalised_by.set_id)
    assert sets == sorted(sets)
    assert set(sets) == set(range(CHANGES + 1))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_node_without_old_states_says_what_it_lacks(tmp_path: Path):
    with DevelopmentNode(binaries(), tmp_path, patch=fast(EPOCHS), pruning="4") as node:
        source = ProofChain(node.url)
        await source.connect()
        async with asyncio.timeout(60):
            async for head in source.finalized():
                if head.number > 8:
                    break
        with pytest.raises(BadReply, match="does not keep the state of block 0"):
            await build_proof(source, ACCOUNT)
        await source.close()
