"""What operators and providers see of Prometheus, and the validators: with answers that a test makes."""

import json
import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from offchain.adapters.keys.wallet_signature import is_signed_by
from tests.support.console_browser import DESKTOP, PHONE, Console, console
from tests.support.console_gateway import ALICE, BOB, MARKUP, ConsoleGateway

AS_OF = {"number": 1, "hash": "0x", "time_ms": 0}
ALERT = {
    "name": "GantryDeviceSlow",
    "state": "firing",
    "severity": "ticket",
    "summary": MARKUP,
    "runbook": MARKUP,
    "since_ms": 0,
    "job": "agent",
    "instance": MARKUP,
    "host": None,
}
PROCESS = {"job": "workers", "instance": "w:1", "host": None, "up": True, "waiting_calls": 12, "dead_letters": 3}


async def answer(page: Page, path: str, data: Any) -> None:
    await page.route(re.compile(path), lambda route: route.fulfill(json={"as_of": AS_OF, "data": data}))


async def connect(here: Console, name: str, *roles: str) -> Page:
    """Connect an account, to which the gateway gives further roles."""

    async def with_roles(route: Route) -> None:
        found = await (got := await route.fetch()).json()
        if "data" in found and "roles" in found["data"]:
            found["data"]["roles"] += roles
        await route.fulfill(response=got, json=found)

    await here.page.route(re.compile(r"/v1/(sign-in|session)$"), with_roles)
    await here.go("/account")
    await here.page.get_by_role("button", name=name).click()
    await expect(here.page.get_by_text(re.compile("^signed in as"))).to_be_visible()
    return here.page


@pytest.mark.parametrize(("width", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
async def test_an_operator_sees_alerts_outboxes_and_validators(
    gateway: ConsoleGateway, chrome: Browser, width: int, scheme: str
) -> None:
    gateway.chain.storage["Session", "Validators"][()] = [ALICE.address, BOB.address]
    gateway.chain.storage["Session", "DisabledValidators"][()] = [(1, 0)]
    gateway.chain.storage["Session", "CurrentIndex"][()] = 7
    await gateway.chain.produce(1)
    async with console(chrome, gateway.url, width=width, scheme=scheme) as here:
        await answer(here.page, "/v1/monitoring$", {"alerts": [ALERT], "processes": [PROCESS]})
        page = await connect(here, "Alice", "operator")
        await here.go("/operator")
        await expect(page.get_by_role("table", name="Alerts")).to_contain_text(MARKUP)
        process = page.get_by_role("table", name="Processes").get_by_role("row").filter(has_text="workers")
        await expect(process).to_contain_text("12")
        await expect(process).to_contain_text("3")
        await expect(page.get_by_text("2 in session 7.")).to_be_visible()
        disabled = page.get_by_role("table", name="Validators").get_by_role("row").filter(has_text=BOB.address[:6])
        await expect(disabled).to_contain_text("disabled for a fault")
        assert await page.evaluate("window.owned") is None
        assert await here.axe() == [], json.dumps(await here.axe(), indent=1)
        assert await here.overflow() <= 0
        await here.assert_in_order()


async def test_a_gateway_without_a_prometheus_says_so(here: Console) -> None:
    page = await connect(here, "Alice", "operator")
    await here.go("/operator")
    await expect(page.get_by_text("This gateway reads no Prometheus.")).to_be_visible()


async def test_a_provider_sees_measurements_of_its_host_over_time(here: Console, gateway: ConsoleGateway) -> None:
    host = gateway.host_of(BOB.address)
    times = [number * 600_000 for number in range(144)]
    values = [None, *range(143)]
    device = {"device": 0, "utilisation_percent": values, "temperature_celsius": values, "power_watts": values}
    links = {"pcie_received_bytes_per_s": [2_500_000] * 144, "pcie_sent_bytes_per_s": [1_000_000] * 144}
    names = ("sm_clock_mhz", "nvlink_received_bytes_per_s", "nvlink_sent_bytes_per_s", "nvlink_errors")
    series = [{**device, **links, "pcie_replays": [0] * 144, **dict.fromkeys(names, [None] * 144)}]
    await answer(here.page, "/measurements", {"times_ms": times, "devices": series})
    await here.go(f"/hosts/{host}")
    await expect(here.page.get_by_role("heading", name="Price list")).to_be_visible()
    await expect(here.page.get_by_role("heading", name="Measurements of its GPUs")).to_have_count(0)
    page = await connect(here, "Bob")
    await here.go(f"/hosts/{host}")
    await expect(page.get_by_text("Temperature, °C")).to_be_visible()
    # A driver that counts nothing of NVLink has no chart of it, and a counted 0 is shown.
    await expect(page.get_by_text("PCIe traffic, MB/s")).to_be_visible()
    await expect(page.get_by_text("PCIe and NVLink errors, count")).to_be_visible()
    await expect(page.get_by_text("NVLink traffic")).to_have_count(0)
    await expect(page.locator("canvas")).to_have_count(6)
    await page.get_by_text("Lowest, mean, highest and last").nth(4).click()
    received = page.get_by_role("row").filter(has=page.get_by_role("cell", name="GPU 0 received", exact=True))
    await expect(received).to_contain_text("2.5 MB/s")
    await page.get_by_text("Lowest, mean, highest and last").nth(1).click()
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name="GPU 0", exact=True))
    await expect(row.filter(has_text="142 °C")).to_contain_text("71 °C")
    async with page.expect_request(re.compile("measurements.hours=168")):
        await page.get_by_role("combobox", name=re.compile("^Time")).select_option("168")
    assert await here.axe() == [], json.dumps(await here.axe(), indent=1)


async def test_a_tenant_sees_the_usage_of_its_task_over_time(here: Console, gateway: ConsoleGateway) -> None:
    task, _ = gateway.task_in("Running")
    times = [number * 600_000 for number in range(144)]
    mib = 1 << 20
    pod = {"pod": 0, "cpu_cores": [None, *[0.25] * 143], "memory_bytes": [number * mib for number in range(144)]}
    no_gpus = {"gpu_utilisation_percent": [None] * 144, "gpu_memory_bytes": [None] * 144}
    await answer(here.page, "/usage", {"times_ms": times, "pods": [{**pod, **no_gpus}]})
    await here.go(f"/tasks/{task.task}")
    await expect(here.page.get_by_role("heading", name="Timeline")).to_be_visible()
    await expect(here.page.get_by_role("heading", name="Usage")).to_have_count(0)
    page = await connect(here, "Alice", "operator")
    await here.go(f"/tasks/{task.task}")
    await expect(page.get_by_text("Processors, cores")).to_be_visible()
    await expect(page.locator("canvas")).to_have_count(2)
    await page.get_by_text("Lowest, mean, highest and last").nth(0).click()
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name="pod 0", exact=True))
    await expect(row.first).to_contain_text("0.25 cores")
    await page.get_by_text("Lowest, mean, highest and last").nth(1).click()
    await expect(row.filter(has_text="143 MiB")).to_be_visible()
    async with page.expect_request(re.compile("usage.hours=1$")):
        await page.get_by_role("combobox", name=re.compile("^Time")).select_option("1")
    assert await here.axe() == [], json.dumps(await here.axe(), indent=1)


async def test_an_operator_restarts_a_process_by_a_signed_text(here: Console) -> None:
    page, given = here.page, []

    async def restart(route: Route) -> None:
        given.append(route.request.post_data_json)
        if len(given) == 1:
            problem = {"code": "restart_refused", "detail": MARKUP, "hint": "Sign it.", "status": 403}
            await route.fulfill(status=403, json=problem)
        else:
            await route.fulfill(status=202, json={"as_of": AS_OF, "data": {"program": "worker scheduler"}})

    text = {"message": "a text to sign", "program": "worker scheduler", "expires_ms": 0}
    await answer(
        page, "/v1/monitoring$", {"alerts": [], "processes": [PROCESS, {**PROCESS, "job": "away", "up": False}]}
    )
    await answer(page, "/restart/message$", text)
    await page.route(re.compile("/monitoring/restart$"), restart)
    await connect(here, "Alice", "operator")
    await here.go("/operator")
    await expect(page.get_by_role("button", name=re.compile("^Restart"))).to_have_count(1)
    await page.get_by_role("button", name="Restart workers at w:1").click()
    dialog = page.get_by_role("dialog", name="Restart workers")
    assert await here.axe() == [], json.dumps(await here.axe(), indent=1)
    await dialog.get_by_role("button", name="Sign and restart").click()
    await expect(dialog.get_by_role("alert")).to_contain_text(MARKUP)
    await dialog.get_by_role("button", name="Sign and restart").click()
    await expect(dialog.get_by_role("status")).to_contain_text("accepted the request")
    await dialog.get_by_role("button", name="Close").click()
    await expect(dialog).to_have_count(0)
    assert [(one["instance"], one["message"]) for one in given] == [("w:1", "a text to sign")] * 2
    signature = bytes.fromhex(given[0]["signature"].removeprefix("0x"))
    assert is_signed_by(ALICE.address, "a text to sign", signature)
