"""People read why a pod was given up in words, programs as a stable code."""

from dataclasses import fields, replace

import pytest

from offchain.cli.tenant.follow import notes_in
from offchain.cli.tenant.task import StartConditions, waiting_text
from offchain.ports import ChainEvent
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.chain_types.reasons import SENTENCES, TENANTS_FAULTS, code, sentence
from offchain.services.event_text import event_text
from offchain.services.record_views import LeaseView, TaskView

CHARGE = 16_666_666_666


def view_of(kind, **said):
    return kind(**{field.name: None for field in fields(kind)} | said)


@pytest.mark.parametrize("failure", list(gen.HostFailure))
def test_each_failure_of_a_host_has_a_sentence_and_a_code(failure):
    reason = gen.RequeueReasonHostRefused(failure).encode()
    assert sentence(reason) == SENTENCES[failure.value]
    assert code(reason) == failure.name.lower()


def test_faults_of_tenants_are_failures_of_the_chain():
    assert {failure.value for failure in gen.HostFailure} > TENANTS_FAULTS


def test_the_text_of_an_event_has_the_cause_and_the_minimum_charge():
    bill = {"lease": lease_id(3, 0, 0), "paid": CHARGE, "fee": CHARGE, "refunded": 10**12 - CHARGE}
    fields = {
        "task": 3,
        "lease": lease_id(3, 0, 0),
        "reason": {"HostRefused": "InputMissing"},
        "bills": [bill],
        "failures": 1,
        "state": "Queued",
    }
    said = event_text(ChainEvent("Tasks", "Requeued", fields, None))
    assert "was given up: a secret or an input was not delivered in time; failures by different providers: 1" in said
    assert "0.016666666666 GTY paid to the treasury for holding the host" in said
    assert "InputMissing" not in said


def test_only_the_hosts_own_lines_of_a_log_are_notes():
    lines = ["2026-11-24T09:00:00.000000000Z [the image is being pulled: 1.0 MiB of 2.0 MiB]", "", "x [y"]
    assert list(notes_in(lines)) == ["the image is being pulled: 1.0 MiB of 2.0 MiB"]
    assert list(notes_in(["2026-11-24T09:00:00Z [a\x1b[2Jb]"])) == ["a[2Jb"]


def test_a_pending_pod_shows_what_it_waits_for_and_how_long():
    lease, task = view_of(LeaseView, state="Pending"), view_of(TaskView, id=3)
    waited = StartConditions(("api-key",), start_by=62_000, now=50_000)
    said = waiting_text(waited, task, lease)
    assert said is not None
    assert said.startswith("api-key, unless it was delivered (gantry deliver 3 api-key FILE); its image")
    assert said.endswith("it is given up in 12 s")
    assert waiting_text(waited, task, replace(lease, state="Active")) is None
