"""Two agents with one key: each finds the other out from final blocks, and a lone agent never reports one."""

import asyncio

import pytest

from node_agent.chain.duplicates import DuplicateAgent, DuplicateWatch, other_agent_block, wait_for_silence
from node_agent.core.host_presence import BEAT_AT_PPM, EARLY_BEAT_AT_PPM, FIRST_BEAT_AT_PPM, PresenceCall, due_calls
from node_agent.core.identity import FREE, PAID, IdentityWatch
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.adapters.outbox.outbox import ERA_BLOCKS, Outbox
from offchain.adapters.outbox.store import Store
from offchain.ports import Block, BlockRef, Call, ChainEvent, Inclusion
from offchain.schema.chain_types._generated_chain import HostStatusOnline
from tests.support.chain_records import host_record, hosts_params
from tests.support.fake_chain import BLOCK_MS, FakeChain

KEY = from_uri("//Bob")
HOST = KEY.address
PERIOD_MS = 60_000
OWN, EARLIER, OTHER = b"own", b"earlier", b"other"


def free_of(account):
    return {FREE[2]: {"system": {"Signed": account}}}


def block(number, *extrinsics, account=HOST, ms=BLOCK_MS):
    events = tuple(ChainEvent(*FREE[:2], free_of(account), index) for index in range(len(extrinsics)))
    inclusions = tuple(Inclusion(index, extrinsic, None) for index, extrinsic in enumerate(extrinsics))
    return Block(BlockRef(number, b"%d" % number), b"", number * ms, events, inclusions)


@pytest.fixture
def watch():
    return IdentityWatch(HOST, ERA_BLOCKS, lambda extrinsic: extrinsic == OWN, {EARLIER})


def test_what_comes_after_every_extrinsic_of_an_earlier_run_is_over_is_a_proof(watch):
    assert not watch.observe(block(10, OWN))
    assert not watch.observe(block(10 + ERA_BLOCKS, OTHER))
    assert watch.proof is None
    assert watch.observe(block(11 + ERA_BLOCKS, OTHER))
    assert watch.proof.extrinsic == OTHER
    assert not watch.observe(block(12 + ERA_BLOCKS, OTHER))  # it is reported once


def test_without_an_extrinsic_of_this_run_nothing_is_proven(watch):
    """A node that lags shows blocks in which an earlier run of this agent was busy, for as long as it lags."""
    assert not any(watch.observe(block(number, OTHER)) for number in range(1, 300))
    assert watch.proof is None
    assert watch.is_suspected


@pytest.mark.parametrize("extrinsic", [OWN, EARLIER])
def test_own_extrinsics_are_not_foreign(watch, extrinsic):
    watch.observe(block(1, OWN))
    assert not any(watch.observe(block(number, extrinsic)) for number in range(2, 200))
    assert not watch.is_suspected


def test_extrinsics_of_other_accounts_do_not_matter(watch):
    watch.observe(block(1, OWN))
    assert not watch.observe(block(200, OTHER, account=from_uri("//Eve").address))


def test_a_call_with_a_fee_counts_too(watch):
    watch.observe(block(1, OWN))
    paid = ChainEvent(*PAID[:2], {PAID[2]: HOST, "actual_fee": 1, "tip": 0}, 0)
    taken = Block(BlockRef(200, b""), b"", 0, (paid,), (Inclusion(0, OTHER, None),))
    assert watch.observe(taken)


def test_who_saw_the_other_before_its_own_first_heartbeat_came_later(watch):
    watch.observe(block(1, OTHER))
    assert watch.came_later
    assert watch.is_suspected


def test_who_was_there_first_stays(watch):
    watch.observe(block(1, OWN))
    watch.note_heartbeat()
    assert watch.observe(block(100, OTHER))
    assert not watch.came_later
    assert not watch.is_suspected


def test_an_unconfirmed_suspicion_expires(watch):
    watch.observe(block(1, OTHER))
    watch.observe(block(20, OWN))
    watch.note_heartbeat()
    for number in range(21, 91):
        watch.at(number, number * BLOCK_MS, PERIOD_MS)
        assert watch.is_suspected
    assert not watch.at(92, 92 * BLOCK_MS, PERIOD_MS)
    assert not watch.is_suspected
    assert not watch.came_later


def test_another_agent_that_has_ended_is_no_problem_any_more(watch):
    watch.observe(block(1, OWN))
    watch.observe(block(100, OTHER))
    assert not watch.at(190, 190 * BLOCK_MS, PERIOD_MS)
    assert watch.at(191, 191 * BLOCK_MS, PERIOD_MS)
    assert watch.proof is None
    assert watch.observe(block(300, OTHER))  # it is back, which is reported again


def test_leases_without_containers_are_in_doubt_until_this_agent_was_heard(watch):
    watch.note_missing_containers()
    assert watch.is_suspected
    watch.note_heartbeat()
    assert not watch.is_suspected


@pytest.mark.parametrize("beat_at_ppm", [EARLY_BEAT_AT_PPM, BEAT_AT_PPM, FIRST_BEAT_AT_PPM])
def test_a_heartbeat_is_due_when_its_agent_wants_it(beat_at_ppm):
    host = host_record("5P", status=HostStatusOnline(), last_heartbeat=1_000_000, endpoint=b"here")
    at_ms = 1_000_000 + PERIOD_MS * beat_at_ppm // 1_000_000
    assert due_calls(host, PERIOD_MS, b"here", at_ms - 1, beat_at_ppm) == set()
    assert due_calls(host, PERIOD_MS, b"here", at_ms, beat_at_ppm) == {PresenceCall.HEARTBEAT}


# --- two outboxes with one key on one chain ---------------------------------------------------------------------------


class Side:
    """One of two agents: its outbox and its watch, on a chain that both share."""

    def __init__(self, chain, store=None):
        self.chain = chain
        self.store = store or Store(":memory:")
        self.outbox = Outbox(chain, self.store, KEY, now_ms=lambda: 0)
        self.duplicates = DuplicateWatch(HOST, GantryChain(chain), self.store, self.outbox)
        self.sending = asyncio.create_task(self.outbox.run())
        self.sent = 0

    async def beat(self):
        self.sent += 1
        await self.outbox.submit(f"beat/{self.sent}", Call("Hosts", "heartbeat", {}))
        await turn()

    async def take(self, final):
        await self.duplicates.on_final(final)
        await self.outbox.observe(final)
        await turn()

    async def kill(self):
        self.sending.cancel()
        await asyncio.gather(self.sending, return_exceptions=True)


async def turn():
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture
def chain():
    made = FakeChain()
    made.effects = lambda _call, account: [(*FREE[:2], free_of(account))]
    made.storage["Hosts", "Params"][()] = hosts_params()
    return made


async def produce(chain, count, *sides):
    for _ in range(count):
        final = await chain.produce()
        for side in sides:
            await side.take(final)


async def test_both_report_and_the_later_one_stops(chain, caplog):
    first = Side(chain)
    await first.beat()
    await produce(chain, 40, first)
    first.duplicates.watch.note_heartbeat()
    second = Side(chain)
    for _ in range(3):
        await first.beat()
        await produce(chain, 20, first, second)
        await second.beat()
        await produce(chain, 20, first, second)
    assert "another agent signs" in first.duplicates.trouble
    assert caplog.text.count(f"another agent signs with the key of host {HOST}") == 2
    with pytest.raises(DuplicateAgent, match="Stop one of the two"):
        await second.duplicates.until_stopped()
    assert other_agent_block(second.store) is not None
    assert other_agent_block(first.store) is None
    assert not first.duplicates._stop.is_set()
    await first.kill()
    await second.kill()


@pytest.mark.parametrize("keeps_database", [True, False])
async def test_an_agent_killed_with_unfinished_calls_detects_no_other_agent(chain, keeps_database):
    before = Side(chain)
    for _ in range(3):
        await before.beat()
    await before.kill()
    after = Side(chain, before.store if keeps_database else None)
    await produce(chain, 1, after)  # the calls of the run before
    assert len(chain.executed) == 3
    assert after.duplicates.watch.is_suspected is not keeps_database
    for _ in range(6):
        await after.beat()
        await produce(chain, 20, after)
        after.duplicates.watch.note_heartbeat()
    assert after.duplicates.trouble == ""
    await asyncio.wait_for(after.duplicates.until_no_suspicion(), 1)
    await after.kill()


async def test_a_restored_backup_detects_no_other_agent(chain, tmp_path):
    before = Side(chain, Store(tmp_path / "agent.db"))
    await before.beat()
    await produce(chain, 1, before)
    backup = Store(tmp_path / "backup.db")
    before.store._db.backup(backup._db)
    for _ in range(4):
        await before.beat()
        await produce(chain, 10, before)
    await before.beat()
    await before.kill()
    after = Side(chain, backup)
    for _ in range(6):
        await after.beat()
        await produce(chain, 20, after)
    assert after.duplicates.trouble == ""
    await after.kill()


async def test_a_reorganisation_of_best_blocks_is_no_proof(chain):
    side = Side(chain)
    for _ in range(20):
        await side.beat()
        await chain.produce(2, finalize=False)
        await chain.fork(2)
        await chain.produce(3, finalize=False)
        number = (await chain.finalized_head()).number + 1
        await chain.finalize()
        for final in range(number, (await chain.finalized_head()).number + 1):
            await side.take(await chain.block(final))
    assert side.duplicates.trouble == ""
    assert not side.duplicates.watch.is_suspected
    await side.kill()


async def test_a_stopped_agent_waits_for_the_end_of_the_others_heartbeats(chain):
    store = Store(":memory:")
    assert other_agent_block(store) is None
    store.run("INSERT INTO other_agent VALUES (0, 7)")

    def say(last_ms):
        record = host_record("5P", status=HostStatusOnline(), last_heartbeat=last_ms)
        chain.storage["Hosts", "Hosts"][(HOST,)] = record.encode()

    say(0)
    chain.storage["Timestamp", "Now"][()] = PERIOD_MS
    waiting = asyncio.create_task(wait_for_silence(chain, HOST, store, chance=lambda: 0.0))
    for now_ms in range(PERIOD_MS, 10 * PERIOD_MS, PERIOD_MS):
        say(now_ms - PERIOD_MS)
        chain.storage["Timestamp", "Now"][()] = now_ms
        await chain.produce()
        await turn()
        assert not waiting.done()
    assert other_agent_block(store) == 7
    chain.storage["Timestamp", "Now"][()] = 11 * PERIOD_MS
    await chain.produce()
    await asyncio.wait_for(waiting, 1)
    assert other_agent_block(store) is None
