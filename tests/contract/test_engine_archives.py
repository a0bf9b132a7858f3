"""Engines and archives with paths outside their folder, in case one passes the checks of agent and client."""

import contextlib
import hashlib
import io
import json
import secrets
import tarfile
from pathlib import Path

import docker.errors
import driver_cases as case
import pytest
from driver_fixtures import docker_driver

pytestmark = pytest.mark.docker
UP = "../" * 12


@pytest.fixture
def outside():
    """A folder of this machine that no archive may write to."""
    made = Path("/var/tmp") / f"gantry-attack-{secrets.token_hex(4)}"
    made.mkdir()
    yield made
    for file in made.iterdir():
        file.unlink()
    made.rmdir()


def hostile(outside):
    """Entries above, absolute, through links of three kinds, and files in their place."""
    made, inside = io.BytesIO(), str(outside).lstrip("/")
    with tarfile.open(fileobj=made, mode="w") as tar:

        def add(name, kind=tarfile.REGTYPE, target=""):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size, info.mode = kind, target, 0 if target else 4, 0o644
            tar.addfile(info, None if target else io.BytesIO(b"evil"))

        add(f"{UP}{inside}/up")
        add(f"{outside}/absolute")
        for name, target in (("far", str(outside)), ("near", f"{UP}{inside}"), ("root", "/")):
            add(name, tarfile.SYMTYPE, target)
        add("far/through")
        add("near/through-up")
        add(f"root/{inside}/through-root")
        add("hard", tarfile.LNKTYPE, f"{UP}{inside}/kept")
        add("hard")
    return made.getvalue()


def parts(data):
    """Each entry as an archive of its own, so that one that is refused does not keep the others out; and the whole."""
    yield data
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            made = io.BytesIO()
            with tarfile.open(fileobj=made, mode="w") as one:
                one.addfile(member, tar.extractfile(member) if member.isreg() else None)
            yield made.getvalue()


def image_of(layer, *, name="layer.tar"):
    """An archive as `docker save` writes it, of one layer."""
    digest = f"sha256:{hashlib.sha256(layer).hexdigest()}"
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest]}, "config": {}}
    made = io.BytesIO()
    manifest = [{"Config": "config.json", "RepoTags": ["gantry-test/traversal:latest"], "Layers": [name]}]
    with tarfile.open(fileobj=made, mode="w") as tar:
        for path, data in (
            *((name, layer), ("config.json", json.dumps(config).encode())),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            info = tarfile.TarInfo(path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


async def test_a_copy_into_a_container_stays_in_it(docker_api, shell_image, outside, tmp_path):
    (outside / "kept").write_text("mine")
    async with docker_driver(tmp_path, network=False) as driver:
        handle = await case.up(driver, case.pod(case.SLEEP, shell_image))
        for archive in parts(hostile(outside)):
            with contextlib.suppress(docker.errors.APIError):
                docker_api.put_archive(handle.reference, "/", archive)
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"kept": "mine"}


def test_an_image_that_is_loaded_stays_in_the_engine(docker_api, outside):
    (outside / "kept").write_text("mine")
    hosts = Path("/etc/hostname").read_bytes()
    layers = list(parts(hostile(outside)))
    archives = [image_of(layer) for layer in layers]
    archives += [image_of(layers[0], name=name) for name in (f"{UP}etc/hostname", f"{UP}{str(outside)[1:]}/layer")]
    for archive in archives:
        with contextlib.suppress(docker.errors.DockerException):
            list(docker_api.load_image(archive))
        with contextlib.suppress(docker.errors.APIError):
            docker_api.remove_image("gantry-test/traversal:latest", force=True)
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"kept": "mine"}
    assert Path("/etc/hostname").read_bytes() == hosts
