"""When all scenarios are over, every coin of every account is where the events say it is."""

import pytest
from verification_ledger import Ledger
from verification_network import Network
from verification_roles import SUDO

from offchain.core.conservation import Reason
from offchain.services.audit import audit_chain

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_events_explain_every_coin_of_every_account(net: Network) -> None:
    await net.finish_all()
    ledger = Ledger(net.params.jury_fee)
    for block in net.client.blocks:
        ledger.read(block)
    before, after = [await net.all_coins(at.hash) for at in (await net.client.link.block_ref(0), net.now.ref)]
    changed = {who: after[who] - before.get(who, 0) for who in after if after[who] != before.get(who, 0)}
    treasury = str(await net.client.link.constant("Billing", "TreasuryAccount"))
    residual = {SUDO.address, treasury}
    expected = {who: gain for who, gain in ledger.gained.items() if gain and who not in residual}
    assert {who: gain for who, gain in changed.items() if who not in residual} == expected
    assert changed[SUDO.address] == ledger.fees + ledger.gained[SUDO.address], "the author has its part of the fees"
    assert sum(changed.values()) == 0, "the treasury has the rest, and no coin was made or lost"
    assert changed[treasury] > 0


async def test_bonds_fees_and_stakes_that_are_held_have_a_record_each(net: Network) -> None:
    await net.finish_all()
    report = await audit_chain(net.client.link)
    assert report.differences == ()
    assert report.held[Reason.VERIFIER_BOND] > 0
