"""Hooks of MkDocs: pages of reference, files outside of docs/, and a check that nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import links
import references

ROOT = Path(__file__).resolve().parents[2]
_BESIDE = "repository"
"""Folder of the site with the files of the repository that pages link to."""
_IN_STYLE = re.compile(r"""(?:@import\s+|url\(\s*)["']?(https?:)?//""")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of reference, and the files outside of docs/ that pages link to."""
    for name, page in (
        ("cli", references.cli_page),
        ("api", references.api_page),
        ("manifest", references.manifest_page),
    ):
        files.append(File.generated(config, f"reference/{name}.md", content=page()))
    beside = {
        found
        for file in files.documentation_pages()
        for target in links.targets(file.content_string)
        if (found := _outside(file.src_uri, target)) is not None
    }
    for path in sorted(beside):
        if not (ROOT / path).is_file():
            raise PluginError(f"a page links to {path}, which does not exist")
        files.append(File.generated(config, f"{_BESIDE}/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files outside of docs/ lead to their copies in the site."""
    up = "../" * page.file.src_uri.count("/")
    for target in set(links.targets(markdown)):
        found = _outside(page.file.src_uri, target)
        if found is not None:
            markdown = markdown.replace(f"]({target})", f"]({up}{_BESIDE}/{found})")
    return markdown


def _outside(page: str, target: str) -> str | None:
    """Return the path in the repository of a target outside of docs/; None for all others."""
    if "://" in target or target.startswith(("#", "mailto:")):
        return None
    parts: list[str] = ["docs", *PurePosixPath(page).parent.parts]
    for part in PurePosixPath(target.partition("#")[0]).parts:
        if part == "..":
            if not parts:
                raise PluginError(f"{page}: {target} leaves the repository")
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) if parts[:1] != ["docs"] else None


class _Loaded(HTMLParser):
    """Collects what a page loads from other servers when it is viewed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        names = ("src", "srcset", "poster") if tag != "link" else ("href",)
        if tag == "link" and given.get("rel") in ("canonical", "edit", "prev", "next"):
            return
        self.found += [
            value for name in names if (value := given.get(name)) and value.startswith(("http:", "https:", "//"))
        ]


def on_post_build(config: Any) -> None:
    """Refuse a site whose pages would load something from another server."""
    site = Path(config["site_dir"])
    for path in site.rglob("*.html"):
        loaded = _Loaded()
        loaded.feed(path.read_text(encoding="utf-8"))
        if loaded.found:
            raise PluginError(f"{path.relative_to(site)} loads {loaded.found[0]}")
    for path in site.rglob("*.css"):
        if _IN_STYLE.search(path.read_text(encoding="utf-8")):
            raise PluginError(f"{path.relative_to(site)} loads something from another server")
