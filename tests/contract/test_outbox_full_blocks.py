"""The outbox where blocks are full of others' extrinsics: tips, replaced extrinsics, free calls that wait."""

from outbox_rig import call, running_rig, settles

from offchain.adapters.outbox.intent_values import CallIncluded
from offchain.adapters.outbox.store import Store
from offchain.schema.chain_types._generated_chain import calls
from tests.support.fake_chain import FakeChain


async def test_what_no_block_takes_is_followed_by_the_same_with_a_tip():
    async with running_rig(era_blocks=32) as rig:
        rig.chain.least_tip = 1
        await rig.outbox.submit("a", call(1))
        await rig.submit("b", call(2))
        nonces = sorted(x.nonce for x in rig.chain.pool)
        await rig.produce(9)
        assert rig.done() == [b"1", b"2"]
        assert [nonce for _, _, nonce in rig.chain.executed] == nonces
        assert isinstance(rig.outbox.outcome("a"), CallIncluded)
        assert rig.outbox.unfinished == 0


async def test_the_tip_grows_until_a_block_takes_it():
    async with running_rig(era_blocks=32) as rig:
        rig.chain.least_tip = 5_000_000_000
        await rig.submit("a", call())
        await rig.produce(60)
        assert rig.done() == [b"0"]


async def test_where_the_largest_tip_is_not_enough_it_is_done_once_when_blocks_have_room_again():
    async with running_rig(era_blocks=16) as rig:
        rig.chain.least_tip = 10**18
        await rig.submit("a", call())
        await rig.produce(70)
        assert rig.done() == []
        rig.chain.least_tip = 0
        await rig.produce(30)
        assert rig.done() == [b"0"]
        assert isinstance(rig.outbox.outcome("a"), CallIncluded)


async def test_a_free_call_that_waits_keeps_its_place_and_is_done_once():
    async with running_rig(era_blocks=32) as rig:
        rig.chain.free = lambda _call, _account: True
        await rig.submit("a", call())
        waiting = rig.chain.pool
        await rig.produce(12, take=0)
        assert rig.chain.pool == waiting
        await rig.produce()
        assert rig.done() == [b"0"]


async def test_free_calls_of_an_account_come_into_one_block_each_and_the_waiting_go_together():
    async with running_rig(era_blocks=32) as rig:
        rig.chain.free = lambda _call, _account: True
        await rig.submit("a", call())
        for lease in range(3):
            await rig.outbox.submit(f"started:{lease}", calls.tasks_report_started(lease=lease))
        await rig.settle()
        assert len(rig.chain.pool) == 1, "a node takes the next free call only"
        await rig.produce(2)
        assert [done.args for done, _, _ in rig.chain.executed][1:] == [
            {"reports": [(lease, "Started") for lease in range(3)]}
        ]
        await rig.produce()
        assert all(isinstance(rig.outbox.outcome(f"started:{lease}"), CallIncluded) for lease in range(3))


async def test_a_free_call_that_waits_for_another_is_never_given_up():
    async with running_rig(era_blocks=64) as rig:
        rig.chain.free = lambda _call, _account: True
        await rig.submit("a", call())
        await rig.outbox.submit("b", call(1))
        await rig.produce(40, take=0)
        await rig.produce(3)
        assert rig.done() == [b"0", b"1"]


async def test_a_batch_keeps_its_items_and_their_outcomes_under_a_tip():
    async with running_rig(era_blocks=32) as rig:
        rig.chain.least_tip = 1
        await rig.submit_all(settles(*range(3)))
        await rig.produce(10)
        assert [done.args for done, _, _ in rig.chain.executed] == [{"tasks": [0, 1, 2]}]
        assert all(isinstance(rig.outbox.outcome(f"settle:{task}"), CallIncluded) for task in range(3))


async def test_either_of_two_with_the_same_number_may_come_into_the_block():
    async with running_rig(era_blocks=32) as rig:
        rig.chain.least_tip = 1
        await rig.submit("a", call())
        (first,) = rig.chain.pool
        await rig.produce(8, take=0)
        (second,) = rig.chain.pool
        assert second != first
        rig.chain.forget_pool()
        rig.chain.least_tip = 0
        await rig.chain.broadcast(first)
        await rig.produce(3)
        assert rig.done() == [b"0"]
        assert isinstance(rig.outbox.outcome("a"), CallIncluded)
        assert rig.outbox.unfinished == 0


async def test_what_a_block_takes_while_another_extrinsic_is_replaced_is_left_alone(monkeypatch):
    async with running_rig(era_blocks=32) as rig:
        rig.chain.least_tip = 1
        await rig.submit("a", call(1))
        await rig.submit("b", call(2))
        sign = rig.chain.sign

        async def sign_slowly(*values, **named):
            monkeypatch.setattr(rig.chain, "sign", sign)
            rig.chain.least_tip = 0
            await rig.chain.produce()
            await rig.outbox.wait("b", 10)
            await rig.outbox.forget("b")
            return await sign(*values, **named)

        monkeypatch.setattr(rig.chain, "sign", sign_slowly)
        await rig.produce(9)
        assert rig.done() == [b"1", b"2"]
        await rig.submit("c", call(3))
        await rig.produce(2)
        assert rig.done() == [b"1", b"2", b"3"]


async def test_after_a_restart_the_larger_tip_is_handed_over():
    chain, store = FakeChain(), Store(":memory:")
    chain.least_tip = 1
    async with running_rig(chain=chain, store=store, era_blocks=32) as rig:
        await rig.submit("a", call())
        await rig.produce(8, take=0)
    chain.forget_pool()
    async with running_rig(chain=chain, store=store, era_blocks=32) as rig:
        await rig.produce(2)
        assert rig.done() == [b"0"]
