"""Logs, terminal and result of a pod in a browser, through a gateway that sees ciphertext only."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from offchain.adapters.keys.signer import Ed25519Signer
from offchain.gateway.api import actions
from offchain.schema.protocol.messages import Op
from tests.support.console_browser import DESKTOP, PATIENCE_MS, PHONE, Console, browser, console
from tests.support.console_gateway import ALICE, MARKUP
from tests.support.console_pods import RESULT, ConsolePods, console_pods

HOSTILE = b"\x1b[31mred\x1b[0m \x1b[2J\x1b]0;title\x07 \xe2\x80\xaegnp.exe " + MARKUP.encode() + b"\n"
SHOWN = f"red \\x1b[2J\\x1b]0;title\\x07 \\u202egnp.exe {MARKUP}"
FIVE_HOURS_MS = 5 * 3_600_000


@pytest.fixture
async def pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ConsolePods]:
    monkeypatch.setattr(actions, "_WRITES_PER_S", 1000.0)
    async with console_pods(tmp_path) as found:
        yield found


@pytest.fixture
async def chrome() -> AsyncIterator[Browser]:
    async with browser() as found:
        yield found


@pytest.fixture
async def here(pods: ConsolePods, chrome: Browser) -> AsyncIterator[Console]:
    async with console(chrome, pods.gateway.url) as found:
        yield found
        await found.assert_in_order()


async def open_task(here: Console, pods: ConsolePods) -> Page:
    """Connect Alice, and go to the page of her task."""
    page = here.page
    await here.go("/account")
    await page.get_by_role("button", name="Alice").click()
    await expect(page.get_by_text("signed in as tenant")).to_be_visible()
    await go_on(page, pods.page)
    return page


async def go_on(page: Page, path: str) -> None:
    """Go to another page of the console without loading it again."""
    await page.evaluate(
        "(path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }", path
    )


async def allow(here: Console, pods: ConsolePods) -> Page:
    """Delegate to a session key of the page of the task."""
    page = await open_task(here, pods)
    await page.get_by_role("button", name="Allow access to my pods").click()
    await expect(page.get_by_text("This page may access your pods until")).to_be_visible()
    return page


def rows(page: Page) -> Locator:
    """The lines of the terminal."""
    return page.locator(".xterm-rows")


async def open_terminal(page: Page) -> None:
    await page.get_by_role("button", name="Terminal", exact=True).click()
    await expect(rows(page)).to_contain_text("$ ")


async def test_a_log_is_followed_paused_and_downloaded(here: Console, pods: ConsolePods) -> None:
    page = await allow(here, pods)
    await page.get_by_role("button", name="Logs", exact=True).click()
    log = page.get_by_role("log")
    await expect(log).to_contain_text("line 1")
    pods.log.put_nowait(b"line 2: a secret word\n")
    await expect(log).to_contain_text("line 2: a secret word")
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    pods.log.put_nowait(b"line 3\n")
    async with page.expect_download() as saving:
        await page.get_by_role("button", name="Download", exact=True).click()
    saved = await saving.value
    assert saved.suggested_filename == f"task-{pods.task}-pod-0.log"
    assert (await saved.path()).read_bytes() == b"".join(pods.stored)
    await page.get_by_role("button", name="Pause").click()
    await expect(log).to_contain_text("line 3")
    pods.log.put_nowait(None)
    await expect(page.get_by_text("End of the log", exact=True)).to_be_visible()
    assert {account for _, account in pods.asked} != {ALICE.address}
    # The gateway has relayed all of it, and could read none.
    assert sum(map(len, pods.carried)) > 1000
    assert not any(word in b"".join(pods.carried) for word in (b"secret", b"line", b"logs", b"gantry"))


async def test_a_log_cannot_command_the_page(here: Console, pods: ConsolePods) -> None:
    pods.stored[:] = [HOSTILE[:9], HOSTILE[9:]]
    page = await allow(here, pods)
    await page.get_by_role("button", name="Logs", exact=True).click()
    await expect(page.get_by_role("log")).to_have_text(SHOWN)
    assert await page.evaluate("window.owned") is None
    assert await page.locator("img[src=x]").count() == 0


async def test_a_long_log_is_shown_within_bounds(here: Console, pods: ConsolePods) -> None:
    pods.stored[:] = [
        b"".join(b"%08d\n" % line for line in range(start, start + 20_000)) for start in range(0, 200_000, 20_000)
    ]
    page = await allow(here, pods)
    await page.get_by_role("button", name="Logs", exact=True).click()
    await expect(page.get_by_text("Earlier lines are not shown any more")).to_be_visible()
    pods.log.put_nowait(None)
    await expect(page.get_by_text("End of the log", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    shown = await page.get_by_role("log").evaluate("(view) => view.textContent")
    assert len(shown) <= 2**18
    assert shown.endswith("00199998\n00199999\n")


async def test_a_terminal_runs_programs_and_can_be_left_by_keyboard(here: Console, pods: ConsolePods) -> None:
    asked: list[str] = []
    here.page.on("request", lambda request: asked.append(request.url))
    page = await allow(here, pods)
    assert not any("screen-" in url for url in asked), "xterm.js is loaded with the first terminal only"
    await open_terminal(page)
    assert any("screen-" in url for url in asked)
    await page.keyboard.type("echo typed-in-a-browser")
    await page.keyboard.press("Enter")
    await expect(rows(page)).to_contain_text("typed-in-a-browser$ ")
    await page.keyboard.type("size")
    await page.keyboard.press("Enter")
    await expect(rows(page)).to_contain_text(re.compile(r"\d+ rows, \d+ columns"))
    before = re.search(r"(\d+) columns", await rows(page).inner_text())
    await page.set_viewport_size({"width": 700, "height": 900})
    await rows(page).scroll_into_view_if_needed()  # what is not visible is not drawn
    await page.keyboard.type("size")
    await page.keyboard.press("Enter")
    assert before is not None
    await expect(rows(page)).to_contain_text(re.compile(rf"rows, (?!{before[1]} )\d+ columns"))
    await page.keyboard.press("Control+Shift+L")
    await expect(page.get_by_role("button", name="Copy selection")).to_be_focused()
    await page.get_by_role("group", name="Terminal of pod 0").get_by_role("textbox").focus()
    await page.keyboard.type("exit 7")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("The shell ended with exit code 7")).to_be_visible()
    await page.get_by_role("button", name="Start a new shell").click()
    await expect(rows(page)).to_contain_text("$ ")
    assert not any(b"typed-in" in piece for piece in pods.carried)


async def test_a_terminal_shows_colours_without_inline_styles(here: Console, pods: ConsolePods) -> None:
    """The policy allows no inline styles; `here` fails where one was tried."""
    page = await allow(here, pods)
    await open_terminal(page)
    await page.keyboard.type("echo \x1b")  # an Escape that the pod writes back begins the colour
    await page.keyboard.insert_text("[38;2;1;2;3mCOLOURED")
    await page.keyboard.press("Enter")
    coloured = page.locator(".xterm-rows span", has_text="COLOURED").last
    await expect(coloured).to_have_css("color", "rgb(1, 2, 3)")


async def test_a_terminal_continues_after_its_connection_broke(here: Console, pods: ConsolePods) -> None:
    page = await allow(here, pods)
    await open_terminal(page)
    await page.keyboard.type("echo before")
    await pods.break_connections()
    await page.keyboard.type("-and-after")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Connected again; nothing was lost")).to_be_visible()
    await expect(rows(page)).to_contain_text("before-and-after$ ")
    assert [op for op, _ in pods.asked].count(Op.EXEC) == 1
    assert Op.ATTACH in [op for op, _ in pods.asked]


async def test_text_is_pasted_and_copied(pods: ConsolePods, chrome: Browser) -> None:
    async with console(chrome, pods.gateway.url) as here:
        await here.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await allow(here, pods)
        await open_terminal(page)
        await page.evaluate("navigator.clipboard.writeText('echo pasted-text')")
        await page.get_by_role("button", name="Paste", exact=True).click()
        # The terminal has the keyboard again once the text is there; before, Enter would press the button again.
        await expect(rows(page)).to_contain_text("$ echo pasted-text")
        await page.keyboard.press("Enter")
        await expect(rows(page)).to_contain_text("pasted-text$ ")
        await page.evaluate("navigator.clipboard.writeText('echo by-key')")
        await page.keyboard.press("Control+Shift+V")
        await expect(rows(page)).to_contain_text("$ echo by-key")
        await page.keyboard.press("Enter")
        await expect(rows(page)).to_contain_text("by-key$ ")
        await page.get_by_text("pasted-text", exact=True).last.dblclick(force=True)
        await page.keyboard.press("Control+Shift+C")
        assert "pasted" in await page.evaluate("navigator.clipboard.readText()")
        await here.assert_in_order()


async def test_a_result_is_compared_with_the_chain(here: Console, pods: ConsolePods) -> None:
    page = await allow(here, pods)
    await page.get_by_role("button", name="Result", exact=True).click()
    async with page.expect_download() as saving:
        await page.get_by_role("button", name="Download the result").click()
    saved = await saving.value
    assert (await saved.path()).read_bytes() == RESULT
    await expect(page.get_by_text(f"{len(RESULT)} bytes agree with the digest on the chain")).to_be_visible()
    pods.result = b"other bytes"
    await page.get_by_role("button", name="Download the result").click()
    await expect(page.get_by_role("alert")).to_contain_text("but the chain says")
    await expect(page.get_by_text("agree with the digest")).to_have_count(0)


async def test_a_delegation_that_has_expired_is_refused_by_the_host(here: Console, pods: ConsolePods) -> None:
    page = await allow(here, pods)
    await page.get_by_role("button", name="Logs", exact=True).click()
    await expect(page.get_by_role("log")).to_contain_text("line 1")
    pods.clock_ahead_ms = FIVE_HOURS_MS
    await pods.recheck()
    await expect(page.get_by_role("alert")).to_contain_text("expired at")
    await expect(page.get_by_role("alert")).to_contain_text("Sign a new one.")


async def test_the_page_forgets_its_key_in_time(here: Console, pods: ConsolePods) -> None:
    await here.page.clock.install()
    page = await allow(here, pods)
    await open_terminal(page)
    await page.clock.fast_forward(FIVE_HOURS_MS)
    await expect(page.get_by_text("The session key of this page has expired")).to_be_visible()
    await expect(rows(page)).to_have_count(0)


async def test_the_key_is_in_memory_only_and_leaves_with_the_account(here: Console, pods: ConsolePods) -> None:
    page = await allow(here, pods)
    await page.get_by_role("button", name="Logs", exact=True).click()
    await expect(page.get_by_role("log")).to_contain_text("line 1")
    stored = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    (_, key) = pods.asked[0]
    assert key not in stored
    await go_on(page, "/account")
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("button", name="Alice").click()
    await expect(page.get_by_text("signed in as tenant")).to_be_visible()
    await go_on(page, pods.page)
    await expect(page.get_by_role("button", name="Allow access to my pods")).to_be_visible()


async def test_another_host_behind_the_gateway_is_refused(here: Console, pods: ConsolePods) -> None:
    """The gateway leads the page to a host that it controls; the page asks for the one of the lease."""
    wanted = Ed25519Signer(b"the host that the lease is with.")
    hosts = pods.server.relay._hosts
    hosts[wanted.address] = hosts[pods.host.address]
    pods.change_lease(host=wanted.address)
    page = await allow(here, pods)
    await page.get_by_role("button", name="Terminal", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("does not have the host's key")
    assert pods.asked == []


async def test_an_oversized_frame_ends_the_connection(here: Console, pods: ConsolePods) -> None:
    pods.breaks_protocol = True
    page = await allow(here, pods)
    await page.get_by_role("button", name="Logs", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("DATA of 2147483647 bytes; the limit is 262145")
    # The page goes on: the next connection is a new one.
    pods.breaks_protocol = False
    await page.get_by_role("button", name="Load again").click()
    await expect(page.get_by_role("log")).to_contain_text("line 1")


async def test_other_accounts_are_told_the_command(here: Console, pods: ConsolePods) -> None:
    await here.go(pods.page)
    await expect(here.page.get_by_text(f"gantry logs {pods.task}", exact=True)).to_be_visible()
    await expect(here.page.get_by_role("button", name="Allow access to my pods")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
async def test_panels_have_no_serious_finding_of_axe(
    pods: ConsolePods, chrome: Browser, width: int, scheme: str
) -> None:
    async with console(chrome, pods.gateway.url, width=width, scheme=scheme) as here:
        page = await allow(here, pods)
        await page.get_by_role("button", name="Logs", exact=True).click()
        await page.get_by_role("button", name="Result", exact=True).click()
        await open_terminal(page)
        await expect(page.get_by_role("log")).to_contain_text("line 1")
        assert await here.axe() == [], json.dumps(await here.axe(), indent=1)
        assert await here.overflow() <= 0
        await here.assert_in_order()
