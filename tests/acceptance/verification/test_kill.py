"""The node is killed in the middle of a ballot."""

import asyncio
import dataclasses

import pytest
from verification_challenge import drawn_and_answered, opened_by, penalties, rewards
from verification_network import Network, scenario
from verification_roles import MINUTE_MS, SUDO, Roles
from verification_votes import YES, ballot_of

from offchain.schema.chain_types._generated_chain import ChallengeOutcome, calls
from tests.support._generated_events import VerificationChallengeClosed
from tests.support.real_chain import by_sudo

pytestmark = pytest.mark.asyncio(loop_scope="session")


@scenario(alone=True)
async def test_a_node_that_is_killed_in_the_middle_of_a_ballot_goes_on_with_it(net: Network, roles: Roles) -> None:
    client, provider = net.client, roles.providers[0]
    # However long the node takes to come back, the ballot is open then.
    longer = dataclasses.replace(net.params, challenge_commit_ms=10 * MINUTE_MS)
    await client.do(SUDO, by_sudo(calls.verification_set_params(params=longer)))
    start = net.now
    matter = await opened_by(net, provider, roles)
    found = await drawn_and_answered(net, provider, roles, matter)
    *_, last = await found.commit(YES, YES)
    await net.final(last.block)
    before = await ballot_of(client, matter)
    assert [seat.commitment is not None for seat in before.seats] == [True, True, False]

    await asyncio.to_thread(net.kill)
    await asyncio.to_thread(net.node.start)
    await client.restart()
    assert await ballot_of(client, matter) == before, "nothing of it is lost"
    await found.commit_of(found.members[2], YES)
    await found.reveal(YES, YES, YES)

    closed = await client.event(VerificationChallengeClosed, challenge=matter.value)
    assert closed.event.outcome == ChallengeOutcome.PASSED
    fee = net.params.challenge_fee
    assert rewards(net, matter) == {member.address: fee // 3 for member in found.members}
    assert penalties(net, matter) == {}
    assert await net.gained(provider, start, closed.block) == -fee
