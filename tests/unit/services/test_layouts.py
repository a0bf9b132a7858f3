from __future__ import annotations

from toy_network import HOST, OTHER_HOST, Toy

from offchain.core.values import Layout
from offchain.link.fake import FakeChain
from offchain.link.typed import GantryChain
from offchain.schema import _generated_chain as gen
from offchain.services.layouts import Layouts, layout_in
from tests.chain_records import NO_GPU, Tasks, task_spec

DIGEST = "0" * 64
TEXT = f"""
services:
  a:
    image: "x@sha256:{DIGEST}"
    deploy: {{resources: {{limits: {{cpus: "1", memory: 512M}}}}}}
x-gantry:
  price: {{max_per_hour: 1 GTY}}
  duration: 10m
  pods: 2
"""


def manifest(placement: str) -> bytes:
    return f"{TEXT}  placement: {{{placement}}}\n".encode()


def test_a_manifest_says_how_its_pods_lie():
    assert layout_in(manifest("spread: hosts")) is Layout.HOSTS
    assert layout_in(manifest("spread: providers")) is Layout.PROVIDERS
    assert layout_in(manifest("pack: true")) is Layout.PACKED
    assert layout_in(manifest("pack: false")) is Layout.ANY
    assert layout_in(manifest("")) is Layout.ANY
    assert layout_in(b"spread: [") is Layout.ANY


async def test_a_manifest_is_read_once_and_only_of_tasks_with_several_pods():
    chain = FakeChain()
    tasks, typed = Tasks(chain), GantryChain(chain)
    for pods in (2, 2, 1):
        tasks.submit("t", task_spec(pods_max=pods, manifest_digest=bytes([pods]) * 32), manifest=manifest("pack: true"))
    found, layouts = await typed.tasks([0, 1, 2]), Layouts(typed)
    await chain.produce()
    head = (await chain.finalized_head()).hash
    expected = {0: Layout.PACKED, 1: Layout.PACKED}
    assert await layouts.of(found.values(), head) == expected
    chain.storage["Tasks", "Manifests"].clear()
    await chain.produce()
    assert await layouts.of(found.values(), (await chain.finalized_head()).hash) == expected


async def test_a_gang_that_says_so_is_spread_over_hosts():
    toy = Toy()
    toy.host(HOST)
    toy.host(OTHER_HOST, status="Offline")
    await toy.block()
    small = gen.Resources(1000, 512, 1, NO_GPU)
    spec = task_spec(pods_min=2, pods_max=2, manifest_digest=b"s" * 32, resources=small)
    toy._submit = lambda account, **_: [
        (
            "Tasks",
            "Submitted",
            {
                "first": toy.tasks.submit(account, spec, manifest=manifest("spread: hosts"), now=toy.now),
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
