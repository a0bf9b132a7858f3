"""Links of Markdown pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_NAMED = re.compile(r"""<a (?:id|name)="([^"]+)">""")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def targets(text: str) -> Iterator[str]:
    """Yield the targets of the links in a page, without those in code."""
    for found in _LINK.finditer(_without_code(text)):
        yield found[1]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page: those that it names, and those of its headings, as code hosts make them."""
    found = set(_NAMED.findall(text))
    for heading in _HEADING.finditer(_FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        number, name = 1, slug
        while name in found:
            name, number = f"{slug}-{number}", number + 1
        found.add(name)
    return found


def _without_code(text: str) -> str:
    return _CODE.sub("", _FENCE.sub("", text))
