"""The page of a task: its cost against its deposit, and why it waits or runs where it does."""

import json
import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.chain_records import Tasks, task_spec
from tests.support.console_browser import DESKTOP, PHONE, Console, console
from tests.support.console_gateway import ALICE, BOB, MARKUP, ConsoleGateway

AS_OF = {"number": 1, "hash": "0x", "time_ms": 0}
WAITING = {
    "hosts": 3,
    "candidates": 0,
    "candidates_later": 1,
    "pods_needed": 2,
    "pods_now": 0,
    "lowest_rate_per_hour": None,
    "highest_rate_per_hour": None,
    "max_rate_per_hour": str(10**12),
    "excluded": [{"reason": "region_not_wanted", "text": MARKUP, "hosts_now": 2, "hosts_always": 1}],
    "start": "",
    "earliest_start_ms": None,
    "expected_start_ms": None,
}
SCHEDULER = {
    "scheduler": BOB.address,
    "state": "waits",
    "limit": MARKUP,
    "not_before_ms": None,
    "starts_by_ms": None,
    "is_others_turn": False,
    "no_preemption": None,
}
WAIT = {
    "since_ms": 0,
    "at_ms": 9_000,
    "times": 4,
    "hosts": 3,
    "pods_fitting": 1,
    "pods_needed": 2,
    "reserved": 0,
    "excluded": {MARKUP: 2},
}
DECISION = {
    "at_ms": 0,
    "attempt": 1,
    "pods": [{"pod": 0, "host": ALICE.address, "devices": [1]}],
    "outcome": "assigned",
    "reason": None,
    "block": 7,
    "hosts": 3,
    "feasible": 2,
    "excluded": {"above the price limit": 1},
    "best": [{"host": ALICE.address, "devices": [1], "cost": 0.75, "parts": {"draw": 0.75}, "reserved": True}],
}


async def answer(page: Page, **changes: Any) -> None:
    """Have the gateway answer with this placement."""
    none: list[Any] = []
    data = {"task": 7, "state": "Queued", "waits": False, "summary": "It waits for no host.", "unanswered": 0}
    data |= {"pods": none, "feasibility": None, "schedulers": none, **changes}
    await page.route(re.compile("/placement$"), lambda route: route.fulfill(json={"as_of": AS_OF, "data": data}))


@pytest.mark.parametrize(("width", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
async def test_a_task_that_waits_is_explained(
    gateway: ConsoleGateway, chrome: Browser, width: int, scheme: str
) -> None:
    task, _ = gateway.task_in("Running")
    async with console(chrome, gateway.url, width=width, scheme=scheme) as here:
        heard = {**SCHEDULER, "wait": WAIT, "decision": None}
        pods = [{"pod": 0, "host": ALICE.address, "at_risk": MARKUP}]
        await answer(here.page, waits=True, summary=MARKUP, feasibility=WAITING, schedulers=[heard], pods=pods)
        await here.go(f"/tasks/{task.task}")
        placement = here.page.get_by_role("region", name="Placement")
        await expect(
            placement.get_by_text("0 of 3 hosts can run it now, 1 more when running pods have ended")
        ).to_be_visible()
        excluded = placement.get_by_role("region", name="Hosts that cannot run it")
        await expect(excluded.get_by_role("row").filter(has_text=MARKUP)).to_contain_text("21")
        await expect(placement.get_by_text(f"pod 0 is at risk: {MARKUP}")).to_be_visible()
        scheduler = placement.get_by_role("article")
        await expect(scheduler).to_contain_text("1 of the 2 pods that start together would fit on 3 hosts")
        await expect(scheduler).to_contain_text(f"2 {MARKUP}")
        assert await here.page.evaluate("window.owned") is None
        assert await here.axe() == [], json.dumps(await here.axe(), indent=1)
        assert await here.overflow() <= 0
        await here.assert_in_order()


async def test_a_task_that_runs_has_the_decision_that_placed_it(here: Console, gateway: ConsoleGateway) -> None:
    task, _ = gateway.task_in("Running")
    heard = {**SCHEDULER, "state": "unknown", "limit": None, "wait": None, "decision": DECISION}
    await answer(here.page, schedulers=[heard], unanswered=1)
    await here.go(f"/tasks/{task.task}")
    placement = here.page.get_by_role("region", name="Placement")
    await expect(placement.get_by_text("assigned in block 7")).to_be_visible()
    await expect(placement).to_contain_text("2 of 3 hosts were feasible; excluded: 1 above the price limit")
    await expect(placement.get_by_text("1 scheduler of this gateway did not answer.")).to_be_visible()
    await placement.get_by_text("The hosts that were compared").click()
    row = placement.get_by_role("region", name="Hosts that were compared").get_by_role("row").nth(1)
    await expect(row).to_contain_text("0.750")
    await expect(row).to_contain_text("reserved for others")
    assert await here.axe() == [], json.dumps(await here.axe(), indent=1)


async def test_the_cost_so_far_is_shown_against_the_deposit(here: Console, gateway: ConsoleGateway) -> None:
    task, lease = gateway.task_in("Settled")
    await here.go(f"/tasks/{task.task}")
    bar = here.page.get_by_role("meter", name="Cost against deposit")
    share = lease.paid * 1000 // lease.deposited
    await expect(bar).to_have_attribute("aria-valuetext", re.compile(rf"GTY \({share / 10:.1f} %\)$"))
    await expect(bar).to_have_js_property("value", share)
    await expect(here.page.get_by_text(re.compile(rf"\({share / 10:.1f} %\)"))).to_be_visible()
    # This chain in memory has no record of the task, so there is nothing to explain.
    await expect(here.page.get_by_role("heading", name="Timeline")).to_be_visible()
    await expect(here.page.get_by_role("heading", name="Placement")).to_have_count(0)


async def test_a_gateway_explains_a_task_of_its_node(here: Console, gateway: ConsoleGateway) -> None:
    row, _ = gateway.task_in("Running")
    Tasks(gateway.chain).submit(ALICE.address, task_spec(), row.task + 1)
    await gateway.chain.produce(2)
    await here.go(f"/tasks/{row.task}")
    placement = here.page.get_by_role("region", name="Placement")
    await expect(placement.get_by_text("0 of 0 hosts can run it now")).to_be_visible()
    await expect(placement).to_contain_text(f"gantry task why {row.task} --scheduler URL")
