"""The node is killed in the middle of a ballot."""

import asyncio
import dataclasses

import pytest
from verification_cast import MINUTE_MS, SUDO, Cast
from verification_challenge import drawn_and_answered, opened_by, penalties, rewards
from verification_votes import YES, ballot_of
from verification_world import World, story

from offchain.schema.chain_types._generated_chain import ChallengeOutcome, calls
from offchain.schema.chain_types._generated_events import VerificationChallengeClosed
from tests.support.real_chain import by_sudo

pytestmark = pytest.mark.asyncio(loop_scope="session")


@story(alone=True)
async def test_a_node_that_is_killed_in_the_middle_of_a_ballot_goes_on_with_it(world: World, cast: Cast) -> None:
    client, provider = world.client, cast.providers[0]
    # However long the node takes to come back, the ballot is open then.
    longer = dataclasses.replace(world.params, challenge_commit_ms=10 * MINUTE_MS)
    await client.do(SUDO, by_sudo(calls.verification_set_params(params=longer)))
    start = world.now
    matter = await opened_by(world, provider, cast)
    found = await drawn_and_answered(world, provider, cast, matter)
    *_, last = await found.commit(YES, YES)
    await world.final(last.block)
    before = await ballot_of(client, matter)
    assert [seat.commitment is not None for seat in before.seats] == [True, True, False]

    await asyncio.to_thread(world.kill)
    await asyncio.to_thread(world.node.start)
    await client.restart()
    assert await ballot_of(client, matter) == before, "nothing of it is lost"
    await found.commit_of(found.members[2], YES)
    await found.reveal(YES, YES, YES)

    closed = await client.event(VerificationChallengeClosed, challenge=matter.value)
    assert closed.event.outcome == ChallengeOutcome.PASSED
    fee = world.params.challenge_fee
    assert rewards(world, matter) == {member.address: fee // 3 for member in found.members}
    assert penalties(world, matter) == {}
    assert await world.gained(provider, start, closed.block) == -fee
