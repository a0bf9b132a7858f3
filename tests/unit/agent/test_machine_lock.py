"""Two agents of one host on one machine: the second is refused, and the first knows."""

import asyncio
import os
import socket
import subprocess
import sys
import uuid

import pytest

from node_agent.runtime import machine_lock
from node_agent.runtime.machine_lock import MachineLock
from offchain.errors import OurError


@pytest.fixture
def host():
    return f"5{uuid.uuid4().hex}"


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  (the event loop reads the socket meanwhile)
            await asyncio.sleep(0)


async def test_a_second_agent_is_refused_and_the_first_one_reports_it(host, caplog):
    with MachineLock(host) as first:
        assert first.trouble == ""
        with pytest.raises(OurError, match=f"runs on this machine \\(process {os.getpid()}\\)") as refused:
            MachineLock(host).__enter__()
        assert refused.value.code == "duplicate_agent"
        await until(lambda: first.trouble)
        assert f"process {os.getpid()}" in first.trouble
        assert "was started on this machine" in caplog.text
        with MachineLock(f"{host}x"):  # agents of several hosts may share a machine
            pass
    with MachineLock(host):
        pass


async def test_the_lock_goes_with_a_killed_process(host):
    code = f"""
import asyncio, sys
from node_agent.runtime.machine_lock import MachineLock
async def hold():
    with MachineLock({host!r}):
        print("held", flush=True)
        await asyncio.Event().wait()
asyncio.run(hold())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:  # noqa: ASYNC220  (awaited below)
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == b"held\n"
        with pytest.raises(OurError, match=f"process {holder.pid}"):
            MachineLock(host).__enter__()
        holder.kill()
        await asyncio.to_thread(holder.wait)
    with MachineLock(host):
        pass


async def test_a_name_that_another_user_took_stops_no_agent(host, monkeypatch, caplog):
    monkeypatch.setattr(machine_lock, "_peer", lambda _: (1234, 65534))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as squatter:
        squatter.bind(f"\0gantry-agent/{host}")
        squatter.listen()
        with MachineLock(host) as lock:
            assert lock.trouble == ""
    assert "it is ignored" in caplog.text


async def test_a_connection_of_another_user_is_no_agent(host, monkeypatch):
    with MachineLock(host) as lock:
        monkeypatch.setattr(machine_lock, "_peer", lambda _: (1234, 65534))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
            stranger.connect(f"\0gantry-agent/{host}")
            assert await asyncio.to_thread(stranger.recv, 1) == b""
        assert lock.trouble == ""
