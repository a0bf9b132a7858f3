"""Variables in a manifest: what Compose does, and where we refuse instead."""

import pytest
import yaml

from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.variables import resolve

ENV = {"SET": "value", "EMPTY": "", "NAME": "SET"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$SET", "value"),
        ("${SET}", "value"),
        ("a${SET}b", "avalueb"),
        ("${SET:-other}", "value"),
        ("${EMPTY:-other}", "other"),
        ("${EMPTY-other}", ""),
        ("${UNSET-other}", "other"),
        ("${UNSET:-}", ""),
        ("${UNSET:-${SET}}", "value"),
        ("${UNSET:-a ${ALSO:-b ${SET}}}", "a b value"),
        ("${SET:+there}", "there"),
        ("${EMPTY:+there}", ""),
        ("${EMPTY+there}", "there"),
        ("${UNSET+there}", ""),
        ("${SET:?why}", "value"),
        ("${EMPTY?why}", ""),
        ("$$SET", "$SET"),
        ("$${SET}", "${SET}"),
        ("$$$SET", "$value"),
        ("no variable", "no variable"),
    ],
)
def test_what_a_value_becomes(text: str, expected: str) -> None:
    assert yaml.safe_load(resolve(f'a: "{text}"', ENV)) == {"a": expected}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$UNSET", "the variable UNSET is not set"),
        ("${UNSET}", "the variable UNSET is not set"),
        ("${UNSET:?ask Ann}", "the variable UNSET is not set: ask Ann"),
        ("${EMPTY:?ask Ann}", "the variable EMPTY is not set: ask Ann"),
        ("${UNSET?}", "the variable UNSET is not set"),
        ("${", "no closing brace"),
        ("${SET", "no closing brace"),
        ("${}", "is not a variable"),
        ("${1}", "is not a variable"),
        ("${SET!x}", "is not a variable"),
        ("$1", "is not a variable"),
        ("5$", "is not a variable"),
    ],
)
def test_a_wrong_variable_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        resolve(f"a: 1\nb: '{text}'\n", ENV, source="t.yaml")
    (problem,) = caught.value.problems
    assert message in problem.message
    assert problem.line == 2


def test_keys_and_comments_are_left_alone() -> None:
    text = "# ${UNSET}\n${UNSET}: 1 # $1\n"
    assert resolve(text, ENV) == text


def test_a_plain_number_stays_a_number() -> None:
    assert yaml.safe_load(resolve("count: ${N}", {"N": "2"})) == {"count": 2}


@pytest.mark.parametrize("value", ["x\ny", "a: b", "# c", "[", "}", "'", '"', "\\n", " ", "", "- d", "*e", "é\u2028"])
@pytest.mark.parametrize(
    "template",
    ["a: ${V}\n", 'a: "${V}"\n', "a: '${V}'\n", 'a: [1, "${V}"]\n', "a: |\n  x ${V}\n  y\n", "a: >-\n  ${V}\n"],
)
def test_a_value_never_changes_the_structure(template: str, value: str) -> None:
    marked = yaml.safe_load(template.replace("${V}", "MARK"))
    expected = yaml.safe_load(yaml.safe_dump(marked))
    found = yaml.safe_load(resolve(template + "z: 1\n", {"V": value}))
    replaced = [item.replace("MARK", value) if isinstance(item, str) else item for item in _flat(expected["a"])]
    assert [str(item) for item in _flat(found["a"])] == [str(item) for item in replaced]
    assert found["z"] == 1


def test_lines_stay_where_they_were() -> None:
    text = "a: |\n  one ${V}\n  two\nb: 1\n"
    found = resolve(text, {"V": "x\ny"})
    assert found.splitlines()[3] == "b: 1"


def test_text_that_is_not_yaml_is_left_for_the_parser() -> None:
    assert resolve("a: [${SET}", ENV) == "a: [${SET}"


def _flat(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
