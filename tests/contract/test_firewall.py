"""The rules that isolate pods, in a network namespace: restored after any change, removed with the last pod."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from node_agent.drivers.docker.spec import bridge_prefix
from node_agent.drivers.firewall_rules import THROUGH, TO_HOST
from node_agent.runtime.delivered_files import secrets_folder
from offchain.devnet.paths import ROOT

PROTECT = "import asyncio; from node_agent.drivers.firewall import Firewall; asyncio.run(Firewall().ensure())"
MINE, OTHERS = "gtr000000000001", "gtr000000000002"

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="network namespaces need root")


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
        self.run(sys.executable, "-m", "node_agent.drivers.docker.clear")

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


WATCH = """
import asyncio, sys
from node_agent.drivers.firewall import Firewall
async def work():
    firewall = Firewall()
    for line in sys.stdin:
        await firewall.ensure()
        print("done", flush=True)
asyncio.run(work())
"""
CHANGES = [
    "{t} -R GANTRY-INPUT {last} -j ACCEPT",
    "{t} -I GANTRY-FORWARD 1 -j ACCEPT",
    "{t} -I INPUT 1 -j ACCEPT",
    "{t} -I FORWARD 1 -i gtr+ -j ACCEPT",
    "{t} -D GANTRY-FORWARD 1",
    "{t} -D INPUT 1",
    "{t} -D GANTRY-INPUT {last}; {t} -I GANTRY-INPUT 1 -j DROP; {t} -I GANTRY-INPUT 2 -j RETURN",
    "{t} -R INPUT 1 -i gtr+ -p tcp -j GANTRY-INPUT",
    "{t} -F; {t} -X",
]


@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_whatever_is_changed_is_restored(machine, tmp_path, backend):
    """Of both backends and both IP versions; rules of others, policies and other tables stay as they are."""
    for tool in ("iptables", "ip6tables"):
        for suffix in ("", "-save", "-restore"):
            program = shutil.which(f"{tool}-{backend}{suffix}")
            if program is None:
                pytest.skip(f"{tool}-{backend}{suffix} is not installed")
            (tmp_path / f"{tool}{suffix}").symlink_to(program)
    path = f"{tmp_path}:{os.environ['PATH']}"

    def shell(text):
        return machine.run("env", f"PATH={path}", "sh", "-ec", text)

    def filters(tool):
        return [line for line in shell(f"{tool}-save -t filter").splitlines() if not line.startswith("#")]

    shell("iptables -P FORWARD DROP; iptables -A INPUT -p tcp --dport 22 -j ACCEPT")
    shell("iptables -t mangle -A PREROUTING -i gtr+ -j ACCEPT")
    others = [line for line in filters("iptables") if line != "COMMIT"]
    enter = ("ip", "netns", "exec", machine.name, "env", f"PATH={path}", sys.executable, "-c", WATCH)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(enter, text=True, env=environment, **pipes) as agent:

        def ensure():
            agent.stdin.write("\n")
            agent.stdin.flush()
            assert agent.stdout.readline() == "done\n"

        ensure()
        whole = {tool: filters(tool) for tool in ("iptables", "ip6tables")}
        assert set(others) <= set(whole["iptables"])
        for tool, last in (("iptables", 3), ("ip6tables", 1)):
            for change in CHANGES:
                shell(change.format(t=tool, last=last))
                changed = filters(tool)
                assert changed != whole[tool], change
                ensure()
                # Without what the change put there beside our rules, and what it flushed of others.
                after = filters(tool)
                ours = [line for line in after if "GANTRY" in line]
                assert ours == [line for line in whole[tool] if "GANTRY" in line], change
                assert set(changed) - set(ours) - {line for line in changed if "GANTRY" in line} <= set(after), change
                for chain in ("INPUT", "FORWARD"):
                    first = next(line for line in after if line.startswith(f"-A {chain} "))
                    assert first == f"-A {chain} -i gtr+ -j GANTRY-{chain}", change
        assert ":FORWARD DROP [0:0]" in filters("iptables")
        assert "-A PREROUTING -i gtr+ -j ACCEPT" in shell("iptables-save -t mangle")
        before = {tool: filters(tool) for tool in whole}
        ensure()
        assert {tool: filters(tool) for tool in whole} == before
        agent.stdin.close()
        said = agent.stderr.read()
    assert said.count("were changed") == 2 * len(CHANGES)


def test_the_rules_come_before_dockers_own(machine):
    """Docker moves its chain to the front of FORWARD at each new network: our jump is in that chain, too."""
    machine.protect()
    machine.run("iptables", "-N", "DOCKER-USER")
    machine.run("iptables", "-I", "FORWARD", "-j", "ACCEPT")
    machine.run("iptables", "-I", "FORWARD", "-j", "DOCKER-USER")
    machine.run("iptables", "-A", "DOCKER-USER", "-j", "ACCEPT")
    machine.protect()
    saved = machine.run("iptables-save", "-t", "filter").splitlines()
    for chain, first in (("FORWARD", "-j DOCKER-USER"), ("DOCKER-USER", f"-i gtr+ -j {THROUGH}")):
        assert next(line for line in saved if line.startswith(f"-A {chain} ")) == f"-A {chain} {first}"
    machine.run("iptables", "-I", "FORWARD", "-i", "gtr+", "-j", "ACCEPT")
    machine.protect()
    saved = machine.run("iptables-save", "-t", "filter").splitlines()
    assert next(line for line in saved if line.startswith("-A FORWARD ")) == f"-A FORWARD -i gtr+ -j {THROUGH}"


SWITCH = """
import asyncio, sys
from node_agent.drivers.docker.pod_network import PodNetworks
from node_agent.drivers.firewall import DriverError
networks = PodNetworks(None, "5Host", None, network=True)
try:
    asyncio.run(networks.guard())
except DriverError:
    print("refused")
"""


def test_bridges_are_down_while_the_rules_cannot_be_restored(machine, tmp_path):
    """Here `iptables-restore` fails; a bridge of another agent is not touched."""
    mine = f"{bridge_prefix('5Host')}0001"
    for name in (mine, OTHERS):
        machine.bridge(name)
        machine.run("ip", "link", "set", name, "up")

    def up():
        return {name for name in (mine, OTHERS) if ",UP" in machine.run("ip", "-o", "link", "show", name)}

    (tmp_path / "iptables-restore").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "iptables-restore").chmod(0o755)
    broken = f"PATH={tmp_path}:{os.environ['PATH']}"
    assert machine.run("env", broken, sys.executable, "-c", SWITCH) == "refused\n"
    assert up() == {OTHERS}
    assert machine.python(SWITCH) == ""
    assert up() == {mine, OTHERS}
    machine.run("iptables", "-R", TO_HOST, "3", "-j", "ACCEPT")
    assert machine.run("env", broken, sys.executable, "-c", SWITCH) == "refused\n"
    assert up() == {OTHERS}


CLEAN = """
import sys
from pathlib import Path
from offchain.devnet.cleanup import clean
from offchain.devnet.paths import DevnetPaths
clean(DevnetPaths(Path(sys.argv[1])))
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
