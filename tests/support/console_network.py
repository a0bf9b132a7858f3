"""A chain of one node, a host without containers, an index, and a gateway with the console: what is clicked is real."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from offchain.adapters.chain.client import SubstrateChain
from offchain.adapters.chain.proof_chain import ProofChain
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.ports import free
from offchain.gateway.api.chain_access import NODE_TIMEOUT_S
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.schema.chain_types._generated_chain import HostRecord, Lease, PodPlacement, TaskRecord, calls
from offchain.schema.chain_types.ids import lease_id
from tests.support.chain_records import ANY_RATE
from tests.support.fake_engine import FakeEngine
from tests.support.fake_host import fake_host, lasting
from tests.support.real_chain import Chain, chain_of
from tests.support.worker_process import gantry_process

TENANT, PROVIDER = from_uri("//Charlie"), from_uri("//Bob")
GENESIS: Final = {"tasks": {"params": {"disputeWindowMs": 120_000}}, "billing": {"params": {"heldBackMs": 600_000}}}
"""Results stay open for a dispute as long as a test needs; only clicks settle them, because there is no settler."""
MANIFEST = """
services:
  main:
    image: nowhere.invalid/fake@sha256:{digest}
    deploy: {{resources: {{limits: {{cpus: "0.2", memory: 32M}}}}}}
x-gantry: {{kind: {kind}, price: {{max_per_hour: 1 GTY}}, duration: 1h{more}}}
"""


@dataclass
class ConsoleNetwork:
    """`url`: of the console; `hosts`: two hosts of the provider."""

    url: str
    chain: Chain
    hosts: tuple[str, str]
    engine: FakeEngine
    session: aiohttp.ClientSession

    async def place(self, kind: str, more: str = "") -> int:
        """Submit a task of the tenant, assign its pod to the first host, and wait until the index has it running."""
        text = MANIFEST.format(digest="0" * 64, kind=kind, more=more).encode()
        task = await self.chain.submit(TENANT, text)
        await self.chain.do(TENANT, calls.tasks_assign(task=task, pods=[PodPlacement(0, self.hosts[0], b"", ANY_RATE)]))
        await self.until_indexed(task, "Running")
        return task

    async def finish(self, task: int) -> None:
        """Have the only pod of a job end by itself, and wait until the index has the report."""
        self.engine.finish(self.hosts[0], lease_id(task, 0, 0))
        await self.until_indexed(task, "Reported")

    async def until_indexed(self, task: int, state: str) -> None:
        async def look() -> bool:
            async with self.session.get(f"{self.url}/v1/tasks/{task}") as answer:
                return answer.status == 200 and (await answer.json())["data"]["state"] == state

        await self.until(look, f"the index to have task {task} {state}")

    async def until(self, look: Callable[[], Awaitable[Any]], wanted: str) -> Any:
        """Look at every new block until there is something to see."""
        return await self.chain.until(look, wanted)

    @property
    def typed(self) -> GantryChain:
        return GantryChain(self.chain.link)

    async def task(self, task: int) -> TaskRecord:
        found = await self.typed.task(task)
        assert found is not None
        return found.record

    async def lease(self, task: int) -> Lease:
        found = await self.typed.lease(lease_id(task, 0, 0))
        assert found is not None
        return found.record

    async def host(self, place: int = 0) -> HostRecord:
        found = await self.typed.host(self.hosts[place])
        assert found is not None
        return found


@contextlib.asynccontextmanager
async def console_network(folder: Path) -> AsyncIterator[ConsoleNetwork]:
    """Run the network as long as the block."""
    engine, index = FakeEngine(lasting), str(folder / "index.db")
    async with contextlib.AsyncExitStack() as stack:
        chain = await stack.enter_async_context(chain_of(folder / "node", GENESIS))
        genesis = await chain.link.genesis_hash()
        indexer = ("worker", "indexer", f"--url={chain.url}", f"--index={index}")
        stack.enter_context(gantry_process(folder / "indexer.log", *indexer))
        first = await stack.enter_async_context(fake_host(chain, folder / "first", PROVIDER, engine))
        second = await stack.enter_async_context(fake_host(chain, folder / "second", PROVIDER, engine))
        port = free()
        settings = ApiSettings(
            host="127.0.0.1",
            port=port,
            index=index,
            requests_per_s=1000,
            streams=64,
            domain=f"127.0.0.1:{port}",
            development=True,
        )

        def open_chain() -> SubstrateChain:
            return SubstrateChain(chain.url, expected_genesis=genesis, timeout=NODE_TIMEOUT_S)

        def open_proofs() -> ProofChain:
            return ProofChain(chain.url, expected_genesis=genesis, timeout=NODE_TIMEOUT_S)

        server = ApiServer(settings, open_chain, open_proofs=open_proofs)
        url = await stack.enter_async_context(server.listening())
        session = await stack.enter_async_context(aiohttp.ClientSession())
        net = ConsoleNetwork(url, chain, (first, second), engine, session)

        async def hosts_online() -> bool:
            async with session.get(f"{url}/v1/hosts?status=Online") as answer:
                return answer.status == 200 and len((await answer.json())["data"]) == 2

        await net.until(hosts_online, "both hosts to be online in the index")
        yield net
