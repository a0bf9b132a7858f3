"""Tasks that are over leave the chain's storage, and their stories stay."""

from dataclasses import replace

from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.ports import Call
from offchain.schema.chain_types._generated_chain import TasksParams, calls
from tests.support.local_network import Net


async def set_params(net: Net, params: TasksParams) -> None:
    """As the root of a development chain."""
    inner = calls.tasks_set_params(params=params)
    sudo = Call("Sudo", "sudo", {"call": {inner.pallet: {inner.function: inner.args}}})
    await submit_once(net.chain, from_uri("//Alice"), sudo)


async def test_a_task_that_is_over_for_long_is_pruned_and_its_story_is_told(net: Net):
    task = await net.submit(steps=1)
    await net.story(task)
    paid = await net.assert_paid_once(task)
    before = await net.typed.params("Tasks")

    async def pruned() -> bool:
        return (await net.story(task)).pruned

    try:
        await set_params(net, replace(before, archive_after_ms=1))
        await net.each_block(pruned, f"task {task} to be pruned")
    finally:
        await set_params(net, before)
    shown = await net.gantry("task", "show", str(task))
    assert shown.code == 1
    assert f"gantry chain inspect task {task}" in shown.err, shown.said
    told = await net.gantry("chain", "inspect", "task", str(task), "--json")
    assert told.json["pruned"], told.said
    assert told.json["complete"]
    assert told.json["bill"]["paid"] == paid
