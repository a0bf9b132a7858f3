"""Compute a proof with n = 8192, then verify it again and again, on one core: `verify_process.py RUNS`.

The verifier computes 20 rows of 8192 entries, the whole matrix B and 20 chains of 64 reads, whatever the number of
products, pages and chains is. So the proof has one product, few pages and few chains; all other sizes are those of
production.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from time import perf_counter

import numpy as np

from node_agent.challenge.devices import SimulatedDevice
from offchain.core.challenge.verification import ROWS_AT_ONCE, expected_chains, verify_commitment, verify_opening
from offchain.schema.challenge.generator import ENTRIES_PER_WORD, derived_words, matrix_rows, random_words
from offchain.schema.challenge.order import OPENED, ChallengeWork, opening_seed
from offchain.schema.challenge.sizing import CHAIN_READS, DIMENSION, LAYERS, PAGE_WORDS
from tests.support.challenge_samples import SEED, Proof, no_limit

WORK = ChallengeWork(DIMENSION, 1, 1 << 15, PAGE_WORDS, LAYERS, 4096, CHAIN_READS)


def main(runs: int) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found: dict[str, list[float]] = defaultdict(list)
    device = SimulatedDevice()
    began = perf_counter()
    rows = device.row_fingerprints(SEED, WORK, no_limit)
    found["proof"].append(perf_counter() - began)
    proof = Proof(rows, device.chain_ends(SEED, WORK, no_limit)[0], WORK)
    commitment = proof.commitment()
    for run in range(runs):
        seed = opening_seed(SEED, commitment.digest(), bytes([run]))
        opening = proof.opening(seed)
        began = perf_counter()
        first = verify_commitment(commitment, SEED, WORK, commitment.digest(), is_simulated=True)
        verdict = verify_opening(commitment, WORK, opening, seed)
        found["verify"].append(perf_counter() - began)
        if not (first.is_right and verdict.is_right):
            raise SystemExit(f"the honest proof is found wrong: {first.reason}{verdict.reason}")
        parts(found, tuple(one.number for one in opening.chains))
    print(json.dumps(found))  # noqa: T201  (the answer to the program that started this one)


def parts(found: dict[str, list[float]], chains: tuple[int, ...]) -> None:
    """Add the seconds of each part of a verification, each by the function that the verifier uses."""
    key = derived_words(SEED, "b", 2)
    columns = np.arange(DIMENSION // ENTRIES_PER_WORD, dtype=np.uint32)
    left = matrix_rows(derived_words(SEED, "a/0", 2), np.arange(OPENED, dtype=np.uint32), DIMENSION)
    generate = both = multiply = 0.0
    product = np.zeros((OPENED, DIMENSION), dtype=np.float32)
    for first in range(0, DIMENSION, ROWS_AT_ONCE):
        numbers = np.arange(first, first + ROWS_AT_ONCE, dtype=np.uint32)
        began = perf_counter()
        random_words(key, numbers, columns)
        generated = perf_counter()
        block = matrix_rows(key, numbers, DIMENSION)
        made = perf_counter()
        product += left[:, first : first + ROWS_AT_ONCE] @ block
        multiply += perf_counter() - made
        generate += generated - began
        both += made - generated
    found["generate"].append(generate)
    found["cast"].append(both - generate)
    found["multiply"].append(multiply)
    began = perf_counter()
    expected_chains(SEED, WORK, chains)
    found["chains"].append(perf_counter() - began)


if __name__ == "__main__":
    main(int(sys.argv[1]))
