"""The way into a running pod, by real commands on a real chain and engine: for its tenant, its proxy, nobody else."""

import asyncio
import contextlib
import os
import pty
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.paths import ROOT
from offchain.ports import Call
from tests.support.local_network import PATIENCE, STRANGER, TENANT, Net

LONG = 500
"""Seconds; the pod is cancelled when its test is over."""


@pytest.fixture
async def task(net: Net) -> AsyncIterator[int]:
    """A pod that runs until the test is over."""
    number = await net.submit(steps=LONG)
    await net.until(number, {"Running"})
    yield number
    await net.gantry("task", "cancel", str(number), "--account", TENANT)


async def test_programs_logs_and_files(net: Net, task: int, tmp_path: Path):
    script = "echo $GANTRY_TASK; echo e >&2; exit 4"
    done = await net.gantry("exec", str(task), "--account", TENANT, "--", "sh", "-c", script)
    # A busy machine may have answered by websocket, which the CLI reports before the program's own output.
    assert (done.code, done.out, done.err.splitlines()[-1]) == (4, f"{task}\n", "e"), done.said
    rights = await net.gantry("exec", str(task), "--account", TENANT, "--", "cat", "/proc/self/status")
    assert "CapEff:\t0000000000000000" in rights.out, rights.said
    assert "NoNewPrivs:\t1" in rights.out
    logs = await net.gantry("logs", str(task), "--account", TENANT, "--tail", "1")
    assert logs.out.count("\n") == 1, logs.said
    await net.check("cp", f"{task}:/etc/hostname", tmp_path / "name", "--account", TENANT, "--json")
    assert (tmp_path / "name").read_text(encoding="utf-8").startswith("pod-")
    refused = await net.gantry("cp", tmp_path / "name", f"{task}:/", "--account", TENANT)
    assert (refused.code, "read-only" in refused.err) == (1, True), refused.said
    nobody = await net.gantry("exec", str(task), "--account", TENANT, "--", "no-such-program")
    assert nobody.code != 0, nobody.said
    taken = await net.gantry("deliver", str(task), "unnamed", "/etc/hostname", "--account", TENANT)
    assert (taken.code, "unnamed" in taken.err) == (1, True), taken.said


async def test_a_strangers_key_opens_nothing(net: Net, task: int, tmp_path: Path):
    number, account = str(task), ("--account", STRANGER)
    for command in (
        ("exec", number, *account, "--", "cat", "/proc/self/status"),
        ("cp", f"{number}:/etc/hostname", tmp_path / "stolen", *account),
        ("cp", "/etc/hostname", f"{number}:/", *account),
        ("logs", number, *account),
        ("deliver", number, "x", "/etc/hostname", *account),
    ):
        done = await net.gantry(*command)
        assert (done.code, done.out, "does not belong to" in done.err) == (1, "", True), done.said
    assert not (tmp_path / "stolen").exists()


async def test_a_proxy_acts_for_its_tenant_until_it_is_removed(net: Net, task: int):
    tenant, friend = from_uri(TENANT), from_uri("//Eve")
    naming = {"delegate": friend.address, "proxy_type": "Tenant", "delay": 0}
    wanted = ("exec", str(task), "--account", "//Eve", "--", "cat", "/etc/hostname")
    assert (await net.gantry(*wanted)).code == 1
    await submit_once(net.chain, tenant, Call("Proxy", "add_proxy", naming))
    done = await net.gantry(*wanted)
    assert (done.code, done.out.startswith("pod-")) == (0, True), done.said
    await submit_once(net.chain, tenant, Call("Proxy", "remove_proxy", naming))
    assert (await net.gantry(*wanted)).code == 1


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, process: asyncio.subprocess.Process, keys: int) -> None:
        self.process, self.keys, self.seen = process, keys, b""
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(keys, self._read)

    def _read(self) -> None:
        try:
            self.seen += os.read(self.keys, 65_536)
        except OSError:  # the command has closed its end
            asyncio.get_running_loop().remove_reader(self.keys)
        self._news.set()

    def type(self, text: str) -> None:
        os.write(self.keys, text.encode())

    async def until(self, wanted: bytes) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while wanted not in self.seen:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"waited {PATIENCE} s in vain for {wanted!r}; seen: {self.seen!r}") from None

    async def ended(self) -> int:
        return await asyncio.wait_for(self.process.wait(), PATIENCE)


@contextlib.asynccontextmanager
async def terminal(net: Net, *arguments: str) -> AsyncIterator[Terminal]:
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "offchain.cli",
        *arguments,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "GANTRY_STATE": str(net.state), "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    os.close(slave)
    made = Terminal(process, master)
    try:
        yield made
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)


async def test_a_shell_is_a_terminal_in_which_ctrl_c_works(net: Net, task: int):
    async with terminal(net, "shell", str(task), "--account", TENANT) as shell:
        await shell.until(b"$ ")
        shell.type("test -t 0 && echo is-a-$((40 + 2))-terminal\r")
        await shell.until(b"is-a-42-terminal")
        # It answers once it is in the foreground: before, Ctrl-C would be for the shell.
        shell.type("sh -c 'echo sleeps-$((40 + 1)); exec sleep 300'\r")
        await shell.until(b"sleeps-41")
        shell.type("\x03")
        shell.type("echo after-$((40 + 3))\r")
        await shell.until(b"after-43")
        shell.type("exit 7\r")
        assert await shell.ended() == 7


async def test_a_shell_says_why_it_does_not_outlive_the_agent_and_the_pod_does(net: Net, task: int):
    async with terminal(net, "shell", str(task), "--account", TENANT) as shell:
        await shell.until(b"$ ")
        shell.type("echo here-$((40 + 2))\r")
        await shell.until(b"here-42")
        killed = net.kill("agent")
        assert await shell.ended() == 1
        assert b"agent was restarted" in shell.seen, shell.seen
    assert net.pid("agent") != killed
    assert (await net.task(task)).record.state.tag == "Running"
    await net.check("exec", str(task), "--account", TENANT, "--", "cat", "/etc/hostname")


async def test_the_way_in_is_cut_when_the_task_is_cancelled(net: Net, task: int):
    async with terminal(net, "shell", str(task), "--account", TENANT) as shell:
        await shell.until(b"$ ")
        shell.type("echo here-$((40 + 2))\r")
        await shell.until(b"here-42")
        await net.check("task", "cancel", str(task), "--account", TENANT)
        assert await shell.ended() != 0
    refused = await net.gantry("exec", str(task), "--account", TENANT, "--", "cat")
    assert (refused.code, "has ended" in refused.err) == (1, True), refused.said
    assert (await net.gantry("logs", str(task), "--account", TENANT)).code == 0
