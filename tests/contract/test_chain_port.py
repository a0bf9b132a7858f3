"""What every chain port does, the in-memory one and the one with a node behind it."""

import asyncio
import itertools
from contextlib import aclosing

import pytest
from chain_worlds import NO_SUCH_TASK, POOR, RICH, remark, world

from offchain.errors import SubmitRefusal, SubmitRefused
from offchain.ports import BlockRef
from offchain.schema.chain_types.ids import task_key

__all__ = ["world"]


async def included(world, *extrinsics):
    """The inclusions of extrinsics, in the order given."""
    world.go()
    wanted = {extrinsic.hash: None for extrinsic in extrinsics}
    async with asyncio.timeout(60), aclosing(world.chain.finalized()) as heads:
        upcoming = None
        async for head in heads:
            for number in range(upcoming or head.number, head.number + 1):
                for inclusion in (await world.chain.block(number)).inclusions:
                    if inclusion.extrinsic_hash in wanted:
                        wanted[inclusion.extrinsic_hash] = (number, inclusion)
            upcoming = head.number + 1
            if None not in wanted.values():
                return list(wanted.values())
    raise AssertionError("the chain ended")


async def test_block_zero_is_the_genesis_block(world):
    block = await world.chain.block(0)
    assert block.ref == BlockRef(0, await world.chain.genesis_hash())
    assert block.inclusions == ()
    assert len(block.ref.hash) == 32


async def test_final_blocks_are_a_chain_and_time_does_not_go_back(world):
    await world.advance()
    head = await world.chain.finalized_head()
    blocks = [await world.chain.block(number) for number in range(max(0, head.number - 5), head.number + 1)]
    assert blocks[-1].ref == head
    for earlier, later in itertools.pairwise(blocks):
        assert later.parent_hash == earlier.ref.hash
        assert later.timestamp_ms > earlier.timestamp_ms


async def test_a_block_that_is_not_final_is_not_handed_out(world):
    head = await world.chain.best_head()
    with pytest.raises(LookupError):
        await world.chain.block(head.number + 1000)


async def test_heads_grow_and_best_is_not_behind_final(world):
    world.go()
    async with asyncio.timeout(60), aclosing(world.chain.finalized()) as heads:
        first, second = await anext(heads), await anext(heads)
    assert second.number > first.number
    assert (await world.chain.block(second.number)).ref == second
    assert (await world.chain.best_head()).number >= second.number


async def test_best_heads_come(world):
    world.go()
    async with asyncio.timeout(60), aclosing(world.chain.best()) as heads:
        first, second = await anext(heads), await anext(heads)
    assert first != second


async def test_a_signed_call_is_included_once_under_its_hash(world):
    nonce = await world.chain.next_nonce(RICH.address)
    extrinsic = await world.chain.sign(remark(b"once"), RICH, nonce)
    await world.chain.broadcast(extrinsic)
    assert await world.chain.next_nonce(RICH.address) == nonce + 1
    ((number, inclusion),) = await included(world, extrinsic)
    assert inclusion.failure is None
    assert number <= extrinsic.valid_until
    block = await world.chain.block(number)
    assert block.inclusions[inclusion.index] == inclusion


async def test_calls_of_one_account_keep_their_order(world):
    nonce = await world.chain.next_nonce(RICH.address)
    several = [await world.chain.sign(remark(b"%d" % n), RICH, nonce + n) for n in range(5)]
    for extrinsic in several:
        await world.chain.broadcast(extrinsic)
    places = [(number, inclusion.index) for number, inclusion in await included(world, *several)]
    assert places == sorted(places)


async def test_a_refused_dispatch_carries_the_pallets_error(world):
    nonce = await world.chain.next_nonce(RICH.address)
    extrinsic = await world.chain.sign(NO_SUCH_TASK, RICH, nonce)
    await world.chain.broadcast(extrinsic)
    ((_, inclusion),) = await included(world, extrinsic)
    assert (inclusion.failure.pallet, inclusion.failure.name) == ("Tasks", "NoSuchTask")
    assert inclusion.failure.doc


async def refusal_of(world, extrinsic):
    """Why it is not taken; None where it is."""
    try:
        await world.chain.broadcast(extrinsic)
    except SubmitRefused as refused:
        return refused
    return None


async def test_the_pool_says_why_it_refuses(world):
    for _ in range(5):  # where a block takes the first before the others are there, once more
        nonce = await world.chain.next_nonce(RICH.address)
        first = await world.chain.sign(remark(b"first"), RICH, nonce)
        rival = await world.chain.sign(remark(b"rival"), RICH, nonce)
        await world.chain.broadcast(first)
        again, instead = await refusal_of(world, first), await refusal_of(world, rival)
        await included(world, first)
        if instead.kind is not SubmitRefusal.STALE_NONCE:
            break
    assert again is None, "the pool has it"
    assert instead.kind is SubmitRefusal.PRIORITY_TOO_LOW
    stale = await refusal_of(world, await world.chain.sign(remark(b"stale"), RICH, nonce))
    assert stale.kind is SubmitRefusal.STALE_NONCE
    unpaid = await refusal_of(world, await world.chain.sign(remark(b"poor"), POOR, 0))
    assert unpaid.kind is SubmitRefusal.CANNOT_PAY
    assert unpaid.certain


async def test_a_tip_takes_the_place_of_what_waits_with_the_same_number(world):
    for _ in range(5):  # where a block takes the first before the second is there, once more
        nonce = await world.chain.next_nonce(RICH.address)
        first = await world.chain.sign(remark(b"waits"), RICH, nonce)
        second = await world.chain.sign(remark(b"tips"), RICH, nonce, tip=1_000_000)
        await world.chain.broadcast(first)
        try:
            await world.chain.broadcast(second)
        except SubmitRefused as refused:
            assert refused.kind is SubmitRefusal.STALE_NONCE
            await included(world, first)
            continue
        ((number, _),) = await included(world, second)
        assert first.hash not in await world.chain.extrinsic_hashes(number)
        with pytest.raises(SubmitRefused) as again:
            await world.chain.broadcast(first)
        assert again.value.kind is SubmitRefusal.STALE_NONCE
        return
    raise AssertionError("blocks took the first one each time")


async def test_what_is_in_a_block_is_named_without_its_state(world):
    extrinsic = await world.chain.sign(remark(b"named"), RICH, await world.chain.next_nonce(RICH.address))
    await world.chain.broadcast(extrinsic)
    ((number, _),) = await included(world, extrinsic)
    inclusions = (await world.chain.block(number)).inclusions
    assert await world.chain.extrinsic_hashes(number) == tuple(one.extrinsic_hash for one in inclusions)
    with pytest.raises(LookupError):
        await world.chain.extrinsic_hashes(10**6)


async def test_state_is_read_as_it_was(world):
    nonce = await world.chain.next_nonce(RICH.address)
    extrinsic = await world.chain.sign(remark(b"state"), RICH, nonce)
    await world.chain.broadcast(extrinsic)
    ((number, _),) = await included(world, extrinsic)
    before, after = await world.chain.block(number - 1), await world.chain.block(number)

    async def account(block):
        return (await world.chain.query("System", "Account", (RICH.address,), block.ref.hash))["nonce"]

    assert await account(after) - await account(before) >= 1
    assert await world.chain.block_ref(number) == after.ref
    assert await world.chain.query("Tasks", "Tasks", (task_key(2**40),)) is None
    assert await world.chain.query_map("Hosts", "HostsByProvider", (POOR.address,)) == []


async def test_several_values_are_read_at_once(world):
    keys = [(RICH.address,), (POOR.address,), (RICH.address,)]
    head = await world.chain.finalized_head()
    found = await world.chain.query_many("System", "Account", keys, head.hash)
    assert found == [await world.chain.query("System", "Account", key, head.hash) for key in keys]
    assert await world.chain.query_many("Tasks", "Tasks", [(task_key(2**40),)]) == [None]
    assert await world.chain.query_many("Tasks", "Tasks", []) == []


async def test_a_map_is_read_page_by_page(world):
    whole = await world.chain.query_map("Tasks", "Schedulers")
    paged: list = []
    while page := await world.chain.query_page("Tasks", "Schedulers", paged[-1][0] if paged else None, 1):
        assert len(page) == 1
        paged += page
    assert sorted(paged) == sorted(whole)
