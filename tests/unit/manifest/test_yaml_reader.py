"""What a text of a stranger may cost: depth, tokens and expanded aliases are bounded, and errors name the line.

Costs are counted in tokens that were scanned, not in seconds, so that a busy machine changes nothing.
"""

import random
from unittest import mock

import pytest
import yaml
from yaml.scanner import Scanner

from offchain.schema.manifest.parse import MAX_BYTES
from offchain.schema.manifest.yaml_reader import MAX_DEPTH, MAX_NODES, MAX_TOKENS, compose


def refused_at(text: str) -> int:
    """The line that the error names, from 1."""
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        compose(text)
    assert caught.value.problem_mark is not None
    return caught.value.problem_mark.line + 1


@pytest.mark.parametrize("bracket", "[{")
def test_brackets_within_each_other_are_bounded(bracket):
    closing = {"[": "]", "{": "}"}[bracket]
    assert compose("[" * (MAX_DEPTH - 1) + bracket + closing + "]" * (MAX_DEPTH - 1)) is not None
    with pytest.raises(yaml.YAMLError, match="more than 32 lists and mappings"):
        compose(bracket * (MAX_DEPTH + 1))


@pytest.mark.parametrize("sign", ["- ", "? "])
def test_indentation_within_each_other_is_bounded(sign):
    assert compose(sign * MAX_DEPTH + "a") is not None
    with pytest.raises(yaml.YAMLError, match="more than 32 lists and mappings"):
        compose(sign * (MAX_DEPTH + 1) + "a")


def test_brackets_and_indentation_count_together():
    text = "".join(f"{' ' * depth}a:\n" for depth in range(20))
    assert compose(text) is not None
    assert refused_at(text + " " * 20 + "b: " + "[" * 20) == 21


def test_an_error_names_the_line_at_which_reading_stopped():
    assert refused_at("a: 1\n" * 2 + "b: " + "[" * 40) == 3
    assert refused_at("".join(f"k{number}: 1\n" for number in range(2_000))) == MAX_TOKENS // 4


@pytest.mark.parametrize(
    "text",
    [
        "[" * 31 + "a," * MAX_BYTES,
        "[" * 31 + "[]," * MAX_BYTES,
        "{a: " * 31 + "b," * MAX_BYTES,
        "- a\n" * MAX_BYTES,
        "a: b\n" * MAX_BYTES,
        "[" + "a: b," * MAX_BYTES,
        "a: &a 1\nb: [" + "*a," * MAX_BYTES,
    ],
    ids=["items in 31 lists", "lists in 31 lists", "keys in 31 mappings", "list", "mapping", "pairs", "aliases"],
)
def test_no_more_tokens_are_scanned_than_the_bound(text):
    scanned = []
    fetch = Scanner.fetch_more_tokens
    with mock.patch.object(Scanner, "fetch_more_tokens", lambda scanner: (scanned.append(1), fetch(scanner))[1]):
        assert refused_at(text[:MAX_BYTES]) >= 1
    assert len(scanned) <= MAX_TOKENS


def test_aliases_count_as_what_they_stand_for():
    anchor = "a: &a [" + "1, " * 98 + "1]\n"  # 100 nodes
    assert compose(anchor + f"b: [{'*a, ' * (MAX_NODES // 100 - 2)}]\n") is not None
    assert refused_at(anchor + f"b: [{'*a, ' * (MAX_NODES // 100)}]\n") in (1, 2)


def test_aliases_of_aliases_that_double_are_refused():
    doubling = ["x0: &x0 [a]"] + [f"x{at}: &x{at} [*x{at - 1}, *x{at - 1}]" for at in range(1, 60)]
    with pytest.raises(yaml.YAMLError, match="aliases counted in full"):
        compose("\n".join(doubling))


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "&a {*a : b}", "a: &a {b: [1, &c {d: *a}]}"])
def test_an_alias_that_refers_to_itself_is_refused(text):
    with pytest.raises(yaml.YAMLError, match="refers to itself"):
        compose(text)


def test_the_bound_of_a_trusted_file_is_a_parameter():
    text = "- a\n" * 3_000
    with pytest.raises(yaml.YAMLError):
        compose(text)
    assert len(compose(text, bound=10_000).value) == 3_000


PIECES = ["a", "b: ", ": ", "- ", "[", "]", "{", "}", ",", "\n", "\n  ", '"', "'", " #", "&a ", "*a", "!!str ", "|\n"]


def outcome(text, read):
    try:
        return repr(read(text))
    except yaml.MarkedYAMLError as error:
        return error.problem, error.problem_mark and error.problem_mark.line
    except yaml.YAMLError as error:
        return str(error)


def test_within_the_bounds_texts_are_read_as_pyyaml_reads_them():
    chance = random.Random(7)  # noqa: S311  (the same texts each time)
    for _ in range(300):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 10)))
        ours = outcome(text, compose)
        if ours[0] != "an alias refers to itself":
            assert ours == outcome(text, lambda same: yaml.compose(same, Loader=yaml.SafeLoader))


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize(("text", "taken_by"), [("1\t", "libyaml"), ("![", "PyYAML")])
def test_the_loader_of_libyaml_reads_another_language(text, taken_by):
    """Why the faster loader is not used. Where this fails, it may be looked at again."""
    for name, loader in (("PyYAML", yaml.SafeLoader), ("libyaml", yaml.CSafeLoader)):
        if name == taken_by:
            assert yaml.compose(text, Loader=loader) is not None
        else:
            with pytest.raises(yaml.YAMLError):
                yaml.compose(text, Loader=loader)


@pytest.mark.parametrize("escape", ["\\U00110000", "\\UFFFFFFFF", "\\ud800", "\\uDFFF"])
def test_an_escape_that_is_no_character_is_refused_with_its_line(escape):
    assert refused_at(f'name: a\nkey: "{escape}"\n') == 2
    assert refused_at(f'name: a\n"{escape}": b\n') == 2
    assert compose('name: "\\U0010FFFF \\ud7ff \\xe9"') is not None
