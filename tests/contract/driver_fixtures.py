"""Images and drivers: on the Docker engine that GANTRY_DOCKER_HOST names, and on the fake engine."""

import dataclasses
import os
from contextlib import asynccontextmanager

import driver_cases as case

from node_agent.core.values import ContainerSpec, PodSpec
from node_agent.drivers.docker.driver import DockerDriver
from node_agent.images.docker_engine import DockerImages
from node_agent.images.store import ImageInventory, ImageStore
from node_agent.runtime.delivered_files import FileStore
from offchain.schema.manifest.types import ImageRef
from tests.support.fake_driver import FakeDriver
from tests.support.fake_engine import FakeEngine


@asynccontextmanager
async def image_store(folder, url=None):
    """The images of the engine under test."""
    engine = DockerImages(url or os.environ["GANTRY_DOCKER_HOST"])
    store = ImageStore(
        engine, ImageInventory(folder / "images.json"), mirror=None, quota_bytes=1 << 30, now_ms=lambda: 1
    )
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def docker_driver(folder, **options):
    """A driver on the engine under test; what it ran is gone afterwards."""
    async with image_store(folder) as images:
        options = {"gates": folder / "gates", **options}
        driver = await DockerDriver.connect(os.environ["GANTRY_DOCKER_HOST"], case.HOST, images, **options)
        try:
            yield driver
        finally:
            for lease in await driver.leases():
                await driver.destroy(lease, keep_data=False)
            await driver.close()


class Setup:
    """A driver, a way to make a second one on the same engine, and a way to act behind its back."""

    def __init__(self, driver, image, again, kill, remove):
        self.driver, self.image, self.again, self.kill, self.remove = driver, image, again, kill, remove
        self.leases = []

    def pod(self, command, **options) -> PodSpec:
        spec = case.pod(command, self.image, **options)
        self.leases.append(spec.lease)
        return spec

    def pod_of(self, **commands) -> PodSpec:
        """A pod of several containers; the first is the main one."""
        services = [case.a_service(command, self.image, name=name) for name, command in commands.items()]
        return dataclasses.replace(self.pod(case.SLEEP), containers=tuple(ContainerSpec(one) for one in services))

    def keeper(self, command=case.KEEP, **changes) -> PodSpec:
        """A rental's pod with one volume."""
        return dataclasses.replace(self.pod(command, volumes=case.DATA), keeps_data=True, **changes)


async def make_setup(request, tmp_path, stack):
    """The setup of a parametrised fixture; `stack` ends it."""
    if request.param == "fake":
        engine = FakeEngine(case.FakePrograms())

        async def again(host=case.HOST):
            return FakeDriver(engine, host)

        driver, image = await again(), ImageRef("any", "sha256:" + "1" * 64)

        def kill(handle):
            engine.kill(case.HOST, handle.lease)

        def remove(handle):
            engine.remove(case.HOST, handle.lease, handle.service)
    else:
        image, api = request.getfixturevalue("shell_image"), request.getfixturevalue("docker_api")
        url, images = os.environ["GANTRY_DOCKER_HOST"], await stack.enter_async_context(image_store(tmp_path))

        async def again(host=case.HOST):
            return await DockerDriver.connect(
                url, host, images, files=FileStore(tmp_path / "agent"), gates=tmp_path / "gates"
            )

        driver = await again()

        def kill(handle):
            api.kill(handle.reference)

        def remove(handle):
            api.remove_container(handle.reference, force=True)

    setup = Setup(driver, image, again, kill, remove)

    async def clean():
        for lease in setup.leases:
            await driver.destroy(lease, keep_data=False)
        await driver.close()

    stack.push_async_callback(clean)
    return setup
