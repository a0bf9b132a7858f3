"""The source tree in docs/architecture.md is the tree of the repository."""

import re

from offchain.devnet.paths import ROOT

TESTS_DEPTH = 2
"""Below `tests/KIND` the folders follow the packages; the page does not list them."""


def folders_of_the_page() -> set[str]:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = page.split("## The source tree", 1)[1].split("```", 2)[1]
    found, path = set(), []
    for line in tree.splitlines():
        if match := re.match(r"( *)([a-z_]+)/", line):
            depth = len(match[1]) // 2
            path = [*path[:depth], match[2]]
            found.add("/".join(path))
    return found - {"chain", "tests"}


def folders_of_the_repository() -> set[str]:
    found = set()
    for top in ("offchain", "node_agent", "tests"):
        for file in (ROOT / top).rglob("*.py"):
            parts = file.relative_to(ROOT).parts[:-1]
            if top == "tests":
                parts = parts[:TESTS_DEPTH]
            found |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return found - {"tests"}


def test_the_source_tree_of_the_page_is_that_of_the_repository():
    assert folders_of_the_page() == folders_of_the_repository()
