"""Hostile images and file systems of pods: they can neither redirect the agent nor hide from it."""

import contextlib
import dataclasses
import os
import secrets
from pathlib import Path

import driver_cases as case
import pytest
from driver_fixtures import docker_driver

from node_agent.drivers.access_port import AccessRefused
from node_agent.drivers.docker.access import DockerAccess
from node_agent.metering.docker import DockerUsageSource
from node_agent.runtime.delivered_files import FileStore
from offchain.adapters.transport.tar_files import BadArchive, pack, plan, unpack
from offchain.clock import unix_ms
from offchain.schema.manifest.types import DeliveredFile, ResultSpec, VolumeMount

pytestmark = pytest.mark.docker

SECRET = "secret-of-this-machine-" + secrets.token_hex(8)


@pytest.fixture
def outside():
    """A folder of this machine, beside the agent's, that no tenant's name may lead to."""
    made = Path("/var/tmp") / f"gantry-attack-{secrets.token_hex(4)}"
    made.mkdir()
    (made / "secret").write_text(SECRET)
    yield made
    for file in made.iterdir():
        file.unlink()
    made.rmdir()


@pytest.fixture
async def driver(docker_api, tmp_path):  # noqa: ARG001  (skips where there is no engine)
    async with docker_driver(tmp_path, files=FileStore(tmp_path / "agent")) as made:
        yield made


@contextlib.asynccontextmanager
async def access_to_pods():
    access = DockerAccess(os.environ["GANTRY_DOCKER_HOST"], case.HOST)
    try:
        yield access
    finally:
        await access.close()


async def until_there(access, lease, path):
    """Wait until the pod has made this path."""
    look = ("sh", "-c", f"until [ -e {path} ]; do :; done")
    program = await access.exec(lease, None, look, tty=False, rows=1, columns=1)
    while await program.read() is not None:
        pass
    assert await program.exit_code() == 0


@pytest.mark.parametrize("path", ["/result.bin", "/out/secret", "/out/../../../{}/secret", "/self/{}/secret"])
async def test_a_result_is_never_a_file_of_this_machine(driver, shell_image, outside, path):
    script = f"ln -s {outside}/secret /result.bin; ln -s {outside} /out; ln -s /proc/1/root /self"
    spec = case.pod(("sh", "-c", script), shell_image)
    spec = dataclasses.replace(spec, result=ResultSpec("file", path.format(str(outside).lstrip("/"))))
    handle = await case.up(driver, spec)
    assert (await case.ended(driver, handle)).exit_code == 0
    found = await driver.collect(handle, spec.result)
    assert (found.data, bool(found.note)) == (b"", True)


async def test_no_file_of_this_machine_is_copied_out_of_a_pod(driver, shell_image, outside):
    script = f"ln -s {outside}/secret /file; ln -s {outside} /folder; ln -s / /all; sleep 600"
    spec = case.pod(("sh", "-c", script), shell_image)
    await case.up(driver, spec)
    async with access_to_pods() as access:
        await until_there(access, spec.lease, "/all")
        paths = ("/file", "/folder", f"{outside}/secret", "/folder/secret", f"/all{outside}/secret", "/proc/1/root")
        for path in paths:
            data = b""
            with contextlib.suppress(AccessRefused):
                data = b"".join([piece async for piece in access.get(spec.lease, None, path)])
            assert SECRET.encode() not in data
            if data and path in ("/file", "/folder"):
                # What comes out is the link itself, and no client makes it.
                archive = outside.parent / f"{outside.name}.tar"
                archive.write_bytes(data)
                try:
                    with archive.open("rb") as file, pytest.raises(BadArchive, match="outside"):
                        unpack(file, outside / "copy")
                finally:
                    archive.unlink()


async def test_a_link_of_the_pod_leads_no_upload_out_of_it(driver, shell_image, outside):
    spec = case.pod(("sh", "-c", f"ln -s {outside} /folder; ln -s / /all; sleep 600"), shell_image)
    handle = await case.up(driver, spec)
    archive = b"".join(pack(plan(Path(__file__), "planted")))

    async def whole():
        yield archive

    async with access_to_pods() as access:
        await until_there(access, spec.lease, "/all")
        for folder in ("/folder", f"/all{outside}", str(outside)):
            with contextlib.suppress(AccessRefused):
                await access.put(spec.lease, None, folder, whole())
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (await driver.inspect(handle)).running


async def test_an_image_leads_no_volume_and_no_secret_out_of_it(driver, docker_api, outside, tmp_path):
    links = [("/data", str(outside)), ("/run", str(outside))]
    with case.an_image(docker_api, links=links) as image:
        token = DeliveredFile("token", "/run/secrets/token", None)
        volume = (VolumeMount("data", "/data", read_only=False),)
        script = "echo planted > /data/planted; cat /run/secrets/token"
        spec = case.pod(("sh", "-c", script), image, files=(token,), volumes=volume)
        FileStore(tmp_path / "agent").put(spec, "token", b"s3cret")
        handle = await case.up(driver, spec)
        await case.ended(driver, handle)
        # Where the links lead is taken to be inside of the container, and there all of it works.
        assert (await driver.collect(handle, spec.result)).data == b"s3cret"
        assert [path.name for path in outside.iterdir()] == ["secret"]
        await driver.destroy(spec.lease, keep_data=False)


async def test_an_image_cannot_hide_its_container_from_the_agent(driver, docker_api):
    """Labels of an image come into its containers: one that calls itself something else is stopped and metered."""
    labels = [f"LABEL gantry.{name}=x" for name in ("host", "lease", "task", "pod", "attempt", "service", "index")]
    with case.an_image(docker_api, changes=["LABEL gantry.role=holder", *labels]) as image:
        spec = case.pod(case.SLEEP, image)
        handle = await case.up(driver, spec)
        (found,) = await driver.recover(spec.lease)
        assert (found.handle, found.running) == (handle, True)
        source = DockerUsageSource(os.environ["GANTRY_DOCKER_HOST"], case.HOST, now_ms=unix_ms)
        (run,) = (await source.read([spec.lease]))[spec.lease]
        assert run.own
        assert run.memory_bytes > 0
        await source.close()
        await driver.stop(spec.lease)
        assert not (await driver.inspect(handle)).running
        await driver.destroy(spec.lease, keep_data=False)


async def test_the_disk_that_an_image_asks_for_by_itself_counts(driver, docker_api):
    with case.an_image(docker_api, changes=["VOLUME /cache"]) as image:
        lines = "awk 'BEGIN { while (i++ < 400000) print \"xxxxxxxxxxxxxxxxxxxxxxxxx\" }'"
        spec = case.pod(("sh", "-c", f"{lines} > /cache/big"), image)
        await case.ended(driver, await case.up(driver, spec))
        assert 9 <= (await driver.upkeep())[spec.lease] <= 15
        await driver.destroy(spec.lease, keep_data=False)
        assert not docker_api.volumes(filters={"dangling": True, "label": [f"gantry.host={case.HOST}"]}).get("Volumes")
