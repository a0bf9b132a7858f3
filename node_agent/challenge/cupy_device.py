"""GPUs of NVIDIA (CUDA) and AMD (ROCm) through cupy: products by the vendor's library, the rest by kernels.cu."""

from __future__ import annotations

import ctypes
from importlib.resources import files
from time import perf_counter
from typing import Any, Final

import numpy as np

from node_agent.challenge.devices import Progress, Values
from offchain.schema.challenge.generator import ENTRIES_PER_WORD, derived_words
from offchain.schema.challenge.order import ChallengeWork
from offchain.schema.challenge.page_graph import GROUP, page_graph

THREADS: Final = 256
BLOCKS_PER_PROCESSOR: Final = 8
CHAINS_AT_ONCE: Final = 1 << 20
"""Chains of one launch, so that no launch takes longer than about a second."""
PROBE_BYTES: Final = 1 << 30
_HALF, _FLOAT, _COMPUTE_FLOAT = 2, 0, 68
"""CUDA_R_16F, CUDA_R_32F and CUBLAS_COMPUTE_32F of cuBLAS, which cupy translates for hipBLAS."""


class CupyDevice:
    """One GPU. Its memory is taken by plain allocations and given back at the end of each part."""

    is_simulated = False

    def __init__(self, number: int, source: str) -> None:
        import cupy  # noqa: PLC0415 - only machines with a GPU have it

        self.cupy: Any = cupy
        cupy.cuda.set_allocator(None)
        self.gpu = cupy.cuda.Device(number)
        self.gpu.use()
        properties = cupy.cuda.runtime.getDeviceProperties(number)
        name = properties["name"]
        self.name = name.decode() if isinstance(name, bytes) else str(name)
        self._blocks = int(properties["multiProcessorCount"]) * BLOCKS_PER_PROCESSOR
        module = cupy.RawModule(code=source)
        names = ("matrix_rows", "row_fingerprints", "fill_pages", "mix_layer", "read_chains")
        self._kernels = {name: module.get_function(name) for name in names}

    def prepare(self, work: ChallengeWork) -> None:
        """Compile the kernels and run one product and a few pages of the same kind."""
        small = ChallengeWork(work.dimension, 1, 1024, work.page_words, 1, 1024, 1)
        self.row_fingerprints(bytes(32), small, lambda: None)
        self.chain_ends(bytes(32), small, lambda: None)

    def row_fingerprints(self, seed: bytes, work: ChallengeWork, progress: Progress) -> Values:
        cupy, size = self.cupy, work.dimension
        of_product, shared = (cupy.empty((size, size), dtype=cupy.float16) for _ in range(2))
        product = cupy.empty((size, size), dtype=cupy.float32)
        found = cupy.empty(work.rows, dtype=cupy.uint64)
        key = derived_words(seed, "row", 1)[0]
        self.fill_matrix(shared, derived_words(seed, "b", 2))
        for number in range(work.products):
            if number % 64 == 0:
                self.gpu.synchronize()
                progress()
            self.fill_matrix(of_product, derived_words(seed, f"a/{number}", 2))
            self.multiply(of_product, shared, product)
            part = found[number * size : (number + 1) * size]
            self.launch("row_fingerprints", product, part, _u32(size), _u32(size), _u32(key))
        return np.asarray(found.get())

    def chain_ends(self, seed: bytes, work: ChallengeWork, progress: Progress) -> tuple[Values, float]:
        cupy = self.cupy
        graph = page_graph(seed, work.pages, work.page_words, work.layers)
        bits = _u32((work.page_words // GROUP).bit_length() - 1)
        pages = cupy.empty(work.memory_bytes // 4, dtype=cupy.uint32)
        found = cupy.empty(work.chains, dtype=cupy.uint64)
        self.launch("fill_pages", pages, _u32(work.pages), bits, *map(_u32, graph.fill_key))
        for layer in graph.layers:
            numbers = (layer.factor, layer.offset, *layer.key)
            self.launch("mix_layer", pages, _u32(graph.half), bits, *map(_u32, numbers))
            self.gpu.synchronize()
            progress()
        began = perf_counter()
        for first in range(0, work.chains, CHAINS_AT_ONCE):
            part = found[first : first + CHAINS_AT_ONCE]
            numbers = (first, len(part), *graph.chain_key)
            self.launch("read_chains", pages, part, _u32(work.pages), bits, _u32(work.chain_reads), *map(_u32, numbers))
            self.gpu.synchronize()
            progress()
        took = perf_counter() - began
        return np.asarray(found.get()), took

    def probes(self) -> dict[str, float]:
        """Return free and total memory, and the rates of copies within the device and from and to the host."""
        cupy = self.cupy
        free, total = cupy.cuda.runtime.memGetInfo()
        size = min(PROBE_BYTES, free // 8)
        here, there = (cupy.empty(size, dtype=cupy.uint8) for _ in range(2))
        memory = cupy.cuda.alloc_pinned_memory(size)
        host = np.frombuffer(memory, dtype=np.uint8, count=size)
        host[:] = 1
        return {
            "memory_free_mib": free / 2**20,
            "memory_total_mib": total / 2**20,
            "copy_gbs": 2 * size / self._seconds(lambda: cupy.copyto(there, here)) / 1e9,
            "host_to_device_gbs": size / self._seconds(lambda: here.set(host)) / 1e9,
            "device_to_host_gbs": size / self._seconds(lambda: here.get(out=host)) / 1e9,
        }

    def _seconds(self, action: Any) -> float:
        """Return the shortest of three times."""
        times = []
        for _ in range(4):
            self.gpu.synchronize()
            began = perf_counter()
            action()
            self.gpu.synchronize()
            times.append(perf_counter() - began)
        return min(times[1:])

    def fill_matrix(self, out: Any, key: tuple[int, ...]) -> None:
        """Write the matrix with this key in half precision."""
        rows, columns = out.shape
        self.launch("matrix_rows", out, _u32(0), _u32(rows), _u32(columns // ENTRIES_PER_WORD), *map(_u32, key))

    def multiply(self, left: Any, right: Any, out: Any) -> None:
        """Write the product. The library's matrices have columns first, so it computes the transposed product."""
        from cupy_backends.cuda.libs import cublas  # noqa: PLC0415 - only machines with a GPU have it

        size = out.shape[0]
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        cublas.gemmEx(
            self.cupy.cuda.device.get_cublas_handle(),
            *(0, 0, size, size, size),
            ctypes.addressof(one),
            *(right.data.ptr, _HALF, size),
            *(left.data.ptr, _HALF, size),
            ctypes.addressof(zero),
            *(out.data.ptr, _FLOAT, size),
            *(_COMPUTE_FLOAT, -1),
        )

    def launch(self, name: str, *arguments: Any) -> None:
        """Start a kernel on all of the device. Numbers must have numpy types, so that their sizes are known."""
        self._kernels[name]((self._blocks,), (THREADS,), arguments)


def _u32(value: int) -> np.uint32:
    return np.uint32(value)


def open_cupy_device(number: int) -> CupyDevice:
    """Return the GPU with this number. Raises ImportError without cupy."""
    source = files("node_agent.challenge") / "kernels.cu"
    return CupyDevice(number, source.read_text(encoding="utf-8"))
