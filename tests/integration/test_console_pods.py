"""Logs, a terminal and results of real containers in a browser, through the gateway of the network."""

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from tests.support.console_browser import Console, browser, console
from tests.support.local_network import TENANT, Net, steps_output

LONG = 500
"""Seconds; the pod is cancelled when its test is over."""


@pytest.fixture
async def here(net: Net) -> AsyncIterator[Console]:
    url = (net.state / "gateway" / "api-url").read_text(encoding="utf-8").strip()
    async with browser() as found, console(found, url) as made:
        yield made
        await made.assert_in_order()


@pytest.fixture
async def task(net: Net) -> AsyncIterator[int]:
    """A pod that runs until the test is over."""
    number = await net.submit(steps=LONG)
    await net.until(number, {"Running"})
    yield number
    await net.gantry("task", "cancel", str(number), "--account", TENANT)


async def allow(here: Console, task: int) -> Page:
    """Connect the tenant, and delegate to a key of the page of a task."""
    page = here.page
    await here.go("/account")
    await page.get_by_role("button", name=TENANT.removeprefix("//")).click()
    await expect(page.get_by_text(re.compile("signed in as tenant"))).to_be_visible()
    await here.go(f"/tasks/{task}")
    await page.get_by_role("button", name="Allow access to my pods").click()
    await expect(page.get_by_text("This page may access your pods until")).to_be_visible()
    return page


async def test_a_tenant_follows_a_log_and_works_in_a_terminal(here: Console, task: int) -> None:
    page = await allow(here, task)
    await page.get_by_role("button", name="Logs", exact=True).click()
    log = page.get_by_role("log")
    await expect(log).to_contain_text(f"step 1 of {LONG}")
    seen = (await log.inner_text()).count("step ")
    await expect(log).to_contain_text(f"step {seen + 2} of {LONG}")
    await page.get_by_role("button", name="Terminal", exact=True).click()
    rows = page.locator(".xterm-rows")
    await expect(rows).to_contain_text("$ ")
    await page.keyboard.type("echo task-$GANTRY_TASK-$((40 + 2))")
    await page.keyboard.press("Enter")
    await expect(rows).to_contain_text(f"task-{task}-42")
    # Ctrl-C ends the program in the foreground, which has answered before.
    await page.keyboard.type("sh -c 'echo sleeps-$((40 + 1)); exec sleep 300'")
    await page.keyboard.press("Enter")
    await expect(rows).to_contain_text("sleeps-41")
    await page.keyboard.press("Control+c")
    await page.keyboard.type("exit 7")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("The shell ended with exit code 7")).to_be_visible()


async def test_a_tenant_saves_the_result_of_a_task(here: Console, settled: int) -> None:
    page = await allow(here, settled)
    await page.get_by_role("button", name="Result", exact=True).click()
    async with page.expect_download() as saving:
        await page.get_by_role("button", name="Download the result").click()
    assert (await (await saving.value).path()).read_bytes() == steps_output(3)
    await expect(page.get_by_text("agree with the digest on the chain")).to_be_visible()
