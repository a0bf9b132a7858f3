"""Messages of a challenge: what is malformed or too large is refused with the name of the field."""

import json
from typing import Any

import pytest

from offchain.schema.challenge.fingerprint_tree import (
    LEAF_VALUES,
    FingerprintTree,
    OpeningInvalidError,
    leaf_count,
    opened_value,
    path_length,
)
from offchain.schema.challenge.order import (
    EXACT_BELOW,
    LARGEST_ENTRY,
    LONGEST_PATH,
    MAX_DIMENSION,
    MAX_LINE,
    MAX_VALUES,
    ChallengeWork,
    read_commitment,
    read_opening,
)
from offchain.schema.protocol.fields import WireError, canonical_json
from tests.support.challenge_samples import SEED, Proof, honest


@pytest.fixture(scope="module")
def proof() -> Proof:
    return honest()


@pytest.fixture(scope="module")
def opening(proof: Proof) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(proof.opening(SEED).to_bytes())
    return fields


def test_messages_survive_their_encoding(proof: Proof) -> None:
    commitment, opening = proof.commitment(), proof.opening(SEED)
    assert read_commitment(commitment.to_bytes()) == commitment
    assert read_opening(opening.to_bytes()) == opening


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version must be a whole number from 1 to 1"),
        ({"seed": "00"}, "seed must be 64 hexadecimal digits"),
        ({"rows_root": 7}, "rows_root must be text"),
        ({"chains_root": "g" * 64}, "chains_root must be hexadecimal digits"),
        ({"measured": {}}, "gemm_gflops must be a whole number"),
        ({"extra": 1}, "unknown field 'extra'"),
    ],
)
def test_a_malformed_commitment_is_refused(proof: Proof, change: dict[str, Any], message: str) -> None:
    fields = json.loads(proof.commitment().to_bytes()) | change
    with pytest.raises(WireError, match=message):
        read_commitment(canonical_json(fields))


def test_a_commitment_has_one_encoding(proof: Proof) -> None:
    data = proof.commitment().to_bytes()
    for other in (data + b" ", json.dumps(json.loads(data)).encode(), data.upper()):
        with pytest.raises(WireError):
            read_commitment(other)


@pytest.mark.parametrize("name", ["rows", "chains"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": -1}, "number must be"),
        ({"number": MAX_VALUES + 1}, "number must be"),
        ({"leaf": "0" * 8208}, "leaf must be at most 8192"),
        ({"leaf": "0" * 15}, "16 for each value"),
        ({"leaf": "x" * 16}, "leaf must be hexadecimal"),
        ({"path": ["00" * 32] * (LONGEST_PATH + 1)}, "at most 32 hashes"),
        ({"path": "00"}, "path must be a list"),
        ({"path": ["00"]}, "path must be 64 hexadecimal digits"),
        ({"path": [[]]}, "path must be text"),
        ({"more": 0}, "unknown field"),
    ],
)
def test_a_malformed_opening_is_refused(
    opening: dict[str, Any], name: str, change: dict[str, Any], message: str
) -> None:
    fields = dict(opening)
    fields[name] = [opening[name][0] | change, *opening[name][1:]]
    with pytest.raises(WireError, match=message):
        read_opening(canonical_json(fields))


def test_an_opening_has_twenty_values_and_a_largest_size(opening: dict[str, Any]) -> None:
    for rows in ([], opening["rows"][:-1], opening["rows"] * 2, [1] * 20, {}, None):
        with pytest.raises(WireError, match="rows must be a list of 20 objects"):
            read_opening(canonical_json(opening | {"rows": rows}))
    with pytest.raises(WireError, match=f"at most {MAX_LINE} are read"):
        read_opening(b" " * (MAX_LINE + 1))
    for data in (b"", b"[]", b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(WireError):
            read_opening(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimension": 100}, "a multiple of 64"),
        ({"pages": 63}, "an even number"),
        ({"page_words": 300}, "a power of two"),
        ({"products": 1 << 20, "dimension": 32_768}, "rows"),
    ],
)
def test_impossible_work_is_refused(change: dict[str, Any], message: str) -> None:
    fields = {
        "dimension": 64, "products": 1, "pages": 64, "page_words": 256, "layers": 1, "chains": 20, "chain_reads": 1
    }  # fmt: skip
    with pytest.raises(WireError, match=message):
        ChallengeWork(**(fields | change))


def test_every_sum_is_exact_in_single_precision() -> None:
    assert MAX_DIMENSION * LARGEST_ENTRY**2 < EXACT_BELOW


@pytest.mark.parametrize("values", [1, 2, LEAF_VALUES, LEAF_VALUES + 1, 5 * LEAF_VALUES, 7 * LEAF_VALUES + 3])
def test_every_value_of_a_table_opens_to_the_root(values: int) -> None:
    table = b"".join(number.to_bytes(8, "little") for number in range(values))
    tree = FingerprintTree(table)
    for number in {0, 1 % values, values // 2, values - 1}:
        leaf, path = tree.leaf_of(number), tree.path_of(number)
        assert opened_value(tree.root, values, number, leaf, path) == number
        assert len(path) == path_length(values, number // LEAF_VALUES)
        for place in range(len(path)):
            wrong = (*path[:place], bytes(32), *path[place + 1 :])
            with pytest.raises(OpeningInvalidError, match="does not lead"):
                opened_value(tree.root, values, number, leaf, wrong)


def test_no_path_is_longer_than_a_message_allows() -> None:
    assert path_length(MAX_VALUES, 0) == (leaf_count(MAX_VALUES) - 1).bit_length() <= LONGEST_PATH
