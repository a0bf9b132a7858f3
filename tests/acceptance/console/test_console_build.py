"""The console's functions, and that its assets are what its sources give. Node.js runs both."""

import asyncio
import shutil
import sys
from pathlib import Path

from offchain.devnet.paths import ROOT
from tests.support.local_network import run

BUILD = Path("scripts") / "build-console"
CONSOLE = Path("offchain") / "console"
ASSETS = Path("offchain") / "gateway" / "console"


async def test_the_functions_of_the_console() -> None:
    done = await run(sys.executable, ROOT / BUILD, "--test", env={})
    assert done.code == 0, done.said
    assert "passed" in done.err


async def test_the_assets_are_what_the_sources_give() -> None:
    done = await run(sys.executable, ROOT / BUILD, "--verify", env={})
    assert done.code == 0, done.said


async def test_altered_assets_and_changed_sources_are_refused_without_node(tmp_path: Path) -> None:
    """The check of a clone in which something was changed; PATH has no Node.js."""

    def copy() -> None:
        shutil.copytree(ROOT / CONSOLE, tmp_path / CONSOLE, ignore=shutil.ignore_patterns("node_modules"))
        shutil.copytree(ROOT / ASSETS, tmp_path / ASSETS)
        (tmp_path / BUILD).parent.mkdir()
        shutil.copy(ROOT / BUILD, tmp_path / BUILD)

    async def check() -> tuple[int, str]:
        done = await run(sys.executable, tmp_path / BUILD, "--check", env={"PATH": "/nonexistent"})
        return done.code, done.err

    await asyncio.to_thread(copy)
    assert await check() == (0, "")
    source, asset = tmp_path / CONSOLE / "src" / "main.tsx", tmp_path / ASSETS / "index.html"
    text, page = source.read_text(encoding="utf-8"), asset.read_bytes()
    source.write_text(text + "\n", encoding="utf-8")
    code, says = await check()
    assert code == 1
    assert "sources of the console have changed" in says
    source.write_text(text, encoding="utf-8")
    asset.write_bytes(page + b" ")
    code, says = await check()
    assert code == 1
    assert "were altered" in says
    asset.unlink()
    assert (await check())[0] == 1
