"""When the rules that keep pods apart go: with the last pod of the machine, whoever's it was. In a namespace."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from node_agent.drivers.firewall import THROUGH, TO_HOST
from node_agent.file_store import secrets_folder

ROOT = Path(__file__).resolve().parent.parent.parent
PROTECT = "import asyncio; from node_agent.drivers.firewall import Firewall; asyncio.run(Firewall().ensure())"
MINE, OTHERS = "gtr000000000001", "gtr000000000002"

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="network namespaces are made by root alone")


class Machine:
    """A network namespace, in which programs run that know of no other."""

    def __init__(self, name):
        self.name = name

    def run(self, *command):
        done = subprocess.run(
            ["ip", "netns", "exec", self.name, *command],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, code, *arguments):
        return self.run(sys.executable, "-c", code, *arguments)

    def protect(self):
        self.python(PROTECT)

    def clear(self):
        self.run(sys.executable, "-m", "node_agent.drivers.clear")

    def bridge(self, name):
        self.run("ip", "link", "add", name, "type", "bridge")

    def bridges(self):
        links = self.run("ip", "-o", "link").splitlines()
        return {name for line in links if (name := line.split()[1].rstrip(":")).startswith("gtr")}

    def rules(self):
        saved = self.run("iptables-save") + self.run("ip6tables-save")
        return [line for line in saved.splitlines() if TO_HOST in line or THROUGH in line]


@pytest.fixture
def machine():
    name = f"gantry-rules-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        yield Machine(name)
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def test_the_rules_go_with_the_last_pod_of_the_machine(machine):
    machine.protect()
    whole = machine.rules()
    assert whole
    for pod in (MINE, OTHERS):
        machine.bridge(pod)
    machine.clear()
    assert machine.rules() == whole
    machine.run("ip", "link", "delete", MINE)
    machine.clear()
    assert machine.rules() == whole, "another agent's pod is still there"
    machine.run("ip", "link", "delete", OTHERS)
    machine.clear()
    assert machine.rules() == []
    machine.clear()


CLEAN = """
import sys
from pathlib import Path
from offchain.local.network import clean
from offchain.local.places import Places
clean(Places(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("others", [False, True])
def test_down_takes_away_what_a_killed_network_left(machine, tmp_path, others):
    """Its engine was killed with it, so that nobody but its own book knows which bridges were its."""
    machine.protect()
    machine.bridge(MINE)
    if others:
        machine.bridge(OTHERS)
    book = tmp_path / "docker" / "network" / "files" / "local-kv.db"
    book.parent.mkdir(parents=True)
    book.write_bytes(b"\0\1" + f'{{"BridgeName":"{MINE}"}}'.encode() + b"\0")
    (tmp_path / "agent").mkdir()
    secrets = secrets_folder(tmp_path / "agent")
    (secrets / "7").mkdir(parents=True, mode=0o700)
    machine.python(CLEAN, str(tmp_path))
    assert machine.bridges() == ({OTHERS} if others else set())
    assert bool(machine.rules()) == others
    assert list(tmp_path.iterdir()) == []
    assert not secrets.exists()


SLOW = """
import asyncio, sys
from node_agent.drivers import firewall
async def work():
    async with firewall._alone():
        print("has it", flush=True)
        sys.stdin.read()
asyncio.run(work())
"""


def waits_for_a_lock(pid):
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(words[1] == "->" and words[5] == str(pid) for words in lines)


async def test_who_takes_the_rules_away_and_who_needs_them_wait_for_each_other(machine):
    """A pod's bridge comes first, then its agent looks after the rules: between a look for bridges and the removal of
    the rules nobody else may find them in force."""
    enter = ("ip", "netns", "exec", machine.name, sys.executable, "-c")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    first = await asyncio.create_subprocess_exec(*enter, SLOW, **pipes)
    assert await first.stdout.readline() == b"has it\n"
    second = await asyncio.create_subprocess_exec(*enter, SLOW, **pipes)
    waiting = asyncio.create_task(second.stdout.readline())
    while not waits_for_a_lock(second.pid):
        assert not waiting.done()
        await asyncio.sleep(0.02)
    first.stdin.close()
    assert await waiting == b"has it\n"
    second.stdin.close()
    assert (await first.wait(), await second.wait()) == (0, 0)
