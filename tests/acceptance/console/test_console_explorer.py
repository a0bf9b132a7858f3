"""The explorer in a browser: search, records of the chain, live changes, and what strangers can put into them."""

import json
import re

import aiohttp
import pytest
from playwright.async_api import Browser, Route, expect

from offchain.indexer.state_rows import ModelPriceRow
from tests.support.console_browser import DESKTOP, PHONE, Console, console
from tests.support.console_gateway import ALICE, MARKUP, ConsoleGateway
from tests.support.history_blocks import HOSTS

MOST_FIRST_LOAD = 300_000
MOST_INTERACTIVE_MS = 1_000
MOST_BLOCKS = 500
"""Made blocks until a task that is assigned has started."""


async def test_a_search_leads_to_what_it_names(here: Console, gateway: ConsoleGateway) -> None:
    task, lease = gateway.task_in("Settled")
    page = here.page
    await here.go("/")
    for text, title in (
        (str(lease.result_digest), f"Lease {lease.lease}"),
        (str(lease.lease), f"Lease {lease.lease}"),
        (task.tenant, "Account"),
        (lease.host, "Search"),
    ):
        await page.get_by_role("searchbox").fill(text)
        await page.get_by_role("button", name="Search").click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text(title)
    # A host is an account as well: both are offered.
    await expect(page.get_by_role("row", name=re.compile("^host"))).to_be_visible()
    await page.get_by_role("searchbox").fill("nonsense!")
    await page.get_by_role("button", name="Search").click()
    await expect(page.get_by_role("alert")).to_contain_text("not a number, hash, digest or address")


async def test_a_task_has_its_timeline_leases_and_payments(here: Console, gateway: ConsoleGateway) -> None:
    task, lease = gateway.task_in("Settled")
    page = here.page
    await here.go(f"/tasks/{task.task}")
    await expect(page.get_by_text("settled: everybody is paid")).to_be_visible()
    timeline = page.locator(".timeline li")
    await expect(timeline.first).to_contain_text("Submitted")
    await expect(page.get_by_text("Settled: the bills are paid")).to_be_visible()
    await expect(page.get_by_text("equals what the task has paid")).to_be_visible()
    await expect(
        page.get_by_role("link", name=f"pod {lease.pod}, attempt {lease.generation + 1}").first
    ).to_be_visible()
    await expect(page.get_by_text(f"gantry audit prove task {task.task}")).to_be_visible()
    await timeline.first.locator("summary").click()
    await expect(timeline.first.locator("dl")).to_contain_text("manifest_digest")


async def test_the_bill_that_the_page_computes_is_compared_with_the_chains(
    here: Console, gateway: ConsoleGateway
) -> None:
    # Made blocks have random amounts, and pods that ran for two seconds at 1 GTY an hour: a job cannot cost that.
    _, lease = gateway.task_in("Settled")
    assert lease.paid > 10**12
    assert lease.started_ms is not None
    assert lease.ended_ms is not None
    ran_ms = min(lease.ended_ms - lease.started_ms, lease.wall_ms or 0)
    computed = f"0.{lease.rate_per_hour * ran_ms // 3_600_000:012}".rstrip("0")
    await here.go(f"/leases/{lease.lease}")
    await expect(here.page.get_by_text("differs", exact=True)).to_be_visible()
    await expect(here.page.get_by_role("cell", name=f"{computed} GTY")).to_be_visible()


async def test_a_task_page_shows_a_change_without_a_reload(here: Console, gateway: ConsoleGateway) -> None:
    task, _ = gateway.task_in("Assigned")
    await here.go(f"/tasks/{task.task}")
    await expect(here.page.get_by_text("assigned: the host prepares it")).to_be_visible()
    await expect(here.page.get_by_text("live", exact=True)).to_be_visible()
    for _ in range(MOST_BLOCKS):
        gateway.grow()
        if gateway.state_of(task.task) != "Assigned":
            break
    await expect(here.page.get_by_text("A pod started").first).to_be_visible()
    await expect(here.page.get_by_text("assigned: the host prepares it")).to_have_count(0)


async def test_the_explorer_follows_the_chain(here: Console, gateway: ConsoleGateway) -> None:
    await here.go("/")
    await expect(here.page.get_by_text("live", exact=True)).to_be_visible()
    number = gateway.grow(3)
    await expect(here.page.get_by_role("link", name=str(number), exact=True).first).to_be_visible()


async def test_a_block_has_documented_events_and_extrinsics_with_their_errors(here: Console) -> None:
    page = here.page
    await here.go("/blocks/50")
    await expect(page.get_by_text("failed: Tasks.NoSuchTask")).to_be_visible()
    await expect(page.get_by_text("1 item of the batch failed")).to_be_visible()
    await page.get_by_role("link", name="Next block").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Block 51")
    # Who follows a link with the keyboard goes on reading at the new page's heading.
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await page.go_back()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Block 50")


async def test_every_coin_of_an_account_is_on_its_page_and_in_its_csv(here: Console, gateway: ConsoleGateway) -> None:
    task, _ = gateway.task_in("Settled")
    page = here.page
    await here.go(f"/accounts/{task.tenant}")
    await expect(page.get_by_role("table", name="Movements of coins")).to_be_visible()
    path = await page.get_by_role("link", name="Download as CSV").get_attribute("href")
    async with aiohttp.ClientSession() as session, session.get(gateway.url + str(path)) as answer:
        rows = (await answer.text()).splitlines()
    shown = await page.locator("tbody tr").count()
    assert len(rows) - 1 >= shown > 0
    await page.get_by_role("link", name="Tasks").last.click()
    await expect(page.get_by_role("link", name=str(task.task), exact=True)).to_be_visible()


async def test_what_does_not_exist_is_said_with_what_to_do(here: Console) -> None:
    page = here.page
    for path, says in (("/tasks/99999999", "There is no task 99999999"), ("/tasks/x", "task"), ("/blocks/-1", "block")):
        await here.go(path)
        await expect(page.get_by_role("alert")).to_contain_text(says)
    await here.go("/no/such/page")
    await expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")


@pytest.mark.parametrize("path", ["/v1/leases", "/v1/tasks/4"], ids=["a list", "a resource"])
@pytest.mark.parametrize("status", [429, 503])
async def test_what_failed_for_a_moment_is_read_again(here: Console, path: str, status: int) -> None:
    asked: list[str] = []

    async def once(route: Route) -> None:
        asked.append(route.request.url)
        problem = {"status": status, "code": "too_many_requests", "detail": "Not now."}
        await (route.fulfill(status=status, json=problem) if len(asked) == 1 else route.continue_())

    await here.page.route(re.compile(rf"{path}(\?.*)?$"), once)
    await here.page.clock.install()
    await here.go("/tasks/4")
    await expect(here.page.get_by_role("alert").first).to_contain_text("Not now.")
    await here.page.clock.fast_forward(6_000)
    await expect(here.page.get_by_role("alert")).to_have_count(0)
    await expect(here.page.get_by_role("table", name="Leases")).to_be_visible()
    assert len(asked) > 1


async def test_names_that_are_markup_are_shown_as_text(here: Console) -> None:
    page = here.page
    for path in ("/market", f"/hosts/{HOSTS[2]}", "/operator", "/search?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"):
        await here.go(path)
        await here.loaded()
        if path == "/market":
            await expect(page.get_by_text(MARKUP).first).to_be_visible()
        assert await page.evaluate("window.owned") is None
        assert await page.locator("img[src=x]").count() == 0
        await here.assert_in_order()


async def test_an_answer_of_the_api_that_is_markup_is_shown_as_text(here: Console) -> None:
    """What a hostile gateway, index or proxy puts into any text of an answer does not become a script either."""
    page = here.page
    event = {"id": "1.1", "block": 1, "index": 1, "time_ms": 0, "extrinsic": None, "error": MARKUP}
    event |= {"pallet": MARKUP, "name": MARKUP, "fields": {MARKUP: MARKUP}, "documentation": MARKUP}
    answer = {"as_of": {"number": 1, "hash": "0x", "time_ms": 0}, "data": [event], "next": None}
    await page.route("**/v1/events?*", lambda route: route.fulfill(json=answer))
    problem = {"status": 404, "code": MARKUP, "title": MARKUP, "detail": MARKUP, "hint": MARKUP, "field": MARKUP}
    await page.route("**/v1/hosts/*", lambda route: route.fulfill(status=404, json=problem))
    await here.go("/tasks/4")
    await expect(page.get_by_text(MARKUP).first).to_be_visible()
    await here.go(f"/hosts/{HOSTS[0]}")
    await expect(page.get_by_role("alert")).to_contain_text(MARKUP)
    assert await page.evaluate("window.owned") is None


async def test_filters_of_the_market_are_in_the_url(here: Console) -> None:
    page = here.page
    await here.go("/market")
    await expect(page.get_by_role("row", name=re.compile("Tiny")).first).to_contain_text("simulated")
    await page.get_by_role("combobox", name=re.compile("^GPUs")).select_option("false")
    await page.get_by_label("Price an hour, at most (GTY)").fill("3.5")
    await page.get_by_label("Region").focus()
    await expect(page).to_have_url(re.compile(r"/market\?max_price=3\.5&simulated=false$"))
    offers = page.get_by_role("table", name="Offers")
    await expect(offers.get_by_role("row", name=re.compile("H100"))).to_be_visible()
    await expect(offers.get_by_role("row", name=re.compile("Tiny"))).to_have_count(0)
    await page.reload()
    await expect(offers.get_by_role("row", name=re.compile("H100"))).to_be_visible()
    await page.get_by_label("Price an hour, at most (GTY)").fill("0.1")
    await page.get_by_label("Region").focus()
    await expect(page.get_by_text("No offer fits these filters.")).to_be_visible()
    await page.go_back()
    await expect(offers.get_by_role("row", name=re.compile("H100"))).to_be_visible()


async def test_the_market_shows_the_prices_of_a_model_over_time(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    hour = ModelPriceRow(0, "Tiny", 1, 1, 1, 10**12, 3 * 10**12, 2 * 10**12, 1000)
    gateway.db.upsert(ModelPriceRow, [hour])
    await here.go("/market")
    await page.get_by_role("link", name="Tiny").first.click()
    await expect(page.get_by_role("heading", name="Price history of Tiny")).to_be_visible()
    await expect(page.locator("canvas")).to_have_count(1)
    await page.get_by_text("Lowest, mean, highest and last").click()
    for name, price in (("lowest price", 1), ("median price", 3), ("mean paid", 2)):
        row = page.get_by_role("row").filter(has=page.get_by_role("cell", name=name, exact=True))
        await expect(row).to_contain_text(f"{price} GTY")
    assert await here.axe() == [], json.dumps(await here.axe(), indent=1)
    async with page.expect_request(re.compile("days=400")):
        await page.get_by_role("combobox", name=re.compile("^Time")).select_option("400")
    await here.go("/market?model=H100")
    await expect(page.get_by_text("The index has no prices of this model in this time.")).to_be_visible()


async def test_an_operator_sees_problems_first(here: Console) -> None:
    await here.go("/operator")
    problems = here.page.get_by_role("region").or_(here.page.locator("section")).filter(has_text="Problems").first
    await expect(problems).to_contain_text("1 GPU is unhealthy")
    await expect(problems).to_contain_text("The last final block of the index is")


async def test_all_pages_work_without_a_mouse(here: Console) -> None:
    page = here.page
    await here.go("/")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()
    await page.get_by_role("searchbox").focus()
    await page.keyboard.type("50")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Search")
    await page.get_by_role("link", name="50", exact=True).first.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_be_focused()


async def test_a_theme_that_was_chosen_stays(here: Console) -> None:
    page = here.page
    await here.go("/")
    light = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    for _ in range(2):
        await page.get_by_role("button", name=re.compile("^Theme")).click()
    await page.reload()
    await expect(page.get_by_role("button", name=re.compile("^Theme: dark"))).to_be_visible()
    assert await page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light


def _paths(gateway: ConsoleGateway) -> list[str]:
    task, lease = gateway.task_in("Settled")
    of_records = [f"/tasks/{task.task}", f"/leases/{lease.lease}", f"/hosts/{HOSTS[2]}", f"/accounts/{task.tenant}"]
    of_records += [f"/accounts/{task.tenant}?tab=events", f"/digests/{task.manifest_digest}", "/blocks/50"]
    of_records += ["/challenges/1", f"/disputes/{gateway.disputed}", f"/hosts/{HOSTS[0]}"]
    lists = [
        "/challenges",
        "/disputes",
        "/",
        "/blocks",
        "/tasks",
        "/hosts",
        "/search?q=7",
        "/search?q=x!",
        "/nothing",
        "/state",
        "/state?kind=storage",
    ]
    return [*of_records, *lists, "/market", "/launch", f"/provider?account={ALICE.address}", "/operator", "/account"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
async def test_no_page_has_a_serious_finding_of_axe(
    gateway: ConsoleGateway, chrome: Browser, width: int, scheme: str
) -> None:
    found = {}
    async with console(chrome, gateway.url, width=width, scheme=scheme) as here:
        for path in _paths(gateway):
            await here.go(path)
            await here.page.get_by_role("heading", level=1).wait_for()
            await here.loaded()
            findings = await here.axe()
            if await here.overflow() > 0:
                findings.append({"id": "wider-than-its-window"})
            if findings:
                found[path] = findings
            await here.assert_in_order()
    assert found == {}, json.dumps(found, indent=1)


async def test_the_first_load_is_small_quick_and_from_the_gateway_alone(
    gateway: ConsoleGateway, chrome: Browser
) -> None:
    async with console(chrome, gateway.url) as here:
        asked: list[str] = []
        here.page.on("request", lambda request: asked.append(request.url))
        await here.go("/")
        await here.page.get_by_role("table", name="Latest tasks").wait_for()
        times = await here.page.evaluate(
            "({ready: performance.getEntriesByType('navigation')[0].domInteractive,"
            " bytes: performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
            ".filter((one) => !one.name.includes('/v1/')).reduce((sum, one) => sum + one.encodedBodySize, 0)})"
        )
        assert all(url.startswith(gateway.url + "/") for url in asked), asked
    assert 0 < times["bytes"] < MOST_FIRST_LOAD
    assert times["ready"] < MOST_INTERACTIVE_MS
