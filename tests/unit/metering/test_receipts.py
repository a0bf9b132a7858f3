"""Receipts: their bytes, their bills, and receipts that a tenant refuses to sign."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offchain.adapters.keys.signer import Ed25519Signer, from_uri, verify
from offchain.core.receipt_check import LeaseFacts, decreased_totals, problems
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.protocol.messages import WireError
from offchain.schema.protocol.receipt import Bill, Countersignature, Receipt, SignedReceipt, Totals
from offchain.schema.protocol.receipt_bill import ended_bill, running_bill
from tests.support.chain_records import escrow, lease, task_spec

CASES = json.loads((Path(__file__).parents[2] / "vectors" / "escrow.json").read_text(encoding="utf-8"))["escrow"]
COINS = ("deposit", "rate_per_hour", "accrued", "paid")
HOST = Ed25519Signer(bytes(32))
TENANT = from_uri("//Alice")
OPENED, STARTED = 1_000_000, 1_010_000
HOUR = 3_600_000
USED = Totals(wall_ms=HOUR, cpu_ms=1_000, memory_mib_s=5, memory_peak_mib=7, received_bytes=1, sent_bytes=2)


def a_bill(**changes) -> Bill:
    fields = {"rate_per_hour": 3600, "unit": gen.BillingUnit.SECOND, "accrued": 0, "since_ms": STARTED}
    return Bill(**(fields | {"billed_ms": HOUR, "owed": 3600} | changes))


def a_receipt(**changes) -> Receipt:
    receipt = Receipt(
        genesis_hash=bytes(32),
        task=7,
        lease=7 << 24,
        host=HOST.address,
        tenant=TENANT.address,
        seq=1,
        from_ms=OPENED,
        until_ms=STARTED + HOUR,
        totals=USED,
        bill=a_bill(),
        reported=None,
        final=False,
    )
    return replace(receipt, **changes)


def facts(record: gen.Lease | None = None, **changes) -> LeaseFacts:
    running = lease(
        HOST.address,
        state=gen.LeaseStateActive(),
        created_at=OPENED,
        started_at=STARTED,
        escrow=escrow(deposit=36_000, rate_per_hour=3600, since=STARTED),
    )
    found = LeaseFacts(
        genesis_hash=bytes(32),
        task=7,
        lease=7 << 24,
        tenant=TENANT.address,
        spec=task_spec(),
        record=record or running,
        host_downtime_ms=0,
        now_ms=STARTED + HOUR,
    )
    return replace(found, **changes)


def completed(wall_ms=HOUR, owed=3600, **changes) -> gen.Lease:
    usage = gen.Usage(wall_ms=wall_ms, cpu_ms=1_000, memory_peak_mib=7)
    record = replace(
        facts().record,
        state=gen.LeaseStateEnded(gen.EndReasonCompleted()),
        ended_at=STARTED + HOUR,
        result=gen.PodResult(bytes(32), 0, usage),
        escrow=replace(facts().record.escrow, since=None, accrued=owed),
    )
    return replace(record, **changes)


# --- bytes --------------------------------------------------------------------------------------------------------


amounts = st.integers(0, (1 << 128) - 1)
times = st.integers(0, (1 << 64) - 1)
counts = st.integers(0, (1 << 96) - 1)
receipts = st.builds(
    Receipt,
    genesis_hash=st.binary(min_size=32, max_size=32),
    task=times,
    lease=times,
    host=st.text(max_size=64),
    tenant=st.text(max_size=64),
    seq=st.integers(1, (1 << 64) - 1),
    from_ms=times,
    until_ms=times,
    totals=st.builds(Totals, wall_ms=counts, gpu_ms=st.none() | counts, sent_bytes=counts),
    bill=st.builds(
        Bill,
        rate_per_hour=amounts,
        unit=st.sampled_from(gen.BillingUnit),
        accrued=amounts,
        since_ms=st.none() | times,
        billed_ms=times,
        owed=amounts,
    ),
    reported=st.none() | st.builds(gen.Usage, wall_ms=times, cpu_ms=times, memory_peak_mib=times),
    final=st.booleans(),
)


@given(receipts)
def test_a_receipt_survives_its_bytes(receipt):
    assert Receipt.decode(receipt.body) == receipt
    signed = SignedReceipt(receipt, bytes(64), Countersignature("5Tenant", "sr25519", bytes(range(64))))
    assert SignedReceipt.decode(signed.encode()) == signed
    assert SignedReceipt.decode(replace(signed, countersignature=None).encode()).countersignature is None


def test_only_canonical_bytes_are_a_receipt():
    body = a_receipt().body
    assert Receipt.decode(body).digest == a_receipt().digest
    for other in (body + b" ", b" " + body, body.replace(b'"seq":1', b'"seq": 1')):
        with pytest.raises(WireError):
            Receipt.decode(other)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("v", 2),
        ("what", "gantry/deletion"),
        ("seq", 0),
        ("final", 1),
        ("genesis", "00"),
        ("until_ms", -1),
        ("more", 1),
        ("totals", {"wall_ms": -1}),
        ("bill", {}),
        ("reported", {"wall_ms": 1}),
    ],
)
def test_a_receipt_with_a_wrong_field_is_refused(name, value):
    plain = SignedReceipt(a_receipt(), bytes(64)).plain()
    plain["receipt"][name] = value
    with pytest.raises(WireError):
        SignedReceipt.decode(json.dumps(plain).encode())


@pytest.mark.parametrize("amount", ["01", "-1", "1.5", "٣", "", str(1 << 128), 5])
def test_amounts_have_one_way_to_be_written(amount):
    plain = SignedReceipt(a_receipt(), bytes(64)).plain()
    plain["receipt"]["bill"]["owed"] = amount
    with pytest.raises(WireError):
        SignedReceipt.decode(json.dumps(plain).encode())


def test_a_changed_receipt_does_not_go_with_its_digest():
    plain = SignedReceipt(a_receipt(), bytes(64)).plain()
    plain["receipt"]["totals"]["cpu_ms"] += 1
    with pytest.raises(WireError, match="another digest"):
        SignedReceipt.decode(json.dumps(plain).encode())


def test_the_signatures_of_host_and_tenant_are_good_for_nothing_else():
    receipt = a_receipt()
    by_host = HOST.sign(receipt.host_payload)
    assert verify(HOST.public_key, "ed25519", receipt.host_payload, by_host)
    assert not verify(HOST.public_key, "ed25519", receipt.tenant_payload, by_host)
    assert not verify(HOST.public_key, "ed25519", a_receipt(seq=2).host_payload, by_host)


# --- bills --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_running_bill_is_what_the_chain_says_is_owed(case):
    plain = case["escrow"] | {name: int(case["escrow"][name]) for name in COINS}
    held = escrow(**plain | {"unit": gen.BillingUnit(plain["unit"])})
    bill = running_bill(lease(HOST.address, escrow=held), case["now"], case["host_downtime"])
    assert (bill.billed_ms, bill.owed) == (case["billed_ms"], int(case["owed"]))


def test_a_host_bills_no_more_than_it_measured():
    bill = ended_bill(completed(HOUR // 2, 1800), gen.TaskKind.JOB, None, 0)
    assert (bill.billed_ms, bill.owed) == (HOUR // 2, 1800)


def test_notice_ends_what_is_billed():
    record = replace(facts().record, reclaim_at=STARTED + HOUR // 4)
    assert running_bill(record, STARTED + HOUR, 0).billed_ms == HOUR // 4


@pytest.mark.parametrize(
    ("reason", "kind", "owed", "billed_ms"),
    [
        (gen.EndReasonTenantEnded(), gen.TaskKind.SERVICE, 7200, HOUR + 1),
        (gen.EndReasonReclaimed(), gen.TaskKind.SERVICE, 3600, HOUR + 1),
        (gen.EndReasonPreempted(), gen.TaskKind.JOB, 3600, HOUR + 1),
        (gen.EndReasonMoved(), gen.TaskKind.JOB, 7200, HOUR + 1),
        (gen.EndReasonMoved(), gen.TaskKind.JOB, 3600, HOUR + 1),
        (gen.EndReasonHostLost(), gen.TaskKind.RENTAL, 3600, HOUR + 1),
        (gen.EndReasonHostLost(), gen.TaskKind.JOB, 0, HOUR + 1),
        (gen.EndReasonDisputeLost(), gen.TaskKind.JOB, 0, HOUR + 1),
    ],
)
def test_a_bill_by_the_hour_at_its_end_by_the_reason(reason, kind, owed, billed_ms):
    record = completed(owed=owed, result=None, state=gen.LeaseStateEnded(reason), ended_at=STARTED + HOUR + 1)
    record = replace(record, escrow=replace(record.escrow, unit=gen.BillingUnit.HOUR))
    bill = ended_bill(record, kind, None, 0)
    assert (bill.billed_ms, bill.owed) == (billed_ms, owed)


def test_the_last_segment_of_a_rental_that_was_stopped_in_between():
    last = escrow(deposit=36_000, rate_per_hour=3600, accrued=500, since=STARTED + HOUR // 2)
    record = completed(owed=500 + 1800, result=None, state=gen.LeaseStateRetained(9 * HOUR))
    bill = ended_bill(record, gen.TaskKind.RENTAL, last, 0)
    assert (bill.accrued, bill.since_ms, bill.billed_ms, bill.owed) == (500, STARTED + HOUR // 2, HOUR // 2, 2300)


def test_a_charge_without_time_is_shown_as_an_amount_only():
    bill = ended_bill(completed(owed=1234), gen.TaskKind.JOB, None, 0)
    assert (bill.since_ms, bill.billed_ms, bill.accrued, bill.owed) == (None, 0, 1234, 1234)


# --- what a tenant looks at -----------------------------------------------------------------------------------------


def test_a_receipt_that_fits_the_chain_has_no_problem():
    assert problems(a_receipt(), facts()) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"genesis_hash": b"\1" * 32}, "chain"),
        ({"task": 8}, "task 8"),
        ({"lease": 1}, "lease 1"),
        ({"host": TENANT.address}, "host"),
        ({"tenant": HOST.address}, "tenant"),
        ({"from_ms": OPENED - 1}, "opening"),
        ({"until_ms": STARTED + HOUR + 60_001}, "after the chain's time"),
        ({"final": True}, "lease is over"),
        ({"bill": a_bill(rate_per_hour=3601)}, "rate"),
        ({"bill": a_bill(since_ms=STARTED - 1)}, "ask for a new one"),
        ({"bill": a_bill(billed_ms=HOUR + 1)}, f"there are {HOUR} ms"),
        ({"bill": a_bill(owed=3601)}, "by the chain's rules it is 3600"),
        ({"totals": replace(USED, wall_ms=2 * HOUR)}, "wall_ms"),
        ({"totals": replace(USED, cpu_ms=2 * HOUR)}, "cpu_ms"),
        ({"totals": replace(USED, memory_peak_mib=600)}, "memory_peak_mib"),
        ({"totals": replace(USED, gpu_ms=2 * HOUR)}, "gpu_ms"),
    ],
)
def test_a_receipt_that_does_not_fit_the_chain_says_where(changes, words):
    (problem,) = problems(a_receipt(**changes), facts())
    assert words in problem


def test_the_last_receipt_goes_with_what_the_chain_settled():
    record = completed()
    last = a_receipt(final=True, reported=record.result.usage)
    assert problems(last, facts(record)) == ()
    assert "ask for its last one" in problems(a_receipt(), facts(record))[0]
    other = replace(record.result.usage, wall_ms=5)
    assert "reported" in problems(replace(last, reported=other), facts(record))[0]
    assert "the chain says 3600" in problems(replace(last, bill=a_bill(owed=3599)), facts(record))[0]
    assert "do not make" in problems(replace(last, bill=a_bill(billed_ms=5)), facts(record))[0]


def test_later_payments_for_retention_do_not_contradict_the_last_receipt():
    record = completed(owed=3600, result=None, state=gen.LeaseStateRetained(9 * HOUR))
    last = a_receipt(final=True)
    spec = task_spec(kind=gen.TaskKind.RENTAL)
    assert problems(last, facts(record, spec=spec)) == ()
    held = record.escrow
    later = replace(record, escrow=replace(held, deposit=held.deposit + 50, accrued=3650, paid=3650))
    assert problems(last, facts(later, spec=spec)) == ()
    assert problems(replace(last, bill=a_bill(owed=3651)), facts(later, spec=spec)) != ()


def test_totals_that_fall_are_named():
    assert decreased_totals(USED, replace(USED, cpu_ms=999, gpu_ms=1)) == ("cpu_ms",)
    assert decreased_totals(replace(USED, gpu_ms=1), USED) == ("gpu_ms",)
    assert decreased_totals(USED, USED) == ()
