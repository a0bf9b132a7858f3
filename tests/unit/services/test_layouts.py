from __future__ import annotations

from toy_network import HOST, OTHER_HOST, Toy

from offchain.adapters.chain.typed import GantryChain
from offchain.core.values import Layout
from offchain.schema.chain_types import _generated_chain as gen
from offchain.services.record_mapping import task_of
from tests.support.chain_records import NO_GPU, Tasks, placement, task_spec
from tests.support.fake_chain import FakeChain


async def test_the_affinity_of_a_task_with_several_pods_is_mapped():
    chain = FakeChain()
    tasks = Tasks(chain)
    for pods in (1, 2):
        tasks.submit("t", task_spec(pods_max=pods, placement=placement(layout=Layout.PACKED)))
    found = await GantryChain(chain).tasks([0, 1])
    read = [task_of(found[number]) for number in (0, 1)]
    assert [task.layout for task in read if task is not None] == [Layout.ANY, Layout.PACKED]


async def test_a_gang_with_anti_affinity_is_spread_over_hosts():
    toy = Toy()
    toy.host(HOST)
    toy.host(OTHER_HOST, status="Offline")
    await toy.block()
    small = gen.Resources(1000, 512, 1, NO_GPU)
    apart = placement(layout=Layout.HOSTS)
    spec = task_spec(pods_min=2, pods_max=2, resources=small, placement=apart)
    toy._submit = lambda account, **_: [
        (
            "Tasks",
            "Submitted",
            {
                "first": toy.tasks.submit(account, spec, now=toy.now),
                "count": 1,
                "tenant": account,
            },
        )
    ]
    async with toy.working("scheduler") as quiet:
        await toy.submit()
        for _ in range(3):
            await toy.block()
            await quiet()
        assert not toy.waiting("assign")
        toy._online = lambda _account, host: [("Hosts", "StatusChanged", {"host": host})]
        toy.host(OTHER_HOST)
        await toy.call("online", host=OTHER_HOST)
        await toy.block()
        await quiet()
        (call,) = toy.waiting("assign")
        assert {pod["host"] for pod in call["pods"]} == {HOST, OTHER_HOST}
