"""The program of a container does not start before the agent has checked the container's mounts.

Another container of the pod may change links in a shared volume after they were checked and before the engine mounts
the rest. Here that moment is right after the check, which makes the race certain.
"""

import asyncio
import os
from pathlib import Path

import driver_cases as case
import pytest
from driver_fixtures import docker_driver

from node_agent.drivers import kernel_mounts
from node_agent.drivers.access_port import AccessRefused
from node_agent.drivers.docker import container_start
from node_agent.drivers.docker.access import DockerAccess
from node_agent.drivers.docker.container_paths import GATE_WORDS
from node_agent.drivers.docker.mount_checks import MountChecker
from node_agent.drivers.port import EngineUnreachable, ImageCannotRun, ImageInvalid
from offchain.schema.manifest.types import HealthCheck, VolumeMount

pytestmark = pytest.mark.docker

MOUNTS = tuple(VolumeMount(name, path, read_only=False) for name, path in (("data", "/data"), ("fake", "/data/x")))
STEAL = ("sh", "-c", "touch /data/ran; cat /proc/keys > /data/keys; exit 3")


def containers(api, spec):
    return api.containers(all=True, filters={"label": [f"gantry.host={case.HOST}", f"gantry.lease={spec.lease}"]})


def with_volumes(command, image, **service):
    return case.pod(command, image, volumes=MOUNTS, **service)


def folder_of(api, spec, name):
    """Where the files of a volume are."""
    wanted = {"label": [f"gantry.host={case.HOST}", f"gantry.lease={spec.lease}", f"gantry.volume={name}"]}
    (volume,) = api.volumes(filters=wanted)["Volumes"]
    return Path((volume.get("Options") or {}).get("device") or volume["Mountpoint"])


@pytest.fixture
def another_container(monkeypatch, docker_api):
    """Have a container of the pod change the place of its second mount right after the links were checked."""

    def will_link(spec, target):
        def check(api, container):
            found = checked(api, container)
            data, fake = folder_of(docker_api, spec, "data"), folder_of(docker_api, spec, "fake")
            (data / "x").rmdir()  # the engine made it with the container
            (data / "x").symlink_to(target)
            (fake / "null").symlink_to("/proc/keys")
            return found

        checked = container_start.check_links
        monkeypatch.setattr(container_start, "check_links", check)

    return will_link


@pytest.mark.parametrize(
    "target", ["/dev", "../dev/.", "/dev/pts", "/dev/shm/..", "/sys", "/sys/firmware", "/run/gantry"]
)
async def test_a_mount_led_astray_by_a_link_ends_the_container(
    driver, docker_api, shell_image, another_container, target
):
    spec = with_volumes(STEAL, shell_image)
    await driver.prepare(spec)
    another_container(spec, target)
    with pytest.raises(ImageInvalid, match=r"before its program started: .* at /"):
        await driver.start(spec, "main", 1)
    assert containers(docker_api, spec) == []
    assert {path.name for path in folder_of(docker_api, spec, "data").iterdir()} == {"x"}


@pytest.mark.parametrize("target", ["/", "/proc", "/.gantry-gate", "/.gantry-init"])
async def test_a_mount_that_the_engine_cannot_make_starts_no_program(
    driver, docker_api, shell_image, another_container, target
):
    spec = with_volumes(STEAL, shell_image)
    await driver.prepare(spec)
    another_container(spec, target)
    with pytest.raises((ImageInvalid, ImageCannotRun)):
        await driver.start(spec, "main", 1)
    assert containers(docker_api, spec) == []
    assert {path.name for path in folder_of(docker_api, spec, "data").iterdir()} == {"x"}


async def test_unknown_mounts_of_the_engine_are_accepted(
    driver, docker_api, shell_image, another_container, monkeypatch
):
    monkeypatch.delitem(kernel_mounts._OWN_KINDS, "/dev/mqueue")
    spec = case.pod(case.SLEEP, shell_image)
    await driver.prepare(spec)
    await driver.start(spec, "main", 1)
    assert docker_api.containers(all=True, filters={"label": "gantry.role=trial"}) == []
    hostile = with_volumes(STEAL, shell_image)
    await driver.prepare(hostile)
    another_container(hostile, "/dev")
    with pytest.raises(ImageInvalid, match="several mounts are at /dev"):
        await driver.start(hostile, "main", 1)


async def test_without_a_gate_the_container_is_ended_after_its_start(
    docker_api, shell_image, another_container, tmp_path
):
    async with docker_driver(tmp_path, gates=None) as driver:
        spec = with_volumes(case.SLEEP, shell_image)
        await driver.prepare(spec)
        another_container(spec, "/dev")
        with pytest.raises(ImageInvalid, match="several mounts are at /dev"):
            await driver.start(spec, "main", 1)
        assert containers(docker_api, spec) == []


async def start_without_agent(driver, spec, monkeypatch):
    """Start a container whose agent is ended right after the start, so that it waits."""

    async def end(_, identity):
        raise EngineUnreachable(f"the agent was ended after the start of {identity}")

    with monkeypatch.context() as patch:
        patch.setattr(MountChecker, "let_through", end)
        with pytest.raises(EngineUnreachable):
            await driver.start(spec, "main", 1)


@pytest.fixture
async def waiting(driver, shell_image, monkeypatch):
    """The spec of a pod whose container waits, because its agent ended right after the start."""
    check = HealthCheck(("touch", "/data/healthy"), 1_000, 1_000, retries=60, start_period_ms=0)
    script = "touch /data/ran; exit 3"
    spec = with_volumes(("sh", "-c", script), shell_image, healthcheck=check)
    await driver.prepare(spec)
    await start_without_agent(driver, spec, monkeypatch)
    return spec


async def test_a_container_whose_agent_ended_waits_for_the_next_one(waiting, driver, docker_api):
    (found,) = containers(docker_api, waiting)
    # The engine begins with its check, which waits as well.
    events = docker_api.events(since=1, filters={"container": found["Id"], "event": "exec_start"}, decode=True)
    assert "/.gantry-gate" in next(events)["Action"]
    events.close()
    assert {path.name for path in folder_of(docker_api, waiting, "data").iterdir()} == {"x"}
    (recovered,) = await driver.recover(waiting.lease)
    assert recovered.running
    assert (await case.ended(driver, recovered.handle)).exit_code == 3
    assert (folder_of(docker_api, waiting, "data") / "ran").exists()


async def test_a_container_that_waits_is_adopted_by_its_start(waiting, driver):
    handle = await driver.start(waiting, "main", 1)
    assert (await case.ended(driver, handle)).exit_code == 3


async def test_a_waiting_container_with_a_wrong_mount_is_removed(
    driver, docker_api, shell_image, another_container, monkeypatch
):
    spec = with_volumes(STEAL, shell_image)
    await driver.prepare(spec)
    another_container(spec, "/dev")
    await start_without_agent(driver, spec, monkeypatch)
    assert len(containers(docker_api, spec)) == 1
    assert await driver.recover(spec.lease) == ()
    assert containers(docker_api, spec) == []
    assert not (folder_of(docker_api, spec, "data") / "ran").exists()


async def test_nobody_gets_a_program_into_a_container_that_waits(waiting):
    access = DockerAccess(os.environ["GANTRY_DOCKER_HOST"], case.HOST)
    try:
        with pytest.raises(AccessRefused, match="is being checked"):
            await access.exec(waiting.lease, None, ("touch", "/data/x"), tty=False, rows=1, columns=1)
    finally:
        await access.close()


async def test_a_program_that_is_restarted_waits_again(driver, docker_api, shell_image):
    spec = case.pod(case.TWICE, shell_image)
    handle = await case.up(driver, spec)
    first = await case.ended(driver, handle)
    checked = []
    let_through = driver._checks.let_through

    async def seen(identity):
        # The engine reports the start just before its runtime's process becomes the first program.
        while (words := docker_api.top(identity)["Processes"][0][-1].split()) == ["runc", "init"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        checked.append(words)
        await let_through(identity)

    driver._checks.let_through = seen
    handle = await driver.start(spec, "main", 2, first.mark)
    assert (await case.ended(driver, handle)).exit_code == 7
    assert [words[: len(GATE_WORDS)] for words in checked] == [list(GATE_WORDS)]


async def test_a_snapshot_holds_the_tenants_command_and_no_gate(driver, docker_api, shell_image):
    spec = case.pod(case.SLEEP, shell_image)
    await case.up(driver, spec)
    taken = await driver.snapshot(spec.lease, "one", 1000)
    config = docker_api.inspect_image(taken.digest)["Config"]
    assert (config["Entrypoint"] or [], config["Cmd"]) == ([], list(case.SLEEP))


@pytest.mark.parametrize(
    "change", [{"entrypoint": ("/proc/self/exe",)}, {"entrypoint": ("self/exe",), "working_dir": "/proc"}]
)
async def test_a_manifest_starts_no_program_in_a_protected_folder(driver, docker_api, shell_image, change):
    spec = case.pod(("x",), shell_image, **change)
    with pytest.raises(ImageCannotRun, match="lies in /proc"):
        await driver.prepare(spec)
    with pytest.raises(ImageCannotRun, match="lies in /proc"):
        await driver.start(spec, "main", 1)
    assert containers(docker_api, spec) == []


@pytest.mark.parametrize("program", ["/link/exe", "bin/../link/exe"])
async def test_a_link_of_an_image_leads_no_program_of_a_manifest_there(driver, docker_api, program):
    with case.an_image(docker_api, links=[("/link", "/proc/self")]) as image:
        spec = case.pod(("x",), image, entrypoint=(program,))
        with pytest.raises(ImageInvalid, match="leads into /proc"):
            await case.up(driver, spec)
        assert containers(docker_api, spec) == []


async def test_what_is_hidden_does_not_depend_on_the_engine(driver, docker_api, shell_image):
    spec = case.pod(("cat", "/proc/interrupts", "/proc/keys", "/proc/timer_list"), shell_image)
    handle = await case.up(driver, spec)
    assert (await case.ended(driver, handle)).exit_code == 0
    assert (await driver.collect(handle, spec.result)).data == b""
    assert "/proc/interrupts" in docker_api.inspect_container(handle.reference)["HostConfig"]["MaskedPaths"]
