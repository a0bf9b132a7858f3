"""A service follows its load: gantry worker autoscaler as a tenant runs it, on a real network."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from test_examples import ACCOUNT, ended, runs

from offchain.devnet.paths import ROOT
from tests.support.local_network import MANIFESTS, PATIENCE, Net


@contextlib.asynccontextmanager
async def autoscaler(net: Net, folder: Path) -> AsyncIterator[Path]:
    """Run an autoscaler; yield its log."""
    log = folder / "autoscaler.log"
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "offchain.cli", "worker", "autoscaler", *ACCOUNT, "--state-dir", folder / "state"),
            stdout=file,
            stderr=file,
            env={**os.environ, "GANTRY_STATE": str(net.state), "PYTHONPATH": str(ROOT)},
        )
    try:
        yield log
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), PATIENCE)


async def test_pods_are_added_under_load_and_taken_away_after_it(net: Net, tmp_path: Path) -> None:
    done = await net.check("submit", MANIFESTS / "busy.yaml", *ACCOUNT, "--wait", "--json", env=net.variables)
    task = done.json["task"]

    async def loaded(*command: str) -> None:
        await net.check("exec", str(task), *ACCOUNT, "--", *command)

    await net.each_block(lambda: runs(net, task, 1), "one pod")
    await loaded("touch", "/tmp/load")
    async with autoscaler(net, tmp_path) as log:
        try:
            await net.each_block(lambda: runs(net, task, 2), "a second pod under load")
            await loaded("rm", "/tmp/load")
            await net.each_block(lambda: runs(net, task, 1), "the second pod to go without load")
        except AssertionError as error:
            raise AssertionError(log.read_text(encoding="utf-8")) from error
    await ended(net, task)
