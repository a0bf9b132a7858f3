"""The name of a manifest, read without checking the rest of it."""

import pytest

from offchain.schema.manifest.parse import manifest_name
from offchain.schema.manifest.yaml_reader import MAX_TOKENS


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("name: primes\nservices: {}\n", "primes"),
        ('services: {a: {name: inner}}\nname: "two words"\n', "two words"),
        ("base: &base {name: merged}\n<<: *base\n", "merged"),
        ("name: 7\n", "7"),
        (f"name: {'n' * 64}\n", "n" * 64),
        (f"name: {'n' * 65}\n", None),
        ("name: true\n", None),
        ("name:\n", None),
        ('name: ""\n', None),
        ("name: [a]\n", None),
        ("services: {}\n", None),
        ("- name: a\n", None),
        ("", None),
        ("name: a\n{", None),
        ('name: "\\0"\n', None),
        ('name: "\\ud800"\n', None),
        ('name: "\\U00110000"\n', None),
        ('name: "\\UFFFFFFFF"\n', None),
        (f"name: deep\nx: {'[' * 40}{']' * 40}\n", None),
        (f"name: long\nx: [{'a,' * MAX_TOKENS}]\n", None),
    ],
)
def test_the_name_is_read_if_it_is_a_text(text: str, name: str | None) -> None:
    assert manifest_name(text.encode()) == name


def test_bytes_that_are_not_utf_8_have_no_name() -> None:
    assert manifest_name(b"name: \xff\n") is None
