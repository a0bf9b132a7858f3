"""The outbox on the in-memory chain: each way in which things go wrong, one by one."""

import asyncio

import pytest
from outbox_rig import ALICE, call, rig, settle

from offchain.adapters.outbox.admin import OutboxAdmin
from offchain.adapters.outbox.intent_values import IntentState
from offchain.adapters.outbox.outbox import CallGivenUp, CallIncluded, CallRejected
from offchain.adapters.outbox.store import Store
from offchain.errors import BadValue, SubmitRefusal
from offchain.ports import Call, DispatchFailure
from tests.support.fake_chain import FakeChain


async def test_a_call_is_included_and_its_place_is_known():
    async with rig() as r:
        await r.outbox.submit("a", call())
        await r.settle()
        await r.produce()
        outcome = await r.outbox.wait("a", 1)
        assert outcome == CallIncluded((await r.chain.block(1)).ref, 0)
        assert r.outbox.unfinished == 0


async def test_the_same_key_is_done_once():
    async with rig() as r:
        for _ in range(3):
            await r.outbox.submit("a", call())
            await r.settle()
            await r.produce()
        assert r.done() == [b"0"]


async def test_many_calls_share_a_block_in_order():
    async with rig() as r:
        for n in range(20):
            await r.outbox.submit(f"k{n}", call(n))
        await r.settle()
        await r.produce()
        assert r.done() == [b"%d" % n for n in range(20)]


async def test_a_refused_dispatch_is_an_outcome_and_not_repeated():
    async with rig() as r:
        no = DispatchFailure("Tasks", "NoCapacity", "The host is full.")
        r.chain.verdicts = lambda _call, _account: no
        await r.outbox.submit("a", call())
        await r.settle()
        await r.produce(20)
        assert await r.outbox.wait("a", 1) == CallRejected(no, (await r.chain.block(1)).ref, 0)
        assert [len((await r.chain.block(n)).inclusions) for n in range(1, 21)] == [1] + [0] * 19


@pytest.mark.parametrize("refusal", SubmitRefusal)
async def test_one_refusal_does_no_harm(refusal):
    async with rig() as r:
        r.chain.refusals = [refusal]
        await r.outbox.submit("a", call())
        await r.settle()
        await r.produce(6)
        assert r.done() == [b"0"]
        assert isinstance(r.outbox.outcome("a"), CallIncluded)


async def test_an_account_without_coins_is_given_up_after_some_blocks():
    async with rig() as r:
        r.chain.unpayable = lambda _call, _account: True
        await r.outbox.submit("a", call())
        await r.settle()
        assert OutboxAdmin(r.store).entries(IntentState.DEAD) == []
        await r.produce(10)
        assert isinstance(await r.outbox.wait("a", 1), CallGivenUp)
        dead = OutboxAdmin(r.store).entries(IntentState.DEAD)
        assert [(entry.key, entry.call, entry.attempts) for entry in dead] == [("a", call(), 4)]
        r.chain.unpayable = lambda _call, _account: False
        await r.outbox.submit("b", call(1))
        await r.settle()
        await r.produce()
        assert r.done() == [b"1"]


async def test_a_refused_call_does_not_hold_up_the_next():
    async with rig() as r:
        r.chain.unpayable = lambda wanted, _account: wanted == call(0)
        await r.outbox.submit("a", call(0))
        await r.outbox.submit("b", call(1))
        await r.settle()
        await r.produce()
        assert r.done() == [b"1"]


async def test_what_a_node_forgets_it_is_told_again():
    async with rig() as r:
        await r.outbox.submit("a", call())
        await r.settle()
        r.chain.forget_pool()
        await r.produce(6)
        assert r.done() == [b"0"]


async def test_what_is_dropped_from_the_pool_leaves_no_hole():
    async with rig() as r:
        await r.outbox.submit("dropped", call(0))
        await r.outbox.submit("behind", call(1))
        await r.settle()
        r.chain.unpayable = lambda wanted, _account: wanted == call(0)
        await r.produce()
        assert r.done() == []
        await r.outbox.submit("next", call(2))
        await r.settle()
        await r.produce(2)
        assert r.done() == [b"2", b"1"]
        r.chain.unpayable = lambda _call, _account: False
        await r.produce(12)
        assert r.done() == [b"2", b"1", b"0"]


async def test_after_its_end_it_is_signed_anew():
    async with rig() as r:
        await r.outbox.submit("a", call())
        await r.settle()
        first = r.chain.pool[0]
        await r.produce(8, take=0)
        await r.produce(2)
        assert r.done() == [b"0"]
        assert r.outbox.outcome("a").block.number > first.valid_until


async def test_a_fork_changes_nothing():
    async with rig() as r:
        await r.outbox.submit("a", call())
        await r.settle()
        await r.produce(finalize=False)
        await r.chain.fork()
        await r.produce(finalize=False)
        await r.produce()
        assert r.done() == [b"0"]


async def test_another_program_may_take_the_nonce():
    async with rig() as r:
        await r.outbox.submit("a", call())
        await r.settle()
        r.chain.forget_pool()
        await r.chain.broadcast(await r.chain.sign(call(9), ALICE, 0))
        await r.produce(8)
        assert r.done() == [b"9", b"0"]


async def test_a_lost_reply_is_no_second_time():
    async with rig() as r:
        r.chain.lose_replies = 1
        await r.outbox.submit("a", call())
        await r.settle()
        await r.produce(12)
        assert r.done() == [b"0"]


async def test_an_absent_node_is_waited_for():
    async with rig() as r:
        r.chain.unreachable = True
        await r.outbox.submit("a", call())
        for _ in range(100):
            await asyncio.sleep(0)
        r.chain.unreachable = False
        await r.outbox.observe(await r.chain.produce())
        await r.settle()
        await r.produce()
        assert r.done() == [b"0"]


async def test_a_newer_call_takes_the_place_of_one_not_sent_yet():
    async with rig() as r:
        r.chain.unpayable = lambda wanted, _account: wanted == call(1)
        await r.outbox.submit("a", call(1))
        await r.settle()
        await r.outbox.submit("a", call(2), supersede=True)
        await r.settle()
        await r.produce(8)
        assert r.done() == [b"2"]


async def test_a_newer_call_follows_one_that_is_on_its_way():
    async with rig() as r:
        await r.outbox.submit("a", call(1))
        await r.settle()
        await r.outbox.submit("a", call(2), supersede=True)
        await r.outbox.submit("a", call(3), supersede=True)
        await r.settle()
        await r.produce(3)
        assert r.done() == [b"1", b"3"]


async def test_a_call_that_the_types_cannot_hold_is_given_up_with_the_reason():
    class Picky(FakeChain):
        async def sign(self, *_args, **_how):
            raise BadValue("Tasks.assign.pods[0].pod: 70000 does not fit into u16.")

    async with rig(chain=Picky()) as r:
        await r.outbox.submit("a", call())
        await r.settle()
        assert await r.outbox.wait("a", 1) == CallGivenUp("Tasks.assign.pods[0].pod: 70000 does not fit into u16.")


async def test_waiting_ends_in_time_and_refuses_unknown_keys():
    async with rig() as r:
        with pytest.raises(LookupError):
            await r.outbox.wait("never")
        await r.outbox.submit("a", call())
        with pytest.raises(TimeoutError):
            await r.outbox.wait("a", 0)


async def test_blocks_that_passed_while_nobody_looked_are_searched():
    chain, store = FakeChain(), Store(":memory:")
    async with rig(chain=chain, store=store) as r:
        await r.outbox.submit("a", call())
        await r.settle()
    await chain.produce(20)
    async with rig(chain=chain, store=store) as r:
        await r.produce(2)
        assert isinstance(r.outbox.outcome("a"), CallIncluded)
        assert r.done() == [b"0"]


# --- calls that go together -------------------------------------------------------------------------------------------


async def test_calls_of_one_kind_that_wait_together_go_as_one():
    async with rig() as r:
        for task in range(3):
            await r.outbox.submit(f"settle:{task}", settle(task))
        await r.outbox.submit("other", call())
        await r.outbox.submit("settle:9", settle(9))
        await r.settle()
        await r.produce()
        together = Call("Tasks", "settle_batch", {"tasks": [0, 1, 2]})
        assert [done for done, _, _ in r.chain.executed] == [together, call(), settle(9)]
        outcomes = [r.outbox.outcome(f"settle:{task}") for task in (0, 1, 2, 9)]
        block = (await r.chain.block(1)).ref
        assert outcomes == [CallIncluded(block, 0)] * 3 + [CallIncluded(block, 2)]


async def test_a_refused_item_fails_alone():
    no = DispatchFailure("Tasks", "NotSettleable", "The task cannot be settled in its state.")
    async with rig() as r:
        r.chain.refused_items = lambda _call, _account: {1: no}
        for task in range(3):
            await r.outbox.submit(f"settle:{task}", settle(task))
        await r.settle()
        await r.produce(3)
        block = (await r.chain.block(1)).ref
        assert r.outbox.outcome("settle:0") == r.outbox.outcome("settle:2") == CallIncluded(block, 0)
        assert r.outbox.outcome("settle:1") == CallRejected(no, block, 0)


async def test_a_batch_that_fails_as_a_whole_fails_for_each():
    no = DispatchFailure("Tasks", "NotScheduler", "The account is not bonded as a scheduler.")
    async with rig() as r:
        r.chain.verdicts = lambda _call, _account: no
        for task in range(2):
            await r.outbox.submit(f"settle:{task}", settle(task))
        await r.settle()
        await r.produce()
        assert all(r.outbox.outcome(f"settle:{task}").failure == no for task in range(2))


async def test_what_a_node_refused_together_is_sent_again_one_by_one():
    async with rig() as r:
        r.chain.refusals = [SubmitRefusal.CANNOT_PAY]
        for task in range(3):
            await r.outbox.submit(f"settle:{task}", settle(task))
        await r.settle()
        await r.produce(6)
        assert [done for done, _, _ in r.chain.executed] == [settle(0), settle(1), settle(2)]


async def test_a_batch_on_its_way_is_taken_up_after_a_restart():
    chain, store = FakeChain(), Store(":memory:")
    async with rig(chain=chain, store=store) as r:
        for task in range(2):
            await r.outbox.submit(f"settle:{task}", settle(task))
        await r.settle()
    chain.forget_pool()
    async with rig(chain=chain, store=store) as r:
        await r.produce(2)
        assert [done.function for done, _, _ in chain.executed] == ["settle_batch"]
        assert all(isinstance(r.outbox.outcome(f"settle:{task}"), CallIncluded) for task in range(2))


async def test_a_call_that_the_types_cannot_hold_does_not_drag_others_along():
    class Picky(FakeChain):
        async def sign(self, wanted, *rest, **how):
            if -1 in wanted.args.get("tasks", ()) or wanted.args.get("task") == -1:
                raise BadValue("Tasks.settle.task: -1 does not fit into u64.")
            return await super().sign(wanted, *rest, **how)

    async with rig(chain=Picky()) as r:
        for task in (1, -1, 2):
            await r.outbox.submit(f"settle:{task}", settle(task))
        await r.settle()
        await r.produce(2)
        assert isinstance(r.outbox.outcome("settle:-1"), CallGivenUp)
        assert all(isinstance(r.outbox.outcome(f"settle:{task}"), CallIncluded) for task in (1, 2))
