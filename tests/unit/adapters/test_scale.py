"""The SCALE codec with the committed metadata: known bytes, generated values, and a second codec (cyscale)."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scalecodec.base import RuntimeConfigurationObject, ScaleBytes
from scalecodec.type_registry import load_type_registry_preset

from offchain.adapters.chain import metadata as md
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.scale_decode import ScaleDecoder, read_compact
from offchain.adapters.chain.scale_encode import ScaleEncoder
from offchain.errors import BadReply, BadValue
from offchain.ports import Call
from offchain.schema.chain_types.values import compact
from tests.support.real_chain import plain

RAW = (Path(__file__).parents[3] / "chain/metadata/gantry.scale").read_bytes()
RUNTIME = ChainRuntime(RAW, "gantry", 1, 1)
DECODER, ENCODER = ScaleDecoder(RUNTIME.metadata.types), ScaleEncoder(RUNTIME.metadata.types)
ALICE = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"


def named(last):
    return next(number for number, type_ in enumerate(RUNTIME.metadata.types) if type_.path and type_.path[-1] == last)


@given(st.integers(0, 2**536 - 1) | st.integers(0, 2**32))
def test_compact_numbers_round_trip(value):
    raw = compact(value)
    assert read_compact(raw, 0) == (value, len(raw))


@pytest.mark.parametrize(
    ("value", "raw"),
    [(0, "00"), (1, "04"), (63, "fc"), (64, "0101"), (16383, "fdff"), (16384, "02000100"), (2**30, "0300000040")],
)
def test_compact_numbers_have_the_specified_form(value, raw):
    assert compact(value).hex() == raw


def test_bytes_that_look_like_text_or_hexadecimal_digits_stay_bytes():
    for text in (b"0x1234", b"plain", b"\xff\xfe", b""):
        spec = {"vendor": "Nvidia", "model": text, "vram_mib": 1, "simulated": True}
        device = named("DeviceSpec")
        assert RUNTIME.decode(device, RUNTIME.encode(device, spec)) == spec


def test_an_error_of_encoding_names_the_path_to_the_wrong_value():
    pod = {"pod": 1, "host": ALICE, "devices": b"", "rate_per_hour": 1}
    call = Call("Tasks", "assign", {"task": 1, "pods": [pod]})
    RUNTIME.encode_call(call)
    without_devices = {name: value for name, value in pod.items() if name != "devices"}
    cases = [
        ({"task": -1, "pods": []}, "Tasks.assign.task: -1 does not fit into u64."),
        ({"task": 1, "pods": [{**pod, "pod": 70000}]}, "Tasks.assign.pods[0].pod: 70000 does"),
        ({"task": 1, "pods": [{**pod, "host": "5Grwx"}]}, "Tasks.assign.pods[0].host: '5Grwx' is"),
        ({"task": 1, "pods": [without_devices]}, "Tasks.assign.pods[0]: missing field devices."),
        ({"task": 1, "pods": [{**pod, "devices": "0x"}]}, "Tasks.assign.pods[0].devices: needs bytes"),
        ({"task": 1}, "Tasks.assign: unknown or missing argument pods."),
        ({"task": True, "pods": []}, "Tasks.assign.task: needs a number, not True."),
    ]
    for args, message in cases:
        with pytest.raises(BadValue) as refused:
            RUNTIME.encode_call(Call("Tasks", "assign", args))
        assert refused.value.message.startswith(message)


def test_enums_round_trip_with_and_without_payload():
    state = named("TaskState")
    for value in ("Queued", {"Failed": "AttemptsExhausted"}):
        assert RUNTIME.decode(state, RUNTIME.encode(state, value)) == value
    for wrong in ("Sleeping", {"Queued": 1}, "Failed", {"Failed": "Bored"}, 3, None):
        with pytest.raises(BadValue):
            RUNTIME.encode(state, wrong)


def test_an_account_is_accepted_as_an_address():
    args = {"value": 1}
    short = RUNTIME.encode_call(Call("Balances", "transfer_keep_alive", {"dest": ALICE, **args}))
    long = RUNTIME.encode_call(Call("Balances", "transfer_keep_alive", {"dest": {"Id": ALICE}, **args}))
    assert short == long


def test_a_call_may_contain_calls():
    inner = plain(Call("System", "remark", {"remark": b"x"}))
    outer = Call("Utility", "batch", {"calls": [inner, plain(Call("Hosts", "heartbeat", {}))]})
    raw = RUNTIME.encode_call(outer)
    assert RUNTIME.decode(RUNTIME.metadata.call, raw) == plain(outer)


def test_truncated_bytes_and_trailing_bytes_are_refused():
    capacity = named("Capacity")
    raw = RUNTIME.encode(capacity, dict.fromkeys(("cpu_milli", "memory_mib", "disk_gib"), 1))
    for wrong in (raw[:-1], raw + b"\0"):
        with pytest.raises(BadReply):
            RUNTIME.decode(capacity, wrong)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("bool", b"\2"),
        ("u128", b"\1" * 15),
        ("str", b"\x04\xff"),
        ("str", b"\xfe\xff\xff"),
        ("str", b"\xfe\xff\xff\xff"),
    ],
)
def test_bytes_that_are_no_value_of_the_type_are_refused(name, raw):
    number = next(n for n, t in enumerate(RUNTIME.metadata.types) if getattr(t.definition, "name", "") == name)
    with pytest.raises(BadReply):
        RUNTIME.decode(number, raw)


def test_unknown_variants_are_refused():
    option = next(n for n, t in enumerate(RUNTIME.metadata.types) if t.path == ("Option",))
    for number in (option, named("TaskState")):
        with pytest.raises(BadReply):
            RUNTIME.decode(number, b"\xee" + bytes(64))


@pytest.mark.parametrize(
    "raw", [b"", b"meta", b"meta\x0d", b"meta\x0e\x04", b"meta\x10" + RAW[5:], RAW[: len(RAW) // 2]]
)
def test_unreadable_metadata_is_refused(raw):
    with pytest.raises(BadReply):
        md.parse(raw)


def test_every_type_of_the_runtime_has_a_decoder_and_an_encoder():
    for number in range(len(RUNTIME.metadata.types)):
        assert DECODER.coder(number)
        assert ENCODER.coder(number)


@given(st.data())
def test_a_decoded_value_encodes_to_the_same_value(data):
    """Any bytes that read as a call are the bytes that the call is written as."""
    raw = data.draw(st.binary(max_size=80))
    for number in (RUNTIME.metadata.call, named("TaskSpec"), named("TaskRecord"), named("HostStatus")):
        try:
            value, end = DECODER.coder(number)(raw, 0)
        except (IndexError, UnicodeDecodeError, BadReply, RecursionError):
            continue
        again = RUNTIME.encode(number, value)
        assert RUNTIME.decode(number, again) == value
        assert end <= len(raw)


@pytest.fixture(scope="module")
def library():
    config = RuntimeConfigurationObject(ss58_format=42, implements_scale_info=True)
    config.clear_type_registry()
    config.update_type_registry(load_type_registry_preset("core"))
    metadata = config.create_scale_object("MetadataVersioned", data=ScaleBytes(RAW))
    metadata.decode()
    config.add_portable_registry(metadata)
    return SimpleNamespace(runtime_config=config, metadata=metadata)


def test_cyscale_encodes_the_same_calls(library):
    for call, its_args in [
        (Call("System", "remark", {"remark": b"\1\2"}), {"remark": "0x0102"}),
        (Call("Balances", "transfer_keep_alive", {"dest": ALICE, "value": 7 * 10**20}), None),
        (Call("Tasks", "settle", {"task": 2**63}), None),
        (Call("Tasks", "report_failed", {"lease": 3, "reason": "DriverError"}), None),
        (
            Call(
                "Tasks",
                "report_result",
                {
                    "lease": 9,
                    "result": {
                        "digest": b"\7" * 32,
                        "exit_code": -3,
                        "usage": {"wall_ms": 1, "cpu_ms": 2, "memory_peak_mib": 3},
                    },
                },
            ),
            {
                "lease": 9,
                "result": {
                    "digest": "0x" + "07" * 32,
                    "exit_code": -3,
                    "usage": {"wall_ms": 1, "cpu_ms": 2, "memory_peak_mib": 3},
                },
            },
        ),
    ]:
        theirs = library.runtime_config.create_scale_object("Call", metadata=library.metadata)
        theirs.encode(
            {"call_module": call.pallet, "call_function": call.function, "call_args": its_args or dict(call.args)}
        )
        assert bytes(theirs.data.data) == RUNTIME.encode_call(call)
