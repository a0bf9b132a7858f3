"""The web console: what a browser loads first, and how soon the page can be used in Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import websockets
from main_job import BenchError, say
from table import Figure

from offchain.gateway.api.console import FOLDER
from offchain.gateway.api.server import ApiServer, ApiSettings
from web import lists

_LOADS: Final = 10
_PATIENCE_S: Final = 30.0
_KB: Final = 1_000
_NOTE_USABLE: Final = """
    new MutationObserver((_, observer) => {
      const main = document.querySelector("main");
      if (main && main.innerText.trim() && !main.innerText.includes("Loading")) {
        window.usableMs = performance.now();
        observer.disconnect();
      }
    }).observe(document, {childList: true, subtree: true, characterData: true});
"""
"""The page can be used when its main part has text and nothing of it is loading any more."""
_USABLE: Final = """
    new Promise((done) => {
      const bytes = () => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
        .reduce((sum, entry) => sum + entry.transferSize, 0);
      const look = () => window.usableMs ? done([window.usableMs, bytes()]) : setTimeout(look, 20);
      look();
    })
"""
"""Milliseconds until then, and the bytes that were received: headers and compressed bodies, also of the API."""


def measure() -> list[Figure]:
    """Return no figures where the console is not built, and no time where there is no Chromium."""
    index = FOLDER / "index.html"
    if not index.exists():
        say("offchain/gateway/console has no index.html: the console is not in this checkout, and is not measured")
        return []
    figures = [Figure("console-load", "kB", (round(_first_load(index) / _KB, 1),), 300)]
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        say("Chromium is not installed, so the page's time is not measured")
        return figures
    with tempfile.TemporaryDirectory(prefix="gantry-page-") as folder:
        path = Path(folder) / "index.db"
        lists.fill(path, 100, 1_000)
        loads = asyncio.run(_loads(program, path))
    return [
        *figures,
        Figure("console-usable", "s", tuple(round(ms / 1000, 3) for ms, _ in loads), target_p95=1),
        Figure("console-transferred", "kB", tuple(round(size / _KB, 1) for _, size in loads), 300),
    ]


class _Named(HTMLParser):
    """Collects the files that a page names: scripts, modules that are loaded in advance, styles, icons."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (tag, name) in (("script", "src"), ("link", "href")):
                self.paths.add(value.lstrip("/"))


def _first_load(index: Path) -> int:
    """Return the bytes of the page and the files that it names, each compressed as the gateway sends it."""
    named = _Named()
    named.feed(index.read_text(encoding="utf-8"))
    return sum(len(gzip.compress(path.read_bytes())) for path in (index, *(FOLDER / one for one in named.paths)))


async def _loads(program: str, index: Path) -> list[tuple[float, float]]:
    """Load the start page several times, each in a new profile without a cache.

    Return milliseconds from the navigation until it can be used, and the bytes that were transferred for it.
    """
    settings = ApiSettings(host="127.0.0.1", port=0, index=str(index), requests_per_s=10_000, development=True)
    async with ApiServer(settings).listening() as url, _browser(program) as browser:
        return [await _load(browser, url) for _ in range(_LOADS)]


async def _load(browser: _Browser, url: str) -> tuple[float, float]:
    context = await browser.call("Target.createBrowserContext")
    made = await browser.call("Target.createTarget", url="about:blank", browserContextId=context["browserContextId"])
    attached = await browser.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)
    session = attached["sessionId"]
    await browser.call("Page.enable", session)
    await browser.call("Page.addScriptToEvaluateOnNewDocument", session, source=_NOTE_USABLE)
    await browser.call("Page.navigate", session, url=url)
    found = await browser.call("Runtime.evaluate", session, expression=_USABLE, awaitPromise=True, returnByValue=True)
    await browser.call("Target.disposeBrowserContext", browserContextId=context["browserContextId"])
    ms, size = found["result"]["value"]
    return float(ms), float(size)


class _Browser:
    """A connection to Chromium's DevTools: one call at a time."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    async def call(self, method: str, session: str | None = None, /, **parameters: Any) -> dict[str, Any]:
        """Call a method, and return its result. Raises BenchError."""
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        await self._socket.send(json.dumps(request | ({"sessionId": session} if session else {})))
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                answer = json.loads(await self._socket.recv())
                if answer.get("id") == self._number:
                    break
        if "error" in answer:
            raise BenchError(f"Chromium refused {method}: {answer['error'].get('message')}")
        return dict(answer["result"])


@contextlib.asynccontextmanager
async def _browser(program: str) -> AsyncIterator[_Browser]:
    """Run Chromium without a window. It runs without its sandbox, which root cannot use; the pages are our own."""
    with tempfile.TemporaryDirectory(prefix="gantry-chromium-", ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        process = await asyncio.create_subprocess_exec(
            *(program, *options, f"--user-data-dir={profile}", "about:blank"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            address = ""
            async with asyncio.timeout(_PATIENCE_S):
                while line := await process.stderr.readline():
                    if found := re.search(rb"DevTools listening on (ws://\S+)", line):
                        address = found[1].decode()
                        break
            if not address:
                raise BenchError("Chromium did not start")
            async with websockets.connect(address, max_size=None) as socket:
                yield _Browser(socket)
        finally:
            process.terminate()
            await process.wait()
