"""An engine that was killed between a container's start and its record: no process of a tenant runs unseen."""

import asyncio
import contextlib
import json
import os
import select
import shutil
import signal
from pathlib import Path

import docker
import driver_cases as case
import pytest
from driver_fixtures import image_store

from node_agent.drivers.docker.driver import DockerDriver
from offchain.devnet import engine
from offchain.devnet.paths import DevnetPaths
from offchain.processes import process_files

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(os.getuid() != 0, reason="starting a Docker engine needs root"),
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="dockerd is not installed"),
]


class Private:
    """An engine of this test's own, with a driver on it."""

    def __init__(self, folder: Path) -> None:
        self.places = DevnetPaths(folder)
        self.child, self.url = engine.private_child(self.places, dict(os.environ))

    def up(self):
        self.child.start()
        engine.wait_for(self.child, self.url)
        return docker.APIClient(base_url=self.url, version="auto", timeout=60)

    def forget_start(self, container: str) -> None:
        """Kill it, and leave of the container's start what it has written down until just before."""
        self.child.process.kill()
        self.child.reap()
        file = self.places.engine / "containers" / container / "config.v2.json"
        config = json.loads(file.read_text())
        assert config["State"]["Running"]
        config["State"] |= {"Running": False, "Pid": 0, "StartedAt": "0001-01-01T00:00:00Z"}
        file.write_text(json.dumps(config))

    def shims(self, container: str) -> list[int]:
        """The processes between containerd and a container."""
        lines = [(pid, line.split(b"\0")) for pid, line in process_files("cmdline")]
        return [pid for pid, words in lines if container.encode() in words and b"containerd-shim" in words[0]]

    def processes(self, container: str) -> list[int]:
        """What the kernel has in a container."""
        return [pid for pid, groups in process_files("cgroup") if container.encode() in groups]


@pytest.fixture
def private(tmp_path):
    made = Private(tmp_path)
    try:
        yield made
    finally:
        made.child.stop()
        engine.remove_private_engine(made.places)


async def test_what_runs_unseen_is_ended_before_the_pod_starts_again_or_goes(private, tmp_path):
    image = case.build_image(private.up())
    async with image_store(tmp_path, private.url) as images:
        driver = await DockerDriver.connect(private.url, case.HOST, images, network=False, gates=tmp_path / "gates")
        try:
            spec = case.pod(case.SLEEP, image)
            first = await case.up(driver, spec)
            private.forget_start(first.reference)
            private.up().close()
            # The engine thinks that it never began.
            assert not [found for found in await driver.recover() if found.running]
            assert private.processes(first.reference)
            again = await case.up(driver, spec)
            assert (await driver.inspect(again)).running
            assert not private.processes(first.reference)
            private.forget_start(again.reference)
            private.up().close()
            assert private.processes(again.reference)
            await driver.destroy(spec.lease, keep_data=False)
            assert not private.processes(again.reference)
        finally:
            await driver.close()


async def test_a_container_that_runs_in_the_engines_eyes_only_has_ended(private, tmp_path):
    image = case.build_image(private.up())
    async with image_store(tmp_path, private.url) as images:
        driver = await DockerDriver.connect(private.url, case.HOST, images, network=False, gates=tmp_path / "gates")
        try:
            handle, other = [await case.up(driver, case.pod(case.SLEEP, image, lease=number)) for number in (1, 2)]
            # A shim that tells nobody.
            (shim,) = private.shims(handle.reference)
            os.kill(shim, signal.SIGSTOP)
            for process in private.processes(handle.reference):
                with contextlib.suppress(ProcessLookupError):  # the first takes the others with it
                    ended = os.pidfd_open(process)
                    signal.pidfd_send_signal(ended, signal.SIGKILL)
                    assert select.select([ended], [], [], 10)[0]
                    os.close(ended)
            await driver.upkeep()
            assert (await driver.inspect(handle)).running
            await driver.upkeep()
            async with asyncio.timeout(30), contextlib.aclosing(driver.watch(handle)) as seen:
                async for inspection in seen:
                    if not inspection.running:
                        break
            assert (await driver.inspect(other)).running
        finally:
            await driver.close()


async def test_taking_an_engine_down_ends_what_it_did_not_know_of(private, tmp_path):
    image = case.build_image(private.up())
    async with image_store(tmp_path, private.url) as images:
        driver = await DockerDriver.connect(private.url, case.HOST, images, network=False, gates=tmp_path / "gates")
        handle = await case.up(driver, case.pod(case.SLEEP, image))
        await driver.close()
    private.forget_start(handle.reference)
    private.up().close()
    private.child.stop()
    running = [os.pidfd_open(pid) for pid in private.processes(handle.reference)]
    assert running
    engine.remove_private_engine(private.places)
    for ended in running:
        assert select.select([ended], [], [], 10)[0]
        os.close(ended)
    assert not private.processes(handle.reference)
