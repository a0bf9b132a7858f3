"""Every link in the documentation leads to a file that exists, and every anchor to a heading."""

import sys

import pytest

from offchain.devnet.paths import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "docs_site"))

from links import anchors, targets

MADE = {"reference/cli.md", "reference/api.md", "reference/manifest.md"}
"""Pages that only the site has."""
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_resolve(page):
    text = page.read_text(encoding="utf-8")
    wrong = []
    for target in targets(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if path in MADE:
            continue
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            wrong.append(target)
    assert wrong == []


def test_links_in_code_do_not_count_and_repeated_headings_have_numbers():
    assert list(targets("`[a](b)` [c](d.md#e)\n```\n[f](g)\n```\n")) == ["d.md#e"]
    assert anchors("# One, two `three`\n## One, two `three`\n```\n# no\n```\n") == {"one-two-three", "one-two-three-1"}
