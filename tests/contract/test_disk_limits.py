"""A lease's disk on a real engine: no pod takes more than its lease has, by whatever way it writes (ADR 0039)."""

import contextlib
import dataclasses
import json
import os
import subprocess
import threading
from pathlib import Path

import disk_attacks
import driver_cases as case
import pytest
from driver_fixtures import docker_driver

from node_agent.core.values import ContainerSpec
from node_agent.drivers import lease_disks
from node_agent.drivers.docker.disks import disks_of
from node_agent.drivers.lease_disks import LEAST_INODES, SLACK_MIB, DiskError, LeaseDisks, geometry
from node_agent.drivers.port import ImageCannotRun, SnapshotRefused
from offchain.schema.manifest.types import ResultSpec

ROOT_NEEDED = pytest.mark.skipif(os.getuid() != 0, reason="mounting needs root")
pytestmark = [pytest.mark.docker, ROOT_NEEDED]
MIB = 1 << 20
LIMIT = 1 << 30
"""Bytes of disk of these leases."""
MOST_OVER = 64 * MIB
ATTACKS = disk_attacks.__file__


@pytest.fixture
async def driver(docker_api, tmp_path):  # noqa: ARG001  (skips where there is no engine)
    async with docker_driver(tmp_path) as made:
        if made.disk_trouble:
            pytest.skip(f"leases cannot have file systems on this machine: {made.disk_trouble}")
        yield made


@pytest.fixture
def disks(docker_api):
    return disks_of(Path(docker_api.info()["DockerRootDir"]), case.HOST)


def unmount_all(point):
    """Unmount the file system that is mounted here wherever it is mounted, the container's layer with it."""
    device = point.stat().st_dev
    mounted = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for words in reversed(mounted):
        if words[2] == wanted:
            subprocess.run(["umount", words[4]], check=True)


def image_file(api, lease):
    return next(Path(api.info()["DockerRootDir"]).glob(f"gantry-disks/*/{lease}.img"))


async def output(driver, spec):
    return (await case.output(driver, spec)).decode()


async def test_no_way_of_writing_takes_more_than_the_lease_has(driver, docker_api, disks):
    image = case.build_image(
        docker_api, "disk-attacks", [*case.python_files(ATTACKS), ("/attacks.py", ATTACKS)], changes=["VOLUME /asked"]
    )
    command = (case.PYTHON, "-I", "-S", "/attacks.py", "/data", "/asked")
    spec = case.pod(command, image, volumes=case.DATA)
    seen = json.loads(await output(driver, spec))
    counted = {"empty files", "attributes"}
    for attack, (taken, refused) in seen.items():
        if attack not in counted:
            assert LIMIT * 0.9 < taken <= LIMIT, (attack, seen)
            assert refused == "ENOSPC", (attack, seen)
    files, refused = seen["empty files"]
    assert 60_000 < files <= geometry(1024).inodes + 256, "mkfs rounds up in each group of blocks"
    assert refused == "ENOSPC"
    file = image_file(docker_api, spec.lease)
    assert file.stat().st_size <= LIMIT + MOST_OVER
    assert (await driver.upkeep())[spec.lease] <= 1024
    await driver.destroy(spec.lease, keep_data=False)
    assert not file.exists()
    assert spec.lease not in disks.numbers()
    docker_api.remove_image(image.digest, force=True)


async def test_the_containers_of_a_pod_share_its_disk(driver, shell_image, disks):
    """The engine's files of a pod of several containers are those of the container that holds its network."""
    fill = "echo 127.0.0.1 more >> /etc/hosts; echo x > /own; echo up; exec sleep 600"
    one = case.pod(("sh", "-c", fill), shell_image)
    two = ContainerSpec(case.a_service(("sh", "-c", fill), shell_image, name="second"), (), 0)
    spec = dataclasses.replace(one, containers=(*one.containers, two))
    await case.up(driver, spec)
    await driver.start(spec, "second", 1)
    point = disks.point(spec.lease)
    while len(list(point.glob("containers/*/layer/diff/own"))) < 2:
        pass  # the programs have to come so far
    (hosts,) = point.glob("containers/*/hosts")
    assert hosts.read_text().count("more") == 2
    assert await driver.destroy(spec.lease, keep_data=False) is None
    assert not point.exists()


async def test_data_outlives_its_lease_and_a_larger_one_takes_it_over(driver, shell_image, disks):
    first = case.pod(case.KEEP, shell_image, volumes=case.DATA)
    first = dataclasses.replace(first, keeps_data=True)
    await case.ended(driver, await case.up(driver, first))
    await driver.destroy(first.lease, keep_data=True)
    assert not list(disks.point(first.lease).glob("containers/*"))
    (volume,) = await driver.volumes(first.lease)
    assert volume.size_bytes
    second = case.pod(case.KEEP, shell_image, volumes=case.DATA)
    second = dataclasses.replace(second, keeps_data=True, data_from=first.lease, disk_gib=2)
    assert (await case.ended(driver, await case.up(driver, second))).exit_code == 9
    space = os.statvfs(disks.point(first.lease))
    assert 2030 * MIB < space.f_bavail * space.f_frsize <= 2048 * MIB
    assert disks.numbers() == {first.lease}
    assert second.lease in await driver.leases()
    await driver.destroy(second.lease, keep_data=False)
    assert disks.numbers() == frozenset()


async def test_a_snapshot_takes_room_from_the_machine_that_it_is_of(driver, shell_image, disks):
    spec = dataclasses.replace(case.pod(case.BIG, shell_image), keeps_data=True)
    await case.ended(driver, await case.up(driver, spec))

    def left():
        space = os.statvfs(disks.point(spec.lease))
        return space.f_bavail * space.f_frsize

    before = left()
    await driver.snapshot(spec.lease, "one", 1024)
    assert 2 * MIB <= before - left() <= 4 * MIB
    await driver.remove_snapshot(spec.lease, "one")
    assert abs(left() - before) <= MIB
    with pytest.raises(SnapshotRefused):
        await driver.snapshot(spec.lease, "too-large", 1)


async def test_what_the_engine_unmounts_is_mounted_again(driver, shell_image, disks):
    """An engine that stops, or a reboot of the machine, leaves nothing mounted."""
    spec = case.pod(("sh", "-c", "echo kept > /result.bin"), shell_image)
    spec = dataclasses.replace(spec, result=ResultSpec("file", "/result.bin"))
    handle = await case.up(driver, spec)
    await case.ended(driver, handle)
    point = disks.point(spec.lease)
    unmount_all(point)
    assert not list(point.iterdir())
    assert (await driver.collect(handle, spec.result)).data == b"kept\n"


async def test_a_tenant_who_has_filled_the_disk_is_no_fault_of_the_host(driver, shell_image, disks):
    first = case.pod(case.TWICE, shell_image, volumes=case.DATA)
    first = dataclasses.replace(first, keeps_data=True)
    mark = (await case.ended(driver, await case.up(driver, first))).mark
    fill(disks.point(first.lease) / "volumes" / "data")
    assert await driver._data.is_full(first)
    # The same container needs nothing new.
    assert (await case.ended(driver, await driver.start(first, "main", 2, mark))).exit_code == 7
    await driver.destroy(first.lease, keep_data=True)
    fill(disks.point(first.lease) / "volumes" / "data")
    second = case.pod(case.KEEP, shell_image, volumes=case.DATA)
    second = dataclasses.replace(second, keeps_data=True, data_from=first.lease)
    with pytest.raises(ImageCannotRun, match="disk is full"):
        await case.up(driver, second)


def fill(folder):
    """Leave no room on the disk of a folder."""
    for size in (1 << 20, 4096):
        path = folder / f"all-{size}-{os.urandom(4).hex()}"
        with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
            for position in range(0, 2 << 30, size):
                os.posix_fallocate(file.fileno(), position, size)


async def test_without_file_systems_what_hides_from_a_look_is_counted(shell_image, tmp_path, monkeypatch):
    """The fallback: open files without a name, deep folders, the engine's files, many files, some 9 MiB each."""
    monkeypatch.setattr(LeaseDisks, "try_out", lambda _: "not here")
    eight = "awk 'BEGIN { while (i++ < 200000) print \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" }'"
    name = "d" * 200
    ways = {
        "nameless": f"exec 5> /nameless; {eight} >&5; rm /nameless",
        "deep": f"i=0; while [ $i -lt 25 ]; do mkdir {name}; cd {name}; i=$((i+1)); done; {eight} > big",
        "hosts": f"{eight} > /etc/hosts",
        "many": "mkdir /many; i=0; while [ $i -lt 600 ]; do : > /many/$i; i=$((i+1)); done",
    }
    async with docker_driver(tmp_path) as driver:
        assert driver.disk_trouble == "not here"
        for way, script in ways.items():
            spec = case.pod(("bash", "-c", f"{script}; echo done; exec sleep 600"), shell_image)
            await case.up(driver, spec)
            async with contextlib.aclosing(driver.logs(spec.lease, follow=True)) as log:
                async for _ in log:
                    break
            assert 8 <= (await driver.upkeep())[spec.lease] <= 16, way
            await driver.destroy(spec.lease, keep_data=False)


def test_the_file_of_a_small_disk_is_small_and_grows_in_place(tmp_path):
    disks = LeaseDisks(tmp_path / "images", tmp_path / "points")
    if trouble := disks.try_out():
        pytest.skip(trouble)
    point = disks.ensure(1, 64)
    try:
        space = os.statvfs(point)
        assert 60 * MIB < space.f_bavail * space.f_frsize <= 64 * MIB
        assert space.f_files >= LEAST_INODES
        image = tmp_path / "images" / "1.img"
        assert image.stat().st_size == (64 + SLACK_MIB) * MIB
        assert image.stat().st_blocks * 512 < 4 * MIB
        assert image.stat().st_mode & 0o077 == 0
        (point / "kept").write_bytes(b"x" * MIB)
        assert MIB <= disks.used_bytes(1) < 2 * MIB
        assert disks.ensure(1, 128) == point
        space = os.statvfs(point)
        assert 120 * MIB < space.f_bavail * space.f_frsize <= 127 * MIB
        disks.ensure(1, 32)
        assert os.statvfs(point).f_bavail * 4096 <= 31 * MIB
        assert not disks.set_kept(1, 32), "one MiB of the files has no room left"
        assert (point / "kept").read_bytes() == b"x" * MIB
    finally:
        disks.remove(1)
    assert disks.numbers() == frozenset()


def test_a_disk_does_not_grow_while_another_mount_namespace_holds_it(tmp_path, monkeypatch):
    """A container that is being made has copies of all mounts. The kernel goes on with the old size for as long."""
    disks = LeaseDisks(tmp_path / "images", tmp_path / "points")
    if trouble := disks.try_out():
        pytest.skip(trouble)
    point = disks.ensure(1, 64)
    try:
        (point / "kept").write_bytes(b"x" * MIB)
        with subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo ready; read line"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as holder:
            assert holder.stdout.readline() == b"ready\n"
            with monkeypatch.context() as patch:
                patch.setattr(lease_disks, "_RELEASE_S", 0.1)
                with pytest.raises(DiskError, match=r"another process still uses .*1\.img"):
                    disks.ensure(1, 128)
            growing = threading.Thread(target=disks.ensure, args=(1, 128))
            growing.start()
            holder.stdin.close()
            growing.join()
        space = os.statvfs(point)
        assert 120 * MIB < space.f_bavail * space.f_frsize <= 127 * MIB
        assert (point / "kept").read_bytes() == b"x" * MIB
    finally:
        disks.remove(1)
