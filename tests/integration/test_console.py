"""The web console of the network's gateway: a tenant launches a job in a browser and follows it to its bill."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from tests.support.console_browser import Console, browser, console
from tests.support.local_network import STEPS, Net

TENANT = "Charlie"
SETTLED_MS = 90_000
TWO_MINUTES_S = 120.0
"""The time in which a tenant starts a job from a browser (DESIGN.md)."""


@pytest.fixture
async def here(net: Net) -> AsyncIterator[Console]:
    url = (net.state / "gateway" / "api-url").read_text(encoding="utf-8").strip()
    async with browser() as found, console(found, url) as made:
        yield made
        await made.assert_in_order()


async def connect(here: Console, name: str = TENANT) -> None:
    await here.go("/account")
    await here.page.get_by_role("button", name=name).click()
    await expect(here.page.get_by_text(re.compile("signed in as tenant"))).to_be_visible()


async def launch(here: Console, manifest: str, **variables: str) -> int:
    """Launch a manifest from the page of launches with values of its variables; return the number of its task."""
    page = here.page
    await page.get_by_role("link", name="Launch", exact=True).click()
    await page.get_by_label("Manifest", exact=True).fill(manifest)
    for name, value in variables.items():
        await page.get_by_label(name, exact=True).fill(value)
    await expect(page.get_by_text("the manifest is valid", exact=True)).to_be_visible()
    await expect(page.get_by_text("Price per pod and hour")).to_be_visible()
    await page.get_by_role("button", name="Review and sign").click()
    await page.get_by_role("dialog").get_by_role("button", name=re.compile("^Sign and send")).click()
    await page.wait_for_url(re.compile(r"/tasks/\d+$"))
    return int(page.url.rpartition("/")[2])


async def test_a_tenant_launches_a_job_and_follows_it_to_its_bill(here: Console, net: Net) -> None:
    page = here.page
    async with asyncio.timeout(TWO_MINUTES_S):
        await connect(here)
        image = net.variables["GANTRY_DEMO_IMAGE"]
        task = await launch(here, STEPS.read_text(encoding="utf-8"), GANTRY_DEMO_IMAGE=image, STEPS="2")
        started = page.get_by_text(re.compile("^running|^reported|^verified|^settled"))
        await expect(started.first).to_be_visible()
    # The page follows the events of the chain: nothing is loaded again.
    await expect(page.get_by_text("settled: everybody is paid")).to_be_visible(timeout=SETTLED_MS)
    await expect(page.get_by_text("A pod ended with exit code 0")).to_be_visible()
    await expect(page.get_by_text("agrees", exact=True)).to_be_visible()
    await expect(page.get_by_text("equals what the task has paid")).to_be_visible()
    await net.assert_paid_once(task)
    await page.get_by_role("button", name="Rate", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Sign and send").click()
    await expect(dialog.get_by_text("succeeded")).to_be_visible()
    (lease,) = await net.leases(task)
    assert lease.rated


async def test_a_manifest_with_errors_is_explained_by_line_before_anything_is_paid(here: Console) -> None:
    page = here.page
    await connect(here)
    await page.get_by_role("link", name="Launch", exact=True).click()
    wrong = STEPS.read_text(encoding="utf-8").replace("services:", "services:\n  x: {privileged: true}", 1)
    await page.get_by_label("Manifest", exact=True).fill(wrong)
    button = page.get_by_role("button", name=re.compile(r"^Line \d+"))
    await expect(button.first).to_be_visible()
    await button.first.click()
    await expect(page.get_by_label("Manifest", exact=True)).to_be_focused()
    await expect(page.get_by_role("button", name="Review and sign")).to_be_disabled()


async def test_a_tenant_stops_a_task(here: Console, net: Net) -> None:
    task = await net.submit_until_signal()
    await net.until(task, {"Running"})
    page = here.page
    await connect(here)
    await here.go(f"/tasks/{task}")
    await page.get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Sign and send").click()
    await expect(dialog.get_by_text("succeeded")).to_be_visible()
    await net.until(task, {"Cancelled"})
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("cancelled by its tenant")).to_be_visible()


async def test_a_provider_sees_its_host_and_its_price(here: Console, net: Net, settled: int) -> None:
    (lease,) = await net.leases(settled)
    host = await net.typed.host(lease.host)
    assert host is not None
    await here.go(f"/provider?account={host.provider}")
    await expect(here.page.get_by_role("table", name="Hosts of the provider")).to_contain_text("online")
    await expect(here.page.get_by_text("Payments of leases by day")).to_be_visible()
    await expect(here.page.get_by_role("table", name="Prices beside the market")).to_be_visible()
    await expect(here.page.locator("canvas")).to_be_visible()


async def test_an_operator_sees_that_all_is_well(here: Console, settled: int) -> None:
    assert settled >= 0
    await here.go("/operator")
    await expect(here.page.get_by_role("table", name="Schedulers")).to_contain_text("bonded")
    await expect(here.page.get_by_text("The last final block of the index is")).to_have_count(0)


async def test_every_page_of_a_live_network_is_accessible(here: Console, settled: int) -> None:
    await connect(here)
    found = {}
    for path in ("/", f"/tasks/{settled}", "/market", "/launch", "/provider", "/operator", "/account"):
        await here.go(path)
        await here.page.get_by_role("heading", level=1).wait_for()
        await here.loaded()
        if findings := await here.axe():
            found[path] = findings
    assert found == {}
