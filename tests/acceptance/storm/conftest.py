"""One network for all accidents. Its folder has a short path, for sockets."""

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from storm_net import HOUR_MS, NetworkClient, StormNet, client_of

from offchain.devnet.paths import DevnetPaths
from tests.gpu_stub.build import compiler


@pytest.fixture(scope="module")
def net() -> Iterator[StormNet]:
    if os.getuid() != 0:
        pytest.skip("starting a Docker engine and mounting disks need root")
    if compiler() is None:
        pytest.skip("a C compiler is needed to build stand-ins for clocks and GPUs: install gcc")
    if subprocess.run(["losetup", "--find"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine has no loop device, so that no disk image can be mounted")
    with tempfile.TemporaryDirectory(prefix="gantry-s-") as folder:
        made = StormNet(DevnetPaths(Path(folder)))
        try:
            made.start()
            made.add_host("ann")
            # This machine's clock is wrong from the first day.
            made.add_host("ben", off_ms=HOUR_MS)
            yield made
        except BaseException:
            sys.stderr.write(made.last_lines())
            raise
        finally:
            made.stop()


@pytest.fixture
async def client(net: StormNet) -> AsyncIterator[NetworkClient]:
    async with client_of(net) as made:
        yield made
