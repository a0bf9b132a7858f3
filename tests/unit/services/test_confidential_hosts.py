"""Which hosts are asked to prove that they are confidential, and how many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from offchain.adapters.transport.port import HostUnreachable, refused
from offchain.core.values import Capacity, Host, HostStatus
from offchain.errors import CheckFailed
from offchain.schema.attestation.policy import AttestationCheck, AttestationFinding, AttestationResult
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.messages import Code
from offchain.services import confidential_hosts
from offchain.services.confidential_hosts import MOST_ASKED, MOST_NAMED, find_confidential_hosts, with_hosts
from tests.support.chain_records import task_spec
from tests.support.core_builders import ask, host

SPEC = task_spec(resources=gen.Resources(1000, 512, 1, gen.GpuRequest(0, 1000, 0, ())))
PROVEN = AttestationResult(findings=(AttestationFinding.proven(AttestationCheck.BINDING, "fine"),))
Outcome = AttestationResult | Exception


class AskedHosts:
    """Answers of hosts by name, `PROVEN` unless given otherwise."""

    def __init__(self, **answers: Outcome) -> None:
        self.asked: list[str] = []
        self._answers = answers

    async def attest(self, name: str) -> AttestationResult:
        self.asked.append(name)
        answer = self._answers.get(name, PROVEN)
        if isinstance(answer, Exception):
            raise answer
        return answer


def hosts(count: int, make: Callable[[int], Host] | None = None) -> list[Host]:
    return [(make or (lambda number: host(f"h{number:02}")))(number) for number in range(count)]


async def test_hosts_with_free_resources_are_asked_first_and_then_the_cheapest() -> None:
    busy = replace(host("busy"), free=Capacity(0, 0, 0))
    dear = replace(host("dear"), ask=ask(cpu_core_per_hour=2 * host().ask.cpu_core_per_hour))
    unable = replace(host("unable"), total=Capacity(1, 1, 1), free=Capacity(1, 1, 1))
    offline = replace(host("offline"), status=HostStatus.OFFLINE)
    asked = AskedHosts()
    found = await find_confidential_hosts(SPEC, "tenant", [busy, dear, unable, offline, host("cheap")], asked.attest)
    assert asked.asked == list(found.proven) == ["cheap", "dear", "busy"]


async def test_no_more_hosts_are_asked_than_can_be_named() -> None:
    asked = AskedHosts()
    found = await find_confidential_hosts(SPEC, "tenant", hosts(20), asked.attest)
    assert (len(found.proven), len(asked.asked), found.not_asked) == (MOST_NAMED, MOST_NAMED, 20 - MOST_NAMED)
    assert with_hosts(SPEC, found.proven).placement.hosts == found.proven


async def test_a_bounded_number_of_hosts_is_asked_where_none_proves_it() -> None:
    asked = AskedHosts(**{f"h{number:02}": HostUnreachable("away", "") for number in range(99)})
    found = await find_confidential_hosts(SPEC, "tenant", hosts(99), asked.attest)
    assert (found.proven, len(asked.asked), found.not_asked) == ((), MOST_ASKED, 99 - MOST_ASKED)
    assert found.text == (
        f"0 of {MOST_ASKED} hosts that could run it prove it; not: {MOST_ASKED} out of reach; {99 - MOST_ASKED} hosts "
        "not asked"
    )


async def test_each_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = AttestationResult(findings=(AttestationFinding(AttestationCheck.TCB, passed=False, text="old"),))
    asked = AskedHosts(
        h00=failed,
        h01=CheckFailed("an ordinary machine", "", code="not_attested"),
        h02=refused(Code.BUSY, "others ask", ""),
        h03=TimeoutError(),
    )
    found = await find_confidential_hosts(SPEC, "tenant", hosts(5), asked.attest)
    assert found.proven == ("h04",)
    assert list(found.refused.values()) == [
        "failing the check tcb",
        "without attestation",
        "refusing to prove it (Busy)",
        "without an answer",
    ]

    async def silent(_name: str) -> AttestationResult:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(confidential_hosts, "ANSWER_S", 0.01)
    found = await find_confidential_hosts(SPEC, "tenant", hosts(1), silent)
    assert found.refused == {"h00": "without an answer"}


async def test_an_error_on_this_side_is_raised() -> None:
    with pytest.raises(CheckFailed, match="package"):
        await find_confidential_hosts(
            SPEC, "tenant", hosts(1), AskedHosts(h00=CheckFailed("the package is missing", "")).attest
        )
