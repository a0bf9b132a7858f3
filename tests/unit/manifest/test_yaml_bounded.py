"""Brackets within each other, which cost PyYAML a time that grows with their square, are bounded."""

import pytest
import yaml

from offchain.schema.yaml_bounded import MAX_BRACKETS, compose


@pytest.mark.parametrize("bracket", "[{")
def test_brackets_within_each_other_are_bounded(bracket):
    closing = {"[": "]", "{": "}"}[bracket]
    assert compose("[" * (MAX_BRACKETS - 1) + bracket + closing + "]" * (MAX_BRACKETS - 1)) is not None
    with pytest.raises(yaml.YAMLError, match="more than 32 brackets"):
        compose(bracket * (MAX_BRACKETS + 1))
