"""Watcher and outbox together, on the in-memory chain and on a node."""

import asyncio
import uuid

from chain_ports import NO_SUCH_TASK, POOR, RICH, node, remark

from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.chain.watcher import Watcher
from offchain.adapters.outbox.intent_values import CallGivenUp, CallIncluded, CallRejected
from offchain.adapters.outbox.outbox import Outbox
from offchain.adapters.outbox.store import Store
from offchain.errors import CallFailed, GaveUp

__all__ = ["node"]


async def test_a_worker_s_calls_reach_final_blocks_in_order(node):
    store = Store(":memory:")
    outbox = Outbox(node.chain, store, RICH, now_ms=lambda: 0)
    watcher = Watcher(node.chain, store, "w", start="finalized")
    seen = []

    async def handle(block):
        seen.append(block.ref.number)
        await outbox.observe(block)

    mark = uuid.uuid4().bytes
    keys = [f"k{n}" for n in range(10)]
    for n, key in enumerate(keys):
        await outbox.submit(key, remark(mark + bytes([n])))
    await outbox.submit("refused", NO_SUCH_TASK)
    tasks = [asyncio.ensure_future(work) for work in (outbox.run(), watcher.run(handle))]
    node.go()
    try:
        outcomes = [await outbox.wait(key, 60) for key in keys]
        refused = await outbox.wait("refused", 60)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, CallIncluded) for outcome in outcomes)
    places = [(outcome.block.number, outcome.index) for outcome in outcomes]
    assert places == sorted(places)
    assert isinstance(refused, CallRejected)
    assert refused.failure.name == "NoSuchTask"
    assert seen == list(range(seen[0], seen[-1] + 1))
    assert watcher.cursor.number in (seen[-1], seen[-1] - 1)


async def test_an_account_without_coins_is_given_up(node):
    store = Store(":memory:")
    outbox = Outbox(node.chain, store, POOR, now_ms=lambda: 0)
    watcher = Watcher(node.chain, store, "w", start="finalized")
    await outbox.submit("a", remark(b"poor"))
    tasks = [asyncio.ensure_future(work) for work in (outbox.run(), watcher.run(outbox.observe))]
    node.go()
    try:
        assert isinstance(await outbox.wait("a", 60), CallGivenUp)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_call_from_a_short_program(node):
    node.go()
    accepted = []
    included, block = await submit_once(node.chain, RICH, remark(b"short"), accepted=lambda: accepted.append("short"))
    assert accepted == ["short"]
    assert block.ref == included.block
    assert block.inclusions[included.index].failure is None
    for signer, call, error in ((RICH, NO_SUCH_TASK, CallFailed), (POOR, remark(b"poor"), GaveUp)):
        try:
            await submit_once(node.chain, signer, call, accepted=lambda: accepted.append("refused"))
        except error as refused:
            assert refused.message
        else:
            raise AssertionError(error)
    # A call that the chain refused was accepted by the node, one that could not be paid was not.
    assert accepted == ["short", "refused"]
