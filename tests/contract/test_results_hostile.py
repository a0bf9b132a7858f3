"""Hostile results: the agent reads a bounded amount of any result path, and no file of this machine."""

import dataclasses
import io
import shutil
import socket
import tarfile
import time
import tracemalloc
from pathlib import Path

import driver_cases as case
import pytest
from driver_fixtures import docker_driver

from node_agent.core.values import ContainerSpec
from node_agent.drivers.port import MAX_RESULT_BYTES
from offchain.schema.manifest.types import ImageRef, ResultSpec, VolumeMount

pytestmark = pytest.mark.docker

APPLETS = ("sh", "ln", "mkdir", "mkfifo", "truncate", "dd", "touch", "chmod", "sleep", "cat", "rm")
LIMIT_S = 60.0
"""For one result on a busy machine; it takes some ten milliseconds."""

MAKE = """
mkdir /out /out/folder /out/many; echo secret > /out/real; ln /out/real /out/hard
ln -s /etc/shadow /out/absolute; ln -s real /out/relative; ln -s relative /out/chain; ln -s /nowhere /out/dangling
ln -s loop /out/loop; ln -s /proc/self/environ /out/environ; ln -s /dev/zero /out/endless; ln -s /data/inner /out/mount
ln -s /out /alias; ln -s ../../../../../../../../etc/shadow /out/up; ln -s /proc/1/root/etc/shadow /out/root
mkfifo /out/fifo; truncate -s 1024G /out/sparse; truncate -s 16777217 /out/over; truncate -s 16777216 /out/most
echo hidden > /out/closed; chmod 0 /out/closed; mkdir /out/shut; echo x > /out/shut/file; chmod 0 /out/shut
i=0; while [ $i -lt 3000 ]; do : > /out/many/$i-nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn; i=$((i + 1)); done
echo inner > /data/inner; ln -s /etc/shadow /data/link; : > /out/ready; sleep 600
"""
SPECIAL = (
    *("absolute", "relative", "chain", "dangling", "environ", "endless", "mount", "up", "root"),
    *("folder", "many", "fifo", "socket", "null", "disk"),
)


@pytest.fixture(scope="module")
def image(docker_api):
    """busybox, a shadow file of its own, and device files, which a pod cannot make."""
    made = io.BytesIO()
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("busybox is not installed (scripts/test installs it)")
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.add(Path(busybox).resolve(), arcname="bin/busybox")
        for name in APPLETS:
            tar.addfile(_entry(f"bin/{name}", tarfile.SYMTYPE, target="busybox"))
        for name in ("etc", "data", "image"):
            tar.addfile(_entry(name, tarfile.DIRTYPE))
        tar.addfile(_entry("etc/shadow", size=5), io.BytesIO(b"image"))
        tar.addfile(_entry("image/null", tarfile.CHRTYPE, device=(1, 3)))
        tar.addfile(_entry("image/zero", tarfile.CHRTYPE, device=(1, 5)))
        tar.addfile(_entry("image/disk", tarfile.BLKTYPE, device=(7, 0)))
    name = "gantry-test/results"
    docker_api.import_image_from_data(made.getvalue(), repository=name, tag="latest")
    found = ImageRef(name, docker_api.inspect_image(f"{name}:latest")["Id"])
    yield found
    docker_api.remove_image(found.digest, force=True)


def _entry(name, kind=tarfile.REGTYPE, *, target="", size=0, device=(0, 0)):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, target, size, 0o755
    info.devmajor, info.devminor = device
    return info


@pytest.fixture
async def driver(docker_api, tmp_path):  # noqa: ARG001  (skips where there is no engine)
    async with docker_driver(tmp_path, network=False) as made:
        yield made


@pytest.fixture
async def left(driver, image, docker_api):
    """An ended container that left every kind of result."""
    data = (VolumeMount("data", "/data", read_only=False),)
    spec = case.pod(("sh", "-c", MAKE), image, volumes=data)
    handle = await case.up(driver, spec)
    pid = docker_api.inspect_container(handle.reference)["State"]["Pid"]
    out = Path(f"/proc/{pid}/root/out")
    while not (out / "ready").exists():
        assert (await driver.inspect(handle)).running
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(out / "socket"))  # busybox makes none
    await driver.stop(spec.lease)
    return handle


async def collected(driver, handle, path):
    begun = time.monotonic()
    tracemalloc.start()
    try:
        found = await driver.collect(handle, ResultSpec("file", path))
        assert tracemalloc.get_traced_memory()[1] < 6 * MAX_RESULT_BYTES
    finally:
        tracemalloc.stop()
    assert time.monotonic() - begun < LIMIT_S
    return found


async def test_a_result_that_is_no_plain_file_is_none_and_says_so(driver, left):
    paths = [*(f"/out/{name}" for name in SPECIAL[:-2]), "/image/null", "/image/zero", "/image/disk", "/data/link"]
    for path in paths:
        found = await collected(driver, left, path)
        assert (found.data, found.too_large, found.note) == (b"", False, f"{path} is not a regular file"), path


async def test_a_result_that_cannot_be_reached_is_none_and_says_so(driver, left):
    for path in (
        *(
            "/out/absent",
            "/out/dangling/x",
            "/out/loop",
            "/out/loop/x",
            "/out/real/x",
            "/out/fifo/x",
            "/dev/zero",
            "/proc/self/environ",
        ),
        *("/out/root/x", "/out/" + "n" * 256, "/" + "d/" * 2000 + "x", "/out/up/../../etc/shadow/x", "/image/null/x"),
    ):
        found = await collected(driver, left, path)
        assert (found.data, found.too_large) == (b"", False), path
        assert path in found.note, path


async def test_a_result_that_is_too_large_is_not_read(driver, left):
    for path, size in (("/out/sparse", 1 << 40), ("/out/over", MAX_RESULT_BYTES + 1)):
        found = await collected(driver, left, path)
        assert (found.data, found.too_large) == (b"", True)
        assert str(size) in found.note


async def test_every_plain_file_inside_is_a_result(driver, left):
    """Also one that its own program could not read, and by ways that lead through links of the pod: all is its own."""
    assert len((await collected(driver, left, "/out/most")).data) == MAX_RESULT_BYTES
    for path, data in (
        *(("/out/real", b"secret\n"), ("/out/hard", b"secret\n"), ("/alias/real", b"secret\n")),
        *(("/out/closed", b"hidden\n"), ("/out/shut/file", b"x\n"), ("/data/inner", b"inner\n")),
        ("/out/../../../../../out/real", b"secret\n"),
        ("/../../../../etc/shadow", b"image"),  # of the image, as every path
    ):
        assert (await collected(driver, left, path)).data == data, path


async def test_a_container_whose_result_was_not_read_to_its_end_is_removed(driver, left):
    for path in ("/out/many", "/out/sparse", "/out/fifo", "/out/folder"):
        await collected(driver, left, path)
    await driver.destroy(left.lease, keep_data=False)
    assert await driver.leases() == frozenset() or left.lease not in await driver.leases()


@pytest.mark.parametrize(
    "change", ["dd if=/dev/zero bs=1M count=3 >> /data/r 2>/dev/null", ": > /data/r; truncate -s 9M /data/r"]
)
async def test_a_result_that_changes_while_it_is_read_ends_in_bounded_time(driver, image, change):
    """Another container of the pod shares the volume and goes on writing."""
    data = (VolumeMount("data", "/data", read_only=False),)
    script = f"truncate -s 8M /data/r; : > /data/ready; while :; do {change}; [ -e /data/stop ] && exit 0; done"
    spec = case.pod(("sh", "-c", "until [ -e /data/ready ]; do :; done"), image, volumes=data)
    other = case.a_service(("sh", "-c", script), image, name="other", volumes=data)
    spec = dataclasses.replace(spec, containers=(*spec.containers, ContainerSpec(other, (), 2)))
    await driver.prepare(spec)
    await driver.start(spec, "other", 1)
    handle = await driver.start(spec, "main", 1)
    await case.ended(driver, handle)
    for _ in range(4):
        found = await collected(driver, handle, "/data/r")
        assert len(found.data) <= MAX_RESULT_BYTES
        if found.note:
            assert (found.data, found.too_large) in ((b"", True), (b"", False))
