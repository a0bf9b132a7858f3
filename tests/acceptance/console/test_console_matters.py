"""Challenges, disputes, reputation and schedulers in a browser."""

import re

from playwright.async_api import expect

from tests.support import matter_blocks as made
from tests.support.console_browser import Console
from tests.support.console_gateway import REPUTATION, ConsoleGateway
from tests.support.history_blocks import HOSTS


async def test_a_challenge_has_its_committees_votes_and_timeline(here: Console) -> None:
    page = here.page
    await here.go("/challenges/1")
    await expect(page.get_by_text("failed: two committees found against the host").first).to_be_visible()
    await expect(page.get_by_text(f"SIM-1, {made.CLAIM.vram_mib} MiB, simulated")).to_be_visible()
    await expect(page.get_by_text(f"0x{made.PROOF.hex()}")).to_be_visible()
    second = page.get_by_role("table", name="Votes of committee 2, which confirms the verdict")
    await expect(second.get_by_role("row")).to_have_count(4)
    await expect(second.get_by_text("no: the device is not what is said")).to_have_count(3)
    timeline = page.locator(".timeline li")
    await expect(timeline.first).to_contain_text("Challenge 1 of device 0 opened")
    await expect(timeline.last).to_contain_text("Challenge 1 closed: failed")


async def test_challenges_are_filtered_and_lead_to_their_hosts(here: Console) -> None:
    page = here.page
    await here.go("/challenges")
    rows = page.get_by_role("table", name="Challenges").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await page.get_by_label("Outcome").select_option("Passed")
    await expect(page).to_have_url(re.compile(r"/challenges\?outcome=Passed$"))
    await expect(rows).to_have_count(1)
    await rows.get_by_role("link", name="0", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Challenge 0")
    await expect(page.get_by_text("committed, not revealed")).to_be_visible()
    await page.get_by_role("link", name=HOSTS[0]).first.click()
    await expect(page.get_by_role("table", name="Challenges").locator("tbody tr")).to_have_count(1)
    await page.get_by_role("link", name="All its challenges").click()
    await expect(rows).to_have_count(1)


async def test_a_challenge_page_follows_its_votes(here: Console, gateway: ConsoleGateway) -> None:
    opened = made.passed(2, HOSTS[0], made.MEMBERS[0])
    gateway.index.add(list(made.blocks_after(gateway.history, opened[:3])))
    page = here.page
    await here.go("/challenges/2")
    await expect(page.get_by_text("the committee commits its votes").first).to_be_visible()
    await expect(page.get_by_text("live", exact=True)).to_be_visible()
    gateway.index.add(list(made.blocks_after(gateway.history, opened[3:])))
    await expect(page.get_by_text("passed: the device is what its provider says").first).to_be_visible()
    await expect(page.get_by_text("yes: the device is real").first).to_be_visible()


async def test_a_dispute_has_its_evidence_stakes_and_juries(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    await here.go("/disputes?outcome=Rejected")
    await page.get_by_role("link", name=str(gateway.disputed), exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"Dispute about task {gateway.disputed}")
    await expect(page.get_by_text("rejected: the results stand").first).to_be_visible()
    await expect(page.get_by_role("table", name="Evidence").locator("tbody tr")).to_have_count(2)
    await expect(page.get_by_role("table", name="Stakes").get_by_role("row", name=re.compile("20 GTY"))).to_be_visible()
    await expect(page.get_by_role("table", name="Votes of jury 2, on appeal 1").locator("tbody tr")).to_have_count(3)
    await expect(page.locator(".timeline li").last).to_contain_text("The dispute is closed: rejected")
    await here.go(f"/tasks/{gateway.disputed}")
    await page.get_by_role("link", name="Evidence, jury and votes of its dispute").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"Dispute about task {gateway.disputed}")


async def test_a_search_finds_challenges_disputes_and_digests(here: Console, gateway: ConsoleGateway) -> None:
    page = here.page
    await here.go("/search?q=1")
    await expect(page.get_by_role("row", name=re.compile("^challenge 1 failed"))).to_be_visible()
    await here.go(f"/search?q={gateway.disputed}")
    await expect(page.get_by_role("row", name=re.compile("^dispute .* rejected"))).to_be_visible()
    await here.go(f"/search?q={made.MORE_EVIDENCE.hex()}")
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"Dispute about task {gateway.disputed}")


async def test_the_reputation_of_a_host_has_its_parts_and_evidence(here: Console) -> None:
    page = here.page
    await here.go(f"/hosts/{HOSTS[0]}")
    parts = page.get_by_role("table", name="Parts of the score")
    await expect(parts.get_by_role("row", name=re.compile("Pods completed.*30 %.*8.00.*1.00.*81.8 %"))).to_be_visible()
    await expect(page.get_by_text(str(REPUTATION.settled_leases), exact=True).first).to_be_visible()
    changes = page.get_by_role("table", name="Changes of the score").locator("tbody tr")
    await expect(changes.first.get_by_role("link").last).to_have_attribute("href", re.compile("^/(leases|tasks)/"))
    trust = page.get_by_role("region", name="Trust", exact=True)
    for part in ("Parts of its score", "Challenges", "Penalties", "What changed its score"):
        await expect(trust.get_by_role("heading", level=3, name=part, exact=True)).to_have_count(1)
    for fact in ("Score", "Slashed", "Leases settled"):
        await expect(page.get_by_role("term").filter(has_text=re.compile(f"^{fact}$"))).to_have_count(1)
    await here.go(f"/hosts/{HOSTS[2]}")
    await expect(page.get_by_text("The chain has no evidence about it yet.")).to_be_visible()


async def test_an_operator_sees_schedulers_and_their_queues(here: Console) -> None:
    await here.go("/operator")
    schedulers = here.page.get_by_role("table", name="Schedulers")
    await expect(schedulers.locator("tbody tr")).to_have_count(1)
    await expect(schedulers.locator("tbody tr")).to_contain_text("bonded")
    await expect(schedulers.locator("tbody tr")).to_contain_text("50 GTY")
    await expect(here.page.get_by_role("table", name="Queue definitions").locator("tbody tr")).to_have_count(1)
