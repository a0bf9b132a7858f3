"""Images that pods and accounts share, with the fake engine and with Docker: one pull, slots, private images."""

import asyncio
from dataclasses import replace

import pytest
from image_registries import FakeRegistries
from registry import USERS

from node_agent.drivers.port import ImageUnavailable
from node_agent.images.logins import ImageAccess, Login
from offchain.schema.manifest.types import ImageRef


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
