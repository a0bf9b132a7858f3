"""Registries and an engine for the contract suites of the agent's images: in memory, and on this machine."""

import os
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from registry import USERS, Registry

from node_agent.images.docker_engine import DockerImages
from node_agent.images.policy import Mirror, Platform, parse_mirror
from node_agent.images.ports import LocalImage
from node_agent.images.registries import RegistryRules, parse_allowed
from node_agent.images.registry_client import RegistryClient
from offchain.schema.manifest.types import ImageRef
from tests.support.fake_images import FakeImage, FakeImages

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
