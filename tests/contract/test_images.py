"""The agent's images, with the fake engine and with Docker and two registries on this machine."""

import asyncio
import ctypes
import os
import subprocess
import threading
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from hostile_registry import scripted_registry
from image_registries import HOUR, MIB, DockerRegistries

from node_agent.drivers.port import EngineUnreachable, ImageInvalid, ImageUnavailable, ResourcesUnavailable
from node_agent.images.docker_engine import DockerImages
from node_agent.images.policy import PAUSES_S, Disk
from node_agent.images.ports import PullRefused
from node_agent.images.registries import RegistryRules
from node_agent.images.registry_client import RegistryClient
from node_agent.runtime.loop_thread import LoopThread
from offchain.schema.manifest.types import ImageRef


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
