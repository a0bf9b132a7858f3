"""A local network on a machine with an NVIDIA GPU that the Docker engine offers by CDI; all tests here share it."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from node_agent.drivers.docker.engine_features import offers_cdi_devices
from node_agent.telemetry.nvml import Nvml
from node_agent.telemetry.ports import FoundDevice
from offchain.devnet.demo_image import libraries
from tests.gpu_stub.build import compiler
from tests.support.local_network import engine_url
from tests.support.network_fixtures import net, pods, state

__all__ = ["net", "pods", "state"]

SOURCE = Path(__file__).with_name("cuda_check.c")
IMAGE = "gantry-test/cuda"
C_LIBRARIES = ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1")


@pytest.fixture(scope="session")
def gpus() -> tuple[FoundDevice, ...]:
    """The NVIDIA GPUs of this machine, as the agent finds them."""
    nvml = Nvml()
    try:
        found = nvml.devices()
    finally:
        nvml.close()
    assert found, "there is /dev/nvidiactl, but NVML finds no GPU"
    return found


@pytest.fixture(scope="session")
def cuda_check(gpus: tuple[FoundDevice, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that computes on each GPU that it sees."""
    del gpus
    program = tmp_path_factory.mktemp("cuda") / "cuda_check"
    found = compiler()
    assert found is not None, "there is no C compiler: install gcc"
    subprocess.run([found, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE], check=True)
    return program


@pytest.fixture(scope="session")
def cuda_image(gpus: tuple[FoundDevice, ...], cuda_check: Path, state: Path) -> Iterator[str]:
    """The reference of an image with that program, in the engine of the network."""
    url = engine_url(state)
    if not offers_cdi_devices(url, [one.device.uuid for one in gpus if one.device.uuid is not None]):
        pytest.skip(f"the engine at {url} does not offer the GPUs by CDI (docs/providers.md says how)")
    shell = shutil.which("sh")
    assert shell is not None
    files = {"bin/cuda_check": cuda_check, "bin/sh": Path(shell).resolve()}
    for program in tuple(files.values()):
        files |= {library.lstrip("/"): Path(library).resolve() for library in libraries(program)}
    # The driver's library needs these, as every image with a C library has them.
    (folder,) = {Path(name).parent for name in files if Path(name).name == "libc.so.6"}
    files |= {f"{folder}/{name}": Path("/", folder, name).resolve() for name in C_LIBRARIES}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, source in files.items():
            tar.add(source, arcname=name)
        # NVIDIA's hook adds the driver's libraries to this file where an image has one, and does nothing without it.
        tar.add("/etc/ld.so.cache", arcname="etc/ld.so.cache")
    client = docker.DockerClient(base_url=url, timeout=60)
    try:
        client.api.import_image_from_data(archive.getvalue(), repository=IMAGE, tag="latest")
        image = client.images.get(f"{IMAGE}:latest")
        yield f"{IMAGE}@{image.id}"
        client.images.remove(image.id, force=True)
    finally:
        client.close()
