"""A second agent with a copy of a host's folder: on the same machine, and on another one that shares the engine."""

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from offchain.devnet.paths import ROOT
from tests.support.local_network import Net, Pods, engine_url
from tests.support.other_network import node_at


def copy_of(agent: Path, copy: Path) -> None:
    """Copy the folder of a running agent, as a backup does: the key, the hardware and the database."""
    copy.mkdir(mode=0o700)
    for name in ("host.key", "hardware.json"):
        shutil.copy2(agent / name, copy / name)
    with (
        contextlib.closing(sqlite3.connect(agent / "agent.db")) as source,
        contextlib.closing(sqlite3.connect(copy / "agent.db")) as target,
    ):
        source.backup(target)


@contextlib.asynccontextmanager
async def second_agent(net: Net, folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """An agent with this folder in a network namespace of its own; its log is at the standard output."""
    command = [sys.executable, "-m", "offchain.cli", "agent", "run", f"--url={net.url}"]
    command += [f"--state={folder}", "--bind=127.0.0.1:0", f"--docker-host={engine_url(net.state)}", "--share-gpus"]
    socket = folder.parent / "node.sock"
    socket.unlink(missing_ok=True)
    port = net.url.rpartition(":")[2]
    async with node_at(socket, int(port)):
        process = await asyncio.create_subprocess_exec(
            *("unshare", "--net", sys.executable, ROOT / "tests/support/other_network.py"),
            *(socket, port, *command),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def line_with(process: asyncio.subprocess.Process, text: str) -> None:
    """Wait until the process prints a line with this text."""
    assert process.stdout is not None
    seen = []
    while line := (await process.stdout.readline()).decode(errors="replace"):
        seen.append(line)
        if text in line:
            return
    raise AssertionError(f"it ended without {text!r}:\n{''.join(seen)}")


async def identity_trouble(net: Net) -> str:
    """What the first agent reports of another one with its key."""
    running = json.loads((net.state / "agent" / "running.json").read_text(encoding="utf-8"))
    return str(running["troubles"].get("identity", ""))


def running_container(pods: Pods, task: int) -> str:
    (container,) = pods.of(task)
    return str(container.id)


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
async def test_both_agents_report_the_other_and_the_second_one_stops(net: Net, pods: Pods, tmp_path: Path):
    task = await net.submit_until_signal()
    await net.until(task, {"Running"})
    container = running_container(pods, task)
    copy_of(net.state / "agent", tmp_path / "copy")

    async def told() -> bool:
        return "another agent signs" in await identity_trouble(net)

    async with second_agent(net, tmp_path / "copy") as second:
        await line_with(second, "Another agent serves host")
        assert await second.wait() != 0
        assert running_container(pods, task) == container
        await net.each_block(told, "the first agent to report the second one")
    status = await net.gantry("agent", "status", "--state", str(net.state / "agent"), "--url", net.url, "--json")
    assert "another agent signs" in status.json["troubles"]["identity"], status.said
    assert "another agent signs with the key" in (net.state / "log" / "agent.log").read_text(encoding="utf-8")

    # Started again by its service manager, it starts nothing while the first one lives.
    async with second_agent(net, tmp_path / "copy") as again:
        await line_with(again, "waits, and starts nothing")
        await net.end_pod(task, pods)
        await net.until(task, {"Settled"})
        assert again.returncode is None
    await net.assert_paid_once(task)

    async def quiet() -> bool:
        return not await told()

    await net.each_block(quiet, "the first agent to be alone again")


async def test_on_the_same_machine_a_copied_folder_is_refused_at_once(net: Net, pods: Pods, tmp_path: Path):
    task = await net.submit_until_signal()
    await net.until(task, {"Running"})
    container = running_container(pods, task)
    copy_of(net.state / "agent", tmp_path / "copy")
    command = ("agent", "run", f"--url={net.url}", f"--state={tmp_path / 'copy'}", "--bind=127.0.0.1:0")
    refused = await net.gantry(*command, f"--docker-host={engine_url(net.state)}", "--share-gpus")
    assert refused.code != 0
    assert f"runs on this machine (process {net.pid('agent')})" in refused.err, refused.said

    async def told() -> bool:
        return "was started on this machine" in await identity_trouble(net)

    await net.each_block(told, "the first agent to report the second one")
    assert running_container(pods, task) == container
    await net.end_pod(task, pods)
    await net.until(task, {"Settled"})
    await net.assert_paid_once(task)
