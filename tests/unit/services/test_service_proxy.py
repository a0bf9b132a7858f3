"""Connections to a service: which pods they go to while versions come and go."""

import contextlib

import pytest

from offchain.adapters.transport.port import HostUnreachable
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_parts
from offchain.schema.manifest.task_spec import ReplacedTask, with_replaced_task
from offchain.services import service_proxy
from offchain.services.service_proxy import ServiceProxy
from offchain.services.service_versions import ServiceError
from tests.support.service_world import MANIFEST, NEXT, TENANT, ServiceWorld


class Hosts:
    """The ways to hosts; `down`: (task, pod) that take no connection."""

    def __init__(self):
        self.down = set()

    @contextlib.asynccontextmanager
    async def to(self, _record, _host):
        yield self

    async def dial(self, lease, port):
        task, pod, _ = lease_parts(lease)
        if (task, pod) in self.down:
            raise HostUnreachable("nobody listens")
        return (task, pod, port)


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setattr(service_proxy, "FRESH_S", 0.0)
    return ServiceWorld()


def fronted(world, word="hello"):
    hosts = Hosts()
    return ServiceProxy(world.typed, world.well, hosts, TENANT, word), hosts


async def test_connections_go_to_the_pods_in_turn_and_skip_unreachable_ones(world):
    world.submit(MANIFEST, 3)
    service, hosts = fronted(world)
    assert [await service.dial(80) for _ in range(4)] == [(0, 0, 80), (0, 1, 80), (0, 2, 80), (0, 0, 80)]
    hosts.down = {(0, 1)}
    assert [(await service.dial(80))[1] for _ in range(3)] == [2, 2, 0]
    hosts.down |= {(0, 0), (0, 2)}
    with pytest.raises(HostUnreachable):
        await service.dial(80)


@pytest.mark.parametrize("word", ["hello", "0"])
async def test_pods_of_both_versions_are_used_during_an_update(world, word):
    world.submit(MANIFEST, 1)
    service, _ = fronted(world, word)
    assert (await service.dial(80))[0] == 0
    world.submit(with_replaced_task(NEXT, ReplacedTask(0, 1, bytes(32))))
    world.sick.add(1)
    assert {(await service.dial(80))[0] for _ in range(3)} == {0}
    world.sick.clear()
    assert {(await service.dial(80))[0] for _ in range(3)} == {0, 1}
    world.tasks.change(0, state=gen.TaskStateReported())
    assert {(await service.dial(80))[0] for _ in range(3)} == {1}


async def test_a_service_without_pods_is_reported(world):
    world.submit(MANIFEST, running=False)
    service, _ = fronted(world)
    with pytest.raises(ServiceError, match="No pod of 'hello' runs now"):
        await service.dial(80)
    world.tasks.change(0, state=gen.TaskStateCancelled())
    with pytest.raises(ServiceError, match="No service 'hello'"):
        await service.dial(80)
