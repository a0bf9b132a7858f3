"""The outbox where nothing moves: a full pool, a full disk, a node that has forgotten, calls that were given up."""

import asyncio

import pytest
from outbox_rig import ALICE, Rig, call, running_rig, settles

from offchain.adapters.outbox import call_queue, outbox
from offchain.adapters.outbox.admin import OutboxAdmin, OutboxRefusal
from offchain.adapters.outbox.intent_values import CallGivenUp, CallIncluded, IntentState
from offchain.adapters.outbox.retry import REFUSALS_OF_A_FORK
from offchain.adapters.outbox.store import Store
from offchain.errors import StoreStuck
from tests.support.fake_chain import FakeChain

# --- the node's queue -------------------------------------------------------------------------------------------------


async def test_a_full_pool_costs_the_waiting_calls_no_tries(rig):
    rig.chain.pool_limit = 0
    for n in range(50):
        await rig.outbox.submit(f"k{n}", call(n))
    await rig.settle()
    await rig.produce(5)
    tries = [entry.attempts for entry in OutboxAdmin(rig.store).entries()]
    assert sum(tries) <= 6
    rig.chain.pool_limit = None
    await rig.produce(12)
    assert sorted(rig.done()) == sorted(b"%d" % n for n in range(50))


# --- a node that keeps no old events ----------------------------------------------------------------------------------


async def test_what_was_included_in_a_block_whose_events_are_gone_is_not_sent_again():
    chain, store = FakeChain(), Store(":memory:")
    async with running_rig(chain=chain, store=store) as rig:
        await rig.submit("a", call())
    await chain.produce(20)
    chain.pruned_before = 19
    store.run("DELETE FROM cursors")  # as an agent, which watches from the present on
    async with running_rig(chain=chain, store=store) as rig:
        await rig.produce(4)
        outcome = rig.outbox.outcome("a")
        assert isinstance(outcome, CallGivenUp)
        assert "block 1" in outcome.reason
        assert rig.done() == [b"0"]


async def test_what_no_block_held_is_sent_again_although_their_events_are_gone():
    chain, store = FakeChain(), Store(":memory:")
    async with running_rig(chain=chain, store=store) as rig:
        await rig.submit("a", call())
    chain.forget_pool()
    await chain.produce(20)
    chain.pruned_before = 19
    store.run("DELETE FROM cursors")  # as an agent, which watches from the present on
    async with running_rig(chain=chain, store=store) as rig:
        await rig.produce(4)
        assert rig.done() == [b"0"]
        assert isinstance(rig.outbox.outcome("a"), CallIncluded)


# --- a full disk ------------------------------------------------------------------------------------------------------


async def limit_pages(store, pages):
    """The database may not have more pages, as on a full disk."""
    await store.write(lambda: store.writer.run(f"PRAGMA max_page_count = {pages}"))


async def test_on_a_full_disk_nothing_is_half_done_and_it_goes_on_when_there_is_space(tmp_path):
    store = Store(tmp_path / "worker.db")
    rig = Rig(store=store, era_blocks=1000)  # blocks are made faster than the disk stores
    await rig.start()
    stored = []

    async def submit_for_ever():
        for n in range(10_000):
            await rig.outbox.submit(f"k{n}", call(n))
            stored.append(n)

    def all_included():
        return all(isinstance(rig.outbox.outcome(f"k{n}"), CallIncluded) for n in stored)

    try:
        store.run("PRAGMA wal_checkpoint(TRUNCATE)")
        await limit_pages(store, store.one("PRAGMA page_count")[0])
        with pytest.raises(StoreStuck) as stuck:
            await submit_for_ever()
        assert "Free some space" in stuck.value.hint
        assert len(OutboxAdmin(store).entries()) == len(stored)
        work, watching = rig.tasks
        for _ in range(3):
            await rig.chain.produce()
            for _ in range(400):
                await asyncio.sleep(0)
        assert not work.done()
        await limit_pages(store, 1_000_000)
        async with asyncio.timeout(30):
            while rig.outbox.unfinished or not all_included():
                if watching.done():  # it ended with StoreStuck; its owner starts it again
                    assert isinstance(watching.exception(), StoreStuck)
                    watching = asyncio.ensure_future(rig.watcher.run(rig.outbox.observe))
                    rig.tasks[1] = watching
                head = (await rig.chain.produce()).ref.number
                while rig.watcher.cursor.number < head and not watching.done():  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
        assert rig.done() == [b"%d" % n for n in stored]
    finally:
        await rig.kill()
        store.close()


# --- the operator -----------------------------------------------------------------------------------------------------


async def given_up(rig):
    rig.chain.unpayable = lambda _call, _account: True
    await rig.submit("a", call())
    await rig.produce(10)
    rig.chain.unpayable = lambda _call, _account: False
    (entry,) = OutboxAdmin(rig.store).entries(IntentState.DEAD)
    return entry


async def test_a_dead_letter_tells_its_reason_and_is_sent_again_on_request(rig):
    entry = await given_up(rig)
    assert "cannot pay" in entry.reason
    assert (entry.key, entry.call, entry.attempts) == ("a", call(), 4)
    OutboxAdmin(rig.store).retry(entry.number)
    await rig.produce(3)
    assert rig.done() == [b"0"]
    assert OutboxAdmin(rig.store).entries() == []


async def test_a_dropped_dead_letter_is_gone(rig):
    entry = await given_up(rig)
    OutboxAdmin(rig.store).drop(entry.number)
    await rig.produce(5)
    assert rig.done() == []
    assert OutboxAdmin(rig.store).entries() == []
    with pytest.raises(OutboxRefusal, match="no call"):
        OutboxAdmin(rig.store).drop(entry.number)


async def test_what_is_on_its_way_or_done_cannot_be_dropped_or_sent_again(rig):
    await rig.submit("a", call())
    admin = OutboxAdmin(rig.store)
    (entry,) = admin.entries()
    assert entry.state is IntentState.SENT
    for act in (admin.drop, admin.retry):
        with pytest.raises(OutboxRefusal, match=f"up to {entry.valid_until}"):
            act(entry.number)
    await rig.produce()
    for act in (admin.drop, admin.retry):
        with pytest.raises(OutboxRefusal, match="ended already"):
            act(entry.number)
    assert rig.done() == [b"0"]


async def test_whoever_waits_is_told_when_another_program_drops_the_call(tmp_path):
    store, other = Store(tmp_path / "worker.db"), Store(tmp_path / "worker.db")
    async with running_rig(store=store) as rig:
        rig.chain.pool_limit = 0
        await rig.submit("a", call())
        waiting = asyncio.ensure_future(rig.outbox.wait("a", 20))
        await rig.settle()
        (entry,) = OutboxAdmin(other).entries()
        OutboxAdmin(other).drop(entry.number)
        await rig.produce()
        assert "dropped" in (await waiting).reason
    for one in (store, other):
        one.close()


async def test_a_stall_of_finality_ends_without_calls_given_up():
    async with running_rig(era_blocks=32) as rig:
        for number in range(15):
            await rig.produce(20, finalize=False)
            await rig.submit(f"k{number}", call(number))
        await rig.produce()
        assert rig.done() == [b"%d" % number for number in range(15)]
        assert OutboxAdmin(rig.store).entries() == []


async def test_refused_calls_are_tried_again_in_best_blocks_while_finality_stalls(monkeypatch):
    monkeypatch.setattr(outbox, "STALL_S", 0.001)
    async with running_rig(era_blocks=32) as rig:
        rig.chain.free = lambda _call, _account: True
        for number in range(3):
            await rig.outbox.submit(f"k{number}", call(number))
        await rig.settle()
        assert len(rig.chain.pool) == 1, "a node takes the next free call only"
        async with asyncio.timeout(20):
            while await rig.chain.next_nonce(ALICE.address) < 3 or rig.chain.pool:
                await rig.chain.produce(finalize=False)
                await asyncio.sleep(0.001)
        assert (await rig.chain.finalized_head()).number == 0
        assert [entry.attempts for entry in OutboxAdmin(rig.store).entries()] == [1, 1, 1]
        await rig.chain.finalize()
        assert rig.done() == [b"0", b"1", b"2"]


async def test_refused_calls_are_tried_again_while_the_blocks_of_a_stall_become_final_one_by_one(monkeypatch):
    monkeypatch.setattr(outbox, "STALL_S", 0.05)
    async with running_rig(era_blocks=1000) as rig:
        rig.chain.free = lambda _call, _account: True
        stalled = (await rig.chain.produce(400, finalize=False)).ref.number
        for number, key in enumerate("ab"):
            await rig.submit(key, call(number))
        assert len(rig.chain.pool) == 1, "a node takes the next free call only"
        async with asyncio.timeout(20):
            while rig.outbox._retry_clock < stalled:
                await rig.settle()
        await rig.chain.produce(finalize=False)
        for number in range(stalled):
            await rig.chain.finalize(number)
            await asyncio.sleep(0.001)
            if rig.chain.pool:
                break
        assert rig.chain.pool, "the call waits until the last block of the stall is final"


async def test_free_calls_follow_one_another_with_best_blocks_without_a_refusal_and_urgent_ones_are_first():
    async with running_rig(era_blocks=1000, one_at_a_time=True) as rig:
        rig.chain.free = lambda _call, _account: True
        for number, key in enumerate("abcd"):
            await rig.submit(key, call(number), urgent=key == "d")
        sent = []
        for _ in range(4):
            (waiting,) = rig.chain.pool
            sent.append(rig.chain.call_of(waiting).args["remark"])
            await rig.chain.produce(finalize=False)
            rig.outbox.notice_best()
            await rig.settle()
        assert sent == [b"0", b"3", b"1", b"2"]
        assert (await rig.chain.finalized_head()).number == rig.chain.refused == 0
        await rig.chain.finalize()
        await rig.settle()
        assert rig.done() == sent


@pytest.mark.parametrize("refusal", sorted(REFUSALS_OF_A_FORK))
async def test_the_refusal_of_another_fork_is_no_reason_to_give_up_a_call_that_follows_another(refusal):
    async with running_rig(era_blocks=64) as rig:
        await rig.submit("a", call())
        rig.chain.refusals = [refusal] * 20
        await rig.submit("b", call(1))
        await rig.produce(21, take=0)
        assert not rig.chain.refusals
        await rig.produce(2)
        assert rig.done() == [b"0", b"1"]
        assert OutboxAdmin(rig.store).entries(IntentState.DEAD) == []


async def test_an_account_without_coins_waits_for_them_and_nothing_is_given_up():
    async with running_rig(waits_for_coins=True) as rig:
        rig.chain.unpayable = lambda _call, _account: True
        await rig.submit_all({f"k{number}": call(number) for number in range(3)})
        await rig.produce(40)
        assert OutboxAdmin(rig.store).entries(IntentState.DEAD) == []
        assert rig.chain.refused < 10
        rig.chain.unpayable = lambda _call, _account: False
        await rig.produce(33)
        assert sorted(rig.done()) == [b"0", b"1", b"2"]


async def test_calls_given_up_are_kept_for_a_week_of_blocks(monkeypatch):
    monkeypatch.setattr(call_queue, "DEAD_LETTER_BLOCKS", 20)
    async with running_rig() as rig:
        rig.chain.unpayable = lambda _call, _account: True
        await rig.submit("a", call())
        await rig.produce(10)
        assert isinstance(rig.outbox.outcome("a"), CallGivenUp)
        for block, left in ((25, 1), (32, 0)):
            rig.outbox.forget_old(block, 5)
            await rig.settle()
            assert len(OutboxAdmin(rig.store).entries(IntentState.DEAD)) == left


async def test_no_call_of_the_outbox_reads_the_whole_of_a_table():
    async with running_rig() as rig:
        plans = {}

        def note(statement):
            if statement.split()[0] in ("SELECT", "UPDATE", "DELETE"):
                plans.setdefault(statement)

        rig.store._db.set_trace_callback(note)
        rig.chain.least_tip = 1
        await rig.submit_all(settles(1, 2))
        await rig.produce(10)
        await rig.submit("a", call(), supersede=True)
        await rig.produce(5)
        await rig.outbox.forget("a")
        rig.outbox.forget_old(30, 5)
        await rig.settle()
        rig.store._db.set_trace_callback(None)
        scanned = {
            statement: row["detail"]
            for statement in plans
            for row in rig.store.all(f"EXPLAIN QUERY PLAN {statement}")
            if row["detail"].startswith("SCAN") and "json_each" not in row["detail"]
        }
        assert not scanned
        assert len(plans) > 10
