"""Images behind a login on a real engine, from a real registry with users."""

import contextlib
import dataclasses
import json
import os

import driver_cases as case
import pytest
from hostile_registry import scripted_registry
from registry import LIST, MANIFEST, USERS, Registry

from node_agent.drivers.docker.driver import DockerDriver
from node_agent.drivers.port import ImageUnavailable
from node_agent.images.docker_engine import DockerImages
from node_agent.images.logins import ImageAccess, Login
from node_agent.images.registries import RegistryRules, parse_allowed
from node_agent.images.registry_client import RegistryClient
from node_agent.images.store import ImageInventory, ImageStore
from node_agent.runtime.delivered_files import FileStore
from offchain.schema.manifest.types import ImageRef, RegistryLogin

pytestmark = pytest.mark.docker


@pytest.fixture
def registry(docker_api, tmp_path):
    made = Registry(tmp_path / "closed", closed=True)
    yield made
    made.stop()
    for found in docker_api.images():
        for name in found["RepoDigests"] or []:
            if name.startswith("127.0.0.1:"):
                docker_api.remove_image(name, force=True)


@contextlib.asynccontextmanager
async def a_store(folder, *allowed):
    rules = RegistryRules(frozenset(parse_allowed(f"http://{address}") for address in allowed))
    engine = DockerImages(os.environ["GANTRY_DOCKER_HOST"], RegistryClient(rules))
    store = ImageStore(
        engine,
        ImageInventory(folder / "images.json"),
        mirror=None,
        quota_bytes=1 << 30,
        now_ms=lambda: 1_700_000_000_000,
    )
    try:
        yield store
    finally:
        await store.close()


def login_at(registry):
    return Login(registry.address, "anna", USERS["anna"])


async def test_who_knows_the_digests_of_private_layers_does_not_get_them(registry, tmp_path):
    image = registry.publish("lab/x")
    async with scripted_registry() as hostile, a_store(tmp_path, registry.address, hostile.endpoint.netloc) as store:
        await store.ensure(image, ImageAccess("A", login_at(registry)))
        manifest, config, layer = registry.parts(image)
        # An image of its own that lists the layer, and the very manifest from a registry that says yes to everybody.
        stolen = json.loads(manifest)
        other = json.dumps(json.loads(config) | {"config": {"Cmd": ["/mine"]}}).encode()
        stolen["config"] |= {"digest": hostile.add(other), "size": len(other)}
        name = f"{hostile.endpoint.netloc}/lab/x"
        mine = ImageRef(name, hostile.add(json.dumps(stolen).encode(), stolen["mediaType"]))
        same = ImageRef(name, hostile.add(manifest, stolen["mediaType"]))
        platform = {"os": "linux", "architecture": "amd64"}
        entry = {"mediaType": MANIFEST, "size": len(manifest), "digest": image.digest, "platform": platform}
        index = json.dumps({"schemaVersion": 2, "mediaType": LIST, "manifests": [entry]}).encode()
        # A list that leads to the private image is no way around its registry either.
        for wanted in (mine, same, ImageRef(name, hostile.add(index, LIST))):
            for access in (ImageAccess("B"), ImageAccess("B", Login(hostile.endpoint.netloc, "b", "b"))):
                with pytest.raises(ImageUnavailable, match="does not have a blob"):
                    await store.ensure(wanted, access)
        # By another name, while the engine might still have it.
        with pytest.raises(ImageUnavailable):
            await store.ensure(ImageRef(f"{hostile.endpoint.netloc}/other", mine.digest), ImageAccess("B"))
        # Who has the layer gets it.
        hostile.add(layer)
        await store.ensure(mine, ImageAccess("B"))


async def test_a_pod_gets_its_private_image_with_the_login_that_was_delivered(registry, tmp_path):
    image = registry.publish("lab/x")
    files = FileStore(tmp_path / "agent")
    async with a_store(tmp_path, registry.address) as store:
        driver = await DockerDriver.connect(
            os.environ["GANTRY_DOCKER_HOST"], case.HOST, store, files=files, gates=tmp_path / "gates"
        )
        spec = dataclasses.replace(
            case.pod(("/data",), image), account="A", registry_login=RegistryLogin(registry.address, "login")
        )
        other = dataclasses.replace(spec, lease=spec.lease + 10_000, account="B")
        try:
            driver.prefetch(spec)
            assert driver.progress(spec) == (), "it waits for the login"
            with pytest.raises(ImageUnavailable, match="is not for everybody"):
                await driver.prepare(spec)
            for content, said in ((b"anna:wrong", "denies it for the login"), (b"anna:pass-a", "")):
                files.put(spec, "login", content)
                with pytest.raises(ImageUnavailable, match=said) if said else contextlib.nullcontext():
                    await driver.prepare(spec)
            with pytest.raises(ImageUnavailable, match="is not for everybody"):
                await driver.prepare(other)
            files.remove(spec.lease)
            registry.stop()
            await driver.prepare(spec)
        finally:
            for lease in await driver.leases():
                await driver.destroy(lease, keep_data=False)
            await driver.close()


async def test_a_secret_that_is_no_login_is_the_tenants_fault(registry, tmp_path):
    files = FileStore(tmp_path / "agent")
    async with a_store(tmp_path, registry.address) as store:
        driver = await DockerDriver.connect(os.environ["GANTRY_DOCKER_HOST"], case.HOST, store, files=files)
        spec = dataclasses.replace(
            case.pod(("/data",), registry.publish("lab/x")), registry_login=RegistryLogin(registry.address, "login")
        )
        try:
            files.put(spec, "login", b"anna:pass-a")
            files.path(spec.lease, "login").write_bytes(b"hidden")
            with pytest.raises(ImageUnavailable, match='the secret "login" cannot be used at') as caught:
                await driver.prepare(spec)
            assert "hidden" not in str(caught.value)
        finally:
            files.remove(spec.lease)
            await driver.close()
