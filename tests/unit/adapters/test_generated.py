"""The generated types: up to date, and true to the chain's own codec."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_scale import RAW, RUNTIME, named

from offchain.adapters.chain import metadata as md
from offchain.adapters.chain.registration import registration_payload, sign_registration
from offchain.adapters.chain.typed import AccountBalance, GantryChain
from offchain.adapters.keys.signer import from_uri, verify
from offchain.adapters.outbox.batching import make_batch
from offchain.adapters.outbox.intent_values import pack_call, unpack_call
from offchain.devnet.paths import ROOT
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.chain_types.ids import lease_id, task_key
from offchain.schema.chain_types.values import blake2_256
from tests.support import _generated_events as events
from tests.support.chain_records import Tasks, ask, hardware, lease, placement, task_spec
from tests.support.fake_chain import FakeChain
from tests.support.real_chain import plain

FILES = ("offchain/schema/chain_types/_generated_chain.py", "tests/support/_generated_events.py")
GENERATOR = ROOT / "scripts/gen-chain-types"
ALICE = from_uri("//Alice").address


def generate(*args):
    return subprocess.run([sys.executable, GENERATOR, *map(str, args)], capture_output=True, text=True, check=False)


def test_the_committed_files_are_what_the_metadata_gives():
    checked = generate("--check")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("name", FILES)
def test_outdated_generated_files_are_reported(tmp_path, name):
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True)
        shutil.copy(ROOT / file, tmp_path / file)
    assert generate("--check", "--out", tmp_path).returncode == 0
    (tmp_path / name).write_text((ROOT / name).read_text().replace("u", "v", 1))
    checked = generate("--check", "--out", tmp_path)
    assert checked.returncode == 1
    assert f"{name} is not what the metadata gives. Run scripts/gen-chain-types" in checked.stderr
    assert "Traceback" not in checked.stderr


def test_missing_metadata_is_reported(tmp_path):
    checked = generate("--metadata", tmp_path / "none.scale")
    assert checked.returncode == 2
    assert "There is no" in checked.stderr


def test_the_result_does_not_depend_on_hashing(tmp_path):
    shutil.copy(ROOT / "chain/metadata/gantry.scale", tmp_path / "gantry.scale")
    shutil.copy(ROOT / "chain/metadata/gantry.json", tmp_path / "gantry.json")
    texts = set()
    for seed in "123":
        out = tmp_path / seed
        out.mkdir()
        subprocess.run(
            [sys.executable, GENERATOR, "--metadata", tmp_path / "gantry.scale", "--out", out],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
        )
        texts.add(tuple((out / name).read_text() for name in FILES))
    assert texts == {tuple((ROOT / name).read_text() for name in FILES)}


def test_the_constants_are_those_of_the_metadata():
    assert RUNTIME.metadata_sha256 == gen.METADATA_SHA256
    assert RAW.startswith(b"meta")


def plain_values(number, depth=0):  # noqa: C901, PLR0911 - one line for each kind of type
    """Plain values of a type of the runtime."""
    type_ = RUNTIME.metadata.types[number]
    if type_.path[-1:] == ("AccountId32",):
        return st.just(ALICE)
    match type_.definition:
        case md.Primitive("bool"):
            return st.booleans()
        case md.Primitive(name):
            bits, signed = int(name[1:]), name[0] == "i"
            return st.integers(-(2 ** (bits - 1)) if signed else 0, 2 ** (bits - signed) - 1)
        case md.Compact(item):
            return plain_values(item, depth + 1)
        case md.Array(length, item) if RUNTIME.metadata.types[item].definition == md.Primitive("u8"):
            return st.binary(min_size=length, max_size=length)
        case md.Sequence(item) if RUNTIME.metadata.types[item].definition == md.Primitive("u8"):
            return st.binary(max_size=9)
        case md.Sequence(item):
            return st.lists(plain_values(item, depth + 1), max_size=3)
        case md.Tuple(types):
            return st.tuples(*(plain_values(t, depth + 1) for t in types))
        case md.Composite(fields) if len(fields) == 1 and fields[0].name is None:
            return plain_values(fields[0].type, depth + 1)
        case md.Composite(fields):
            return st.fixed_dictionaries({field.name: plain_values(field.type, depth + 1) for field in fields})
        case md.Enumeration(variants) if type_.path == ("Option",):
            return st.none() | plain_values(variants[1].fields[0].type, depth + 1)
        case md.Enumeration(variants):
            return st.one_of(
                [
                    st.fixed_dictionaries({v.name: payload(v.fields, depth + 1)}) if v.fields else st.just(v.name)
                    for v in variants
                ]
            )
    raise AssertionError(type_)


def payload(fields, depth):
    """Plain values of what a variant carries."""
    if fields[0].name is None:
        return plain_values(fields[0].type, depth)
    return st.fixed_dictionaries({field.name: plain_values(field.type, depth) for field in fields})


RECORDS = [
    "HostRecord",
    "TaskRecord",
    "SpecRecord",
    "Lease",
    "Escrow",
    "Report",
    "VerificationPolicy",
    "HostScore",
    "TaskSpec",
    "PodPlacement",
    "PodResult",
    "HardwareSpec",
    "Ask",
    "HostStatus",
    "EndReason",
    "TaskState",
    "RequeueReason",
]


@pytest.mark.parametrize("name", RECORDS)
@given(data=st.data())
def test_generated_records_encode_as_the_codec_does(name, data):
    number = named(name)
    plain = RUNTIME.decode(number, RUNTIME.encode(number, data.draw(plain_values(number))))
    typed = getattr(gen, name).decode(plain)
    assert RUNTIME.encode(number, typed.encode()) == RUNTIME.encode(number, plain)
    assert getattr(gen, name).decode(typed.encode()) == typed
    hash(typed)
    if hasattr(typed, "scale"):
        assert typed.scale() == RUNTIME.encode(number, plain)


def test_generated_enums_can_be_matched():
    match gen.TaskState.decode({"Failed": "AttemptsExhausted"}):
        case gen.TaskStateFailed(gen.FailReason.ATTEMPTS_EXHAUSTED):
            pass
        case other:
            raise AssertionError(other)
    assert gen.TaskState.decode("Queued") == gen.TaskStateQueued()
    assert gen.TaskState.decode("Queued").tag == gen.IndexTag.QUEUED


def test_every_call_can_be_encoded():
    spec = task_spec(placement=placement(regions=(b"eu",), hosts=(ALICE,), tiers=(gen.Tier.CONSUMER,)))
    result = gen.PodResult(bytes(32), -1, gen.Usage(1, 2, 3))
    for call in (
        calls.tasks_submit(spec=spec, manifest=b"name: x"),
        calls.tasks_assign(task=1, pods=[gen.PodPlacement(0, ALICE, b"\0", 10**12)]),
        calls.tasks_submit_array(spec=spec, manifest=b"name: x", count=4096),
        calls.tasks_report_result(lease=1, result=result),
        calls.tasks_report(lease=1, report=gen.ReportPurged(receipt=bytes(32))),
        calls.tasks_report_failed(lease=1, reason=gen.HostFailure.IMAGE_INVALID),
        calls.hosts_heartbeat(),
        calls.hosts_set_ask(host=ALICE, ask=ask(gpu=(gen.GpuPrice(b"A100", 1),))),
        calls.tasks_prune(tasks=[1, 2]),
    ):
        raw = RUNTIME.encode_call(call)
        assert RUNTIME.encode(RUNTIME.metadata.call, plain(call)) == raw


def test_a_batch_has_the_arguments_of_its_calls():
    pods = [gen.PodPlacement(0, ALICE, b"\0", 10**12)]
    result = gen.PodResult(bytes(32), -1, gen.Usage(1, 2, 3))
    reports = [
        calls.tasks_report_started(lease=1),
        calls.tasks_report_result(lease=2, result=result),
        calls.tasks_report_failed(lease=3, reason=gen.HostFailure.DRIVER_ERROR),
    ]
    typed = [
        (1, gen.ReportStarted()),
        (2, gen.ReportResult(result)),
        (3, gen.ReportFailed(gen.HostFailure.DRIVER_ERROR)),
    ]
    for parts, whole in (
        (
            [calls.tasks_assign(task=t, pods=pods) for t in (1, 2)],
            calls.tasks_assign_batch(assignments=[(1, pods), (2, pods)]),
        ),
        ([calls.tasks_settle(task=t) for t in (1, 2)], calls.tasks_settle_batch(tasks=[1, 2])),
        (reports, calls.tasks_report_batch(reports=typed)),
    ):
        # As the outbox keeps them: through text and back.
        kept = [unpack_call(pack_call(part)) for part in parts]
        assert RUNTIME.encode_call(make_batch(kept)) == RUNTIME.encode_call(whole)


def test_events_of_other_pallets_have_no_generated_type():
    assert events.decode_event("System", "ExtrinsicSuccess", {}) is None
    made = events.decode_event("Tasks", "Stopped", {"task": 3, "state": "Reported"})
    assert made == events.TasksStopped(3, gen.TaskStateReported())


def test_errors_are_explained():
    assert gen.ERRORS["Tasks"]["NoSuchTask"]
    for pallet, errors in gen.ERRORS.items():
        for name, text in errors.items():
            assert text.endswith("."), f"{pallet}.{name}"


def test_the_host_signs_what_the_chain_checks():
    devices = (gen.DeviceSpec(gen.Vendor.AMD, b"mi300", 1, simulated=True),)
    spec = replace(hardware(4000, 8192, 100), answers_challenges=True, devices=devices)
    prices, host = ask(gpu=(gen.GpuPrice(b"mi300", 7),), gpu_per_hour=3), from_uri("//Host", "ed25519")
    content = b"gantry/register/v2" + bytes(32)
    register = next(v for v in RUNTIME.metadata.variants(RUNTIME.pallet("Hosts").calls) if v.name == "register")
    values = {"hardware": spec.encode(), "endpoint": b"here", "region": b"eu", "ask": prices.encode()}
    account = RUNTIME.encode(register.fields[0].type, ALICE)
    content += account + b"".join(RUNTIME.encode(f.type, values[f.name]) for f in register.fields if f.name in values)
    args = (bytes(32), ALICE, spec, b"here", b"eu", prices)
    assert registration_payload(*args) == blake2_256(content)
    assert verify(host.public_key, "ed25519", blake2_256(content), sign_registration(host, *args))


async def test_typed_reads():
    port = FakeChain()
    chain = GantryChain(port)
    port.storage["Tasks", "Schedulers"][ALICE,] = 10
    port.storage["System", "Account"][ALICE,] = {"data": {"free": 10, "reserved": 4, "frozen": 6}}
    assert await chain.host(ALICE) is None
    assert await chain.hosts_named([ALICE]) == {}
    assert await chain.schedulers() == {ALICE: 10}
    assert await chain.balance(ALICE) == AccountBalance(10, 4, 6)
    assert (await chain.balance(ALICE)).spendable == 8


async def test_tasks_are_read_with_their_spec_and_leases():
    port = FakeChain()
    tasks, chain = Tasks(port), GantryChain(port)
    spec = task_spec(priority=7)
    first = tasks.submit(ALICE, spec, 300, manifest=b"text")
    other = tasks.submit(ALICE, task_spec())
    held = lease(ALICE, pod=1, generation=2)
    tasks.change(258, state=gen.TaskStateRunning(), leases=(held,))
    tasks.change(4, state=gen.TaskStateSettled())
    tasks.put(5, None)
    assert await chain.next_task() == 301
    assert await chain.tasks_by_state(gen.IndexTag.QUEUED) == [n for n in range(301) if n not in (4, 5, 258)]
    assert await chain.tasks_by_state(gen.IndexTag.RUNNING) == [258]
    assert await chain.tasks_of(ALICE) == list(range(301))
    found = await chain.tasks([258, 5, other])
    assert list(found) == [258, other]
    assert (found[258].spec, found[other].spec) == (spec, task_spec())
    assert await chain.manifest(258) == b"text"
    assert await chain.manifest(5) is None
    assert await chain.manifests([258, 5, 4, other]) == {4: b"text", 258: b"text", other: b""}
    number = lease_id(258, 1, 2)
    (read,) = (await chain.leases([number, lease_id(258, 1, 3), lease_id(5, 0, 0)])).values()
    assert (read.id, read.record, read.task.id) == (number, held, 258)
    assert await chain.leases_of_host(ALICE) == [number]
    assert [task for task, _ in await chain.tasks_after(3, 2)] == [4, 6]
    assert (await chain.tasks_after(None, 1))[0][0] == first == 0


async def test_the_agenda_is_as_late_as_its_first_entry():
    port = FakeChain()
    assert await GantryChain(port).agenda_at() is None
    port.storage["Leases", "AgendaPages"] = {(task_key(9),): 1, (task_key(300),): 2}
    assert await GantryChain(port).agenda_at() == 9 * 6_000
