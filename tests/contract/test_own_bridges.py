"""What a host says of where it is: not the bridges that lead only to its own containers. In network namespaces."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from offchain.devnet.paths import ROOT

BRIDGE, CABLE = "172.31.9.1", "10.9.9.1"
MACHINE = f"""
mount -t sysfs none /sys
ip link set lo up
ip link add br-made type bridge
ip address add {BRIDGE}/24 dev br-made
ip link set br-made up
ip link add cable type veth peer name far
ip address add {CABLE}/24 dev cable
ip link set cable up
ip link set far up
"""
ASK = """
import asyncio, json
from offchain.adapters.transport.iroh_quic import IrohTransport

async def main():
    transport = await IrohTransport.bind(bytes(32), "0.0.0.0:0")
    print(json.dumps([address.rpartition(":")[0] for address in transport.addresses]))
    await transport.close()

asyncio.run(main())
"""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="the program ip is not installed (package iproute2)"),
]


def addresses(route: str) -> list[str]:
    """Where an endpoint on every address of a machine with a cable and a bridge says it is."""
    script = f'set -e\n{MACHINE}\n{route}\nexec "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", script, sys.executable, ASK],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_bridges_of_containers_are_left_out() -> None:
    found = addresses("ip route add default via 10.9.9.2 dev cable onlink")
    assert CABLE in found
    assert BRIDGE not in found


def test_a_bridge_by_which_the_machine_reaches_the_world_counts() -> None:
    found = addresses("ip route add default via 172.31.9.2 dev br-made onlink")
    assert {CABLE, BRIDGE} <= set(found)
