"""Verifiers leave, until too few are left to judge."""

import asyncio

import pytest
from verification_challenge import opened_by, penalties, rewards
from verification_dispute import disputed
from verification_network import FEE, PRICE, Network, scenario
from verification_roles import VERIFIERS, Roles

from offchain.schema.chain_types._generated_chain import ChallengeOutcome, DisputeOutcome, LeaveReason, calls, storage
from tests.support import _generated_events as chain_events

pytestmark = pytest.mark.asyncio(loop_scope="session")
STAYING, LEAVING = list(VERIFIERS.values())[:2], list(VERIFIERS.values())[2:]


@scenario(alone=True)
async def test_too_few_verifiers_judge_nothing_and_bonds_are_returned(net: Network, roles: Roles) -> None:
    client, tenant, provider = net.client, roles.tenant, roles.providers[0]
    start = net.now
    left = await asyncio.gather(*(client.do(who, calls.verification_unbond_verifier()) for who in LEAVING))
    for who, done in zip(LEAVING, left, strict=True):
        said = done.one(chain_events.VerificationVerifierLeaving)
        assert (said.who, said.reason) == (who.address, LeaveReason.UNBONDED)
        assert said.until == done.block.timestamp_ms + net.params.unbonding_ms
    listed = await client.must(storage.verification_verifier_list)
    assert {one.who for one in listed} == {who.address for who in STAYING}

    job = await net.reported(roles)
    dispute, challenge = await asyncio.gather(disputed(net, tenant, job), opened_by(net, provider, roles))
    told = await client.event(chain_events.VerificationChallengeClosed, challenge=challenge.value)
    fee = 2 * net.params.challenge_fee
    assert (told.event.outcome, told.event.returned) == (ChallengeOutcome.TOO_FEW_VERIFIERS, fee)
    ended = await client.event(chain_events.VerificationDisputeClosed, task=job.task)
    assert ended.event.outcome == DisputeOutcome.NO_VERDICT
    for matter, found in ((challenge, told), (dispute, ended)):
        undrawn = await client.event(chain_events.VerificationCommitteeNotDrawn, matter=matter)
        assert undrawn.block == found.block
    assert (rewards(net, challenge), penalties(net, challenge)) == ({}, {})

    await net.settle(job.task)
    assert await net.gained(tenant, start, net.now) == -PRICE, "the stake is back and the result stands"
    assert await net.gained(provider, start, net.now) == PRICE - PRICE // FEE

    at = net.now.ref.hash
    bonds = [(await client.must(storage.verification_verifiers, who.address, at=at)).bond for who in LEAVING]
    withdrawn = await asyncio.gather(*(client.do(who, calls.verification_withdraw_verifier_bond()) for who in LEAVING))
    assert [done.one(chain_events.VerificationVerifierLeft).bond for done in withdrawn] == bonds
    for who in LEAVING:
        assert await client.read(storage.verification_verifiers, who.address) is None
        account = await client.link.query("System", "Account", [who.address])
        assert account is not None
        assert account["data"]["reserved"] == 0
