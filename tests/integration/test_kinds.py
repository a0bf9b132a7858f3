"""A service, a rental and a pod of several containers: a chain of their own, the real agent, a real Docker engine."""

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors
import pytest
import pytest_asyncio

from node_agent.chain.registration import registration_call
from node_agent.drivers.docker.driver import DockerDriver
from node_agent.images.docker_engine import DockerImages
from node_agent.images.store import ImageInventory, ImageStore
from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.state_dir import StateDir
from node_agent.telemetry.hardware import Hardware
from offchain.adapters.chain.typed import GantryChain, LeaseOfTask
from offchain.adapters.keys.signer import from_uri
from offchain.clock import unix_ms
from offchain.devnet import demo_image
from offchain.schema.chain_types._generated_chain import PodPlacement, calls
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE, ask
from tests.support.local_network import engine_url
from tests.support.memory_transport import MemoryNetwork
from tests.support.real_chain import Chain, chain_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
TENANT, PROVIDER = from_uri("//Charlie"), from_uri("//Bob")
HARDWARE = Hardware(2000, 2048, 20, ())
RETENTION_MS = 12_000
SHORT = {"leases": {"params": {"retentionMs": RETENTION_MS, "purgeGraceMs": 600_000}}}
LIMITS = 'deploy: {resources: {limits: {cpus: "0.2", memory: 32M}}}'
TOP = "x-gantry: {kind: %s, price: {max_per_hour: 1 GTY}, duration: 1h}\n"


@dataclass
class Setup:
    """One chain, one host with its agent, one engine."""

    chain: Chain
    agent: NodeAgent
    state: StateDir
    engine: docker.APIClient
    image: str

    @property
    def host(self) -> str:
        return self.agent._host

    async def until(self, look: Callable[[], Awaitable[Any]], wanted: str) -> Any:
        pods = self.agent.state.pods
        return await self.chain.until(look, wanted, lambda: str({number: pod.story for number, pod in pods.items()}))

    async def submit(self, kind: str, services: str) -> int:
        """Submit a task and place its only pod on the host; gives the lease's number."""
        text = (services.replace("IMAGE", self.image).replace("LIMITS", LIMITS) + TOP % kind).encode()
        task = await self.chain.submit(TENANT, text)
        placement = PodPlacement(0, self.host, b"", ANY_RATE)
        await self.chain.do(TENANT, calls.tasks_assign(task=task, pods=[placement]))
        return lease_id(task, 0, 0)

    async def lease(self, number: int) -> LeaseOfTask:
        found = await GantryChain(self.chain.link).lease(number)
        assert found is not None
        return found

    async def until_lease(self, number: int, *states: str) -> LeaseOfTask:
        async def look() -> LeaseOfTask | None:
            found = await self.lease(number)
            return found if found.record.state.tag in states else None

        found: LeaseOfTask = await self.until(look, f"lease {number} to be {' or '.join(states)}")
        return found

    async def until_running(self, number: int, count: int) -> list[Any]:
        """The ids of the pod's containers, once so many run, the main one first."""

        async def look() -> list[Any]:
            running = [one for one in self.containers(number) if one["State"] == "running"]
            return running if len(running) == count else []

        found: list[Any] = await self.until(look, f"{count} containers of lease {number}")
        return sorted((one["Id"] for one in found), key=lambda one: self.label(one, "gantry.index"))

    def containers(self, number: int) -> list[Any]:
        wanted = [f"gantry.host={self.host}", f"gantry.lease={number}", "gantry.index"]
        found: list[Any] = self.engine.containers(all=True, filters={"label": wanted})
        return found

    def label(self, container: str, name: str) -> str:
        return str(self.engine.inspect_container(container)["Config"]["Labels"][name])

    def run(self, container: str, *command: str) -> tuple[int, str]:
        """A command in a container: exit code and output; -1 where the container does not run now."""
        try:
            job = self.engine.exec_create(container, list(command))["Id"]
            output = self.engine.exec_start(job).decode()
            return int(self.engine.exec_inspect(job)["ExitCode"]), output
        except docker.errors.APIError as error:
            return -1, str(error)

    async def until_nothing_is_left(self, number: int) -> None:
        async def look() -> bool:
            return number not in await self.agent._driver.leases() and number not in self.agent.state.pods

        await self.until(look, f"everything of lease {number} to go")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def setup(state: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Setup]:
    """The same for all tests of this module: each has a lease of its own there."""
    tmp_path = tmp_path_factory.mktemp("kinds")
    url = engine_url(state)
    image = await asyncio.to_thread(demo_image.load, url)
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(tmp_path / "node", SHORT))
        agent_state = stack.enter_context(contextlib.closing(StateDir(tmp_path / "agent")))
        key = agent_state.host_key()
        transport = MemoryNetwork().endpoint(key.public_key)
        call = registration_call(
            key,
            genesis_hash=await chain.link.genesis_hash(),
            provider=PROVIDER.address,
            hardware=HARDWARE,
            endpoint=b"",
            region=b"eu",
            ask=ask(cpu_core_per_hour=10**9, disk_gib_per_hour=10**9, storage_gib_per_hour=10**9),
        )
        await chain.do(PROVIDER, call)
        images = ImageStore(
            DockerImages(url),
            ImageInventory(tmp_path / "images.json"),
            mirror=None,
            quota_bytes=1 << 30,
            now_ms=unix_ms,
        )
        stack.push_async_callback(images.close)
        gates = agent_state.path / "gates"
        driver = await DockerDriver.connect(url, key.address, images, files=agent_state.files, gates=gates)
        stack.push_async_callback(driver.close)
        agent = NodeAgent(chain.link, driver, transport, agent_state, key, HARDWARE, now_ms=unix_ms)
        stop = asyncio.Event()
        running = asyncio.create_task(agent.run(stop))
        engine = docker.APIClient(base_url=url, version="auto", timeout=60)
        stack.callback(engine.close)
        made = Setup(chain, agent, agent_state, engine, image)

        async def online() -> bool:
            record = await GantryChain(chain.link).host(key.address)
            return record is not None and record.status.tag == "Online"

        try:
            await made.until(online, "the host to be online")
            yield made
        finally:
            stop.set()
            await running
            for lease in await driver.leases():
                await driver.destroy(lease, keep_data=False)


async def test_a_pod_of_several_containers_gives_its_result(setup: Setup):
    number = await setup.submit(
        "job",
        """
services:
  count:
    image: IMAGE
    command: [sh, -c, "wget -q -O - http://library:8080/words"]
    depends_on: {library: {condition: service_healthy}}
    LIMITS
  library:
    image: IMAGE
    command: httpd -f -p 8080 -h /shelf
    volumes: ["shelf:/shelf:ro"]
    healthcheck: {test: [CMD, wget, -q, -O, /dev/null, "http://127.0.0.1:8080/words"], interval: 1s, timeout: 1s}
    depends_on: {writer: {condition: service_completed_successfully}}
    LIMITS
  writer:
    image: IMAGE
    command: [sh, -c, "echo one two three > /shelf/words"]
    volumes: ["shelf:/shelf"]
    LIMITS
volumes: {shelf: {}}
""",
    )
    ended = await setup.until_lease(number, "Ended")
    assert ended.record.result is not None
    assert ended.record.result.exit_code == 0
    assert setup.state.get_blob(ended.record.result.digest) == b"one two three\n"
    await setup.until_nothing_is_left(number)


async def test_a_service_comes_back_in_place_and_is_stopped_by_its_tenant(setup: Setup):
    number = await setup.submit(
        "service",
        """
services:
  web:
    image: IMAGE
    command: [sh, -c, "echo run >> /runs; exec httpd -f -p 8080 -h /"]
    restart: always
    healthcheck: {test: [CMD, wget, -q, -O, /dev/null, "http://127.0.0.1:8080/runs"], interval: 1s, timeout: 1s}
    LIMITS
""",
    )
    await setup.until_lease(number, "Active")
    (web,) = await setup.until_running(number, 1)

    async def well() -> bool:
        return bool(setup.engine.inspect_container(web)["State"]["Health"]["Status"] == "healthy")

    await setup.until(well, "the service to be well")
    setup.run(web, "sh", "-c", "kill $(pidof httpd)")

    async def again() -> bool:
        (one,) = setup.containers(number)
        return one["State"] == "running" and setup.run(one["Id"], "cat", "/runs") == (0, "run\nrun\n")

    await setup.until(again, "the service to run again with its files")
    assert [one["Id"] for one in setup.containers(number)] == [web]
    await setup.chain.do(TENANT, calls.tasks_end(task=number >> 24))
    await setup.until_nothing_is_left(number)


async def test_a_rental_stops_starts_again_with_its_files_and_is_deleted_with_a_receipt(setup: Setup):
    number = await setup.submit(
        "rental",
        """
services:
  machine:
    image: IMAGE
    command: [sh, -c, "exec sleep 86400"]
    volumes: ["home:/data"]
    stop_grace_period: 1s
    LIMITS
volumes: {home: {}}
""",
    )
    await setup.until_lease(number, "Active")
    (machine,) = await setup.until_running(number, 1)
    assert setup.run(machine, "sh", "-c", "echo mine > /data/file && echo installed > /program")[0] == 0
    await setup.chain.do(TENANT, calls.leases_suspend(lease=number))

    async def stopped() -> bool:
        return [one["State"] for one in setup.containers(number)] == ["exited"]

    await setup.until(stopped, "the rental to be stopped")
    await setup.chain.do(TENANT, calls.leases_resume(lease=number))
    assert await setup.until_running(number, 1) == [machine]
    # By the exit code: an engine under load can lose the output of a program that ends at once.
    same = '[ "$(cat /data/file)" = mine ] && [ "$(cat /program)" = installed ]'
    assert setup.run(machine, "sh", "-c", same)[0] == 0

    before = (await setup.chain.link.finalized_head()).number
    await setup.chain.do(TENANT, calls.tasks_end(task=number >> 24))
    await setup.until_lease(number, "Retained")
    await setup.until(functools.partial(_gone, setup, number), "the containers to go")
    assert [volume.name for volume in await setup.agent._driver.volumes(number)] == ["home"]
    await setup.until_lease(number, "Purged")
    await setup.until_nothing_is_left(number)

    receipt = await _receipt(setup, number, before)
    record = json.loads(setup.state.get_blob(receipt) or b"null")
    assert (record["lease"], record["host"]) == (number, setup.host)
    assert [volume["name"] for volume in record["volumes"]] == ["home"]


async def _gone(setup: Setup, number: int) -> bool:
    return not setup.containers(number)


async def _receipt(setup: Setup, number: int, after: int) -> bytes:
    """What the chain was told of the deletion."""
    for block in range(after, (await setup.chain.link.best_head()).number + 1):
        for event in (await setup.chain.block_with(block)).events:
            if event.name == "Purged" and event.fields["lease"] == number:
                receipt = event.fields["receipt"]
                return receipt if isinstance(receipt, bytes) else bytes.fromhex(receipt.removeprefix("0x"))
    raise AssertionError("no block tells of the deletion")
