"""What a stranger's YAML may cost."""

import time

import pytest
import yaml

from offchain.schema.manifest import MAX_BYTES, parse_manifest
from offchain.schema.manifest_types import ManifestError
from offchain.schema.yaml_bounded import MAX_BRACKETS, compose


@pytest.mark.parametrize("bracket", "[{")
def test_brackets_within_each_other_are_bounded(bracket):
    closing = {"[": "]", "{": "}"}[bracket]
    assert compose("[" * (MAX_BRACKETS - 1) + bracket + closing + "]" * (MAX_BRACKETS - 1)) is not None
    with pytest.raises(yaml.YAMLError, match="more than 32 brackets"):
        compose(bracket * (MAX_BRACKETS + 1))


@pytest.mark.parametrize("text", ["[", "{", "- ", "? ", "a: ", "&a ", "!a ", "[],", "a,"])
def test_the_longest_text_of_one_piece_costs_about_what_a_manifest_costs(text):
    """Before the bound, a text of brackets took more than twenty times as long as the longest flat mapping."""

    def cost(data: bytes) -> float:
        began = time.process_time()
        with pytest.raises(ManifestError):
            parse_manifest(data)
        return time.process_time() - began

    lines = "".join(f"key{number}: value\n" for number in range(2000)).encode()[:MAX_BYTES]
    piece = ("[" * 20 + text * MAX_BYTES).encode()[:MAX_BYTES]
    assert cost(piece) < 5 * cost(lines)
