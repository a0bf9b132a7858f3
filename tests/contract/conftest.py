"""A node and a Docker engine for the contract tests, unless GANTRY_TEST_URL and GANTRY_DOCKER_HOST name others."""

import contextlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import driver_cases
import outbox_rig
import p2p_endpoints
import pytest
from driver_fixtures import Setup, docker_driver, make_setup
from image_registries import PLENTY, Clock, DockerRegistries, FakeRegistries

from node_agent.drivers.docker.driver import DockerDriver
from node_agent.images.policy import Mirror
from node_agent.images.store import ImageInventory, ImageStore
from offchain.devnet.paths import ROOT
from offchain.schema.manifest.types import ImageRef
from tests.support.fast_chain import write_fast_genesis
from tests.support.postgres_server import Server, server
from tests.support.suites import LEVEL


@pytest.fixture(scope="session", autouse=True)
def base() -> Iterator[None]:
    """Start both and name them in the environment. Where they cannot run, tests that need them are skipped."""
    if "GANTRY_TEST_URL" in os.environ:
        yield
        return
    # Sockets need a short path.
    with tempfile.TemporaryDirectory(prefix="gantry-b-") as folder, pytest.MonkeyPatch.context() as patch:
        genesis = write_fast_genesis(Path(folder) / "genesis.json")
        command = [sys.executable, "-m", "offchain.devnet", "base", f"{folder}/state", str(genesis)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            if line:
                facts = json.loads(line)
                patch.setenv("GANTRY_TEST_URL", facts["url"])
                patch.setenv("GANTRY_DOCKER_HOST", facts["docker_host"])
            elif LEVEL in os.environ:
                pytest.exit("there is no node or no Docker engine for the contract tests; the reason is above", 1)
            else:
                warnings.warn("no node and no Docker engine: tests that need them are skipped", UserWarning, 1)
            try:
                yield
            finally:
                process.terminate()


@pytest.fixture(scope="session")
def docker_api() -> Iterator[docker.APIClient]:
    """The engine that GANTRY_DOCKER_HOST names. Tests that need one are skipped where there is none."""
    url = os.environ.get("GANTRY_DOCKER_HOST")
    if url is None:
        pytest.skip("no Docker engine runs (GANTRY_DOCKER_HOST is not set; scripts/test starts one)")
    with contextlib.closing(docker.APIClient(base_url=url, version="auto", timeout=60)) as api:
        yield api


@pytest.fixture(scope="session")
def shell_image(docker_api: docker.APIClient) -> Iterator[ImageRef]:
    image = driver_cases.build_image(docker_api)
    yield image
    docker_api.remove_image(image.digest, force=True)


@pytest.fixture
async def driver(docker_api: docker.APIClient, tmp_path: Path) -> AsyncIterator[DockerDriver]:  # noqa: ARG001  (skips)
    async with docker_driver(tmp_path) as made:
        yield made


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.docker)])
async def setup(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Setup]:
    """Each driver."""
    async with contextlib.AsyncExitStack() as stack:
        yield await make_setup(request, tmp_path, stack)


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.docker)])
def registries(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FakeRegistries | DockerRegistries]:
    is_fake = request.param == "fake"
    made = FakeRegistries() if is_fake else DockerRegistries(request.getfixturevalue("docker_api"), tmp_path)
    yield made
    made.clear()


@pytest.fixture
def clock() -> Clock:
    """The clock of the stores that `make_store` makes."""
    return Clock()


@pytest.fixture
def pauses() -> list[float]:
    """The pauses, in seconds, of the stores that `make_store` makes."""
    return []


@pytest.fixture
async def make_store(
    registries: FakeRegistries | DockerRegistries, tmp_path: Path, clock: Clock, pauses: list[float]
) -> AsyncIterator[Callable[..., ImageStore]]:
    made = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    def make(*, mirror: Mirror | None = None, quota_bytes: int = PLENTY) -> ImageStore:
        book = ImageInventory(tmp_path / "images.json")
        store = ImageStore(registries.engine, book, mirror=mirror, quota_bytes=quota_bytes, now_ms=clock, pause=pause)
        made.append(store)
        return store

    yield make
    for store in made:
        await store.close()


@pytest.fixture
async def rig() -> AsyncIterator[outbox_rig.Rig]:
    async with outbox_rig.running_rig() as made:
        yield made


@pytest.fixture(params=p2p_endpoints.KINDS)
async def net(request: pytest.FixtureRequest) -> AsyncIterator[p2p_endpoints.Net]:
    """Endpoints of each transport."""
    made = p2p_endpoints.Net(request.param)
    yield made
    await made.close()


@pytest.fixture
async def places() -> AsyncIterator[Callable[[Any], Awaitable[Any]]]:
    """Endpoints and gateways, closed at the end, the last made first."""
    made = []

    async def keep(making: Any) -> Any:
        thing = await making if inspect.isawaitable(making) else making
        made.append(thing)
        return thing

    yield keep
    for thing in reversed(made):
        await thing.close()


@pytest.fixture
async def gateway(places: Callable[[Any], Awaitable[Any]]) -> p2p_endpoints.RunningGateway:
    return await places(p2p_endpoints.RunningGateway.start())


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server | None]:
    with server() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path, postgres: Server | None) -> str:
    """The address of a new database for an index."""
    if request.param == "sqlite":
        return str(tmp_path / "index.db")
    if postgres is None:
        pytest.skip("PostgreSQL is not installed (scripts/test installs it)")
    return postgres.address()
