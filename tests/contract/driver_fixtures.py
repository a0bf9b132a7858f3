"""Images and a driver on the Docker engine that GANTRY_DOCKER_HOST names."""

import os
from contextlib import asynccontextmanager

import driver_cases

from node_agent.drivers.docker.driver import DockerDriver
from node_agent.images.docker_engine import DockerImages
from node_agent.images.store import ImageInventory, ImageStore


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
        driver = await DockerDriver.connect(os.environ["GANTRY_DOCKER_HOST"], driver_cases.HOST, images, **options)
        try:
            yield driver
        finally:
            for lease in await driver.leases():
                await driver.destroy(lease, keep_data=False)
            await driver.close()
