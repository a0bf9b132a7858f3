"""Properties of the generator, the pages and the tree."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.schema.challenge.fingerprint_tree import FingerprintTree, opened_value, path_length
from offchain.schema.challenge.generator import derived_words, matrix_rows, mix, random_words
from offchain.schema.challenge.page_graph import all_pages, chain_ends, compute_pages, page_graph

MASK = (1 << 32) - 1
seeds = st.binary(min_size=32, max_size=32)
words = st.integers(0, MASK)


def mixed(word: int) -> int:
    """The bijection in whole numbers without bounds."""
    word ^= word >> 16
    word = word * 0x7FEB352D & MASK
    word ^= word >> 15
    word = word * 0x846CA68B & MASK
    return word ^ word >> 16


@given(st.lists(words, min_size=1, max_size=20), st.lists(words, min_size=1, max_size=20), words, words)
def test_words_are_those_of_the_definition(rows: list[int], columns: list[int], key0: int, key1: int) -> None:
    found = random_words((key0, key1), np.array(rows, dtype=np.uint32), np.array(columns, dtype=np.uint32))
    assert found.tolist() == [[mixed(mixed(row ^ key0) ^ mixed(column ^ key1)) for column in columns] for row in rows]


@given(st.lists(words, min_size=2, max_size=50, unique=True))
def test_different_words_have_different_images(several: list[int]) -> None:
    assert len(set(mix(np.array(several, dtype=np.uint32)).tolist())) == len(several)


@given(seeds, st.integers(0, 1 << 20))
def test_entries_are_from_minus_eight_to_seven_and_a_row_does_not_depend_on_others(seed: bytes, row: int) -> None:
    key = derived_words(seed, "a/0", 2)
    rows = np.array([row, row + 1], dtype=np.uint32)
    both = matrix_rows(key, rows, 64)
    assert both.min() >= -8
    assert both.max() <= 7
    assert np.array_equal(both, both.astype(np.int8))
    assert np.array_equal(both[1:], matrix_rows(key, rows[1:], 64))


@settings(max_examples=30)
@given(seeds, st.integers(1, 60), st.sampled_from([256, 512]), st.integers(1, 5), st.integers(1, 6))
def test_pages_and_chains_computed_alone_are_those_of_the_filled_memory(
    seed: bytes, half: int, page_words: int, layers: int, reads: int
) -> None:
    graph = page_graph(seed, 2 * half, page_words, layers)
    stored = all_pages(graph)
    numbers = np.arange(graph.pages, dtype=np.uint32)
    assert np.array_equal(compute_pages(graph, numbers), stored)
    chains = np.arange(10, dtype=np.uint64)
    assert np.array_equal(chain_ends(graph, chains, reads), chain_ends(graph, chains, reads, stored))


@settings(max_examples=30)
@given(st.integers(1, 6000), st.data())
def test_openings_lead_to_the_root_of_their_table_only(values: int, data: st.DataObject) -> None:
    table = np.arange(values, dtype="<u8")
    tree = FingerprintTree(table.tobytes())
    number = data.draw(st.integers(0, values - 1))
    leaf, path = tree.leaf_of(number), tree.path_of(number)
    assert opened_value(tree.root, values, number, leaf, path) == number
    assert len(path) == path_length(values, number // 512)
    table[number] ^= np.uint64(1)
    assert FingerprintTree(table.tobytes()).root != tree.root
