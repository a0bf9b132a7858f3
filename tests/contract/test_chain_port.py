"""What every chain port does, the in-memory one and the one with a node behind it."""

import asyncio
import itertools
from contextlib import aclosing

import pytest
from chain_ports import NO_SUCH_TASK, POOR, RICH, node, remark

from offchain.errors import SubmitRefusal, SubmitRefused
from offchain.ports import BlockRef
from offchain.schema.chain_types.ids import task_key

__all__ = ["node"]


async def included(node, *extrinsics):
    """Return the inclusions of all extrinsics, in the order given."""
    found = await _inclusions(node, [extrinsic.hash for extrinsic in extrinsics], len(extrinsics))
    return [found[extrinsic.hash] for extrinsic in extrinsics]


async def _inclusions(node, hashes, count):
    """Return [hash]: number of the block, and inclusion, as soon as so many of the extrinsics are in final blocks."""
    node.go()
    found = {}
    async with asyncio.timeout(60), aclosing(node.chain.finalized()) as heads:
        upcoming = None
        async for head in heads:
            for number in range(upcoming or head.number, head.number + 1):
                for inclusion in (await node.chain.block(number)).inclusions:
                    if inclusion.extrinsic_hash in hashes:
                        found[inclusion.extrinsic_hash] = (number, inclusion)
            upcoming = head.number + 1
            if len(found) == count:
                return found
    raise AssertionError("the chain ended")


async def test_block_zero_is_the_genesis_block(node):
    block = await node.chain.block(0)
    assert block.ref == BlockRef(0, await node.chain.genesis_hash())
    assert block.inclusions == ()
    assert len(block.ref.hash) == 32


async def test_final_blocks_are_a_chain_and_time_does_not_go_back(node):
    await node.advance()
    head = await node.chain.finalized_head()
    blocks = [await node.chain.block(number) for number in range(max(0, head.number - 5), head.number + 1)]
    assert blocks[-1].ref == head
    for earlier, later in itertools.pairwise(blocks):
        assert later.parent_hash == earlier.ref.hash
        assert later.timestamp_ms > earlier.timestamp_ms


async def test_a_block_that_is_not_final_is_not_handed_out(node):
    head = await node.chain.best_head()
    with pytest.raises(LookupError):
        await node.chain.block(head.number + 1000)


async def test_heads_grow_and_best_is_not_behind_final(node):
    node.go()
    async with asyncio.timeout(60), aclosing(node.chain.finalized()) as heads:
        first, second = await anext(heads), await anext(heads)
    assert second.number > first.number
    assert (await node.chain.block(second.number)).ref == second
    assert (await node.chain.best_head()).number >= second.number


async def test_best_heads_come(node):
    node.go()
    async with asyncio.timeout(60), aclosing(node.chain.best()) as heads:
        first, second = await anext(heads), await anext(heads)
    assert first != second


async def test_a_signed_call_is_included_once_under_its_hash(node):
    nonce = await node.chain.next_nonce(RICH.address)
    extrinsic = await node.chain.sign(remark(b"once"), RICH, nonce)
    await node.chain.broadcast(extrinsic)
    assert await node.chain.next_nonce(RICH.address) == nonce + 1
    ((number, inclusion),) = await included(node, extrinsic)
    assert inclusion.failure is None
    assert number <= extrinsic.valid_until
    block = await node.chain.block(number)
    assert block.inclusions[inclusion.index] == inclusion


async def test_calls_of_one_account_keep_their_order(node):
    nonce = await node.chain.next_nonce(RICH.address)
    several = [await node.chain.sign(remark(b"%d" % n), RICH, nonce + n) for n in range(5)]
    for extrinsic in several:
        await node.chain.broadcast(extrinsic)
    places = [(number, inclusion.index) for number, inclusion in await included(node, *several)]
    assert places == sorted(places)


async def test_a_refused_dispatch_carries_the_pallets_error(node):
    nonce = await node.chain.next_nonce(RICH.address)
    extrinsic = await node.chain.sign(NO_SUCH_TASK, RICH, nonce)
    await node.chain.broadcast(extrinsic)
    ((_, inclusion),) = await included(node, extrinsic)
    assert (inclusion.failure.pallet, inclusion.failure.name) == ("Tasks", "NoSuchTask")
    assert inclusion.failure.doc


async def refusal_of(node, extrinsic):
    """Why it is not taken; None where it is."""
    try:
        await node.chain.broadcast(extrinsic)
    except SubmitRefused as refused:
        return refused
    return None


async def test_the_pool_says_why_it_refuses(node):
    for _ in range(5):  # where a block takes the first before the others are there, once more
        nonce = await node.chain.next_nonce(RICH.address)
        first = await node.chain.sign(remark(b"first"), RICH, nonce)
        rival = await node.chain.sign(remark(b"rival"), RICH, nonce)
        await node.chain.broadcast(first)
        again, instead = await refusal_of(node, first), await refusal_of(node, rival)
        await included(node, first)
        if instead.kind is not SubmitRefusal.STALE_NONCE:
            break
    assert again is None, "the pool has it"
    assert instead.kind is SubmitRefusal.PRIORITY_TOO_LOW
    stale = await refusal_of(node, await node.chain.sign(remark(b"stale"), RICH, nonce))
    assert stale.kind is SubmitRefusal.STALE_NONCE
    unpaid = await refusal_of(node, await node.chain.sign(remark(b"poor"), POOR, 0))
    assert unpaid.kind is SubmitRefusal.CANNOT_PAY
    assert unpaid.certain


async def test_a_tip_takes_the_place_of_what_waits_with_the_same_number(node):
    for _ in range(5):  # once more where a block takes the first: before the second is there, or while it waits
        nonce = await node.chain.next_nonce(RICH.address)
        first = await node.chain.sign(remark(b"waits"), RICH, nonce)
        second = await node.chain.sign(remark(b"tips"), RICH, nonce, tip=1_000_000)
        await node.chain.broadcast(first)
        try:
            await node.chain.broadcast(second)
        except SubmitRefused as refused:
            assert refused.kind is SubmitRefusal.STALE_NONCE
            await included(node, first)
            continue
        found = await _inclusions(node, {first.hash, second.hash}, 1)
        if second.hash not in found:
            continue
        number, _ = found[second.hash]
        assert first.hash not in await node.chain.extrinsic_hashes(number)
        with pytest.raises(SubmitRefused) as again:
            await node.chain.broadcast(first)
        assert again.value.kind is SubmitRefusal.STALE_NONCE
        return
    raise AssertionError("blocks took the first one each time")


async def test_what_is_in_a_block_is_named_without_its_state(node):
    extrinsic = await node.chain.sign(remark(b"named"), RICH, await node.chain.next_nonce(RICH.address))
    await node.chain.broadcast(extrinsic)
    ((number, _),) = await included(node, extrinsic)
    inclusions = (await node.chain.block(number)).inclusions
    assert await node.chain.extrinsic_hashes(number) == tuple(one.extrinsic_hash for one in inclusions)
    (named,) = [one for one in inclusions if one.extrinsic_hash == extrinsic.hash]
    assert (named.call, named.signer) == ("System.remark_with_event", RICH.address)
    assert {one.signer for one in inclusions if one.call == "Timestamp.set"} <= {None}
    with pytest.raises(LookupError):
        await node.chain.extrinsic_hashes(10**6)


async def test_the_documentation_has_each_item_once(node):
    items = await node.chain.documentation()
    found = {(one.pallet, one.kind, one.name): one for one in items}
    assert len(found) == len(items)
    failed = found["System", "event", "ExtrinsicFailed"]
    assert failed.text == "An extrinsic failed."
    assert "dispatch_error" in failed.fields


async def test_state_is_read_as_it_was(node):
    nonce = await node.chain.next_nonce(RICH.address)
    extrinsic = await node.chain.sign(remark(b"state"), RICH, nonce)
    await node.chain.broadcast(extrinsic)
    ((number, _),) = await included(node, extrinsic)
    before, after = await node.chain.block(number - 1), await node.chain.block(number)

    async def account(block):
        return (await node.chain.query("System", "Account", (RICH.address,), block.ref.hash))["nonce"]

    assert await account(after) - await account(before) >= 1
    assert await node.chain.block_ref(number) == after.ref
    assert await node.chain.query("Tasks", "Tasks", (task_key(2**40),)) is None
    assert await node.chain.query_map("Hosts", "HostsByProvider", (POOR.address,)) == []


async def test_several_values_are_read_at_once(node):
    keys = [(RICH.address,), (POOR.address,), (RICH.address,)]
    head = await node.chain.finalized_head()
    found = await node.chain.query_many("System", "Account", keys, head.hash)
    assert found == [await node.chain.query("System", "Account", key, head.hash) for key in keys]
    assert await node.chain.query_many("Tasks", "Tasks", [(task_key(2**40),)]) == [None]
    assert await node.chain.query_many("Tasks", "Tasks", []) == []


async def test_values_of_several_items_are_read_with_the_time_of_their_block(node):
    head = await node.chain.finalized_head()
    keys = [
        ("System", "Account", (RICH.address,)),
        ("Tasks", "Tasks", (task_key(2**40),)),
        ("Tasks", "Params", ()),
        ("System", "Account", (RICH.address,)),
    ]
    found = await node.chain.block_values(keys, head.hash)
    assert list(found.values) == [await node.chain.query(*key, head.hash) for key in keys]
    assert found.timestamp_ms == (await node.chain.block(head.number)).timestamp_ms
    assert (await node.chain.block_values([], head.hash)).values == ()


async def test_a_map_is_read_page_by_page(node):
    whole = await node.chain.query_map("Tasks", "Schedulers")
    paged: list = []
    while page := await node.chain.query_page("Tasks", "Schedulers", paged[-1][0] if paged else None, 1):
        assert len(page) == 1
        paged += page
    assert sorted(paged) == sorted(whole)
