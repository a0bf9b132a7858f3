"""Challenges, disputes, schedulers, queue definitions and score changes, on SQLite and PostgreSQL."""

import json
import re

import aiohttp
import pytest
from sqlalchemy import text

from offchain.gateway.api import score_changes
from offchain.gateway.api.server import ApiServer, ApiSettings
from offchain.indexer import meta
from offchain.indexer.matter_rows import MATTER_ROWS
from offchain.indexer.rows import HostRow, LeaseRow, TaskRow
from offchain.indexer.verification import replayed_digest, stored_digest
from tests.support import matter_blocks as made
from tests.support.api_client import Api, received
from tests.support.history_blocks import HOSTS, PROVIDERS, TENANTS, History
from tests.support.index_rig import opened, rederived

HOST, OTHER, PROVIDER, VERIFIER = HOSTS[0], HOSTS[1], PROVIDERS[0], made.MEMBERS[0]
SETTINGS = {"host": "127.0.0.1", "port": 0, "requests_per_s": 1000}


@pytest.fixture
async def api(address):
    """An index whose challenges and dispute are about hosts and a task of a history."""
    db, index = opened(address)
    history = History(5)
    index.add(list(history.blocks(20)))
    task = next(row for row in db.rows(TaskRow) if row.state == "Settled")
    lease = next(row for row in db.rows(LeaseRow) if row.task == task.task)
    stories = [
        made.passed(0, HOST, VERIFIER),
        made.failed(1, OTHER, VERIFIER),
        made.passed(2, HOST, PROVIDER)[:3],
        made.appealed(task.task, lease.lease, task.tenant, PROVIDER),
        [made.bonded(), made.bonded(OTHER)],
        [made.punished(lease.lease, HOST, task.tenant)],
    ]
    index.add(list(made.blocks_after(history, *stories)))
    async with ApiServer(ApiSettings(index=address, **SETTINGS)).listening() as url, aiohttp.ClientSession() as session:
        client = Api(url, session, index, history)
        client.db, client.task, client.lease = db, task, lease
        yield client
    db.close()


async def test_challenges_are_listed_by_host_state_outcome_opener_and_proof(api):
    assert [one["challenge"] for one in await api.all("/v1/challenges?limit=2")] == [2, 1, 0]
    assert [one["challenge"] for one in await api.all("/v1/challenges?order=oldest&limit=1")] == [0, 1, 2]
    for query, numbers in (
        (f"host={HOST}", [2, 0]),
        ("state=Committing", [2]),
        ("outcome=Failed", [1]),
        ("state=Closed&outcome=Passed", [0]),
        (f"opener={VERIFIER}&host={OTHER}", [1]),
        (f"digest=0x{made.PROOF.hex()}", [2, 1, 0]),
        ("outcome=Missed", []),
    ):
        assert [one["challenge"] for one in await api.all(f"/v1/challenges?{query}")] == numbers, query


async def test_a_challenge_has_its_committees_and_their_votes(api):
    answer = await api.get("/v1/challenges/1")
    data = answer["data"]
    assert answer["as_of"]["number"] == api.history.number - 1
    assert (data["host"], data["state"], data["outcome"], data["fee"]) == (OTHER, "Closed", "Failed", str(made.FEE))
    assert data["claim"] == {"vendor": "Nvidia", "model": "SIM-1", "vram_mib": 24_576, "simulated": True}
    first, second = data["committees"]
    assert (first["round"], first["confirming"], first["drawn"], first["verdict"]) == (0, False, True, "No")
    assert (second["round"], second["confirming"], second["seed"]) == (1, True, first["seed"])
    assert [vote["account"] for vote in second["votes"]] == made.MEMBERS[3:]
    assert {vote["vote"] for vote in second["votes"]} == {"No"}
    assert {vote["rewarded"] for vote in second["votes"]} == {str(made.SHARE)}
    waiting = (await api.get("/v1/challenges/2"))["data"]
    assert (waiting["outcome"], waiting["returned"], waiting["until_ms"]) == (None, None, made.UNTIL)


async def test_the_dispute_about_a_task_is_found_by_task_lease_opener_and_state(api):
    task, lease = api.task, api.lease
    for query, is_found in (
        ("", True),
        (f"task={task.task}", True),
        (f"task={task.task + 1}", False),
        (f"lease={lease.lease}", True),
        (f"lease={lease.lease + 1}", False),
        (f"opener={task.tenant}", True),
        (f"opener={PROVIDER}", False),
        ("state=Closed", True),
        ("state=Hearing", False),
        ("outcome=Rejected", True),
    ):
        found = [one["task"] for one in await api.all(f"/v1/disputes?{query}")]
        assert found == ([task.task] if is_found else []), query


async def test_a_dispute_has_its_juries_evidence_and_stakes(api):
    data = (await api.get(f"/v1/disputes/{api.task.task}"))["data"]
    assert (data["opener"], data["tenant"], data["accused"]) == (
        api.task.tenant,
        api.task.tenant,
        [str(api.lease.lease)],
    )
    assert [(one["round"], one["level"], one["verdict"]) for one in data["committees"]] == [(0, 0, "Yes"), (1, 1, "No")]
    assert [one["digest"] for one in data["evidence"]] == [
        f"0x{digest.hex()}" for digest in (made.EVIDENCE, made.MORE_EVIDENCE)
    ]
    stakes = {one["account"]: one for one in data["stakes"]}
    assert (stakes[api.task.tenant]["lost"], stakes[PROVIDER]["refunded"]) == (str(made.STAKE), str(made.SHARE))


async def test_schedulers_and_their_queue_definitions(api):
    accounts = sorted((made.SCHEDULER, OTHER))
    assert [one["account"] for one in await api.all("/v1/schedulers?limit=1")] == accounts
    assert [one["account"] for one in await api.all("/v1/schedulers?state=Leaving")] == []
    digest = f"0x{made.QUEUES.hex()}"
    assert [one["account"] for one in await api.all(f"/v1/schedulers?queues={digest}")] == accounts
    data = (await api.get(f"/v1/schedulers/{made.SCHEDULER}"))["data"]
    assert (data["state"], data["penalties"], data["lost"]) == ("Bonded", 1, str(made.PENALTY))
    assert data["bond"] == str(made.BOND - made.PENALTY)
    (penalty,) = data["last_penalties"]
    assert (penalty["lease"], penalty["cheaper"]) == (str(api.lease.lease), HOST)
    (queues,) = await api.all("/v1/queues")
    assert (queues["digest"], queues["schedulers"], queues["placed"]) == (digest, 2, 0)


async def test_leases_are_counted_for_the_signer_of_their_assignment(api):
    told = ("Tasks", "Assigned", {"task": 0, "generation": 9, "leases": [(9, HOST, 1, 1)] * 3, "state": "Assigned"})
    api.index.add([made.block_after(api.history, [told], signer=made.SCHEDULER)])
    data = (await api.get(f"/v1/schedulers/{made.SCHEDULER}"))["data"]
    assert (data["placed"], data["placed_ms"]) == (3, (api.history.number - 1) * 2000)
    assert stored_digest(api.db).hex() == replayed_digest(api.db).hex()


async def test_events_about_a_challenge_are_its_timeline(api):
    names = [one["name"] for one in await api.all("/v1/events?subject=challenge:0&order=oldest&limit=3")]
    assert names == [name for part in made.passed(0, HOST, VERIFIER) for _, name, _ in part]
    stream = await api.stream("/v1/events/stream?subject=challenge:2")
    api.index.add([made.block_after(api.history, made.voted({"Challenge": 2}, {VERIFIER: "Yes"}))])
    assert [one["name"] for one in await received(stream, 2)] == ["VoteCommitted", "RevealsOpened"]


async def test_a_search_finds_challenges_and_disputes(api):
    async def found(words):
        answer = await api.get("/v1/search", params={"q": words})
        for match in answer["data"]:
            await api.get(match["path"])
        return [(match["kind"], match["id"], match["about"]) for match in answer["data"]]

    assert ("challenge", "1", "Failed") in await found("1")
    number = str(api.task.task)
    assert ("dispute", number, "Rejected") in await found(number)
    assert [kind for kind, *_ in await found(made.PROOF.hex())] == ["challenge"] * 3
    assert await found(made.MORE_EVIDENCE.hex()) == [("dispute", number, "Rejected")]


async def test_changes_of_a_score_name_what_caused_them(api):
    (*_, row) = (one for one in api.db.rows(LeaseRow) if one.started_ms is not None)
    changes = await api.all(f"/v1/reputation/{row.host}/changes?limit=3")
    events = await api.all(f"/v1/events?subject={row.host}&pallet=Reputation")
    assert [one["id"] for one in changes] == [one["id"] for one in events]
    assert [one["score_ppm"] for one in changes] == [one["fields"]["score_ppm"] for one in events]
    for one in changes:
        assert one["role"] == "host"
        assert 0 < len(one["causes"]) <= score_changes.MOST_CAUSES
        assert {(cause["block"], cause["extrinsic"]) for cause in one["causes"]} == {(one["block"], one["extrinsic"])}
        assert {cause["pallet"] for cause in one["causes"]} <= {"Tasks", "Leases", "Hosts", "Verification"}


async def test_the_causes_of_a_tenants_score_are_events_about_its_tasks(api):
    task, other = api.task, next(row for row in api.db.rows(TaskRow) if row.tenant != api.task.tenant)
    settled = [("Tasks", "Settled", {"task": number, "bills": []}) for number in (other.task, task.task)]
    scored = ("Reputation", "TenantScored", {"tenant": task.tenant, "score_ppm": 510_000})
    api.index.add([made.block_after(api.history, [*settled, scored], signer=TENANTS[3])])
    (change,) = await api.all(f"/v1/reputation/{task.tenant}/changes")
    assert (change["role"], change["score_ppm"]) == ("tenant", 510_000)
    assert [cause["fields"]["task"] for cause in change["causes"]] == [task.task]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/challenges/99", 404, "no challenge 99"),
        ("/v1/challenges/x", 400, "challenge: "),
        ("/v1/challenges?outcome=%3Cb%3E", 400, "outcome: "),
        ("/v1/challenges?host=x", 400, "host: "),
        ("/v1/disputes/99999", 404, "no dispute about task 99999"),
        ("/v1/disputes?lease=-1", 400, "lease: "),
        (f"/v1/schedulers/{HOST}", 404, "no scheduler"),
        ("/v1/schedulers?state=Busy", 400, "state: "),
        ("/v1/schedulers?after=WzFd", 400, "another list"),
        ("/v1/queues?after=WzFd", 400, "another list"),
        ("/v1/reputation/x/changes", 400, "account: "),
        ("/v1/events?subject=challenge:x", 400, "subject: "),
    ],
)
async def test_errors_name_the_cause(api, path, status, says):
    problem = await api.get(path, status)
    assert re.search(says, problem["detail"]), problem


async def test_an_answer_that_is_the_same_is_not_sent_again(api):
    for path in ("/v1/challenges", f"/v1/disputes/{api.task.task}", "/v1/schedulers", "/v1/queues"):
        async with api.session.get(api.url + path) as answer:
            tag = answer.headers["ETag"]
        await api.get(path, 304, headers={"If-None-Match": tag})


async def test_all_rows_follow_from_the_events(api):
    assert stored_digest(api.db).hex() == replayed_digest(api.db).hex()
    assert all(api.db.rows(row_type) for row_type in MATTER_ROWS)
    registered = {row.host for row in api.db.rows(HostRow)}
    assert {HOST, OTHER} <= registered


async def test_the_tables_of_version_4_answer_while_the_others_are_derived(address):
    db, index = opened(address)
    history = History(5)
    index.add(list(history.blocks(10)))
    index.add(list(made.blocks_after(history, made.passed(0, HOST, VERIFIER))))
    for row_type in MATTER_ROWS:
        db.execute(text(f"DROP TABLE {row_type.TABLE}"))
    with db.transaction():
        meta.note(db, meta.DERIVED, 4)
    db.close()
    db, index = opened(address)
    assert index.is_rederiving
    async with ApiServer(ApiSettings(index=address, **SETTINGS)).listening() as url, aiohttp.ClientSession() as session:
        api = Api(url, session)
        tasks = await api.get("/v1/tasks")
        assert tasks["data"]
        assert (await api.get("/v1/search?q=0"))["data"]
        for path in ("/v1/challenges", "/v1/challenges/0", "/v1/disputes", "/v1/schedulers", "/v1/queues"):
            assert (await api.get(path, 503))["code"] == "index_busy"
        rederived(index)
        assert (await api.get("/v1/tasks"))["data"] == tasks["data"]
        assert json.dumps((await api.get("/v1/challenges/0"))["data"]["outcome"]) == '"Passed"'
        assert ("challenge", "0") in [(one["kind"], one["id"]) for one in (await api.get("/v1/search?q=0"))["data"]]
    assert stored_digest(db).hex() == replayed_digest(db).hex()
    db.close()
