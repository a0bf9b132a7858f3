"""What a host has earned, from the chain, kept when the chain forgets."""

import asyncio
import contextlib
import json

import pytest

from node_agent.runtime.journal import EarningsJournal, EarningsTotal
from node_agent.runtime.state_dir import StateDir
from node_agent.runtime.status_file import StatusFile, read_status
from offchain.adapters.chain.chain_identity import expected_genesis
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import Tasks, escrow, lease, task_spec
from tests.support.fake_chain import FakeChain

HOST, OTHER = "5Host", "5Other"


@pytest.fixture
async def world(tmp_path):
    chain = FakeChain()
    tasks = Tasks(chain)
    store = Store(tmp_path / "agent.db")
    yield chain, tasks, EarningsJournal(store)
    store.close()


def opened(tasks, host=HOST, **money):
    number = tasks.submit("5T", task_spec())
    tasks.change(number, state=gen.TaskStateRunning(), leases=(lease(host, created_at=number, escrow=escrow(**money)),))
    return lease_id(number, 0, 0)


async def test_what_is_paid_is_added_up_and_kept(world):
    chain, tasks, journal = world
    first, second, other = opened(tasks, paid=10, fee=1), opened(tasks), opened(tasks, OTHER, paid=99)
    await chain.produce()
    typed = GantryChain(chain)
    await journal.refresh(typed, HOST)
    assert journal.total() == EarningsTotal(2, 9, 2)
    assert [entry.lease for entry in journal.open_entries()] == [first, second]
    assert other not in {entry.lease for entry in journal.open_entries()}
    tasks.change_lease(
        first, state=gen.LeaseStateEnded(gen.EndReasonCompleted()), escrow=escrow(paid=100, fee=5, open=False)
    )
    await chain.produce()
    await journal.refresh(typed, HOST)
    assert journal.total() == EarningsTotal(2, 95, 1)


async def test_a_task_that_the_chain_has_forgotten_is_closed(world):
    chain, tasks, journal = world
    opened(tasks, paid=10)
    await chain.produce()
    await journal.refresh(GantryChain(chain), HOST)
    chain.storage["Tasks", "Tasks"].clear()
    chain.storage["Leases", "ByHost"].clear()
    await chain.produce()
    await journal.refresh(GantryChain(chain), HOST)
    assert journal.total() == EarningsTotal(1, 10, 0)
    assert journal.open_entries() == []


def test_all_that_an_agent_keeps_fits_into_one_database(tmp_path):
    with contextlib.closing(StateDir(tmp_path)) as state:
        Outbox(FakeChain(), state.store, state.host_key(), now_ms=lambda: 0)
        expected_genesis(state.store, bytes(32))
        assert EarningsJournal(state.store).total() == EarningsTotal(0, 0, 0)


async def test_a_beacon_is_of_a_process_that_lives(tmp_path):
    ready = asyncio.Event()
    facts = {"pods": {"7": "Running"}, "devices": {}, "network": {}}
    beacon = StatusFile(tmp_path, "abc", ("1.2.3.4:5",), lambda: facts, now_ms=lambda: 5)
    running = asyncio.create_task(beacon.run(ready))
    async with asyncio.timeout(10):
        while read_status(tmp_path) is None:  # noqa: ASYNC110  (a file has no event)
            await asyncio.sleep(0)
        assert not read_status(tmp_path).ready
        ready.set()
        while not read_status(tmp_path).ready:  # noqa: ASYNC110  (a file has no event)
            await asyncio.sleep(0)
    found = read_status(tmp_path)
    assert (found.ready, found.release, found.pods, found.addresses) == (True, "abc", {"7": "Running"}, ("1.2.3.4:5",))
    running.cancel()
    path = tmp_path / "running.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"start_time": 1}))
    assert read_status(tmp_path) is None
    path.write_text("{")
    assert read_status(tmp_path) is None
