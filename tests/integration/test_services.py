"""A service is replaced by new versions of itself on a real network: forth, back by itself, cut off, and back again."""

import asyncio
import os
import sys

import aiohttp
from test_autoscaler import autoscaler
from test_examples import ACCOUNT, EXAMPLES, act, ended, forwarded, runs, submitted

from offchain.devnet.paths import ROOT
from tests.support.local_network import Net

GREETER = EXAMPLES / "greeter.yaml"
QUICK = ("--settle", "1s", "--patience", "30s")


async def said(port: int) -> str:
    async with aiohttp.ClientSession() as web, web.get(f"http://127.0.0.1:{port}/") as answer:
        return await answer.text()


async def test_versions_take_each_other_s_place(net: Net, tmp_path) -> None:
    env = {**net.variables, "XDG_STATE_HOME": str(tmp_path)}
    first = (await submitted(net, "greeter"))["task"]
    await act(net, "scale", first, "2")
    await net.each_block(lambda: runs(net, first, 2), "two pods")

    async with forwarded(net, "greeter", 8080) as port:
        assert await said(port) == f"Hello from task {first}\n"
        done = await net.check(
            "service", "update", GREETER, *ACCOUNT, *QUICK, "--json", env={**env, "GREETING": "Servus"}
        )
        assert await said(port) == f"Servus from task {done.json['task']}\n"
    second = done.json["task"]
    assert done.json == {"task": second, "pods": 2, "failed": None}
    assert await runs(net, second, 2)
    assert (await net.task(first)).record.state.tag in ("Reported", "Verified", "Settled")

    # A version that never gets well goes by itself.
    done = await net.gantry("service", "update", GREETER, *ACCOUNT, *QUICK, "--json", env={**env, "PAGE": "missing"})
    assert done.code == 1, done.said
    assert done.json["task"] == second, done.said
    assert "pods of the new version are healthy" in done.json["failed"]
    assert await runs(net, second, 2)

    # kill -9 in the middle, and the same command again.
    third = await cut_off(net, {**env, "GREETING": "Ciao"})
    done = await net.check("service", "update", GREETER, *ACCOUNT, *QUICK, "--json", env={**env, "GREETING": "Ciao"})
    assert done.json == {"task": third, "pods": 2, "failed": None}

    done = await net.check("service", "rollback", "greeter", *ACCOUNT, *QUICK, "--json", env=env)
    fourth = done.json["task"]
    async with forwarded(net, fourth, 8080) as port:
        assert await said(port) == f"Servus from task {fourth}\n"
    done = await net.gantry("service", "list", *ACCOUNT, "--json")
    assert [line for line in done.out.splitlines() if "greeter" in line] == done.out.splitlines()[-1:]
    await ended(net, fourth)


async def cut_off(net: Net, env: dict[str, str]) -> int:
    """An update that is killed as soon as its version is on the chain; gives that version."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "offchain.cli", "service", "update", GREETER, *ACCOUNT, *QUICK),
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "GANTRY_STATE": str(net.state), "PYTHONPATH": str(ROOT), **env},
    )
    before = await net.typed.next_task()
    try:
        await net.each_block(lambda: _more_than(net, before), "the new version")
    finally:
        process.kill()
        await process.wait()
    return before


async def _more_than(net: Net, count: int) -> bool:
    return await net.typed.next_task() > count


async def test_pods_follow_a_number_that_they_tell(net: Net, tmp_path) -> None:
    task = (await submitted(net, "greeter"))["task"]
    await net.check("exec", str(task), *ACCOUNT, "--", "sh", "-c", "echo greetings_waiting 19 > /www/metrics")
    async with autoscaler(net, tmp_path) as log:
        try:
            await net.each_block(lambda: runs(net, task, 2), "a second pod for what waits")
        except AssertionError as error:
            raise AssertionError(log.read_text(encoding="utf-8")) from error
    await ended(net, task)
