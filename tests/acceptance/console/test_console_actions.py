"""Every action of the console, clicked in a browser and read from the chain; and what each form says of bad input.

One network for all: a real node and index, a real gateway, and agents whose engine is in memory.
"""

import hashlib
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from offchain.core.conservation import Reason
from offchain.core.pricing import deposit
from offchain.schema.chain_types._generated_chain import storage
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.durations import HOUR_MS
from offchain.services.audit import hold_reason
from offchain.services.audit_facts import AuditFacts
from offchain.services.audit_verifier import verify_file
from tests.support.console_browser import PATIENCE_MS, Console, browser, console
from tests.support.console_network import PROVIDER, TENANT, ConsoleNetwork, console_network
from tests.support.real_chain import GTY

pytestmark = pytest.mark.asyncio(loop_scope="module")
MODULE = {"scope": "module", "loop_scope": "module"}


@pytest_asyncio.fixture(**MODULE)
async def net(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ConsoleNetwork]:
    async with console_network(tmp_path_factory.mktemp("actions")) as found:
        yield found


@pytest_asyncio.fixture(**MODULE)
async def chrome() -> AsyncIterator[Browser]:
    async with browser() as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def here(net: ConsoleNetwork, chrome: Browser) -> AsyncIterator[Console]:
    async with console(chrome, net.url) as found:
        yield found
        await found.assert_in_order()


async def connect(here: Console, name: str) -> Page:
    """Connect an account in the place of another one."""
    page = here.page
    await here.go("/account")
    own, sign_out = (page.get_by_role("button", name=text) for text in (name, "Sign out"))
    await expect(own.or_(sign_out).first).to_be_visible()
    if await sign_out.is_visible():
        await sign_out.click()
    await own.click()
    await expect(page.get_by_text("signed in as tenant")).to_be_visible()
    return page


async def as_tenant(here: Console, task: int) -> Page:
    """Connect the tenant, and open the page of its task."""
    page = await connect(here, "Charlie")
    await here.go(f"/tasks/{task}")
    await expect(page.get_by_role("region", name="Actions")).to_be_visible()
    return page


async def send(page: Page) -> None:
    """Sign and send the call of the dialog, and wait until its block is final."""
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Sign and send", exact=True).click()
    await expect(dialog.get_by_text("succeeded")).to_be_visible(timeout=PATIENCE_MS)
    await close(page)


async def close(page: Page) -> None:
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def refused(page: Page, says: str) -> None:
    """The dialog says before anything is signed that the chain would refuse the call."""
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("alert")).to_contain_text(says)
    await expect(dialog.get_by_role("button", name=re.compile("^Sign"))).to_have_count(0)
    await close(page)


def host_row(page: Page, host: str) -> Locator:
    return page.get_by_role("table", name="Hosts of the provider").get_by_role("row").filter(has_text=host[:6])


def form(page: Page, button: str) -> Locator:
    return page.locator("form").filter(has=page.get_by_role("button", name=button, exact=True))


async def fill(page: Page, label: str, value: str, button: str) -> None:
    await page.get_by_label(label).fill(value)
    await page.get_by_role("button", name=button, exact=True).click()


async def wrong(page: Page, label: str, value: str, button: str, says: str) -> None:
    """A value that the page itself refuses, beside its field; no dialog opens."""
    await fill(page, label, value, button)
    await expect(form(page, button).get_by_role("alert")).to_contain_text(says)
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_tenant_extends_tops_up_scales_and_stops_a_service(here: Console, net: ConsoleNetwork) -> None:
    task = await net.place("service", ", pods: {min: 1, max: 3}")
    page = await as_tenant(here, task)
    before = (await net.lease(task)).escrow

    await wrong(page, "Extend by hours", "soon", "Extend", "“soon” is no number above 0.")
    await wrong(page, "Extend by hours", "-1", "Extend", "“-1” is no number above 0.")
    await fill(page, "Extend by hours", "2.5", "Extend")
    await send(page)
    extended = (await net.lease(task)).escrow
    assert extended.deposit == before.deposit + deposit(before.rate_per_hour, HOUR_MS * 5 // 2)

    await wrong(page, "Top up by GTY", "1,5", "Top up", "“1,5” is no amount in GTY. Write it like 2.5.")
    await fill(page, "Top up by GTY", "90000000", "Top up")
    await refused(page, "this deposits 90000000 GTY, and the account ")
    await fill(page, "Top up by GTY", "1.5", "Top up")
    await send(page)
    assert (await net.lease(task)).escrow.deposit == extended.deposit + GTY * 3 // 2

    await wrong(page, "Number of pods", "1.5", "Scale", "“1.5” is no whole number above 0.")
    await fill(page, "Number of pods", "9", "Scale")
    await refused(page, f"the manifest of task {task} allows 1 to 3 pods, not 9.")
    assert (await net.task(task)).pods_wanted == 1
    await fill(page, "Number of pods", "2", "Scale")
    await send(page)
    assert (await net.task(task)).pods_wanted == 2

    await page.get_by_role("button", name="Stop", exact=True).click()
    await send(page)
    assert (await net.lease(task)).ended_at is not None
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


async def test_a_tenant_stops_and_starts_the_machine_of_a_rental(here: Console, net: ConsoleNetwork) -> None:
    task = await net.place("rental")
    page = await as_tenant(here, task)
    await page.get_by_role("button", name="Stop the machine, keep its disk").click()
    await send(page)
    assert (await net.lease(task)).state.tag == "Suspended"
    await page.get_by_role("button", name="Start the machine").click()
    await send(page)
    assert (await net.lease(task)).state.tag == "Active"
    await page.get_by_role("button", name="Stop", exact=True).click()
    await send(page)
    assert (await net.lease(task)).ended_at is not None


async def test_a_result_is_accepted_claimed_and_rated(here: Console, net: ConsoleNetwork) -> None:
    task = await net.place("job")
    await net.finish(task)
    page = await connect(here, "Bob")
    await here.go("/provider")
    await host_row(page, net.hosts[1]).get_by_role("button", name="Claim").click()
    await refused(page, "nothing is owed now.")

    page = await as_tenant(here, task)
    await page.get_by_role("button", name="Accept the result").click()
    await send(page)
    assert (await net.task(task)).state.tag == "Verified"
    await expect(page.get_by_text("verified: waiting for settlement")).to_be_visible()

    await connect(here, "Bob")
    await here.go("/provider")
    await host_row(page, net.hosts[0]).get_by_role("button", name="Claim").click()
    await expect(page.get_by_role("dialog")).to_contain_text(re.compile(rf"of \d+ leases? of the host {net.hosts[0]}"))
    await send(page)
    assert (await net.task(task)).state.tag == "Settled"
    assert (await net.lease(task)).escrow.paid > 0

    await as_tenant(here, task)
    await page.get_by_label("Rating of its hosts").select_option("2")
    await page.get_by_role("button", name="Rate", exact=True).click()
    await send(page)
    assert (await net.lease(task)).rated
    await expect(page.get_by_role("button", name="Rate", exact=True)).to_have_count(0)


async def test_a_result_is_disputed_with_the_digest_of_a_file(here: Console, net: ConsoleNetwork) -> None:
    evidence = b"what the program printed, and what it should have printed"
    task = await net.place("job")
    await net.finish(task)
    page = await as_tenant(here, task)
    digest = "SHA-256 of the evidence"
    await wrong(page, digest, "0x12", "Dispute", "The SHA-256 of the evidence has 64 hex digits.")
    await wrong(page, digest, "g" * 64, "Dispute", "The SHA-256 of the evidence has 64 hex digits.")
    assert (await net.task(task)).state.tag == "Reported"
    file = {"name": "evidence.txt", "mimeType": "text/plain", "buffer": evidence}
    await page.get_by_label("File with the evidence").set_input_files(files=[file])  # type: ignore[list-item]
    await expect(page.get_by_label(digest)).to_have_value(hashlib.sha256(evidence).hexdigest())
    await page.get_by_role("button", name="Dispute", exact=True).click()
    await send(page)
    assert (await net.task(task)).state.tag == "Disputed"
    record = await net.typed.read(storage.verification_disputes, task)
    assert record is not None
    assert record.opener == TENANT.address
    assert hashlib.sha256(evidence).digest() in [one.digest for one in record.evidence]
    await expect(page.get_by_text("disputed: a jury decides")).to_be_visible()


async def test_a_provider_reclaims_a_lease_with_notice(here: Console, net: ConsoleNetwork) -> None:
    task = await net.place("service")
    await connect(here, "Charlie")
    await here.go(f"/leases/{lease_id(task, 0, 0)}")
    await expect(here.page.get_by_role("heading", name="Bill")).to_be_visible()
    await expect(here.page.get_by_role("button", name="Reclaim")).to_have_count(0)
    page = await connect(here, "Bob")
    await here.go(f"/leases/{lease_id(task, 0, 0)}")
    await page.get_by_role("button", name="Reclaim").click()
    await send(page)
    notice = (await net.lease(task)).reclaim_at
    assert notice is not None
    await page.get_by_role("button", name="Reclaim").click()
    await refused(page, f"the tenant of lease {lease_id(task, 0, 0)} has notice until")
    assert (await net.lease(task)).reclaim_at == notice


async def test_the_escrows_of_an_account_are_what_the_chain_has_on_hold_for_leases(
    here: Console, net: ConsoleNetwork
) -> None:
    """After all that was done above with services, rentals and jobs of the tenant."""
    task = await net.place("service")
    lease, number = await net.lease(task), lease_id(task, 0, 0)
    tenant = (await net.task(task)).tenant

    async def look() -> Any:
        answer = await here.page.request.get(f"{net.url}/v1/accounts/{tenant}/escrows?limit=500")
        found = await answer.json()
        held = {int(one["lease"]): int(one["held"]) for one in found["data"]}
        return (found["as_of"], held) if number in held else None

    as_of, held = await net.until(look, f"the escrow of lease {number}")
    holds = await net.chain.link.query("Balances", "Holds", [tenant], at=bytes.fromhex(as_of["hash"][2:]))
    assert sum(held.values()) == sum(one["amount"] for one in holds if hold_reason(one["id"]) is Reason.ESCROW)
    assert held[number] == lease.escrow.deposit

    page = await connect(here, "Charlie")
    table = page.get_by_role("table", name="Escrows by lease")
    await expect(table.get_by_role("link", name=str(number), exact=True)).to_be_visible()
    await expect(table.get_by_role("row")).to_have_count(1 + len(held))


async def test_a_provider_changes_a_price(here: Console, net: ConsoleNetwork) -> None:
    page = await connect(here, "Bob")
    await here.go("/provider")
    price, button = "New list price an hour (GTY)", "Change the price"
    before = (await net.host()).ask
    host = net.hosts[0]
    await page.get_by_label("Host and model").select_option(f"{host[:6]}…{host[-6:]}: cores")
    await wrong(page, price, "cheap", button, "“cheap” is no amount in GTY. Write it like 2.5.")
    await wrong(page, price, "0.0000000000001", button, "has more than 12 decimals.")
    await fill(page, price, "0.001", button)
    await refused(page, "the host has these prices already.")
    await fill(page, price, "0.0025", button)
    await send(page)
    after = (await net.host()).ask
    assert before.cpu_core_per_hour == GTY // 1000
    assert after.cpu_core_per_hour == GTY // 400
    assert after.memory_gib_per_hour == before.memory_gib_per_hour


async def test_hosts_are_drained_one_by_one_and_as_a_group(here: Console, net: ConsoleNetwork) -> None:
    page = await connect(here, "Bob")
    await here.go("/provider")
    row = host_row(page, net.hosts[0])
    await row.get_by_role("button", name="Drain", exact=True).click()
    await send(page)
    assert ((await net.host(0)).status.tag, (await net.host(1)).status.tag) == ("Draining", "Online")
    await row.get_by_role("button", name="Undrain", exact=True).click()
    await send(page)
    assert (await net.host(0)).status.tag == "Online"

    await here.go("/operator")
    await expect(page.get_by_role("table", name="Validators")).to_contain_text("active")
    groups = page.get_by_role("table", name="Groups of hosts")
    await page.get_by_label("Group by").select_option("region")
    await groups.get_by_role("button", name="Drain 2 of group eu").click()
    await send(page)
    assert [(await net.host(place)).status.tag for place in (0, 1)] == ["Draining", "Draining"]
    await groups.get_by_role("button", name="Undrain 2 of group eu").click()
    await send(page)
    assert [(await net.host(place)).status.tag for place in (0, 1)] == ["Online", "Online"]


async def test_an_address_that_is_none_is_said(here: Console) -> None:
    await here.go("/provider")
    await fill(here.page, "Address of a provider", "5Nobody", "Show")
    await expect(here.page.get_by_role("alert")).to_contain_text("“5Nobody” is no address.")
    await here.go("/hosts")
    await here.page.get_by_label("Provider (address)").fill("5Nobody")
    await here.page.get_by_label("Provider (address)").press("Enter")
    await expect(here.page.get_by_role("alert")).to_contain_text("“5Nobody” is no address.")


# --- the state at a block ------------------------------------------------------------------------------------------


async def saved_proof(page: Page, net: ConsoleNetwork) -> AuditFacts:
    """Save the proof of the values on the page, and verify it with nothing but the genesis hash."""
    async with page.expect_download(timeout=PATIENCE_MS) as saving:
        await page.get_by_role("button", name="Save the proof").click()
    saved = await saving.value
    await expect(page.get_by_text("Verify it offline")).to_be_visible()
    await expect(page.get_by_text(f"gantry audit verify {saved.suggested_filename}")).to_be_visible()
    file = await saved.path()
    return (await verify_file(file.read_bytes(), await net.chain.link.genesis_hash())).facts


async def test_the_state_of_a_task_at_a_block_is_shown_and_its_proof_saved(here: Console, net: ConsoleNetwork) -> None:
    task = await net.place("service", ", pods: {min: 1, max: 3}")
    page = here.page
    await here.go(f"/tasks/{task}")
    await page.get_by_role("link", name="State at a block").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("State at a block")
    record = page.get_by_role("article", name="Tasks.Tasks")
    await expect(record).to_contain_text(TENANT.address)
    facts = await saved_proof(page, net)
    (proven,) = facts.tasks
    assert (proven.id, proven.record.tenant) == (task, TENANT.address)
    # Before the task was submitted it is absent, and that is proven, too.
    await page.get_by_label("Block: number or hash").fill("1")
    await page.get_by_role("button", name="Show", exact=True).click()
    await expect(record).to_contain_text("nothing")
    facts = await saved_proof(page, net)
    assert (facts.tasks, facts.subject.numbers) == ((), (task,))


async def test_a_storage_item_is_shown_by_its_keys(here: Console, net: ConsoleNetwork) -> None:
    page = here.page
    await here.go("/state")
    await page.get_by_role("combobox").select_option("Storage item")
    await page.get_by_role("textbox", name="Pallet").fill("System")
    await page.get_by_role("textbox", name="Item", exact=True).fill("Account")
    await page.get_by_role("textbox", name=re.compile("^Keys")).fill(f"{TENANT.address}\n{PROVIDER.address}")
    await page.get_by_role("button", name="Show", exact=True).click()
    await expect(page.get_by_role("article", name="System.Account")).to_have_count(2)
    facts = await saved_proof(page, net)
    assert {value.keys[0] for value in facts.storage} == {TENANT.address, PROVIDER.address}
    await page.get_by_role("textbox", name="Item", exact=True).fill("Nothing")
    await page.get_by_role("button", name="Show", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("no storage item Nothing")
    assert await here.axe() == []
