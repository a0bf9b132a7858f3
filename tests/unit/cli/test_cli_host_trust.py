"""gantry host trust: the score of a host with its evidence, from the chain and from an index."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cli_world import GTY, World, the_host

from offchain.indexer import queries
from offchain.indexer.engines import open_index
from offchain.indexer.rows import LeaseRow
from offchain.indexer.writer import IndexWriter
from offchain.ports import ChainEvent
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.score import evidence_weight
from tests.support.chain_records import device, zeroed
from tests.support.history_blocks import BLOCK_MS, GENESIS, HOSTS, TENANTS, History

HOST = HOSTS[0]
DIGEST = "0x" + "ab" * 32
BLOCKS = 40


@dataclass(frozen=True)
class Rated:
    """An index with evidence about `HOST`, whose `lease` was disputed and rated."""

    path: Path
    lease: LeaseRow
    provider: str


def evidence(lease: LeaseRow, provider: str) -> Iterator[list[ChainEvent]]:
    """The events of three blocks."""
    claim = {"vendor": "Nvidia", "model": "A100", "vram_mib": 40_960, "simulated": False}

    def event(pallet: str, name: str, **fields: Any) -> ChainEvent:
        return ChainEvent(pallet, name, fields, 1)

    def opened(number: int) -> ChainEvent:
        return event(
            "Verification",
            "ChallengeOpened",
            challenge=number,
            host=HOST,
            device=0,
            claim=claim,
            opener=provider,
            fee=GTY,
        )

    def closed(number: int, outcome: str) -> ChainEvent:
        return event(
            "Verification", "ChallengeClosed", challenge=number, host=HOST, device=0, outcome=outcome, returned=0
        )

    yield [
        opened(7),
        event(
            "Verification",
            "DisputeOpened",
            task=lease.task,
            by=TENANTS[0],
            accused=[lease.lease],
            stake=GTY,
            evidence=DIGEST,
            until=1,
        ),
    ]
    yield [
        closed(7, "Passed"),
        opened(8),
        event("Verification", "EvidenceAdded", task=lease.task, by=TENANTS[0], digest=DIGEST),
        event("Verification", "EvidenceAdded", task=lease.task, by=provider, digest=DIGEST),
    ]
    yield [
        closed(8, "Failed"),
        event("Hosts", "Slashed", host=HOST, fault="FailedChallenge", amount=10 * GTY),
        event("Verification", "DisputeClosed", task=lease.task, outcome="Rejected"),
        event("Tasks", "Rated", task=lease.task, lease=lease.lease, stars=4),
    ]


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Rated:
    path = tmp_path_factory.mktemp("index") / "index.db"
    with contextlib.closing(open_index(str(path), create=True)) as db:
        writer, history = IndexWriter(db), History(6)
        writer.prepare(GENESIS)
        writer.add(list(history.blocks(BLOCKS)))
        host = queries.host(db, HOST)
        assert host is not None
        lease = next(one for one in queries.leases_of_host(db, HOST, 1000) if one.fee)
        writer.add([replace(history.block(1), events=tuple(events)) for events in evidence(lease, host.provider)])
    return Rated(path, lease, host.provider)


@pytest.fixture
def trusted(world: World) -> World:
    """The host has a proven GPU, evidence for it, and a miss."""
    proven = replace(device(), attested=True).encode()
    world.put("Hosts", "Hosts", HOST, the_host(devices=[proven], answers_challenges=True))
    score = zeroed(
        gen.HostScore,
        **dict.fromkeys(("completed", "uptime", "start_latency"), gen.Beta(2_000_000, 0)),
        verified=gen.Beta(8_000_000, 1_000_000),
        rating=gen.Beta(0, 0),
        sla=gen.Sla(1_000_000, 999_000),
        settled_leases=3,
    )
    world.put("Reputation", "HostScores", HOST, score.encode())
    asked = zeroed(gen.HostChallenges, missed_at=1_700_000_000_000, open=9)
    world.put("Verification", "ByHost", HOST, asked.encode())
    return world


def test_a_score_is_shown_with_its_evidence(trusted: World, rated: Rated) -> None:
    found = trusted.json("host", "trust", HOST, "--index", rated.path)
    parts = {part["part"]: part for part in found["evidence"]}
    assert parts["verified"] == {"part": "verified", "positive": 8_000_000, "negative": 1_000_000, "ppm": 818_181}
    assert parts["rating"]["ppm"] == 500_000, "no evidence"
    assert (found["settled_leases"], found["open_challenge"], found["last_missed_ms"]) == (3, 9, 1_700_000_000_000)
    assert [(gpu["model"], gpu["attested"]) for gpu in found["devices"]] == [("A100", True)]
    history = found["history"]
    assert [(one["challenge"], one["outcome"]) for one in history["challenges"]] == [(7, "Passed"), (8, "Failed")]
    assert history["challenges"][0]["closed_ms"] - history["challenges"][0]["opened_ms"] == BLOCK_MS
    (disputed,) = history["disputes"]
    assert (disputed["task"], disputed["outcome"]) == (rated.lease.task, "Rejected")
    assert disputed["response_ms"] == BLOCK_MS, "to the evidence of the provider, not of the tenant"
    (rating,) = history["ratings"]
    fee = rated.lease.fee - rated.lease.scheduler_fee - rated.lease.settler_fee
    assert (rating["stars"], rating["fee"], rating["weight"]) == (4, fee, evidence_weight(fee))
    assert {"time_ms": (BLOCKS + 2) * BLOCK_MS, "reason": "FailedChallenge", "amount": 10 * GTY} in history["penalties"]
    assert history["up_to_block"] == BLOCKS + 2


def test_a_score_is_shown_as_text(trusted: World, rated: Rated) -> None:
    status, out, err = trusted.run("host", "trust", HOST, "--index", rated.path)
    assert status == 0, err
    assert "99.90 % of the time of its leases" in out
    assert "answered; challenge 9 is open" in out
    assert "GPU 0  A100, 40960 MiB: proven by a challenge" in out
    assert "Challenges: 1 passed, 1 failed." in out
    assert "rejected" in out
    assert "10 GTY" in out


def test_without_an_index_the_chain_alone_is_shown(trusted: World) -> None:
    status, out, err = trusted.run("host", "trust", HOST)
    assert status == 0, err
    assert "verified" in out
    assert "No index was read" in err
    assert trusted.json("host", "trust", HOST)["history"] is None


def test_an_index_that_is_named_has_to_be_there(trusted: World, tmp_path: Path) -> None:
    status, out, err = trusted.run("host", "trust", HOST, "--index", tmp_path / "none.db")
    assert (status, out) == (1, "")
    assert "none.db" in err


def test_a_host_without_a_score_and_an_unknown_one(world: World) -> None:
    world.put("Hosts", "Hosts", HOST, the_host(devices=[]))
    status, out, _ = world.run("host", "trust", HOST)
    assert status == 0
    assert "none yet after 0 settled leases" in out
    status, _, err = world.run("host", "trust", HOSTS[1])
    assert status == 1
    assert "is registered" in err


@pytest.mark.parametrize(("fee", "weight"), [(0, 0), (2_700_000_000, 27_000), (10_800_000_000_000, 6_703_125)])
def test_evidence_weighs_by_fees_as_on_the_chain(fee: int, weight: int) -> None:
    """The values are those of tests/acceptance/verification/verification_network.py, from a real chain."""
    assert evidence_weight(fee) == weight
