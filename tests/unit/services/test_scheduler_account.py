"""The bond and the published queue definitions of a scheduler's account."""

import logging

import pytest
from toy_network import WORKER, Toy

from offchain.adapters.chain.typed import GantryChain
from offchain.core.scheduler.queue_definitions import queue_tree
from offchain.services.scheduler_account import prepare_account
from offchain.services.submitter import CallOutcome

DIGEST = queue_tree().digest()
OTHER = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"


class Submitted:
    """Records the functions and arguments of calls, and reports each as done."""

    def __init__(self):
        self.calls = []

    async def __call__(self, _name, call):
        self.calls.append((call.function, call.args))
        return CallOutcome(block=1)

    async def forget(self, _name):
        pass


async def prepared(toy):
    """The calls that prepare the worker's account."""
    submit = Submitted()
    await prepare_account(submit, GantryChain(toy.chain), WORKER.address, DIGEST)
    return submit.calls


@pytest.fixture
def toy():
    return Toy()


async def test_a_new_account_bonds_and_publishes(toy):
    toy.chain.storage["Tasks", "Schedulers"].clear()
    assert await prepared(toy) == [("bond_scheduler", {}), ("publish_queues", {"digest": DIGEST})]


@pytest.mark.parametrize(("published", "calls"), [(DIGEST, 0), (bytes(32), 1), (None, 1)])
async def test_the_digest_is_published_once_and_again_when_it_changes(toy, published, calls):
    if published is not None:
        toy.put("Tasks", "QueueDigests", WORKER.address, value=published)
    assert await prepared(toy) == [("publish_queues", {"digest": DIGEST})][:calls]


@pytest.mark.parametrize("other", [DIGEST, bytes(32)])
async def test_schedulers_with_other_definitions_are_logged(toy, other, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("gantry"), "propagate", True)
    toy.put("Tasks", "QueueDigests", OTHER, value=other)
    await prepared(toy)
    assert (OTHER in caplog.text) is (other != DIGEST)
