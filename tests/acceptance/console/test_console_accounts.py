"""Connecting, signing in, keys and calls in a browser, with development accounts and with a wallet extension."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from playwright.async_api import Browser, expect
from sqlalchemy import delete

from offchain.indexer.notification_rows import DeliveryRow, SubscriptionRow
from offchain.indexer.rows import LeaseRow, TaskRow
from offchain.indexer.sign_in_rows import ApiKeyRow, SessionRow
from offchain.indexer.tables import TABLES
from tests.support.chain_records import GTY
from tests.support.console_browser import Console, console
from tests.support.console_gateway import ALICE, BOB, MARKUP, ConsoleGateway
from tests.support.pdf_text import pdf_text

WALLET = f"""
    window.injectedWeb3 = {{"test-wallet": {{
      version: "1",
      enable: async () => ({{
        accounts: {{get: async () => [{{address: "{BOB.address}", name: `{MARKUP}`}}]}},
        signer: {{
          signRaw: async (raw) => ({{signature: await window.signBytes(raw.data)}}),
          signPayload: async (payload) => {{
            window.asked = payload;
            return {{signature: await window.signBytes(window.toSign)}};
          }},
        }},
      }}),
    }}}};
"""


async def connect_alice(here: Console) -> None:
    await here.go("/account")
    await here.page.get_by_role("button", name="Alice").click()
    await expect(here.page.get_by_text("signed in as tenant")).to_be_visible()


@pytest.fixture
async def wallet(gateway: ConsoleGateway, chrome: Browser) -> AsyncIterator[Console]:
    """A console in a browser with a wallet that has Bob's key, whose name is markup."""
    async with console(chrome, gateway.url, script=WALLET) as found:
        await found.page.expose_function("signBytes", lambda data: f"0x{BOB.sign(bytes.fromhex(data[2:])).hex()}")
        yield found
        await found.assert_in_order()


async def test_a_development_account_signs_in_and_out(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    await connect_alice(here)
    assert len(gateway.db.rows(SessionRow)) == 1
    await expect(page.get_by_text("999 GTY").or_(page.get_by_text("1 000 GTY")).first).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("signed in as tenant")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Connect an account")
    await expect(page.get_by_role("link", name="Connect", exact=True)).to_be_visible()
    assert gateway.db.rows(SessionRow) == []


async def test_a_wallet_signs_in(wallet: Console, gateway: ConsoleGateway) -> None:
    page = wallet.page
    await wallet.go("/account")
    await page.get_by_role("button", name="test-wallet").click()
    await expect(page.get_by_text(MARKUP)).to_be_visible()
    await page.get_by_role("button", name=re.compile("^Connect <img")).click()
    await expect(page.get_by_text("signed in as tenant")).to_be_visible()
    (session,) = gateway.db.rows(SessionRow)
    assert session.account == BOB.address
    assert await page.evaluate("window.owned") is None


async def test_a_wallet_that_refuses_is_said(gateway: ConsoleGateway, chrome: Browser) -> None:
    refusing = WALLET.replace(
        "signRaw: async (raw) => ({signature: await window.signBytes(raw.data)})",
        "signRaw: async () => { throw new Error('Cancelled by the person'); }",
    )
    async with console(chrome, gateway.url, script=refusing) as here:
        await here.go("/account")
        await here.page.get_by_role("button", name="test-wallet").click()
        await here.page.get_by_role("button", name=re.compile("^Connect <img")).click()
        await expect(here.page.get_by_text("connected, not signed in")).to_be_visible()
        await expect(here.page.get_by_role("alert")).to_contain_text("Cancelled by the person")
        await expect(here.page.get_by_role("button", name="Sign in")).to_be_visible()
        assert gateway.db.rows(SessionRow) == []


async def test_a_sign_in_that_was_revoked_elsewhere_ends_here(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    await connect_alice(here)
    gateway.end_sessions()
    await page.get_by_role("link", name="Keys for programs").click()
    await expect(page.get_by_text("connected, not signed in")).to_be_visible()
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("This account has no key.")).to_be_visible()


async def test_a_wallet_that_comes_late_is_found_and_its_account_is_restored(
    gateway: ConsoleGateway, chrome: Browser
) -> None:
    late = f"setTimeout(() => {{ {WALLET} }}, 250);"
    async with console(chrome, gateway.url, script=late) as here:
        await here.page.expose_function("signBytes", lambda data: f"0x{BOB.sign(bytes.fromhex(data[2:])).hex()}")
        await here.go("/account")
        await here.page.get_by_role("button", name="test-wallet").click()
        await here.page.get_by_role("button", name=re.compile("^Connect <img")).click()
        await expect(here.page.get_by_text("signed in as tenant")).to_be_visible()
        await here.page.reload()
        await expect(here.page.get_by_text("signed in as tenant")).to_be_visible()
        await here.assert_in_order()


async def test_without_a_development_network_there_are_no_development_accounts(
    here: Console, gateway: ConsoleGateway
) -> None:
    async def answer(route) -> None:
        got = await route.fetch()
        found = await got.json()
        found["data"]["development"] = False
        await route.fulfill(json=found)

    await here.page.route("**/v1/network", answer)
    await here.go("/account")
    await expect(here.page.get_by_text("No wallet extension was found.")).to_be_visible()
    await expect(here.page.get_by_role("button", name="Alice")).to_have_count(0)
    assert gateway.db.rows(SessionRow) == []


async def test_a_key_is_shown_once_and_can_be_revoked(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    await connect_alice(here)
    await page.get_by_role("link", name="Keys for programs").click()
    await page.get_by_label("Name").fill("<b>ci</b>")
    await page.get_by_role("button", name="Make a key").click()
    key = page.get_by_text(re.compile("^gtk_"))
    await expect(key).to_be_visible()
    (row,) = gateway.db.rows(ApiKeyRow)
    assert row.name == "<b>ci</b>"
    await page.reload()
    await expect(page.get_by_role("cell", name="<b>ci</b>", exact=True)).to_be_visible()
    await expect(key).to_have_count(0)
    await page.get_by_role("button", name="Revoke <b>ci</b>").click()
    await expect(page.get_by_text("This account has no key.")).to_be_visible()
    assert gateway.db.rows(ApiKeyRow) == []


async def test_a_transfer_is_reviewed_signed_and_sent(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    await connect_alice(here)
    await page.get_by_label("To (address)").fill(BOB.address)
    await page.get_by_label("Amount (GTY)").fill("2.5x")
    await page.get_by_role("button", name="Review").click()
    await expect(page.get_by_role("alert")).to_contain_text("“2.5x” is no amount")
    await page.get_by_label("Amount (GTY)").fill("2.5")
    await page.get_by_role("button", name="Review").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("2.5 GTY")
    await expect(dialog).to_contain_text("Fee, estimated")
    assert await here.axe() == []
    await dialog.get_by_role("button", name="Sign and send").click()
    await expect(dialog).to_contain_text("Sent.")
    await gateway.chain.produce()
    ((call, who, _),) = gateway.chain.executed
    assert (call.function, who) == ("transfer_keep_alive", ALICE.address)
    assert call.args["value"] == 2_500_000_000_000
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


async def test_what_the_chain_would_refuse_is_said_before_signing(here: Console) -> None:
    page = here.page
    await connect_alice(here)
    await page.get_by_label("To (address)").fill(BOB.address)
    await page.get_by_label("Amount (GTY)").fill("5000")
    await page.get_by_role("button", name="Review").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("alert").or_(dialog.get_by_text("This would be refused now"))).to_contain_text(
        "the transfer is of 5000 GTY, and the account"
    )


async def test_a_statement_covers_the_days_that_were_chosen(here: Console) -> None:
    page = here.page
    await connect_alice(here)
    await page.get_by_role("link", name="Statement").click()
    await expect(page.get_by_role("button", name="Print", exact=True)).to_be_visible()
    await page.get_by_label("From (UTC day)").fill("2026-11-01")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile(r"from=2026-11-01"))
    async with page.expect_download() as saving:
        await page.get_by_role("link", name="Download as CSV").click()
    saved = await (await saving.value).path()
    assert saved.read_text(encoding="utf-8").startswith("block,")
    async with page.expect_download() as saving:
        await page.get_by_role("button", name="Download as PDF").click()
    saved = await (await saving.value).path()
    assert "From 2026-11-01 00:00:00 UTC" in pdf_text(saved.read_bytes())
    assert (await page.pdf()).startswith(b"%PDF-"), "what the browser saves from the print dialog"
    await page.emulate_media(media="print")
    await expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    await expect(page.get_by_text("Change of free coins")).to_be_visible()


async def test_a_webhook_is_added_tested_and_removed(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    await connect_alice(here)
    await page.get_by_role("link", name="Webhooks").click()
    await expect(page.get_by_text("This account has no webhook.")).to_be_visible()
    url = page.get_by_label("URL (HTTPS, at a public address)")
    await url.fill("https://10.0.0.1/")
    await page.get_by_role("button", name="Add a webhook").click()
    await expect(page.get_by_role("alert")).to_contain_text("its host is not a public address")
    assert gateway.db.rows(SubscriptionRow) == []

    await url.fill("https://hooks.example.org/<b>gantry</b>")
    await page.get_by_label("an alert about a host").check()
    await page.get_by_role("button", name="Add a webhook").click()
    await expect(page.get_by_text("is shown only now")).to_be_visible()
    (row,) = gateway.db.rows(SubscriptionRow)
    assert (row.account, row.url) == (ALICE.address, "https://hooks.example.org/<b>gantry</b>")
    assert {"lease_ended", "host_alert"} <= set(row.topics.split(","))
    assert {"host_anomaly", "challenge_failed"}.isdisjoint(row.topics.split(","))
    await expect(page.get_by_text(row.secret)).to_be_visible()
    assert await here.axe() == []
    await page.reload()
    await expect(page.get_by_role("table", name="Webhooks")).to_contain_text("an alert about a host")
    await expect(page.get_by_text(row.secret)).to_have_count(0)

    await page.get_by_role("button", name=f"Test {row.url}").click()
    await expect(page.get_by_text("The test notice waits for the notifier")).to_be_visible()
    (waiting,) = gateway.db.rows(DeliveryRow)
    failure = "the receiver answered with status 500"
    gateway.db.upsert(DeliveryRow, [replace(waiting, attempts=1, failure=failure)])
    await expect(page.get_by_text(f"The test notice was not delivered: {failure}.")).to_be_visible()
    await expect(page.get_by_text(f"1 notice waits; 1 attempt failed: {failure}")).to_be_visible()
    with gateway.db.transaction():
        gateway.db.execute(delete(TABLES[DeliveryRow]))
    await expect(page.get_by_text("The test notice was delivered.")).to_be_visible()

    await page.get_by_role("button", name=f"Remove {row.url}").click()
    await expect(page.get_by_text("This account has no webhook.")).to_be_visible()
    assert gateway.db.rows(SubscriptionRow) == []


async def test_escrows_are_listed_by_lease_with_links(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    task, lease = gateway.task_in("Running")
    held = 3 * GTY // 2
    gateway.db.upsert(TaskRow, [replace(task, tenant=ALICE.address)])
    gateway.db.upsert(LeaseRow, [replace(lease, deposited=2 * GTY, paid=GTY // 2, refunded=0)])
    await connect_alice(here)
    table = page.get_by_role("table", name="Escrows by lease")
    await expect(table.get_by_role("row")).to_have_count(2)
    await expect(table).to_contain_text("active")
    await expect(table).to_contain_text(f"{held / GTY:g} GTY")
    assert await here.axe() == []
    await table.get_by_role("link", name=str(lease.lease), exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"Lease {lease.lease}")
    await page.go_back()
    await table.get_by_role("link", name=str(task.task), exact=True).click()
    await expect(page).to_have_url(re.compile(rf"/tasks/{task.task}$"))
