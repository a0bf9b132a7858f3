"""Proofs that are not those of the whole work are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

from node_agent.challenge.devices import SimulatedDevice
from offchain.core.challenge.verification import (
    ProofFault,
    expected_chains,
    expected_rows,
    verify_commitment,
    verify_opening,
)
from offchain.schema.challenge import page_graph as pages_module
from offchain.schema.challenge.generator import Words, derived_words, fingerprints, matrix_rows
from offchain.schema.challenge.order import OPENED, ChallengeWork, drawn_numbers, opening_seed
from offchain.schema.challenge.page_graph import PageGraph, all_pages, chain_ends, page_graph
from tests.support.challenge_samples import SEED, WORK, Proof, honest, no_limit, partial

RUNS = 160


@pytest.fixture(scope="module")
def proof() -> Proof:
    return honest()


def test_an_honest_proof_is_right(proof: Proof) -> None:
    assert proof.verdict().is_right


@pytest.mark.parametrize("part", ["rows", "chains"])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_a_share_phi_of_the_work_passes_with_phi_to_the_20(proof: Proof, part: str, share: float) -> None:
    passed = sum(partial(proof, part, share, run).verdict(bytes([run % 256])).is_right for run in range(RUNS))
    expected = share**OPENED
    assert abs(passed - RUNS * expected) <= 4 * math.sqrt(RUNS * expected * (1 - expected)) + 1


def test_a_proof_for_another_seed_is_refused() -> None:
    other = honest(seed=bytes(32))
    assert other.verdict().fault is ProofFault.WRONG_SEED
    # The values of the other seed under the right name.
    assert replace(other, seed=SEED).verdict().fault is ProofFault.WRONG_ROW


def test_a_proof_of_less_work_is_refused() -> None:
    assert honest(replace(WORK, products=31)).verdict().fault is ProofFault.WRONG_WORK


def test_a_commitment_that_is_not_on_the_chain_is_refused(proof: Proof) -> None:
    commitment = proof.commitment()
    wrong = verify_commitment(commitment, SEED, WORK, bytes(32), is_simulated=True)
    assert wrong.fault is ProofFault.WRONG_DIGEST
    changed = replace(commitment, measured=replace(commitment.measured, gemm_gflops=10**6))
    wrong = verify_commitment(changed, SEED, WORK, commitment.digest(), is_simulated=True)
    assert wrong.fault is ProofFault.WRONG_DIGEST


def test_a_simulated_proof_is_refused_for_a_real_device(proof: Proof) -> None:
    commitment = proof.commitment()
    verdict = verify_commitment(commitment, SEED, WORK, commitment.digest(), is_simulated=False)
    assert verdict.fault is ProofFault.WRONG_KIND
    assert verdict.reason == "a simulated device computed the proof of a real one"


def test_one_changed_entry_of_a_product_changes_the_fingerprint() -> None:
    key = derived_words(SEED, "row", 1)[0]
    rows = matrix_rows(derived_words(SEED, "a/0", 2), np.arange(4, dtype=np.uint32), 64)
    before = fingerprints(key, rows)
    rows[2, 17] += 1
    assert (fingerprints(key, rows) != before).tolist() == [False, False, True, False]


def test_exchanged_entries_of_a_product_change_the_fingerprint() -> None:
    row = np.arange(64, dtype=np.float32)[None, :]
    assert fingerprints(7, row)[0] != fingerprints(7, row[:, ::-1].copy())[0]


def test_a_changed_leaf_path_or_order_is_refused(proof: Proof) -> None:
    commitment = proof.commitment()
    seed = opening_seed(SEED, commitment.digest(), b"later")
    opening = proof.opening(seed)

    def fault(**changed: object) -> ProofFault | None:
        first = replace(opening.rows[0], **changed)  # type: ignore[arg-type]
        return verify_opening(commitment, WORK, replace(opening, rows=(first, *opening.rows[1:])), seed).fault

    row = opening.rows[0]
    assert fault() is None
    assert fault(leaf=bytes([row.leaf[0] ^ 1]) + row.leaf[1:]) is ProofFault.WRONG_PATH
    assert fault(leaf=row.leaf[:-8]) is ProofFault.WRONG_PATH
    assert fault(path=(bytes(32), *row.path[1:])) is ProofFault.WRONG_PATH
    assert fault(path=row.path[:-1]) is ProofFault.WRONG_PATH
    assert fault(path=(*row.path, bytes(32))) is ProofFault.WRONG_PATH
    assert fault(number=row.number ^ 1) is ProofFault.WRONG_DRAW
    turned = replace(opening, rows=opening.rows[::-1])
    assert verify_opening(commitment, WORK, turned, seed).fault is ProofFault.WRONG_DRAW
    other = opening_seed(SEED, commitment.digest(), b"another block")
    assert verify_opening(commitment, WORK, opening, other).fault is ProofFault.WRONG_DRAW


def test_a_host_that_stores_part_of_the_pages_is_refused() -> None:
    """Reads of missing pages give another page: with a tenth missing, 20 chains of 16 reads all succeed never."""
    work = ChallengeWork(64, 1, 1000, 256, 3, 1000, 16)
    graph = page_graph(SEED, work.pages, work.page_words, work.layers)
    stored = all_pages(graph)
    stored[:, 900:] = stored[:, :100]
    rows = SimulatedDevice().row_fingerprints(SEED, work, no_limit)
    cheat = Proof(rows, chain_ends(graph, np.arange(1000, dtype=np.uint64), 16, stored), work)
    commitment = cheat.commitment()
    for block in range(100):
        seed = opening_seed(SEED, commitment.digest(), bytes([block]))
        assert verify_opening(commitment, work, cheat.opening(seed), seed).fault is ProofFault.WRONG_CHAIN


def test_a_page_depends_on_as_many_initial_pages_as_the_layers_double(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = page_graph(SEED, 2048, 256, 4)
    page = 100
    reached = {page}
    for layer in reversed(graph.layers):
        half = graph.half
        pairs = {one if one < half else (one - half - layer.offset) * layer.inverse % half for one in reached}
        reached = pairs | {half + (layer.factor * pair + layer.offset) % half for pair in pairs}
    assert len(reached) == 16
    before, original = all_pages(graph)[:, page], pages_module.initial_pages

    def is_changed_by(initial: int) -> bool:
        def with_one_changed(of: PageGraph, numbers: Words) -> Words:
            pages = original(of, numbers)
            pages[0, numbers == initial, 0] ^= np.uint32(1)
            return pages

        monkeypatch.setattr(pages_module, "initial_pages", with_one_changed)
        return not np.array_equal(all_pages(graph)[:, page], before)

    others = [one for one in range(0, graph.pages, 131) if one not in reached]
    assert all(is_changed_by(one) for one in reached)
    assert not any(is_changed_by(one) for one in others)


def test_the_verifier_computes_what_the_device_computes(proof: Proof) -> None:
    numbers = drawn_numbers(SEED, "rows", WORK.rows)
    assert expected_rows(SEED, WORK, numbers) == [int(proof.rows[one]) for one in numbers]
    numbers = drawn_numbers(SEED, "chains", WORK.chains)
    assert expected_chains(SEED, WORK, numbers) == [int(proof.chains[one]) for one in numbers]


def test_drawn_numbers_are_different_and_depend_on_randomness_and_digest() -> None:
    assert len(set(drawn_numbers(SEED, "rows", OPENED))) == OPENED
    draws = {
        drawn_numbers(opening_seed(SEED, digest, block), "rows", 1 << 20)
        for digest in (bytes(32), SEED)
        for block in (b"a", b"b")
    }
    assert len(draws) == 4
