"""Wrong calls by the hundred, signed and included in blocks of a real chain: each refused by name, nothing changed."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from abuse_network import PATCH, Network, build
from wrong_calls import CASES, Case

from offchain.ports import DispatchFailure
from tests.support.real_chain import chain_of


@dataclass
class Outcome:
    """How each wrong call ended, and what the pallets kept before and after all of them."""

    failures: dict[str, DispatchFailure | None]
    before: dict[str, Any]
    after: dict[str, Any]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return asyncio.run(_try_all(tmp_path_factory.mktemp("abuse")))


async def _try_all(folder: Path) -> Outcome:
    async with chain_of(folder, PATCH) as chain:
        genesis = await chain.link.genesis_hash()
        net = Network(chain, genesis)
        await build(net)
        before = await net.books()
        ended = await net.send([(case.signer, case.make(net)) for case in CASES])
        failures = {case.name: failure for case, failure in zip(CASES, ended, strict=True)}
        return Outcome(failures, before, await net.books())


def test_there_are_hundreds_of_them_each_with_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 300


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_wrong_call_is_refused_with_the_right_error(case: Case, outcome: Outcome) -> None:
    failure = outcome.failures[case.name]
    assert failure is not None, "the chain took it"
    assert f"{failure.pallet}.{failure.name}" == case.expected


def test_all_of_them_together_changed_nothing(outcome: Outcome) -> None:
    changed = {item for item in outcome.before if outcome.before[item] != outcome.after[item]}
    assert not changed
