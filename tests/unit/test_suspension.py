"""Why a host is suspended, and what ends that."""

import pytest

from offchain.cli.provider.agent import main
from offchain.cli.provider.host import host as host_commands
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.suspension import challenges_text, suspension_of
from tests.support.chain_records import GTY, host_record

HOST = "5Host"


def suspended(reason, **changes):
    fields = {"bond": 9 * GTY, "bond_required": 10 * GTY, **changes}
    return suspension_of(HOST, host_record("5P", status=gen.HostStatusSuspended(reason), **fields))


@pytest.mark.parametrize("status", [gen.HostStatusOnline(), gen.HostStatusUnverified(), gen.HostStatusRetiring(7)])
def test_a_host_that_is_not_suspended_has_no_suspension(status):
    assert suspension_of(HOST, host_record("5P", status=status)) is None


def test_a_slashed_host_tops_its_bond_up_by_what_is_missing():
    found = suspended(gen.SuspendReason.SLASHED, bond=4 * GTY)
    assert (found.reason, found.bond_missing) == ("slashed", 6 * GTY)
    assert found.text == "slashes have left less than half of its bond"
    assert found.way_back == ("Top the bond up by 6 GTY: gantry agent top-up",)


def test_a_host_that_answers_challenges_passes_one():
    found = suspended(gen.SuspendReason.FAILED_CHALLENGE, answers_challenges=True)
    assert found.reason == "failed_challenge"
    assert found.way_back[0] == f"Pass a challenge: gantry host challenge {HOST}"
    assert found.way_back[1].endswith("gantry agent change-hardware")


def test_a_host_that_cannot_pass_a_challenge_asks_the_council():
    found = suspended(gen.SuspendReason.FAILED_CHALLENGE)
    assert not any("gantry host challenge" in step for step in found.way_back)
    assert "hosts.unsuspend" in found.way_back[-1]


@pytest.mark.parametrize("reason", [reason for reason in gen.SuspendReason if reason is not gen.SuspendReason.SLASHED])
def test_a_bond_below_half_is_topped_up_first_whatever_the_reason(reason):
    found = suspended(reason, bond=4 * GTY)
    assert found.way_back[0] == "First top the bond up by 6 GTY: gantry agent top-up"
    assert len(found.way_back) > 1
    assert "top-up" not in " ".join(suspended(reason, bond=5 * GTY).way_back)


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("reason", list(gen.SuspendReason))
def test_every_command_of_a_way_back_exists(reason, answers):
    found = suspended(reason, bond=GTY, answers_challenges=answers)
    assert found.way_back
    assert found.plain(5) == {
        "reason": found.reason,
        "text": found.text,
        "since_ms": 5,
        "bond_missing": 9 * GTY,
        "way_back": list(found.way_back),
    }
    for step in found.way_back:
        command = step.partition(": ")[2].split()
        if command[:2] == ["gantry", "agent"]:
            assert command[2] in main.list_commands(None)
        elif command:
            assert command[:2] == ["gantry", "host"]
            assert command[2] in host_commands.commands


def test_challenges_are_told_in_words():
    assert challenges_text(answers=True, challenged=None) == "answered"
    assert "nobody can challenge" in challenges_text(answers=False, challenged=None)
    assert challenges_text(answers=True, challenged=2).startswith("GPU 2 is challenged")
