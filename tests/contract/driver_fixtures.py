"""A Docker engine for tests: the one GANTRY_DOCKER_HOST names."""

import os
from contextlib import asynccontextmanager

import docker
import driver_cases
import pytest

from node_agent.drivers.docker.driver import DockerDriver
from node_agent.images.docker_engine import DockerImages
from node_agent.images.store import ImageInventory, ImageStore


@pytest.fixture(scope="session")
def docker_api():
    url = os.environ.get("GANTRY_DOCKER_HOST")
    if url is None:
        pytest.skip("GANTRY_DOCKER_HOST names no engine (scripts/test starts one)")
    api = docker.APIClient(base_url=url, version="auto", timeout=60)
    yield api
    api.close()


@pytest.fixture(scope="session")
def shell_image(docker_api):
    image = driver_cases.build_image(docker_api)
    yield image
    docker_api.remove_image(image.digest, force=True)


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
