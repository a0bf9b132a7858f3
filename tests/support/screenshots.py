"""Make the pictures of docs/images from a running console: `python -m tests.support.screenshots URL FOLDER`."""

import asyncio
import json
import sys
import urllib.request
from pathlib import Path
from typing import Any, Final

from tests.support.console_browser import PHONE, Console, browser, console

OPERATOR: Final = "Alice"
"""The operator of a local network, who sees alerts."""
_SETTLE_MS: Final = 400
"""After the data is there, charts are drawn."""


def newest(url: str, path: str) -> Any:
    """Return the first entry of a list of the API, or None."""
    with urllib.request.urlopen(f"{url}{path}") as answer:  # noqa: S310 - the URL is the caller's
        found = json.load(answer)["data"]
    return found[0] if found else None


async def connect(here: Console, name: str) -> None:
    """Connect a development account, where the network has them."""
    await here.go("/account")
    await here.page.get_by_role("heading", level=1).wait_for()
    button = here.page.get_by_role("button", name=name)
    if await button.count():
        await button.click()
        await here.page.get_by_text("signed in as").wait_for()


async def take(here: Console, path: str, file: Path) -> None:
    await here.go(path)
    await here.page.get_by_role("heading", level=1).wait_for()
    await here.loaded()
    await here.page.wait_for_timeout(_SETTLE_MS)
    await here.page.screenshot(path=file)
    sys.stdout.write(f"{file}\n")


async def main(url: str, folder: Path) -> None:
    task = newest(url, "/v1/tasks?state=Settled&limit=1") or newest(url, "/v1/tasks?limit=1")
    host = newest(url, "/v1/hosts?limit=1")
    pages = {
        "explorer": "/",
        "market": "/market",
        "launch": "/launch",
        "operator": "/operator",
        "own-account": "/account",
    }
    if task is not None:
        pages |= {"task": f"/tasks/{task['task']}", "account": f"/accounts/{task['tenant']}"}
    if host is not None:
        pages["provider"] = f"/provider?account={host['provider']}"
    async with browser() as found:
        for scheme, suffix in (("light", ""), ("dark", "-dark")):
            async with console(found, url, scheme=scheme) as here:
                await connect(here, OPERATOR)
                for name, path in pages.items():
                    await take(here, path, folder / f"console-{name}{suffix}.png")
        async with console(found, url, scheme="dark", width=PHONE) as here:
            await take(here, pages.get("task", "/"), folder / "console-phone.png")


if __name__ == "__main__":
    pictures = Path(sys.argv[2])
    pictures.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(sys.argv[1].rstrip("/"), pictures))
