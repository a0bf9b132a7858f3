"""The part of cupy that a challenge uses, on the processor: kernels compiled by the C compiler, products by numpy.

It runs the very kernels, launches and orientation of the products that a GPU runs, without one.
"""

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from tests.gpu_stub.build import compiler

HALF, FLOAT, COMPUTE_FLOAT = 2, 0, 68


class HostArray(np.ndarray):
    """An array with the names of cupy's."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self, out: Any = None) -> Any:
        copy = np.array(self, subok=False)
        if out is not None:
            out[...] = copy
        return copy

    def set(self, host: Any) -> None:
        self[...] = host


def _array(shape: Any, dtype: Any) -> HostArray:
    return (
        np.frombuffer(b"\xa5" * (int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype=dtype)
        .reshape(shape)
        .copy()
        .view(HostArray)
    )


class RawModule:
    def __init__(self, code: str) -> None:
        found = compiler()
        assert found is not None, "there is no C compiler: install gcc"
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder, "kernels.c"), Path(folder, "kernels.so")
            source.write_text(code)
            flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"]
            subprocess.run([found, *flags, "-o", str(library), str(source)], check=True)
            self._library = ctypes.CDLL(str(library))

    def get_function(self, name: str) -> Any:
        function = getattr(self._library, name)

        def launch(grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...]) -> None:
            assert grid[0] > 0
            assert block[0] % 32 == 0
            function(
                *(
                    ctypes.c_void_p(one.data.ptr) if isinstance(one, HostArray) else ctypes.c_uint32(int(one))
                    for one in arguments
                )
            )

        return launch


def gemm_ex(
    _handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int, a: int, a_type: int, lda: int,
    b: int, b_type: int, ldb: int, beta: int, c: int, c_type: int, ldc: int, compute: int, _algorithm: int,
) -> None:  # fmt: skip
    """cublasGemmEx: matrices have columns first, so the rows here are those of the transposed ones."""
    assert (transa, transb, a_type, b_type, c_type, compute) == (0, 0, HALF, HALF, FLOAT, COMPUTE_FLOAT)
    assert (lda, ldb, ldc) == (m, k, m)
    assert ctypes.c_float.from_address(alpha).value == 1
    assert ctypes.c_float.from_address(beta).value == 0
    left = _at(a, ctypes.c_uint16, k * m).view(np.float16).reshape(k, m).astype(np.float32)
    right = _at(b, ctypes.c_uint16, n * k).view(np.float16).reshape(n, k).astype(np.float32)
    _at(c, ctypes.c_float, n * m).reshape(n, m)[...] = right @ left


def _at(address: int, kind: Any, count: int) -> Any:
    return np.ctypeslib.as_array((kind * count).from_address(address))


class _Device:
    def __init__(self, number: int) -> None:
        assert number == 0

    def use(self) -> None:
        pass

    def synchronize(self) -> None:
        pass


def _module() -> ModuleType:
    cupy: Any = ModuleType("cupy")
    for name in ("float16", "float32", "uint8", "uint32", "uint64"):
        setattr(cupy, name, getattr(np, name))
    runtime = SimpleNamespace(
        getDeviceProperties=lambda _: {"name": b"NVIDIA H200", "multiProcessorCount": 4},
        memGetInfo=lambda: (1 << 28, 1 << 28),
    )
    device = SimpleNamespace(get_cublas_handle=lambda: 1)
    cupy.cuda = SimpleNamespace(
        Device=_Device,
        device=device,
        runtime=runtime,
        set_allocator=lambda _: None,
        alloc_pinned_memory=bytearray,
    )
    cupy.empty, cupy.RawModule, cupy.copyto = _array, RawModule, np.copyto
    return cupy


@contextmanager
def installed() -> Iterator[None]:
    """`import cupy` gives the stand-in."""
    names = ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.libs")
    modules = {name: ModuleType(name) for name in names}
    modules[names[-1]].cublas = SimpleNamespace(gemmEx=gemm_ex)  # type: ignore[attr-defined]
    with mock.patch.dict(sys.modules, {"cupy": _module(), **modules}):
        yield
