"""What is written is read; what is not known is refused by name; waiting is possible exactly without circles."""

import graphlib
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_written import manifests, names, written

from offchain.schema.manifest.parse import MAX_BYTES, parse_manifest
from offchain.schema.manifest.task_spec import to_task_spec
from offchain.schema.manifest.types import Manifest, ManifestError
from offchain.schema.manifest.variables import resolve
from tests.support.examples import examples

untimed = settings(deadline=None, max_examples=examples(60))

trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


def text_of(plain: dict[str, Any]) -> bytes:
    return yaml.safe_dump(plain, sort_keys=False).encode()


@untimed
@given(manifests())
def test_a_task_written_down_is_read_back_the_same(manifest: Manifest) -> None:
    text = text_of(written(manifest))
    if len(text) <= MAX_BYTES:
        assert parse_manifest(text) == manifest


@untimed
@given(manifests())
def test_a_task_for_the_chain_is_one_the_chain_takes(manifest: Manifest) -> None:
    """What pallet tasks demands of a spec in `ensure_spec_is_sound`."""
    spec = to_task_spec(manifest, bytes(32))
    assert 1 <= spec.pods_min <= spec.pods_max <= 16
    assert spec.kind.value != "Rental" or spec.pods_max == 1
    assert spec.kind.value == "Rental" or spec.data_from is None
    if spec.verification.tag == "Redundant":
        assert spec.kind.value == "Job"
        assert spec.pods_min == spec.pods_max in (2, 3)
    assert spec.resources.gpus.count == sum(service.gpu_count for service in manifest.services) <= 16
    assert spec.resources.cpu_milli == sum(service.cpu_milli for service in manifest.services)


@untimed
@given(manifests())
def test_a_file_without_variables_is_left_as_it_is(manifest: Manifest) -> None:
    text = text_of(written(manifest)).decode()
    if "$" not in text:
        assert resolve(text, {}) == text


def _places(tree: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values in a tree."""
    found = [path]
    if isinstance(tree, dict):
        for key, value in tree.items():
            found += _places(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            found += _places(value, (*path, index))
    return found


def _at(tree: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _dotted(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


FREE = {("services",), ("volumes",), ("secrets",)}
"""Mappings with keys of the user's choice; so is each environment."""


@untimed
@given(manifests(), st.data())
def test_a_key_nobody_knows_is_refused_with_its_path(manifest: Manifest, data: st.DataObject) -> None:
    plain = written(manifest)
    mappings = [
        path
        for path in _places(plain)
        if isinstance(_at(plain, path), dict) and path not in FREE and "environment" not in path
    ]
    path = data.draw(st.sampled_from(mappings))
    _at(plain, path)["zqx"] = 1
    text = text_of(plain)
    if len(text) > MAX_BYTES:
        return
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text)
    assert any(
        problem.path == _dotted((*path, "zqx")) and "zqx" in problem.message for problem in caught.value.problems
    )


@untimed
@given(manifests(), trees, st.data())
def test_any_value_anywhere_is_accepted_or_refused_with_line_and_hint(
    manifest: Manifest, tree: object, data: st.DataObject
) -> None:
    plain = written(manifest)
    *path, last = data.draw(st.sampled_from([place for place in _places(plain) if place]))
    _at(plain, tuple(path))[last] = tree
    text = text_of(plain)
    try:
        parse_manifest(text)
    except ManifestError as error:
        lines = text.count(b"\n") + 1
        for problem in error.problems:
            assert 1 <= problem.line <= lines
            assert problem.message
            assert problem.hint


@untimed
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda edge: edge[0] != edge[1]), max_size=8))
def test_services_can_wait_exactly_where_there_is_no_circle(edges: list[tuple[int, int]]) -> None:
    waits: dict[str, set[str]] = {f"s{number}": set() for number in range(5)}
    for waiting, first in edges:
        waits[f"s{waiting}"].add(f"s{first}")
    deploy = {"resources": {"limits": {"cpus": 1, "memory": "64M"}}}
    plain = {
        "services": {
            name: {"image": f"a@sha256:{'ab' * 32}", "deploy": deploy, "depends_on": sorted(others)}
            for name, others in waits.items()
        },
        "x-gantry": {"price": {"max_per_hour": "1 GTY"}, "duration": "1m"},
    }
    try:
        tuple(graphlib.TopologicalSorter(waits).static_order())
    except graphlib.CycleError:
        with pytest.raises(ManifestError, match="wait for each other"):
            parse_manifest(text_of(plain))
    else:
        assert len(parse_manifest(text_of(plain)).services) == 5
