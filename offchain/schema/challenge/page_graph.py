"""Memory of a challenge: pages whose final content depends on 2^layers initial pages, and chains of reads of them.

The pages are filled from the seed. Each layer pairs every page of the lower half with one of the upper half, by an
affine permutation of the layer, and replaces both by a one-way function of both. After L layers one page depends on 2^L
initial pages: with the page in memory a read is one read; without it a read is 2^L - 1 mixes. A chain is a sequence of
reads in which each page decides which page is read next, and every word of the page is needed for that.

The functions here compute single pages from the seed (for a verifier) or all of them (for small simulated devices).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np
from numpy.typing import NDArray

from offchain.schema.challenge.generator import GOLDEN, Words, derived_words, joined, mix, random_words

GROUP: Final = 8
"""Words of a page that one thread mixes with as many of the paired page."""
_ROUNDS: Final = (
    *((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    *((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)
"""Quarter rounds of a double round, as in ChaCha (RFC 8439, section 2.3)."""
_DOUBLE_ROUNDS: Final = 2


@dataclass(frozen=True, slots=True)
class PageLayer:
    """Pairing and key of one layer: lower page p is paired with upper page (factor p + offset) mod half."""

    factor: int
    inverse: int
    offset: int
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PageGraph:
    """All that determines the pages. `pages` is even and below 2^32; `page_words` is a multiple of 8."""

    pages: int
    page_words: int
    fill_key: tuple[int, ...]
    chain_key: tuple[int, ...]
    layers: tuple[PageLayer, ...]

    @property
    def half(self) -> int:
        return self.pages // 2


def page_graph(seed: bytes, pages: int, page_words: int, layers: int) -> PageGraph:
    """Return the graph that this seed gives."""
    half = pages // 2
    found = []
    for layer in range(layers):
        offset, *key = derived_words(seed, f"layer/{layer}", 5)
        factor = next(
            factor
            for attempt in count()
            if math.gcd(factor := derived_words(seed, f"factor/{layer}/{attempt}", 1)[0] % half or 1, half) == 1
        )
        found.append(PageLayer(factor, pow(factor, -1, half), offset % half, tuple(key)))
    return PageGraph(pages, page_words, derived_words(seed, "pages", 2), derived_words(seed, "chains", 2), tuple(found))


def mix_pairs(key: tuple[int, ...], pairs: Words, state: Words) -> Words:
    """Mix paired pages in place. `state`: shape (16, pairs, groups), words 0 to 7 of lower pages, then of upper ones.

    The result is the words plus their image under two double rounds of ChaCha; the layer's key and the number of the
    pair are added to the input of the rounds by XOR. The sum with the input makes the function one-way.
    """
    work = state.copy()
    for place, word in enumerate(key):
        work[place] ^= np.uint32(word)
    work[4] ^= pairs[:, None]
    spare = np.empty_like(work[0])
    for _ in range(_DOUBLE_ROUNDS):
        for places in _ROUNDS:
            a, b, c, d = places
            _quarter_round(work[a], work[b], work[c], work[d], spare)
    state += work
    return state


def _quarter_round(a: Words, b: Words, c: Words, d: Words, spare: Words) -> None:
    for first, second, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        np.add(first, second, out=first)
        np.bitwise_xor(third, first, out=third)
        np.left_shift(third, np.uint32(turn), out=spare)
        np.right_shift(third, np.uint32(32 - turn), out=third)
        np.bitwise_or(third, spare, out=third)


def initial_pages(graph: PageGraph, numbers: Words) -> Words:
    """Return the initial content of these pages, shape (8, pages, groups): word 8 g + j is at [j, page, g]."""
    words = random_words(graph.fill_key, numbers, np.arange(graph.page_words, dtype=np.uint32))
    return np.ascontiguousarray(words.reshape(len(numbers), -1, GROUP).transpose(2, 0, 1))


def compute_pages(graph: PageGraph, numbers: Words) -> Words:
    """Return the final content of these pages, computed from the seed: 2^layers - 1 mixes for each.

    Shape as :func:`initial_pages`.
    """
    return _pages_after(graph, len(graph.layers), numbers)


def _pages_after(graph: PageGraph, layers: int, numbers: Words) -> Words:
    if layers == 0:
        return initial_pages(graph, numbers)
    layer, half = graph.layers[layers - 1], graph.half
    is_upper = numbers >= half
    pairs = np.where(
        is_upper, _permuted(numbers.astype(np.uint64) + np.uint64(half - layer.offset), layer.inverse, 0, half), numbers
    )
    # For a lower page the number of the pair is that of the page.
    upper = np.where(is_upper, numbers, np.uint32(half) + _permuted(pairs, layer.factor, layer.offset, half))
    before = _pages_after(graph, layers - 1, np.concatenate((pairs, upper)))
    members = len(numbers)
    state = np.concatenate((before[:, :members], before[:, members:]))
    mixed = mix_pairs(layer.key, pairs, state)
    return np.where(is_upper[None, :, None], mixed[GROUP:], mixed[:GROUP])


def _permuted(numbers: NDArray[np.unsignedinteger], factor: int, offset: int, half: int) -> Words:
    """Return (factor * number + offset) mod half. The numbers are below 3 * half, half below 2^31."""
    reduced = numbers.astype(np.uint64) % np.uint64(half)
    return ((reduced * np.uint64(factor) + np.uint64(offset)) % np.uint64(half)).astype(np.uint32)


def all_pages(graph: PageGraph) -> Words:
    """Return the final content of every page, filled layer by layer. Shape as :func:`initial_pages`."""
    pages = initial_pages(graph, np.arange(graph.pages, dtype=np.uint32))
    pairs = np.arange(graph.half, dtype=np.uint32)
    for layer in graph.layers:
        upper = np.uint32(graph.half) + _permuted(pairs, layer.factor, layer.offset, graph.half)
        mixed = mix_pairs(layer.key, pairs, np.concatenate((pages[:, : graph.half], pages[:, upper])))
        pages[:, : graph.half] = mixed[:GROUP]
        pages[:, upper] = mixed[GROUP:]
    return pages


def chain_ends(
    graph: PageGraph, chains: NDArray[np.uint64], reads: int, stored: Words | None = None
) -> NDArray[np.uint64]:
    """Return the state at the end of each of these chains.

    `stored`: the final content of all pages; without it each page that is read is computed from the seed.
    """
    numbers = chains.astype(np.uint32)
    start = random_words(graph.chain_key, numbers, np.arange(2, dtype=np.uint32))
    first, second = start[:, 0].copy(), start[:, 1].copy()
    places = np.arange(graph.page_words, dtype=np.uint32).reshape(-1, GROUP).T[:, None, :]
    tags, odd = places * np.uint32(GOLDEN), places * np.uint32(2) + np.uint32(1)
    for _ in range(reads):
        page = (first.astype(np.uint64) * np.uint64(graph.pages) >> np.uint64(32)).astype(np.uint32)
        words = compute_pages(graph, page) if stored is None else stored[:, page]
        words ^= tags + second[None, :, None]
        words *= np.uint32(0x7FEB352D)
        words ^= words >> np.uint32(15)
        low = words.sum(axis=(0, 2), dtype=np.uint32)
        words *= odd
        high = words.sum(axis=(0, 2), dtype=np.uint32)
        first, second = mix(low ^ second), mix(high + first)
    return joined(first, second)
