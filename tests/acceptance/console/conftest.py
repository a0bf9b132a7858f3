"""A gateway with the web console, and Chromium."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from offchain.gateway.api import actions
from tests.support.console_browser import Console, browser, console
from tests.support.console_gateway import ConsoleGateway, console_gateway


@pytest.fixture
async def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ConsoleGateway]:
    monkeypatch.setattr(actions, "_WRITES_PER_S", 1000.0)
    async with console_gateway(tmp_path) as found:
        yield found


@pytest.fixture
async def chrome() -> AsyncIterator[Browser]:
    async with browser() as found:
        yield found


@pytest.fixture
async def here(gateway: ConsoleGateway, chrome: Browser) -> AsyncIterator[Console]:
    """The console of the gateway in one window. At the end its pages must have failed nowhere."""
    async with console(chrome, gateway.url) as found:
        yield found
        await found.assert_in_order()
