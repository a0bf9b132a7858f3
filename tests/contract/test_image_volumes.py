"""No image has a volume over a folder of the kernel or of the agent, nor starts its program in one, also not by a link.

A volume over /dev undoes what the engine hides from pods: the hidden files are covered with the container's /dev/null.
"""

import driver_cases as case
import pytest

from node_agent.drivers.port import ImageCannotRun, ImageInvalid
from offchain.schema.manifest.types import TmpfsMount, VolumeMount

pytestmark = pytest.mark.docker

KEYS = [("/dev/null", "/proc/keys")]
READ_KEYS = ("cat", "/proc/keys")


def containers(api, spec):
    return api.containers(all=True, filters={"label": [f"gantry.host={case.HOST}", f"gantry.lease={spec.lease}"]})


async def is_refused(driver, api, spec, match):
    with pytest.raises(ImageInvalid, match=match):
        await case.up(driver, spec)
    assert containers(api, spec) == []


@pytest.mark.parametrize(
    "change",
    [
        'VOLUME ["/dev"]',
        'VOLUME ["/proc"]',
        'VOLUME ["/sys/fs/cgroup/"]',
        'VOLUME ["/run/gantry"]',
        'VOLUME ["/dev/../proc"]',
        'VOLUME ["//dev/."]',
        'VOLUME ["/data", "/dev/shm/below"]',
        "WORKDIR /proc/self/fd/7",
        'ENTRYPOINT ["/proc/self/exe"]',
    ],
)
async def test_of_an_image_with_a_protected_path_no_container_is_made(driver, docker_api, change):
    with case.an_image(docker_api, changes=[change], links=KEYS if "dev" in change else ()) as image:
        spec = case.pod(READ_KEYS, image)
        with pytest.raises(ImageInvalid, match="not the tenant's"):
            await driver.prepare(spec)
        await is_refused(driver, docker_api, spec, "not the tenant's")


@pytest.mark.parametrize(
    ("change", "links"),
    [
        ("VOLUME /data", [("/data", "/dev")]),
        ("VOLUME /data", [("/data", "run/../a"), ("/a", "proc")]),
        ("VOLUME /data/sub", [("/data", "/sys/kernel")]),
        ("VOLUME /a/gantry", [("/a", "run")]),
        ("WORKDIR /link", [("/link", "/proc/self/fd/7")]),
        # In the image the second link leads elsewhere; when a program runs, the kernel's file is there.
        ("WORKDIR /link", [("/link", "/proc/self/fd/7"), ("/proc/self/fd/7", "/tmp")]),
    ],
)
async def test_a_link_of_an_image_leads_no_volume_and_no_program_there(driver, docker_api, change, links):
    with case.an_image(docker_api, changes=[change], links=links) as image:
        await is_refused(driver, docker_api, case.pod(READ_KEYS, image), "leads into /")


async def test_a_link_of_an_image_leads_no_mount_of_a_manifest_there(driver, docker_api):
    with case.an_image(docker_api, links=[("/tmp", "/dev"), ("/mnt", "/dev"), ("/var", "/tmp")]) as image:
        await is_refused(driver, docker_api, case.pod(READ_KEYS, image), "/tmp leads into /dev")
        tmpfs = (TmpfsMount("/mnt", ""), TmpfsMount("/tmp", ""))
        await is_refused(driver, docker_api, case.pod(READ_KEYS, image, tmpfs=tmpfs), "leads into /dev")
    with case.an_image(docker_api, links=[("/mnt", "/dev")]) as image:
        mounts = (VolumeMount("data", "/mnt", read_only=False),)
        spec = case.pod(READ_KEYS, image, volumes=mounts)
        await is_refused(driver, docker_api, spec, "/mnt leads into /dev")


async def test_a_container_whose_program_made_such_a_link_does_not_go_on(driver, docker_api):
    script = "cd / && rm -r /place && ln -s /proc/self/fd /place && exit 3"
    with case.an_image(docker_api, changes=["WORKDIR /place/7"]) as image:
        spec = case.pod(("sh", "-c", script), image)
        first = await case.ended(driver, await case.up(driver, spec))
        assert first.exit_code == 3
        with pytest.raises(ImageInvalid, match="/place/7 leads into /proc"):
            await driver.start(spec, "main", 2, first.mark)
        assert containers(docker_api, spec) == []


async def test_links_to_other_places_and_harmless_volumes_work(driver, docker_api):
    links = [("/var/run", "/run"), ("/cache", "/real"), ("/etc/mtab", "/proc/mounts")]
    changes = ['VOLUME ["/var/run/app", "/cache", "/dev/shm", "/process"]', "WORKDIR /cache"]
    with case.an_image(docker_api, changes=changes, links=links) as image:
        spec = case.pod(("sh", "-c", "touch /run/app/x /real/y /dev/shm/z /process/p && echo in $PWD"), image)
        handle = await case.up(driver, spec)
        assert (await case.ended(driver, handle)).exit_code == 0
        assert (await driver.collect(handle, spec.result)).data.startswith(b"in /")


@pytest.mark.parametrize("links", [[("/tmp", "/tmp")], [("/tmp", "/a"), ("/a", "/tmp")]])
async def test_links_in_a_circle_are_held_against_the_image(driver, docker_api, links):
    with case.an_image(docker_api, links=links) as image:
        spec = case.pod(READ_KEYS, image)
        with pytest.raises((ImageInvalid, ImageCannotRun)):
            await case.up(driver, spec)
        assert containers(docker_api, spec) == []
