"""The agent's images, with the fake engine and with Docker and two registries on this machine."""

import asyncio
import ctypes
import os
import subprocess
import threading
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hostile_registry import scripted_registry
from registry import USERS, Registry

from node_agent.drivers.port import EngineUnreachable, ImageInvalid, ImageUnavailable, ResourcesUnavailable
from node_agent.images.docker_engine import DockerImages
from node_agent.images.fake import FakeImage, FakeImages
from node_agent.images.logins import ImageAccess, Login
from node_agent.images.policy import PAUSES_S, Disk, Mirror, Platform, parse_mirror
from node_agent.images.ports import LocalImage, PullRefused
from node_agent.images.registries import RegistryRules, parse_allowed
from node_agent.images.registry_client import RegistryClient
from node_agent.images.store import ImageInventory, ImageStore
from node_agent.runtime.loop_thread import LoopThread
from offchain.schema.manifest.types import ImageRef

MIB = 1 << 20
PLENTY = 1 << 40
HOUR = 3_600_000


@dataclass
class Clock:
    now: int = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


class FakeRegistries:
    """Registries and engine in memory."""

    def __init__(self) -> None:
        self.engine = FakeImages()
        self.mirror = Mirror("mirror", "")

    def publish(self, *, size: int = MIB, architecture: str = "amd64") -> ImageRef:
        image = ImageRef(f"origin:1/lab/{uuid.uuid4().hex}", f"sha256:{uuid.uuid4().hex * 2}")
        local = LocalImage(f"id-{image.digest}", Platform("linux", architecture), size)
        self.engine.registry[image.reference] = FakeImage(local)
        return image

    def publish_list(self, *architectures: str) -> ImageRef:
        image = self.publish(architecture=architectures[0])
        if "amd64" not in architectures:
            said = "no matching manifest for linux/amd64 in the manifest list entries"
            self.engine.registry[image.reference] = replace(self.engine.registry[image.reference], refusal=said)
        return image

    def _mirrored(self, image: ImageRef) -> str:
        return f"mirror/{image.name.partition('/')[2]}@{image.digest}"

    def publish_private(self) -> ImageRef:
        """Publish an image for USERS."""
        image = self.publish()
        entry = self.engine.registry[image.reference]
        self.engine.registry[image.reference] = replace(entry, logins=frozenset(USERS.items()))
        return image

    def copy_to_mirror(self, image: ImageRef) -> None:
        self.engine.registry[self._mirrored(image)] = self.engine.registry[image.reference]

    def spoil(self, image: ImageRef, *, mirror: bool = False) -> None:
        reference = self._mirrored(image) if mirror else image.reference
        said = "filesystem layer verification failed for digest sha256:00"
        self.engine.registry[reference] = replace(self.engine.registry[reference], refusal=said)

    def stop_origin(self) -> None:
        for reference, found in self.engine.registry.items():
            if reference.startswith("origin"):
                self.engine.registry[reference] = replace(found, refusal="dial tcp: connect: connection refused")

    def preload(self) -> ImageRef:
        """An image that the machine has by itself."""
        found = LocalImage(f"sha256:{uuid.uuid4().hex * 2}", Platform("linux", "amd64"), MIB)
        self.engine.local["machine/own:latest"] = found
        return ImageRef("machine/own", found.id)

    def make_container(self, image_id: str) -> None:
        self.engine.containers.append(image_id)

    def has(self, image: ImageRef) -> bool:
        return any(image.digest in (found.id, name.rpartition("@")[2]) for name, found in self.engine.local.items())

    def clear(self) -> None:
        pass


class DockerRegistries:
    """A real engine, and two real registries."""

    def __init__(self, api: Any, folder: Path) -> None:
        self._api = api
        self.origin = Registry(folder / "origin")
        self._copy = Registry(folder / "mirror")
        self._closed: Registry | None = None
        self._containers: list[str] = []
        self._own: list[str] = []
        self._folder = folder
        self.engine = self._engine(self.origin, self._copy)
        self.mirror = parse_mirror(f"http://{self._copy.address}")

    def _engine(self, *registries: Registry) -> DockerImages:
        allowed = frozenset(parse_allowed(f"http://{registry.address}") for registry in registries)
        return DockerImages(os.environ["GANTRY_DOCKER_HOST"], RegistryClient(RegistryRules(allowed)))

    def publish_private(self) -> ImageRef:
        self._closed = Registry(self._folder / "closed", closed=True)
        self.engine = self._engine(self.origin, self._copy, self._closed)
        return self._closed.publish(f"lab/{uuid.uuid4().hex}")

    def publish(self, *, size: int = MIB, architecture: str = "amd64") -> ImageRef:
        return self.origin.publish(f"lab/{uuid.uuid4().hex}", size=size, architecture=architecture)

    def publish_list(self, *architectures: str) -> ImageRef:
        return self.origin.publish_list(f"lab/{uuid.uuid4().hex}", architectures)

    def copy_to_mirror(self, image: ImageRef) -> None:
        self.origin.copy_to(self._copy, image)

    def spoil(self, image: ImageRef, *, mirror: bool = False) -> None:
        (self._copy if mirror else self.origin).spoil(image)

    def stop_origin(self) -> None:
        (self._closed or self.origin).stop()

    def preload(self) -> ImageRef:
        name = f"machine/{uuid.uuid4().hex}"
        self._api.import_image_from_data(b"\0" * 10240, repository=name, tag="latest")
        self._own.append(name)
        return ImageRef(name, self._api.inspect_image(f"{name}:latest")["Id"])

    def make_container(self, image_id: str) -> None:
        self._containers.append(self._api.create_container(image_id)["Id"])

    def has(self, image: ImageRef) -> bool:
        names = [name for found in self._api.images() for name in [found["Id"], *(found["RepoDigests"] or [])]]
        return any(name.rpartition("@")[2] == image.digest for name in names)

    def clear(self) -> None:
        for container in self._containers:
            self._api.remove_container(container, force=True)
        for found in self._api.images():
            mine = [name for name in found["RepoDigests"] or [] if name.startswith("127.0.0.1:")]
            for name in mine:
                self._api.remove_image(name, force=True)
        for name in self._own:
            self._api.remove_image(f"{name}:latest", force=True)
        for registry in (self.origin, self._copy, self._closed):
            if registry is not None:
                registry.stop()


@pytest.fixture(params=["fake", pytest.param("docker", marks=pytest.mark.docker)])
def registries(request, tmp_path):
    is_fake = request.param == "fake"
    made = FakeRegistries() if is_fake else DockerRegistries(request.getfixturevalue("docker_api"), tmp_path)
    yield made
    made.clear()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def pauses():
    return []


@pytest.fixture
async def make_store(registries, tmp_path, clock, pauses):
    made = []

    async def pause(seconds):
        pauses.append(seconds)

    def make(*, mirror=None, quota_bytes=PLENTY):
        book = ImageInventory(tmp_path / "images.json")
        store = ImageStore(registries.engine, book, mirror=mirror, quota_bytes=quota_bytes, now_ms=clock, pause=pause)
        made.append(store)
        return store

    yield make
    for store in made:
        await store.close()


async def test_an_image_is_pulled_by_its_digest_and_then_here(registries, make_store):
    image = registries.publish()
    store = make_store()
    assert not registries.has(image)
    found = await store.ensure(image)
    assert registries.has(image)
    registries.stop_origin()
    assert await store.ensure(image) == found
    assert await make_store().ensure(ImageRef("called/otherwise", image.digest)) == found


async def test_what_is_nowhere_is_unavailable_at_once(registries, make_store, pauses):
    missing = replace(registries.publish(), digest="sha256:" + "0" * 64)
    with pytest.raises(ImageUnavailable, match="there is no image"):
        await make_store(mirror=registries.mirror).ensure(missing)
    assert pauses == []


async def test_the_mirror_is_asked_first(registries, make_store):
    image = registries.publish()
    registries.copy_to_mirror(image)
    registries.stop_origin()
    await make_store(mirror=registries.mirror).ensure(image)
    assert registries.has(image)


async def test_what_the_mirror_does_not_have_comes_from_its_origin(registries, make_store):
    image = registries.publish()
    await make_store(mirror=registries.mirror).ensure(image)
    assert registries.has(image)


async def test_a_mirror_is_not_trusted(registries, make_store):
    image = registries.publish()
    registries.copy_to_mirror(image)
    registries.spoil(image, mirror=True)
    await make_store(mirror=registries.mirror).ensure(image)
    assert registries.has(image)


async def test_other_bytes_than_the_digest_says_are_refused(registries, make_store):
    image = registries.publish()
    registries.spoil(image)
    with pytest.raises(ImageInvalid, match="not what its digest says"):
        await make_store().ensure(image)
    assert not registries.has(image)


async def test_a_registry_out_of_reach_is_asked_again_and_then_told(registries, make_store, pauses):
    image = registries.publish()
    registries.stop_origin()
    with pytest.raises(ImageUnavailable, match="out of reach"):
        await make_store().ensure(image)
    assert pauses == list(PAUSES_S)


async def test_an_image_for_other_machines_is_refused_and_not_kept(registries, make_store):
    image = registries.publish(architecture="s390x")
    with pytest.raises(ImageInvalid, match="is for linux/s390x, and this host is linux/amd64"):
        await make_store().ensure(image)
    assert not registries.has(image)


async def test_of_a_list_the_image_for_this_machine_is_taken(registries, make_store):
    await make_store().ensure(registries.publish_list("amd64", "arm64"))
    with pytest.raises(ImageInvalid, match="cannot run on this host"):
        await make_store().ensure(registries.publish_list("arm64", "s390x"))


async def test_above_the_quota_the_longest_unused_goes_and_what_is_in_use_stays(registries, make_store, clock):
    own, images = registries.preload(), [registries.publish() for _ in range(4)]
    store = make_store(quota_bytes=5 * MIB // 2)
    assert await store.ensure(own)
    used = await store.ensure(images[0])
    registries.make_container(used)
    for image in images[1:]:
        clock.now += HOUR
        await store.ensure(image)
    # Room for two and a half: the container's image and the newest; between them the longest unused went.
    assert [registries.has(image) for image in images] == [True, False, False, True]
    clock.now += HOUR
    await make_store(quota_bytes=0).tidy()
    assert [registries.has(image) for image in images] == [True, False, False, False]
    assert registries.has(own)


async def test_an_image_that_was_just_asked_for_is_not_taken_away(registries, make_store, clock):
    first, second = registries.publish(), registries.publish()
    store = make_store(quota_bytes=MIB + MIB // 2)
    await store.ensure(first)
    clock.now += HOUR
    await store.ensure(first)
    await store.ensure(second)
    assert registries.has(first)
    assert registries.has(second)


async def test_an_image_larger_than_the_quota_is_stopped(registries, make_store):
    image = registries.publish(size=8 * MIB)
    with pytest.raises(ResourcesUnavailable, match="does not fit"):
        await make_store(quota_bytes=2 * MIB).ensure(image)
    assert not registries.has(image)


async def test_pods_that_want_the_same_share_one_pull(registries, make_store):
    image = registries.publish()
    store = make_store()
    store.prefetch([image, image])
    waiting = [asyncio.create_task(store.ensure(image)) for _ in range(5)]
    waiting[0].cancel()
    found = await asyncio.gather(*waiting[1:])
    assert len(set(found)) == 1
    if isinstance(registries, FakeRegistries):
        assert registries.engine.pulls == [image.reference]


async def test_a_prefetch_that_fails_is_told_to_whoever_asks(registries, make_store):
    missing = replace(registries.publish(), digest="sha256:" + "1" * 64)
    store = make_store()
    store.prefetch([missing])
    with pytest.raises(ImageUnavailable):
        await store.ensure(missing)


# --- images for those who log in ------------------------------------------------------------------------------------


def access(account, image, user=None, password=None):
    """For a pod of this account, with a login at the image's registry."""
    return ImageAccess(account, user and Login(image.registry, user, password or USERS[user]))


async def test_a_private_image_is_for_the_accounts_that_logged_in(registries, make_store, tmp_path):
    image = registries.publish_private()
    store = make_store(mirror=registries.mirror)
    with pytest.raises(ImageUnavailable, match="is not for everybody; make it public, or name a login"):
        await store.ensure(image, access("A", image))
    with pytest.raises(ImageUnavailable, match="denies it for the login of") as caught:
        await store.ensure(image, access("A", image, "anna", "wrong-secret"))
    assert "wrong-secret" not in str(caught.value)
    assert not registries.has(image)
    found = await store.ensure(image, access("A", image, "anna"))
    # It is here now, and nobody else's: the registry decides about each account.
    for denied in (access("B", image), access("B", image, "ben", "wrong"), access("", image), ImageAccess()):
        with pytest.raises(ImageUnavailable):
            await store.ensure(image, denied)
        with pytest.raises(ImageUnavailable):
            await store.ensure(ImageRef("called/otherwise", image.digest), denied)
    assert await store.ensure(image, access("B", image, "ben")) == found
    registries.stop_origin()
    # The accounts are enough now, for the next agent, too; the logins are kept nowhere.
    for account in ("A", "B"):
        assert await store.ensure(image, access(account, image)) == found
        assert await make_store().ensure(image, access(account, image)) == found
    with pytest.raises(ImageUnavailable):
        await make_store().ensure(image, access("C", image, "anna"))
    kept = (tmp_path / "images.json").read_text()
    assert not any(word in kept for word in (*USERS, *USERS.values()))


async def test_without_its_book_an_agent_asks_the_registry_again(registries, make_store, tmp_path):
    image = registries.publish_private()
    await make_store().ensure(image, access("A", image, "anna"))
    (tmp_path / "images.json").unlink()
    store = make_store()
    with pytest.raises(ImageUnavailable):
        await store.ensure(image, access("A", image))
    await store.ensure(image, access("A", image, "anna"))


async def test_a_login_is_not_used_at_another_registry(registries, make_store):
    image = registries.publish_private()
    elsewhere = Login("registry.example", "anna", USERS["anna"])
    with pytest.raises(ImageUnavailable, match="is not for everybody"):
        await make_store().ensure(image, ImageAccess("A", elsewhere))


@pytest.mark.parametrize("registries", ["fake"], indirect=True)
async def test_one_account_leaves_a_place_for_the_others(registries, make_store):
    registries.engine.gate = asyncio.Event()
    store = make_store()
    images = [registries.publish() for _ in range(4)]
    waiting = [asyncio.create_task(store.ensure(image, ImageAccess("A"))) for image in images]
    for _ in range(200):
        await asyncio.sleep(0)
    assert registries.engine.pulls == [image.reference for image in images[:2]]
    assert store.progress(images[3], "A").tries == 0
    assert store.progress(images[3], "B") is None
    # Also of an image that the first account waits for.
    waiting.append(asyncio.create_task(store.ensure(images[3], ImageAccess("B"))))
    for _ in range(200):
        await asyncio.sleep(0)
    assert registries.engine.pulls[2:] == [images[3].reference]
    registries.engine.gate.set()
    await asyncio.gather(*waiting)
    assert len(registries.engine.pulls) == 4


# --- what only one of them can show ---------------------------------------------------------------------------------


@pytest.mark.parametrize("registries", ["fake"], indirect=True)
async def test_a_full_disk_is_freed_of_idle_images_first(registries, make_store, clock):
    registries.engine.room = Disk(200 * MIB, 12 * MIB)
    old, new = registries.publish(size=4 * MIB), registries.publish(size=4 * MIB)
    store = make_store()
    await store.ensure(old)
    clock.now += HOUR
    await store.ensure(new)
    assert not registries.has(old)
    assert registries.has(new)


@pytest.mark.parametrize("registries", ["fake"], indirect=True)
async def test_only_so_many_are_pulled_at_a_time(registries, make_store):
    registries.engine.gate = asyncio.Event()
    store = make_store()
    waiting = [asyncio.create_task(store.ensure(registries.publish(), ImageAccess(str(number)))) for number in range(6)]
    for _ in range(200):  # as many turns as everybody could ever take
        await asyncio.sleep(0)
    assert len(registries.engine.pulls) == 3
    registries.engine.gate.set()
    await asyncio.gather(*waiting)
    assert len(registries.engine.pulls) == 6


@pytest.mark.parametrize("registries", ["fake"], indirect=True)
async def test_an_engine_that_is_away_is_no_fault_of_the_image(registries, make_store):
    image = registries.publish()
    registries.engine.reachable = False
    with pytest.raises(EngineUnreachable):
        await make_store().ensure(image)


async def test_no_engine_at_the_address_is_one_clear_message(tmp_path):
    engine = DockerImages(f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineUnreachable, match="--docker-host"):
        await engine.platform()
    await engine.close()


async def test_a_pull_tells_what_comes(registries):
    image = registries.publish(size=4 * MIB)
    seen = []
    await registries.engine.pull(image.reference, lambda *_: True, lambda *now: seen.append(now))
    assert seen
    assert all(0 <= done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1] > 0, "all of it is here"


@pytest.mark.docker
async def test_a_pull_ends_when_the_agent_does(docker_api, tmp_path):
    registries = DockerRegistries(docker_api, tmp_path)
    begun, closed = threading.Event(), threading.Event()

    def go_on(known_bytes, disk):
        if known_bytes and disk is not None:  # during the engine's pull, in a thread of its own
            begun.set()
            closed.wait(30)
        return True

    try:
        image = registries.publish(size=16 * MIB)
        pulling = asyncio.create_task(registries.engine.pull(image.reference, go_on, lambda *_: None))
        await asyncio.to_thread(begun.wait, 30)
        await registries.engine.close()
        closed.set()
        with pytest.raises(PullRefused, match="the agent is stopping"):
            await pulling
    finally:
        registries.clear()


@pytest.mark.docker
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.usefixtures("docker_api")
async def test_an_engine_in_another_network_namespace_is_one_clear_message():
    thread, stack = LoopThread.start("registry"), AsyncExitStack()  # the agent's, in a namespace of its own
    registry = await thread.run(_registry_in_another_namespace(stack))
    digest, _ = registry.add_image(b"layer")
    engine = DockerImages(
        os.environ["GANTRY_DOCKER_HOST"], RegistryClient(RegistryRules(frozenset({registry.endpoint}))), thread=thread
    )
    with pytest.raises(EngineUnreachable, match="Run the agent on the engine's machine and in its network namespace"):
        await engine.pull(registry.reference(digest), lambda *_: True, lambda *_: None)
    await thread.run(stack.aclose())
    await engine.close()


async def _registry_in_another_namespace(stack):
    assert ctypes.CDLL(None).unshare(0x40000000) == 0, "CLONE_NEWNET"
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # noqa: ASYNC221  (the namespace is this thread's)
    return await stack.enter_async_context(scripted_registry())
