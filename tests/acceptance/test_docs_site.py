"""The documentation site: scripts/docs builds it, and refuses broken links and pages that load from other servers."""

import subprocess
from pathlib import Path

from offchain.devnet.paths import ROOT

LIMIT_S = 240
"""A build takes about 20 s on two cores; beside other suites several times that."""


def build(clone: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [str(clone / "scripts" / "docs"), str(site)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_S, cwd=site.parent)


def test_the_site_is_built_with_its_references_and_nothing_on_it_is_broken(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    for page in ("index.html", "quickstart-tenant.html", "adr/index.html", "runbook/agent.html"):
        assert (tmp_path / "site" / page).is_file(), page
    reference = {name: tmp_path / "site" / "reference" / f"{name}.html" for name in ("api", "cli", "manifest")}
    assert "/v1/accounts/{account}/escrows" in reference["api"].read_text(encoding="utf-8")
    assert "gantry submit" in reference["cli"].read_text(encoding="utf-8")
    assert "x-gantry" in reference["manifest"].read_text(encoding="utf-8")


def test_broken_links_and_pages_that_load_from_elsewhere_are_refused(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True, timeout=LIMIT_S)
    with (clone / "docs" / "faq.md").open("a", encoding="utf-8") as page:
        page.write("\n[gone](no-such-page.md) [anchor](console.md#no-such-heading)\n")
        page.write('\n<img alt="" src="https://example.org/pixel.png">\n')
    done = build(clone, tmp_path / "site")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    for part in ("no-such-page.md", "no-such-heading", "https://example.org/pixel.png"):
        assert part in said, said
