"""Machines with GPUs for the tests of this folder."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gpu_stub.build import Gpu, Machine, build


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in, loaded: nvidia-ml-py, which asks for it by its name, gets this one."""
    library = build(tmp_path_factory.mktemp("nvml"))
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    return library


@pytest.fixture
def nvidia(nvml_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Gpu]], Machine]:
    """A machine with these GPUs."""
    del nvml_library

    def make(gpus: list[Gpu]) -> Machine:
        machine = Machine(tmp_path / "machine", gpus)
        monkeypatch.setenv("GANTRY_NVML_STUB", str(machine.path))
        return machine

    return make
