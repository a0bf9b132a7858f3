"""An image with a volume or a working directory in a protected folder is refused, and nothing of it runs.

The security test of 2026-11-23 (B4) read /proc/keys of the machine in an ordinary job: its image had a volume over
/dev, and /dev/null, with which the engine covers that file, was a link to it.
"""

import asyncio
import io
import tarfile
import time
from pathlib import Path
from typing import Final

import pytest
from tenant_faults import manifest, one_short_attempt, refused, told

from tests.support.local_network import Net, Pods

__all__ = ["one_short_attempt"]

pytestmark = [pytest.mark.docker, pytest.mark.network]

KEYS: Final = {"dev/null": "/proc/keys"}
CREATED: Final = frozenset({"create", "start"})


def image_of(net: Net, pods: Pods, change: str, links: dict[str, str]) -> str:
    """Make an image of the demo image with this line of a Dockerfile and these links; return its name."""
    container = pods.client.containers.create(net.variables["GANTRY_DEMO_IMAGE"].partition("@")[2])
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, target in links.items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    try:
        if links:
            container.put_archive("/", archive.getvalue())
        return f"lab/volume@{container.commit('lab/volume', changes=change).id}"
    finally:
        container.remove()


def seen_of(pods: Pods, task: int, since: float) -> set[str]:
    """What the engine did with containers of the task since then."""
    wanted = {"type": "container", "label": f"gantry.task={task}"}
    found = pods.client.events(since=int(since), until=int(time.time()) + 1, filters=wanted, decode=True)
    return {str(event["Action"]) for event in found}


async def attack(net: Net, pods: Pods, folder: Path, change: str, links: dict[str, str]) -> set[str]:
    """Submit a job with such an image; it ends as image_invalid. Return what the engine did with its containers."""
    since = time.time() - 1
    image = await asyncio.to_thread(image_of, net, pods, change, links)
    done = await refused(net, manifest(folder, image=image))
    await told(net, done, "image_invalid")
    task = done.json["task"]
    assert pods.gone(task)
    return await asyncio.to_thread(seen_of, pods, task, since)


@pytest.mark.parametrize(
    ("change", "links"),
    [
        ('VOLUME ["/dev"]', KEYS),
        ('VOLUME ["/proc"]', {}),
        ('VOLUME ["/sys"]', {}),
        ('VOLUME ["/run/gantry"]', {}),
        ('VOLUME ["/dev/../proc"]', {}),
        ("WORKDIR /proc/self/fd/7", {}),
    ],
)
async def test_of_an_image_with_a_protected_path_no_container_is_made(
    net: Net, pods: Pods, tmp_path: Path, change: str, links: dict[str, str]
) -> None:
    assert not await attack(net, pods, tmp_path, change, links) & CREATED


@pytest.mark.parametrize(
    ("change", "links"),
    [
        ('VOLUME ["/data"]', {"data": "/dev", **KEYS}),
        ("WORKDIR /link", {"link": "/proc/self/fd/7"}),
        ('ENTRYPOINT ["/link/exe"]', {"link": "/proc/self"}),
    ],
)
async def test_a_link_of_an_image_into_a_protected_folder_keeps_it_from_running(
    net: Net, pods: Pods, tmp_path: Path, change: str, links: dict[str, str]
) -> None:
    assert "start" not in await attack(net, pods, tmp_path, change, links)


async def test_the_host_works_on_after_all_of_it(net: Net) -> None:
    number = await net.submit(1)
    await net.until(number, {"Settled"})
    await net.assert_paid_once(number)
