"""The web console in a real browser: pages, violations of the content security policy, findings of axe-core."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from offchain.devnet.paths import ROOT

AXE = ROOT / "offchain" / "console" / "node_modules" / "axe-core" / "axe.min.js"
"""From the lock file of the console; scripts/test installs it."""
PATIENCE_MS = 30_000
"""A limit for a broken page, not a measure of a good one."""
PHONE, DESKTOP = 390, 1280
_WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_NOTE_VIOLATIONS = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) =>
      window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""
_RUN_AXE = """(tags) => axe.run(document, {runOnly: tags}).then((found) => found.violations.map(
    (one) => ({id: one.id, impact: one.impact, nodes: one.nodes.map((node) => node.html.slice(0, 200))})))"""
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def chromium() -> str:
    """Return the path of the distribution's Chromium, which scripts/test installs."""
    found = os.environ.get("GANTRY_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        pytest.fail("there is no Chromium: scripts/test installs it, or GANTRY_TEST_CHROMIUM names one")
    return found


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Run a browser without a window for the length of the block."""
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        # Chromium's sandbox does not run as root, and the pages are our own.
        found = await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            yield found
        finally:
            await found.close()


@dataclass
class Console:
    """A console at a URL in a browser window of its own. What its pages do wrong is collected."""

    url: str
    context: BrowserContext
    page: Page
    errors: list[str] = field(default_factory=list)

    async def go(self, path: str) -> None:
        await self.page.goto(self.url + path)

    async def loaded(self) -> None:
        """Wait until nothing on the page is loading."""
        loading = self.page.get_by_text("Loading", exact=False)
        await loading.first.wait_for(state="detached")

    async def axe(self) -> list[dict[str, Any]]:
        """Return the serious and critical findings on the page as it is."""
        await self.page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        found = await self.page.evaluate(_RUN_AXE, _WCAG)
        return [one for one in found if one["impact"] in ("serious", "critical")]

    async def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(await self.page.evaluate(_OVERFLOW))

    async def violations(self) -> list[str]:
        """Return the violations of the content security policy on this page."""
        return list(await self.page.evaluate("window.violations"))

    async def assert_in_order(self) -> None:
        """Fail where a script failed, or the page's policy forbade something."""
        assert self.errors == []
        assert await self.violations() == []


@asynccontextmanager
async def console(
    found: Browser, url: str, *, width: int = DESKTOP, scheme: str = "light", script: str = ""
) -> AsyncIterator[Console]:
    """Open a console. `script` runs in each page before the page's own scripts, as a wallet extension does."""
    context = await found.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    try:
        context.set_default_timeout(PATIENCE_MS)
        await context.add_init_script(_NOTE_VIOLATIONS + script)
        page = await context.new_page()
        made = Console(url, context, page)
        page.on("pageerror", lambda error: made.errors.append(str(error)))
        yield made
    finally:
        await context.close()
