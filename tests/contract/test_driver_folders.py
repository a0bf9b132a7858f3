"""A folder saved from a running container is in another container before its program starts."""

import io
import tarfile

import driver_cases as case
import pytest
from driver_fixtures import docker_driver
from test_driver import read_all

from node_agent.core.values import EndKind
from node_agent.drivers.port import FolderMissing, FolderRefused, PodGone, Seed
from offchain.adapters.transport.tar_files import check
from offchain.schema.manifest.types import TmpfsMount, VolumeMount

STATE = "/keep/state"


async def saved(driver, handle, folder, path=STATE):
    """A seed of what the container has there."""
    data = await read_all(driver.save_path(handle, path))
    check(io.BytesIO(data), most_bytes=len(data), root=path.rpartition("/")[2])
    (folder / "saved.tar").write_bytes(data)
    return Seed(path, folder / "saved.tar")


def content(archive):
    with tarfile.open(archive) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar if one.isreg()}


async def test_a_saved_folder_is_in_a_new_container_before_its_program_starts(setup, tmp_path):
    seed = await saved(
        setup.driver, await case.written(setup.driver, setup.pod(case.STATE, healthcheck=case.WRITTEN)), tmp_path
    )
    assert content(seed.archive) == {"state/n": b"3\n"}
    other = setup.pod(case.WELL)
    await setup.driver.prepare(other)
    handle = await setup.driver.start(other, "main", 1, seed=seed)
    assert (await setup.driver.inspect(handle)).running
    (tmp_path / "again").mkdir()
    again = await saved(setup.driver, handle, tmp_path / "again")
    assert content(again.archive) == {"state/n": b"3\n"}
    assert await setup.driver.start(other, "main", 1, seed=seed) == handle


async def test_who_has_no_such_folder_says_so(setup):
    handle = await case.up(setup.driver, setup.pod(case.WELL))
    with pytest.raises(FolderMissing, match="/keep/state"):
        await read_all(setup.driver.save_path(handle, STATE))
    setup.remove(handle)
    with pytest.raises(PodGone):
        await read_all(setup.driver.save_path(handle, STATE))


@pytest.fixture
async def docker(docker_api, tmp_path):  # noqa: ARG001  (skips where there is no engine)
    async with docker_driver(tmp_path, network=False) as driver:
        yield driver


async def writing(driver, image):
    return await case.written(driver, case.pod(case.STATE, image, healthcheck=case.WRITTEN))


async def went_on(driver, spec, seed, start=1):
    await driver.prepare(spec)
    handle = await driver.start(spec, "main", start, seed=seed)
    ending = await case.ended(driver, handle)
    assert (ending.kind, ending.exit_code) == (EndKind.SELF, 0)
    return (await driver.collect(handle, spec.result)).data.split()


@pytest.mark.docker
async def test_a_program_goes_on_in_another_container_from_what_was_saved(docker, shell_image, tmp_path):
    seed = await saved(docker, await writing(docker, shell_image), tmp_path)
    for spec in (
        case.pod(case.GO_ON, shell_image),
        case.pod(case.GO_ON, shell_image, volumes=(VolumeMount("data", "/keep", read_only=False),), read_only=True),
        case.pod(case.GO_ON, shell_image, volumes=(VolumeMount("data", STATE, read_only=False),)),
    ):
        assert await went_on(docker, spec, seed) == [b"4", b"deep", b"latest", b"n"]


@pytest.mark.docker
async def test_a_container_that_was_made_but_not_started_has_it_too(docker, shell_image, tmp_path):
    """The agent was killed between the two."""
    seed = await saved(docker, await writing(docker, shell_image), tmp_path)
    spec = case.pod(case.GO_ON, shell_image)
    await docker.prepare(spec)
    await docker._starts._create(spec, "main", 1)
    assert await went_on(docker, spec, seed) == [b"4", b"deep", b"latest", b"n"]


@pytest.mark.docker
async def test_where_a_folder_cannot_be_made_nothing_is_left(docker, shell_image, tmp_path):
    seed = await saved(docker, await writing(docker, shell_image), tmp_path)
    spec = case.pod(case.GO_ON, shell_image, read_only=True, tmpfs=(TmpfsMount("/run", ""),))
    await docker.prepare(spec)
    with pytest.raises(FolderRefused):
        await docker.start(spec, "main", 1, seed=seed)
    assert await docker.recover(spec.lease) == ()
