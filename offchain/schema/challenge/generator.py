"""Pseudo-random numbers of a challenge: 32-bit words that numpy and the kernels of a GPU compute identically.

The generator is counter-based: a word is a function of a key, a row and a column, and uses only 32-bit XOR, shifts and
multiplications that wrap. `mix` is the bijection "lowbias32" of C. Wellons' hash prospector. The generator is no
cipher: the seed, which derives all keys by SHA-256, is known only after the challenge was opened.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

CONTEXT: Final = b"gantry/challenge/v1/"
ENTRIES_PER_WORD: Final = 8
"""Matrix entries in one word: 4 bits each, the lowest bits first."""
GOLDEN: Final = 0x9E3779B9
"""2^32 divided by the golden ratio: distinguishes columns in sums."""


def derived_words(seed: bytes, purpose: str, count: int) -> tuple[int, ...]:
    """Return `count` (at most 8) 32-bit words that depend on the seed and on what they are for."""
    digest = hashlib.sha256(CONTEXT + purpose.encode() + b"/" + seed).digest()
    return tuple(int.from_bytes(digest[4 * place : 4 * place + 4], "little") for place in range(count))


def mix(words: Words) -> Words:
    """Replace each word by its image under the bijection, in place, and return the array."""
    words ^= words >> np.uint32(16)
    words *= np.uint32(0x7FEB352D)
    words ^= words >> np.uint32(15)
    words *= np.uint32(0x846CA68B)
    words ^= words >> np.uint32(16)
    return words


def random_words(key: tuple[int, ...], rows: Words, columns: Words) -> Words:
    """Return the words at these rows and columns, shape (rows, columns)."""
    of_rows = mix(rows ^ np.uint32(key[0]))
    of_columns = mix(columns ^ np.uint32(key[1]))
    return mix(of_rows[:, None] ^ of_columns[None, :])


def matrix_rows(key: tuple[int, ...], rows: Words, size: int) -> NDArray[np.float32]:
    """Return rows of the matrix with this key, `size` entries in [-8, 7] each, shape (rows, size).

    Entry 8 j + t of a row is bits 4 t to 4 t + 3 of its word j, minus 8.
    """
    words = random_words(key, rows, np.arange(size // ENTRIES_PER_WORD, dtype=np.uint32))
    entries = np.empty((len(rows), size // ENTRIES_PER_WORD, ENTRIES_PER_WORD), dtype=np.float32)
    for place in range(ENTRIES_PER_WORD):
        entries[:, :, place] = words & np.uint32(15)
        words >>= np.uint32(4)
    entries -= np.float32(8)
    return entries.reshape(len(rows), size)


def fingerprints(key: int, product: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return a 64-bit fingerprint of each row of a product.

    The fingerprint is the sum of a non-linear function of every entry and its column, so it cannot be computed from
    fewer than all entries of the row (a linear sum could: the product of the row of A with a vector).
    """
    columns = np.arange(product.shape[1], dtype=np.uint32)
    hashed = product.astype(np.int32).view(np.uint32)
    hashed += columns * np.uint32(GOLDEN)
    hashed ^= np.uint32(key)
    mix(hashed)
    low = hashed.sum(axis=1, dtype=np.uint32)
    high = (hashed * (columns * np.uint32(2) + np.uint32(1))).sum(axis=1, dtype=np.uint32)
    return joined(low, high)


def joined(low: Words, high: Words) -> NDArray[np.uint64]:
    """Return 64-bit values of their lower and upper words."""
    values: NDArray[np.uint64] = high.astype(np.uint64) << np.uint64(32)
    values |= low
    return values
