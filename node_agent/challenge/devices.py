"""What computes a proof: the port of a device, and the simulated device, which computes with numpy."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offchain.schema.challenge.generator import derived_words, fingerprints, matrix_rows
from offchain.schema.challenge.order import ChallengeWork
from offchain.schema.challenge.page_graph import all_pages, chain_ends, page_graph

Values = NDArray[np.uint64]
Progress = Callable[[], None]
"""Called between parts of the work, each of at most about a second on the intended device. Raises to end the work."""


class ChallengeDevice(Protocol):
    """A device that computes both parts of a proof. One work at a time."""

    name: str
    is_simulated: bool

    def prepare(self, work: ChallengeWork) -> None:
        """Compile and warm up, so that the computation itself measures the device."""

    def row_fingerprints(self, seed: bytes, work: ChallengeWork, progress: Progress) -> Values:
        """Return the fingerprints of all rows of all products."""

    def chain_ends(self, seed: bytes, work: ChallengeWork, progress: Progress) -> tuple[Values, float]:
        """Return the ends of all chains, and the seconds that the reads took without the filling of the memory."""

    def probes(self) -> dict[str, float]:
        """Return what short measurements of the device give; names have units."""


class SimulatedDevice:
    """A stand-in for a GPU on hosts without one. Its results are exact and always marked as simulated."""

    name = "simulated"
    is_simulated = True

    def prepare(self, work: ChallengeWork) -> None:
        pass

    def row_fingerprints(self, seed: bytes, work: ChallengeWork, progress: Progress) -> Values:
        size = work.dimension
        numbers = np.arange(size, dtype=np.uint32)
        shared = matrix_rows(derived_words(seed, "b", 2), numbers, size)
        key = derived_words(seed, "row", 1)[0]
        found = np.empty(work.rows, dtype=np.uint64)
        for product in range(work.products):
            progress()
            of_product = matrix_rows(derived_words(seed, f"a/{product}", 2), numbers, size)
            found[product * size : (product + 1) * size] = fingerprints(key, of_product @ shared)
        return found

    def chain_ends(self, seed: bytes, work: ChallengeWork, progress: Progress) -> tuple[Values, float]:
        graph = page_graph(seed, work.pages, work.page_words, work.layers)
        stored = all_pages(graph)
        progress()
        began = perf_counter()
        found = chain_ends(graph, np.arange(work.chains, dtype=np.uint64), work.chain_reads, stored)
        return found, perf_counter() - began

    def probes(self) -> dict[str, float]:
        return {}
