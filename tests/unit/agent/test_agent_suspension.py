"""A suspension of the host: what the agent logs, what `gantry agent status` shows, and `gantry agent top-up`."""

import asyncio
import contextlib
import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from node_agent.chain.heartbeat import SuspensionLog
from node_agent.runtime.state_dir import StateDir
from node_agent.runtime.status_file import AgentStatus
from offchain.adapters.keys.signer import from_uri
from offchain.cli.provider import host_lifecycle
from offchain.cli.provider.agent import main
from offchain.cli.provider.host_view import ProviderHostView
from offchain.cli.provider.status import ReleaseView, plain, text
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.challenge.failures import report_of
from tests.support.chain_records import GTY, host_record, hosts_params
from tests.support.fake_chain import FakeChain

PROVIDER = from_uri("//Bob").address
SLASHED = gen.HostStatusSuspended(gen.SuspendReason.SLASHED)
FAILED = gen.HostStatusSuspended(gen.SuspendReason.FAILED_CHALLENGE)


def record(status=SLASHED, **changes):
    return host_record(PROVIDER, status=status, bond=4 * GTY, bond_required=10 * GTY, **changes)


# --- log --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO, logger="node_agent.chain.heartbeat")
    return caplog


def test_each_change_is_logged_once_with_the_way_back(logged):
    kept = SuspensionLog("5Host")
    for now_ms in (1_000, 2_000):
        kept.note(record(gen.HostStatusOnline()), now_ms)
    assert (logged.messages, kept.since_ms) == ([], None)
    for now_ms in (3_000, 4_000):
        kept.note(record(), now_ms)
    assert logged.messages == [
        "this host is suspended and takes no leases: slashes have left less than half of its bond",
        "what ends the suspension: Top the bond up by 6 GTY: gantry agent top-up",
    ]
    assert kept.since_ms == 3_000
    logged.clear()
    kept.note(record(FAILED), 5_000)
    assert "failed a challenge" in logged.messages[0]
    assert kept.since_ms == 3_000
    logged.clear()
    for now_ms in (6_000, 7_000):
        kept.note(record(gen.HostStatusVerified()), now_ms)
    assert logged.messages == ["this host is not suspended any more; it is Verified"]
    assert kept.since_ms is None


def test_a_suspension_that_began_before_the_agent_is_logged_without_its_beginning(logged):
    kept = SuspensionLog("5Host")
    kept.note(record(), 1_000)
    assert (len(logged.messages), kept.since_ms) == (2, None)


# --- status -----------------------------------------------------------------------------------------------------------


class _Service:
    kind = "systemd"


def view(found, since_ms=None, challenge=None):
    running = AgentStatus(
        pid=1,
        start_time=1,
        release="",
        ready=True,
        started_ms=0,
        said_ms=60_000,
        suspension={} if since_ms is None else {"since_ms": since_ms},
        challenge=challenge or {},
    )
    return ProviderHostView(
        host="5Host",
        now=7_200_000,
        record=found,
        params=gen.HostsParams.decode(hosts_params()),
        leases=(),
        due=(),
        balance=None,
        running=running,
        earned=None,
        disputes=(),
    )


RELEASE = ReleaseView("", "1.0", ())


def shown(found, since_ms=None):
    return "\n".join(text(view(found, since_ms), _Service(), RELEASE, runs=True))


def test_status_shows_why_the_host_is_suspended_since_when_and_what_ends_it():
    said = shown(record(), since_ms=0)
    assert "Suspended, for 2h: slashes have left less than half of its bond" in said
    assert "\nTop the bond up by 6 GTY: gantry agent top-up" in said
    assert "Suspended: slashes" in shown(record())
    assert "not answered, so nobody can challenge the host" in said


def test_status_of_a_host_in_service_has_no_way_back():
    assert "top-up" not in shown(record(gen.HostStatusOnline()))


def test_status_tells_how_the_last_challenge_ended_and_what_to_do():
    report = report_of(7, gen.ChallengeOutcome.MISSED, "the engine has no image sha256:00", "Build it.").text
    told = view(record(), challenge={"state": "challenge 8: the proof is being computed", "last": report})
    said = "\n".join(text(told, _Service(), RELEASE, runs=True))
    assert "challenge 8: the proof is being computed" in said
    assert "the engine has no image sha256:00. Build it." in said
    found = plain(told, None, RELEASE)
    assert (found["challenge"], found["last_challenge"]) == ("challenge 8: the proof is being computed", report)


def test_status_tells_programs_the_same():
    found = plain(view(record(), since_ms=7), None, RELEASE)
    assert found["status"] == "Suspended"
    assert found["suspension"] == {
        "reason": "slashed",
        "text": "slashes have left less than half of its bond",
        "since_ms": 7,
        "bond_missing": 6 * GTY,
        "way_back": ["Top the bond up by 6 GTY: gantry agent top-up"],
    }
    assert found["answers_challenges"] is False
    json.dumps(found)
    assert plain(view(record(gen.HostStatusOnline())), None, RELEASE)["suspension"] is None


# --- top-up -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def top_up(tmp_path: Path, monkeypatch):
    """Runs the command on a chain on which the host is suspended. Gives its result and what was added."""
    folder = tmp_path / "agent"
    with contextlib.closing(StateDir(folder)) as state:
        host = state.host_key().address

    def run(*arguments, found):
        chain, added = FakeChain(), []
        hosts = chain.storage["Hosts", "Hosts"]
        hosts[host,] = found.encode()

        def effects(call, _account):
            assert (call.pallet, call.function, call.args["host"]) == ("Hosts", "top_up_bond", host)
            added.append(call.args["amount"])
            hosts[host,] = {**hosts[host,], "bond": hosts[host,]["bond"] + call.args["amount"], "status": "Verified"}
            return [("Hosts", "BondToppedUp", dict(call.args))]

        chain.effects = effects

        @contextlib.asynccontextmanager
        async def reached(_settings):
            async def produce():
                while True:
                    await chain.produce()
                    await asyncio.sleep(0.001)

            task = asyncio.create_task(produce())
            try:
                yield chain
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

        monkeypatch.setattr(host_lifecycle, "open_chain", reached)
        arguments = ["top-up", "--state", str(folder), "--provider", "//Bob", "--json", *arguments]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout.splitlines()[-1]), added

    return run


def test_a_top_up_adds_what_the_bond_lacks(top_up):
    found, added = top_up(found=record())
    assert added == [6 * GTY]
    assert (found["added"], found["bond"], found["status"]) == (6 * GTY, 10 * GTY, "Verified")


def test_a_top_up_adds_what_is_asked_for(top_up):
    found, added = top_up("--amount", "0.5", found=record())
    assert (added, found["bond"]) == ([GTY // 2], 4 * GTY + GTY // 2)


def test_a_complete_bond_is_not_changed(top_up):
    found, added = top_up(found=host_record(PROVIDER, bond=10 * GTY, bond_required=10 * GTY))
    assert (added, found["added"], found["status"]) == ([], 0, "Online")
