"""The adapter's way with nodes that are away, come back, are another chain, or refuse."""

import asyncio
from contextlib import aclosing, asynccontextmanager
from hashlib import blake2b

import pytest
from stub_node import GENESIS, METADATA, VERSION, Refusal, stub_node

from offchain.adapters.chain.client import SubstrateChain, header_ref, refusal_of
from offchain.adapters.keys.signer import from_uri
from offchain.errors import BadReply, BadValue, ChainUnreachable, SubmitRefusal, SubmitRefused, WrongChain
from offchain.ports import Call

ALICE = from_uri("//Alice")
REMARK = Call("System", "remark", {"remark": b"x"})


@asynccontextmanager
async def connected(node, **how):
    chain = SubstrateChain(node.url, **{"timeout": 5.0, **how})
    try:
        await chain.connect()
        yield chain
    finally:
        await chain.close()


async def test_the_expected_chain_is_accepted():
    async with stub_node() as node, connected(node, expected_genesis=bytes.fromhex(GENESIS[2:])) as chain:
        assert await chain.genesis_hash() == b"\x11" * 32
        assert await chain.next_nonce(ALICE.address) == 3


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"version": {**VERSION, "specVersion": 99}}, "spec"),
        ({"version": {**VERSION, "specName": "other"}}, "spec"),
        ({"metadata": METADATA + b"\0"}, "metadata"),
        ({"genesis": "0x" + "33" * 32}, "genesis"),
    ],
)
async def test_another_chain_is_refused_before_anything_is_signed(change, what):
    async with stub_node() as node:
        for name, value in change.items():
            setattr(node, name, value)
        chain = SubstrateChain(node.url, expected_genesis=b"\x11" * 32, timeout=60)
        for attempt in (chain.connect(), chain.sign(REMARK, ALICE, 0), chain.next_nonce(ALICE.address)):
            with pytest.raises(WrongChain) as refused:
                await attempt
            assert refused.value.what == what
        await chain.close()
        assert node.submitted == []


async def test_unchecked_metadata_may_differ():
    async with stub_node() as node:
        node.version = {**VERSION, "specVersion": 99}
        async with connected(node, check_metadata=False) as chain:
            assert (await chain.sign(REMARK, ALICE, 0)).valid_until == 7 + 63


async def test_a_new_runtime_stops_the_signing():
    async with stub_node() as node, connected(node) as chain:
        await chain.sign(REMARK, ALICE, 0)
        node.version = {**VERSION, "specVersion": 99}
        chain._terms_at = float("-inf")
        with pytest.raises(WrongChain):
            await chain.sign(REMARK, ALICE, 1)


async def test_a_chain_swapped_behind_the_address_is_noticed():
    async with stub_node() as node, connected(node) as chain:
        node.genesis = "0x" + "33" * 32
        await node.cut()
        with pytest.raises(WrongChain):
            await chain.next_nonce(ALICE.address)


async def test_a_node_that_comes_back_is_used_again():
    async with stub_node() as node, connected(node) as chain:
        await node.stop()
        waiting = asyncio.ensure_future(chain.next_nonce(ALICE.address))
        await asyncio.sleep(0)
        await node.start()
        assert await waiting == 3
        assert node.connections == 2


async def test_an_absent_node_is_reported_in_time():
    async with stub_node() as node:
        url = node.url
    chain = SubstrateChain(url, timeout=2)
    with pytest.raises(ChainUnreachable) as refused:
        await chain.connect()
    assert url in refused.value.message
    assert "nothing listens" in refused.value.message
    await chain.close()


async def test_something_that_is_no_node_is_reported():
    async def hang_up(_reader, writer):
        writer.write(b"SSH-2.0-x\r\n")
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    chain = SubstrateChain(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", timeout=0.3)
    with pytest.raises(ChainUnreachable):
        await chain.connect()
    await chain.close()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("url", ["", "http://x", "ws://", "localhost:9944", "ws://h:99999", "ws://h:port"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(BadValue, match="not the address of a chain node"):
        SubstrateChain(url)


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (1010, "Invalid Transaction Transaction is outdated", SubmitRefusal.STALE_NONCE),
        (1010, "Invalid Transaction Transaction will be valid in the future", SubmitRefusal.FUTURE_NONCE),
        (
            1010,
            "Invalid Transaction Inability to pay some fees (e.g. account balance too low)",
            SubmitRefusal.CANNOT_PAY,
        ),
        (1010, "Invalid Transaction Transaction has a bad signature", SubmitRefusal.BAD_PROOF),
        (1010, "Invalid Transaction Transaction has an ancient birth block", SubmitRefusal.EXPIRED),
        (1010, "Invalid Transaction Transaction would exhaust the block limits", SubmitRefusal.POOL_FULL),
        (1010, "Invalid Transaction Custom error: 3", SubmitRefusal.INVALID),
        (1002, "Verification Error: Runtime error", SubmitRefusal.INVALID),
        (1012, "Transaction is temporarily banned", SubmitRefusal.BANNED),
        (1014, "Priority is too low: (1 vs 1)", SubmitRefusal.PRIORITY_TOO_LOW),
        (1016, "Immediately Dropped", SubmitRefusal.POOL_FULL),
        (1021, "The pool is not accepting future transactions", SubmitRefusal.FUTURE_NONCE),
    ],
)
def test_refusals_are_typed(code, text, kind):
    assert refusal_of(code, text) is kind


async def test_a_refusal_is_certain_only_where_the_first_attempt_was_answered():
    async with stub_node() as node, connected(node) as chain:
        extrinsic = await chain.sign(REMARK, ALICE, 0)
        node.refusal = Refusal(1010, "Invalid Transaction", "Transaction is outdated")
        with pytest.raises(SubmitRefused) as plain:
            await chain.broadcast(extrinsic)
        assert plain.value.certain
        node.drop_after = "author_submitExtrinsic"
        with pytest.raises(SubmitRefused) as doubtful:
            await chain.broadcast(extrinsic)
        assert doubtful.value.kind is SubmitRefusal.STALE_NONCE
        assert not doubtful.value.certain


async def test_an_extrinsic_that_the_pool_has_counts_as_submitted():
    async with stub_node() as node, connected(node) as chain:
        extrinsic = await chain.sign(REMARK, ALICE, 0)
        node.refusal = Refusal(1013, "Transaction Already Imported", "0x")
        node.drop_after = "author_submitExtrinsic"
        await chain.broadcast(extrinsic)
        assert len(node.submitted) == 2, "the answer to the first was lost"
        await chain.broadcast(extrinsic)


async def test_a_subscription_outlives_its_connection():
    async with stub_node() as node, connected(node) as chain, aclosing(chain.finalized()) as heads:
        await node.heads.put(1)
        subscribing = node.subscribed.get()
        assert (await anext(heads)).number == 1
        await subscribing
        following = asyncio.ensure_future(anext(heads))
        await node.cut()
        await node.subscribed.get()
        await node.heads.put(5)
        assert (await following).number == 5


async def test_pruned_state_is_explained():
    async with stub_node() as node, connected(node) as chain:
        with pytest.raises(BadReply) as refused:
            await chain.query("System", "Number")
        assert refused.value.code == "state_pruned"
        assert "--state-pruning archive" in refused.value.hint


async def test_unknown_names_of_the_runtime_are_reported():
    async with stub_node() as node, connected(node) as chain:
        for attempt in (
            chain.query("Nope", "Item"),
            chain.query("System", "Nope"),
            chain.constant("System", "Nope"),
            chain.query("System", "Number", (1,)),
            chain.sign(Call("System", "nope", {}), ALICE, 0),
        ):
            with pytest.raises(BadValue):
                await attempt
        assert await chain.constant("System", "SS58Prefix") == 42


def test_a_headers_hash_is_that_of_its_bytes():
    ref = header_ref(
        {
            "number": "0x0",
            "parentHash": "0x" + "00" * 32,
            "stateRoot": "0x" + "00" * 32,
            "extrinsicsRoot": "0x03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314",
            "digest": {"logs": []},
        }
    )
    roots = bytes(32) + bytes.fromhex("03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314")
    raw = bytes(32) + b"\0" + roots + b"\0"
    assert ref.hash == blake2b(raw, digest_size=32).digest()


async def test_a_lifetime_starts_at_the_last_final_block_that_the_client_has_seen():
    """A pool refuses the same bytes for a while: a call that is signed again has other bytes with each final block."""
    async with stub_node() as node, connected(node) as chain:
        first = await chain.sign(REMARK, ALICE, 0)
        node.best = node.final = node.final + 1
        assert (await chain.finalized_head()).number == node.final
        again = await chain.sign(REMARK, ALICE, 0)
        assert (first.born, again.born) == (node.final - 1, node.final)
        assert first.data != again.data


async def test_while_finality_lags_a_lifetime_starts_near_the_best_block_and_is_longer():
    async with stub_node() as node, connected(node) as chain:
        node.best = node.final + 9
        signed = await chain.sign(REMARK, ALICE, 0, era_blocks=32)
        assert (signed.born, signed.valid_until) == (node.final + 1, node.final + 256)


async def test_a_node_that_lags_behind_another_is_left():
    async with stub_node() as ahead, stub_node() as behind:
        ahead.best = ahead.final = 100
        chain = SubstrateChain(f"{ahead.url},{behind.url}", timeout=5.0)
        assert (await chain.finalized_head()).number == 100
        await ahead.cut()
        assert (await chain.finalized_head()).number == 100
        await ahead.stop()
        assert (await chain.finalized_head()).number == 7, "the only node that is left is used"
        await chain.close()


async def test_a_block_that_the_node_does_not_know_is_told_from_other_refusals():
    async with stub_node() as node, connected(node) as chain:
        text = "Client error: UnknownBlock: Header was not found in the database: 0x22"
        node.refused["system_accountNextIndex"] = Refusal(-32000, text, None)
        with pytest.raises(BadReply) as refused:
            await chain.next_nonce(ALICE.address)
        assert refused.value.code == "unknown_block"
