"""Movements of accounts and their table, on SQLite and PostgreSQL."""

import csv
import io
import sys
from functools import partial
from itertools import accumulate

import aiohttp
import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.errors import BadReply
from offchain.gateway.api import csv_export, statements
from offchain.indexer import genesis
from offchain.indexer.rows import TransferRow
from offchain.indexer.state_rows import GenesisBalanceRow
from offchain.services.csv_text import csv_text
from offchain.services.statement import coins_text
from tests.support.fake_chain import FakeChain
from tests.support.history_api import history_api
from tests.support.history_blocks import PROVIDERS, TENANTS
from tests.support.pdf_text import pdf_text

TENANT = TENANTS[0]
STARTS = {TENANT: (10**30, 7)}
BLOCKS = 25


@pytest.fixture
async def api(address):
    async with history_api(address, BLOCKS, requests_per_s=1000) as client:
        yield client


def store_genesis(api):
    rows = [GenesisBalanceRow(account, free, held) for account, (free, held) in STARTS.items()]
    genesis.store_genesis_balances(api.db, rows)


async def table(api, path, status=200, **options):
    """Return the rows of a table as dicts, and the headers of the answer."""
    async with api.session.get(api.url + path, **options) as answer:
        text = await answer.text()
        assert answer.status == status, text
        assert answer.content_type == "text/csv"
        return list(csv.DictReader(io.StringIO(text))), answer.headers


@pytest.mark.parametrize("account", [*TENANTS[:3], PROVIDERS[0]])
async def test_totals_run_from_the_genesis_block(api, account):
    store_genesis(api)
    found = await api.all(f"/v1/accounts/{account}/movements?limit=6&order=oldest")
    free, held = STARTS.get(account, (0, 0))
    for name, start in (("free", free), ("held", held)):
        changes = [int(one[f"{name}_change"]) for one in found]
        assert [int(one[f"{name}_total"]) for one in found] == list(accumulate(changes, initial=start))[1:]
    assert [(one["block"], one["index"]) for one in found] == [
        (row.block, row.place) for row in api.db.rows(TransferRow) if account in (row.sender, row.receiver)
    ]
    assert found == (await api.all(f"/v1/accounts/{account}/movements?limit=6"))[::-1]


async def test_totals_are_unknown_without_the_genesis_block(api):
    found = await api.all(f"/v1/accounts/{TENANT}/movements?limit=500")
    assert {one["free_total"] for one in found} == {None}
    assert {one["free_change"] for one in found} != {None}


async def test_categories_and_counterparties_are_those_of_the_account(api):
    found = await api.all(f"/v1/accounts/{TENANT}/movements?limit=500")
    assert {(one["kind"], one["category"]) for one in found} == {
        ("Held", "hold"),
        ("Fee", "fee"),
        ("TransferOnHold", "payment"),
    }
    paid = [one for one in found if one["category"] == "payment"]
    assert all(one["counterparty"] not in (None, TENANT) for one in paid)
    assert all(one["held_change"] == f"-{one['amount']}" for one in paid if one["amount"] != "0")
    bond = (await api.all(f"/v1/accounts/{PROVIDERS[1]}/movements"))[0]
    assert (bond["kind"], bond["reason"], bond["counterparty"]) == ("Held", "Hosts(Bond)", None)


async def test_a_range_of_blocks_is_selected(api):
    found = await api.all(f"/v1/accounts/{TENANT}/movements?first_block=5&last_block=9&limit=3")
    assert found
    assert {5 <= one["block"] <= 9 for one in found} == {True}


@pytest.mark.parametrize(
    ("first_ms", "last_ms", "blocks"),
    [(10_000, 18_000, (5, 9)), (9_999, 18_001, (5, 9)), (10_001, 17_999, (6, 8)), (0, 2**63 - 1, (0, BLOCKS))],
)
async def test_a_range_of_times_is_that_of_its_blocks(api, first_ms, last_ms, blocks):
    path = f"/v1/accounts/{TENANT}/movements"
    first, last = blocks
    expected = await api.all(f"{path}?first_block={first}&last_block={last}&limit=500")
    assert expected
    assert await api.all(f"{path}?first_ms={first_ms}&last_ms={last_ms}&limit=3") == expected
    rows, _ = await table(api, f"{path}?first_ms={first_ms}&last_ms={last_ms}&format=csv&order=newest")
    assert [(int(row["block"]), int(row["index"])) for row in rows] == [
        (one["block"], one["index"]) for one in expected
    ]


async def test_times_without_blocks_have_no_movements(api):
    for query in ("first_ms=9000000000000", "first_ms=10001&last_ms=11999", "last_ms=0&first_block=1"):
        assert await api.all(f"/v1/accounts/{TENANT}/movements?{query}") == []


@pytest.mark.parametrize(
    ("query", "headers"), [("?format=csv", {}), ("", {"Accept": "text/csv"}), ("?format=csv&order=newest", {})]
)
async def test_the_table_has_what_the_list_has(api, query, headers, monkeypatch):
    monkeypatch.setattr(csv_export, "PART_ROWS", 7)
    store_genesis(api)
    rows, answered = await table(api, f"/v1/accounts/{TENANT}/movements{query}", headers=headers)
    listed = await api.all(f"/v1/accounts/{TENANT}/movements?limit=500")
    assert len(rows) > 14
    assert [(row["block"], row["index"], row["amount"], row["free_total"]) for row in rows] == [
        (str(one["block"]), str(one["index"]), one["amount"], one["free_total"]) for one in listed
    ]
    assert rows[-1]["time"].startswith("1970-01-01T00:00:")
    last = (await api.get("/v1/network"))["as_of"]
    assert answered["Gantry-Block"] == f"{last['number']} {last['hash']} {last['time_ms']}"
    assert "Link" not in answered
    assert answered["Content-Disposition"].endswith(f'movements-{last["number"]}.csv"')


async def test_a_table_that_is_cut_names_the_rest(api):
    whole, _ = await table(api, f"/v1/accounts/{TENANT}/movements?format=csv&order=oldest")
    path, found = f"/v1/accounts/{TENANT}/movements?format=csv&order=oldest&limit=9", []
    while path:
        rows, answered = await table(api, path)
        found += rows
        path = answered["Link"].partition(">")[0][1:] if "Link" in answered else None
    assert found == whole


async def test_a_table_is_of_one_block_while_the_index_grows(api, monkeypatch):
    monkeypatch.setattr(csv_export, "PART_ROWS", 3)
    read = csv_export._part

    def grow(db, **given):
        if given["request"].after is not None and api.history.number == BLOCKS:
            api.grow(5)
        return read(db, **given)

    monkeypatch.setattr(csv_export, "_part", grow)
    rows, answered = await table(api, f"/v1/accounts/{TENANT}/movements?format=csv&order=oldest")
    assert api.history.number == BLOCKS + 5
    assert answered["Gantry-Block"].startswith(f"{BLOCKS - 1} ")
    assert max(int(row["block"]) for row in rows) < BLOCKS


async def test_a_table_that_cannot_be_read_to_its_end_is_not_ended(api, monkeypatch):
    monkeypatch.setattr(csv_export, "PART_ROWS", 3)
    read = csv_export._part

    def fail(db, **given):
        if given["request"].after is not None:
            raise BadReply("The index is away.")
        return read(db, **given)

    monkeypatch.setattr(csv_export, "_part", fail)
    with pytest.raises(aiohttp.ClientError):
        await table(api, f"/v1/accounts/{TENANT}/movements?format=csv")
    monkeypatch.undo()
    await api.get("/v1/network")


async def test_the_head_of_a_table_has_no_rows(api):
    async with api.session.head(f"{api.url}/v1/accounts/{TENANT}/movements?format=csv") as answer:
        assert (answer.status, answer.content_type, await answer.read()) == (200, "text/csv", b"")


async def test_exports_at_the_same_time_are_limited(api, monkeypatch):
    monkeypatch.setattr(csv_export, "MOST_EXPORTS", 0)
    problem = await api.get(f"/v1/accounts/{TENANT}/movements?format=csv", 503)
    assert problem["code"] == "busy"


async def test_pages_are_shorter_than_tables(api):
    problem = await api.get(f"/v1/accounts/{TENANT}/movements?limit=501", 400)
    assert "at most 500" in problem["detail"]
    problem = await api.get(f"/v1/accounts/{TENANT}/movements?format=csv&limit=50001", 400)
    assert problem["field"] == "limit"
    assert (await api.get(f"/v1/accounts/{TENANT}/movements?format=xml", 400))["field"] == "format"


def test_text_that_is_a_formula_is_escaped_and_amounts_are_not():
    dangerous = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]
    (cells,) = csv.reader(io.StringIO(csv_text([[*dangerous, -5, 7, None, 'a,"b"']]), newline=""))
    assert cells == [*(f"'{one}" for one in dangerous), "-5", "7", "", 'a,"b"']


async def test_the_genesis_block_is_read_if_the_node_has_its_state():
    chain = FakeChain()
    chain.storage["System", "Account"][TENANT,] = {"data": {"free": 5, "reserved": 3, "frozen": 0}}
    chain._final[0].storage["System", "Account"] = dict(chain.storage["System", "Account"])
    assert await genesis.read_genesis_balances(chain) == [GenesisBalanceRow(TENANT, 5, 3)]

    async def pruned(*_given, **_named):
        raise BadReply("It is gone.", code="state_pruned")

    chain.query_map = pruned
    assert await genesis.read_genesis_balances(chain) is None


async def test_a_statement_is_a_pdf_of_the_movements_in_a_time(api):
    store_genesis(api)
    found = await api.all(f"/v1/accounts/{TENANT}/movements?limit=500&order=oldest")
    times = sorted({one["time_ms"] for one in found})
    first, last = times[2], times[-3]
    path = f"/v1/accounts/{TENANT}/statement.pdf?first_ms={first}&last_ms={last}"
    answers = []
    for _ in range(2):
        async with api.session.get(api.url + path) as answer:
            assert (answer.status, answer.content_type) == (200, "application/pdf")
            assert "attachment" in answer.headers["Content-Disposition"]
            answers.append(await answer.read())
    assert answers[0] == answers[1]
    text = pdf_text(answers[0])
    chosen = [one for one in found if first <= one["time_ms"] <= last]
    assert 0 < len(chosen) < len(found)
    for one in found:
        assert (f"{one['block']}.{one['index']}" in text) == (one in chosen)
    assert coins_text(int(chosen[-1]["free_total"])) in text
    assert TENANT in text


async def test_a_statement_with_too_many_movements_is_refused(api, monkeypatch):
    monkeypatch.setattr(statements, "read_statement", partial(statements.read_statement, most=3))
    problem = await api.get(f"/v1/accounts/{TENANT}/statement.pdf", 413)
    assert (problem["code"], "as CSV" in problem["hint"]) == ("too_large", True)


async def test_a_statement_of_nobody_is_empty_and_bad_parameters_are_refused(api):
    async with api.session.get(f"{api.url}/v1/accounts/{from_uri('//Nobody').address}/statement.pdf") as answer:
        assert answer.status == 200
        assert "Movements 0" in pdf_text(await answer.read())
    for wrong in ("x/statement.pdf", f"{TENANT}/statement.pdf?first_ms=-1", f"{TENANT}/statement.pdf?other=1"):
        assert (await api.get(f"/v1/accounts/{wrong}", 400))["code"] == "invalid_parameter"


async def test_without_the_package_a_statement_says_what_to_install(api, monkeypatch):
    monkeypatch.setitem(sys.modules, "fpdf", None)
    problem = await api.get(f"/v1/accounts/{TENANT}/statement.pdf", 404)
    assert (problem["code"], "gantry[statements]" in problem["hint"]) == ("no_pdf", True)
