"""A chain that is started anew under running processes: each reports it and stops serving what it knows of the old one.

In the first test both chains have the same genesis block, so that only the blocks after it tell them apart.
"""

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node_agent.runtime.agent import NodeAgent
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.clock import unix_ms
from offchain.devnet.paths import ROOT
from offchain.devnet.release import binaries
from offchain.errors import Reorganised, WrongChain
from tests.support.development_node import DevelopmentNode
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeEngine
from tests.support.fake_host import HARDWARE, lasting
from tests.support.fast_chain import fast
from tests.support.local_network import Done, run
from tests.support.real_chain import PATIENCE, connect

BLOCKS = 20
BEHIND = "was processed before"
ANOTHER = "serves another chain"
OTHER_GENESIS = "This is not the expected chain"


class Program:
    """A program of the network, whose log goes to a file."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self.name = name
        self.state = folder / name
        self.log = folder / f"{name}.log"
        self._arguments = arguments
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")}
        with self.log.open("ab") as out:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "offchain.cli", "worker", *self._arguments),
                stdout=out,
                stderr=out,
                cwd=ROOT,
                env={**env, "PYTHONPATH": str(ROOT)},
            )

    async def stop(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            await self._process.wait()

    async def ends(self) -> int:
        assert self._process is not None
        async with asyncio.timeout(PATIENCE):
            return await self._process.wait()

    def says(self, text: str) -> bool:
        return text in self.log.read_text(encoding="utf-8", errors="replace")


class Setup:
    """A node that can be started anew, and the programs that follow it."""

    def __init__(self, folder: Path, node: DevelopmentNode) -> None:
        self.node = node
        self.index = folder / "index.db"
        url = f"--url={node.url}"
        of = lambda name, account: (name, url, f"--account={account}", f"--state-dir={folder / name}")  # noqa: E731
        self.scheduler = Program("scheduler", folder, *of("scheduler", "//Dave"))
        self.settler = Program("settler", folder, *of("settler", "//Eve"))
        self.autoscaler = Program("autoscaler", folder, *of("autoscaler", "//Charlie"))
        self.indexer = Program("indexer", folder, "indexer", url, f"--index={self.index}")
        gateway = ("gateway", url, f"--state-dir={folder / 'gateway'}", "--bind=127.0.0.1:0")
        self.gateway = Program("gateway", folder, *gateway)

    @property
    def programs(self) -> list[Program]:
        return [self.scheduler, self.settler, self.autoscaler, self.indexer, self.gateway]

    async def height(self, number: int) -> None:
        link = await connect(self.node.url)
        try:
            async with asyncio.timeout(PATIENCE):
                async for head in link.finalized():
                    if head.number >= number:
                        return
        finally:
            await link.close()

    async def history(self) -> Done:
        return await run(
            *(sys.executable, "-m", "offchain.cli", "history", "events", f"--index={self.index}", "--json"),
            env={"PYTHONPATH": str(ROOT)},
        )

    async def start_anew(self, patch: dict[str, Any] | None = None, *, makes_blocks: bool = True) -> None:
        """Remove the node's database; `patch` then goes over the genesis of the new chain."""
        await asyncio.to_thread(self.node.stop)
        shutil.rmtree(self.node.data)
        self.node.patch = fast(patch)
        await asyncio.to_thread(self.node.start, makes_blocks=makes_blocks)

    async def make_blocks(self) -> None:
        """Start the node again, with block production."""
        await asyncio.to_thread(self.node.stop)
        await asyncio.to_thread(self.node.start)


async def until(condition: Any, wanted: str) -> None:
    """Wait for what other processes write, which nothing announces."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  (no event)
            await asyncio.sleep(0.1)
    assert condition(), wanted


@contextlib.asynccontextmanager
async def agent_on(setup: Setup, folder: Path) -> AsyncIterator[tuple[NodeAgent, asyncio.Task[None]]]:
    """An agent without containers, and the task that runs it."""
    with contextlib.closing(StateDir(folder)) as state:
        link = await connect(setup.node.url)
        key = state.host_key()
        driver, transport = (
            FakeDriver(FakeEngine(lasting), key.address),
            await MultiTransport.bind(key.seed(), "127.0.0.1:0"),
        )
        agent, stop = NodeAgent(link, driver, transport, state, key, HARDWARE, now_ms=unix_ms), asyncio.Event()
        running = asyncio.create_task(agent.run(stop))
        await asyncio.wait_for(agent.ready.wait(), PATIENCE)
        try:
            yield agent, running
        finally:
            stop.set()
            await asyncio.gather(running, return_exceptions=True)
            await link.close()


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    with DevelopmentNode(binaries(), tmp_path / "node", patch=fast()) as node:
        made = Setup(tmp_path, node)
        try:
            await asyncio.gather(*(program.start() for program in made.programs))
            yield made
        finally:
            await asyncio.gather(*(program.stop() for program in made.programs))
            for program in made.programs:  # pytest shows this where the test failed
                sys.stderr.write(f"--- {program.name}\n{program.log.read_text(errors='replace')[-4000:]}\n")


async def test_every_process_reports_a_chain_that_was_started_anew(setup: Setup, tmp_path: Path):
    async with agent_on(setup, tmp_path / "agent") as (agent, running):
        for program in setup.programs:
            await until(lambda program=program: program.says("started"), f"{program.name} to start")
        await setup.height(BLOCKS)
        assert (await setup.history()).code == 0

        # Without blocks, the new chain stays lower than the old one was until each program has noticed it.
        await setup.start_anew(makes_blocks=False)
        for program in setup.programs:
            await until(lambda program=program: program.says(BEHIND), f"{program.name} to report the lost blocks")
        await until(lambda: BEHIND in agent.troubles.get("chain", ""), "the agent to report the lost blocks")
        refused = await setup.history()
        assert refused.code != 0
        assert BEHIND in refused.err, refused.said

        # As soon as the new chain is as high as the old one was, it is proven to be another one.
        await setup.make_blocks()
        for program in setup.programs:
            assert await program.ends() != 0, program.name
            assert program.says(ANOTHER), program.name
        with pytest.raises(Reorganised):
            await asyncio.wait_for(running, PATIENCE)
    refused = await setup.history()
    assert refused.code != 0
    assert ANOTHER in refused.err, refused.said

    # Started again by a supervisor, what keeps a database ends at once, and names that database.
    for program, database in ((setup.settler, "worker.db"), (setup.indexer, "index.db")):
        await program.start()
        assert await program.ends() != 0
        last = program.log.read_text(encoding="utf-8").splitlines()[-1]
        assert f"{database} away" in program.log.read_text(encoding="utf-8"), last
    # Once that is moved away, it serves the new chain.
    shutil.rmtree(setup.settler.state)
    await setup.settler.start()
    await until(lambda: setup.settler.log.read_text().count("roles=settler") == 3, "the settler to start")
    setup.index.unlink()
    await setup.indexer.start()
    await until(lambda: setup.index.exists() and setup.indexer.log.read_text().count(" indexed ") > 1, "a new index")
    done = await setup.history()
    assert done.code == 0, done.said
    assert all(json.loads(line) for line in done.out.splitlines())


async def test_every_process_ends_at_a_chain_with_another_genesis_block(setup: Setup, tmp_path: Path):
    async with agent_on(setup, tmp_path / "agent") as (_, running):
        for program in setup.programs:
            await until(lambda program=program: program.says("started"), f"{program.name} to start")
        await setup.height(3)
        await setup.start_anew({"validators": {"slotMs": 400}})
        for program in setup.programs:
            assert await program.ends() != 0, program.name
            assert program.says(OTHER_GENESIS), program.name
        with pytest.raises(WrongChain):
            await asyncio.wait_for(running, PATIENCE)
    refused = await setup.history()
    assert refused.code != 0
    assert OTHER_GENESIS in refused.err, refused.said
