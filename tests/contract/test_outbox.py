"""The outbox on the in-memory chain: each way in which things go wrong, one by one."""

import asyncio

import pytest
from outbox_rig import ALICE, call, running_rig, settle, settles

from offchain.adapters.outbox.admin import OutboxAdmin
from offchain.adapters.outbox.intent_values import CallGivenUp, CallIncluded, CallRejected, IntentState
from offchain.adapters.outbox.store import Store
from offchain.errors import BadValue, SubmitRefusal
from offchain.ports import Call, DispatchFailure
from tests.support.fake_chain import FakeChain


async def test_a_call_is_included_and_its_place_is_known(rig):
    await rig.submit("a", call())
    await rig.produce()
    outcome = await rig.outbox.wait("a", 1)
    assert outcome == CallIncluded((await rig.chain.block(1)).ref, 0)
    assert rig.outbox.unfinished == 0


async def test_the_same_key_is_done_once(rig):
    for _ in range(3):
        await rig.submit("a", call())
        await rig.produce()
    assert rig.done() == [b"0"]


async def test_many_calls_share_a_block_in_order(rig):
    for n in range(20):
        await rig.outbox.submit(f"k{n}", call(n))
    await rig.settle()
    await rig.produce()
    assert rig.done() == [b"%d" % n for n in range(20)]


async def test_a_refused_dispatch_is_an_outcome_and_not_repeated(rig):
    no = DispatchFailure("Tasks", "NoCapacity", "The host is full.")
    rig.chain.verdicts = lambda _call, _account: no
    await rig.submit("a", call())
    await rig.produce(20)
    assert await rig.outbox.wait("a", 1) == CallRejected(no, (await rig.chain.block(1)).ref, 0)
    assert [len((await rig.chain.block(n)).inclusions) for n in range(1, 21)] == [1] + [0] * 19


@pytest.mark.parametrize("refusal", SubmitRefusal)
async def test_one_refusal_does_no_harm(refusal):
    async with running_rig() as rig:
        rig.chain.refusals = [refusal]
        await rig.submit("a", call())
        await rig.produce(6)
        assert rig.done() == [b"0"]
        assert isinstance(rig.outbox.outcome("a"), CallIncluded)


async def test_an_account_without_coins_is_given_up_after_some_blocks(rig):
    rig.chain.unpayable = lambda _call, _account: True
    await rig.submit("a", call())
    assert OutboxAdmin(rig.store).entries(IntentState.DEAD) == []
    await rig.produce(10)
    assert isinstance(await rig.outbox.wait("a", 1), CallGivenUp)
    dead = OutboxAdmin(rig.store).entries(IntentState.DEAD)
    assert [(entry.key, entry.call, entry.attempts) for entry in dead] == [("a", call(), 4)]
    rig.chain.unpayable = lambda _call, _account: False
    await rig.submit("b", call(1))
    await rig.produce()
    assert rig.done() == [b"1"]


async def test_a_refused_call_does_not_hold_up_the_next(rig):
    rig.chain.unpayable = lambda wanted, _account: wanted == call(0)
    await rig.outbox.submit("a", call(0))
    await rig.submit("b", call(1))
    await rig.produce()
    assert rig.done() == [b"1"]


async def test_what_a_node_forgets_it_is_told_again(rig):
    await rig.submit("a", call())
    rig.chain.forget_pool()
    await rig.produce(6)
    assert rig.done() == [b"0"]


async def test_what_is_dropped_from_the_pool_leaves_no_hole(rig):
    await rig.outbox.submit("dropped", call(0))
    await rig.submit("behind", call(1))
    rig.chain.unpayable = lambda wanted, _account: wanted == call(0)
    await rig.produce()
    assert rig.done() == []
    await rig.submit("next", call(2))
    await rig.produce(2)
    assert rig.done() == [b"2", b"1"]
    rig.chain.unpayable = lambda _call, _account: False
    await rig.produce(12)
    assert rig.done() == [b"2", b"1", b"0"]


async def test_after_its_end_it_is_signed_anew(rig):
    await rig.submit("a", call())
    first = rig.chain.pool[0]
    await rig.produce(8, take=0)
    await rig.produce(2)
    assert rig.done() == [b"0"]
    assert rig.outbox.outcome("a").block.number > first.valid_until


async def test_a_fork_changes_nothing(rig):
    await rig.submit("a", call())
    await rig.produce(finalize=False)
    await rig.chain.fork()
    await rig.produce(finalize=False)
    await rig.produce()
    assert rig.done() == [b"0"]


async def test_another_program_may_take_the_nonce(rig):
    await rig.submit("a", call())
    rig.chain.forget_pool()
    await rig.chain.broadcast(await rig.chain.sign(call(9), ALICE, 0))
    await rig.produce(8)
    assert rig.done() == [b"9", b"0"]


async def test_a_lost_reply_is_no_second_time(rig):
    rig.chain.lose_replies = 1
    await rig.submit("a", call())
    await rig.produce(12)
    assert rig.done() == [b"0"]


async def test_an_absent_node_is_waited_for(rig):
    rig.chain.unreachable = True
    await rig.outbox.submit("a", call())
    for _ in range(100):
        await asyncio.sleep(0)
    rig.chain.unreachable = False
    await rig.outbox.observe(await rig.chain.produce())
    await rig.settle()
    await rig.produce()
    assert rig.done() == [b"0"]


async def test_a_newer_call_takes_the_place_of_one_not_sent_yet(rig):
    rig.chain.unpayable = lambda wanted, _account: wanted == call(1)
    await rig.submit("a", call(1))
    await rig.submit("a", call(2), supersede=True)
    await rig.produce(8)
    assert rig.done() == [b"2"]


async def test_a_newer_call_follows_one_that_is_on_its_way(rig):
    await rig.submit("a", call(1))
    await rig.outbox.submit("a", call(2), supersede=True)
    await rig.submit("a", call(3), supersede=True)
    await rig.produce(3)
    assert rig.done() == [b"1", b"3"]


async def test_a_call_that_the_types_cannot_hold_is_given_up_with_the_reason():
    class Picky(FakeChain):
        async def sign(self, *_args, **_how):
            raise BadValue("Tasks.assign.pods[0].pod: 70000 does not fit into u16.")

    async with running_rig(chain=Picky()) as rig:
        await rig.submit("a", call())
        assert await rig.outbox.wait("a", 1) == CallGivenUp("Tasks.assign.pods[0].pod: 70000 does not fit into u16.")


async def test_waiting_ends_in_time_and_refuses_unknown_keys(rig):
    with pytest.raises(LookupError):
        await rig.outbox.wait("never")
    await rig.outbox.submit("a", call())
    with pytest.raises(TimeoutError):
        await rig.outbox.wait("a", 0)


async def test_blocks_that_passed_while_nobody_looked_are_searched():
    chain, store = FakeChain(), Store(":memory:")
    async with running_rig(chain=chain, store=store) as rig:
        await rig.submit("a", call())
    await chain.produce(20)
    async with running_rig(chain=chain, store=store) as rig:
        await rig.produce(2)
        assert isinstance(rig.outbox.outcome("a"), CallIncluded)
        assert rig.done() == [b"0"]


# --- calls that go together -------------------------------------------------------------------------------------------


async def test_calls_of_one_kind_that_wait_together_go_as_one(rig):
    await rig.submit_all({**settles(0, 1, 2), "other": call(), **settles(9)})
    await rig.produce()
    together = Call("Tasks", "settle_batch", {"tasks": [0, 1, 2]})
    assert [done for done, _, _ in rig.chain.executed] == [together, call(), settle(9)]
    outcomes = [rig.outbox.outcome(f"settle:{task}") for task in (0, 1, 2, 9)]
    block = (await rig.chain.block(1)).ref
    assert outcomes == [CallIncluded(block, 0)] * 3 + [CallIncluded(block, 2)]


async def test_a_refused_item_fails_alone():
    no = DispatchFailure("Tasks", "NotSettleable", "The task cannot be settled in its state.")
    async with running_rig() as rig:
        rig.chain.refused_items = lambda _call, _account: {1: no}
        await rig.submit_all(settles(*range(3)))
        await rig.produce(3)
        block = (await rig.chain.block(1)).ref
        assert rig.outbox.outcome("settle:0") == rig.outbox.outcome("settle:2") == CallIncluded(block, 0)
        assert rig.outbox.outcome("settle:1") == CallRejected(no, block, 0)


async def test_a_batch_that_fails_as_a_whole_fails_for_each():
    no = DispatchFailure("Tasks", "NotScheduler", "The account is not bonded as a scheduler.")
    async with running_rig() as rig:
        rig.chain.verdicts = lambda _call, _account: no
        await rig.submit_all(settles(*range(2)))
        await rig.produce()
        assert all(rig.outbox.outcome(f"settle:{task}").failure == no for task in range(2))


async def test_what_a_node_refused_together_is_sent_again_one_by_one(rig):
    rig.chain.refusals = [SubmitRefusal.CANNOT_PAY]
    await rig.submit_all(settles(*range(3)))
    await rig.produce(6)
    assert [done for done, _, _ in rig.chain.executed] == [settle(0), settle(1), settle(2)]


async def test_a_batch_on_its_way_is_taken_up_after_a_restart():
    chain, store = FakeChain(), Store(":memory:")
    async with running_rig(chain=chain, store=store) as rig:
        await rig.submit_all(settles(*range(2)))
    chain.forget_pool()
    async with running_rig(chain=chain, store=store) as rig:
        await rig.produce(2)
        assert [done.function for done, _, _ in chain.executed] == ["settle_batch"]
        assert all(isinstance(rig.outbox.outcome(f"settle:{task}"), CallIncluded) for task in range(2))


async def test_a_call_that_the_types_cannot_hold_does_not_drag_others_along():
    class Picky(FakeChain):
        async def sign(self, wanted, *rest, **how):
            if -1 in wanted.args.get("tasks", ()) or wanted.args.get("task") == -1:
                raise BadValue("Tasks.settle.task: -1 does not fit into u64.")
            return await super().sign(wanted, *rest, **how)

    async with running_rig(chain=Picky()) as rig:
        await rig.submit_all(settles(1, -1, 2))
        await rig.produce(2)
        assert isinstance(rig.outbox.outcome("settle:-1"), CallGivenUp)
        assert all(isinstance(rig.outbox.outcome(f"settle:{task}"), CallIncluded) for task in (1, 2))
