"""What holds for every manifest and every value in it."""

import hashlib

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from offchain.schema.manifest import mounts, service, values, x_gantry
from offchain.schema.manifest.parse import MAX_BYTES, parse_manifest
from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.variables import resolve

models = (
    service.ServiceSection,
    x_gantry.GantrySection,
    service.DeploySection,
    service.HealthcheckSection,
    mounts.MountSection,
    x_gantry.SshSection,
)
known = ("name", "services", "volumes", "secrets", "x-gantry", *(key for model in models for key in model.model_fields))
keys = st.sampled_from([*known, "train", "limits", "cpus", "condition", "source", "target", "<<", "x"])
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)
printable = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), max_size=30)


def assert_parsed_or_refused(data: bytes) -> None:
    try:
        parse_manifest(data)
    except ManifestError as error:
        assert error.problems


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    assert_parsed_or_refused(data)


@given(st.integers(0, 0xFFFF_FFFF), st.sampled_from(['name: "{}"', '"{}": 1', 'x-gantry: [a, "{}"]', '%TAG ! "{}"']))
@example(0x11_0000, 'name: "{}"')
@example(0xFFFF_FFFF, 'name: "{}"')
@example(0xD800, 'services: {{a: {{image: "{}"}}}}')
def test_any_escape_is_parsed_or_refused(number: int, place: str) -> None:
    for escape in (f"\\U{number:08x}", f"\\u{number & 0xFFFF:04x}", f"\\x{number & 0xFF:02x}"):
        assert_parsed_or_refused(place.format(escape).encode())


@given(trees)
def test_any_tree_is_parsed_or_refused_with_lines_of_the_file(tree: object) -> None:
    data = yaml.safe_dump(tree).encode()
    try:
        parse_manifest(data)
    except ManifestError as error:
        last = data.count(b"\n") + 1
        assert len(data) > MAX_BYTES or all(1 <= problem.line <= last for problem in error.problems)


@given(st.integers(min_value=0, max_value=10**27 - 1))
def test_amounts_survive_being_written(base_units: int) -> None:
    assert values.parse_amount(values.format_amount(base_units)) == base_units


@given(st.integers(1, 999), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_durations_add_up(days: int, hours: int, minutes: int, seconds: int) -> None:
    text = f"{days}d{hours}h{minutes}m{seconds}s"
    assert values.parse_duration(text) == (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000


@given(st.integers(0, 2**40), st.sampled_from([("", 0), ("k", 1), ("MB", 2), ("MiB", 2), ("g", 3), ("TiB", 4)]))
def test_sizes_are_powers_of_1024(number: int, unit: tuple[str, int]) -> None:
    assert values.parse_size(f"{number}{unit[0]}") == number * 1024 ** unit[1]


@given(st.integers(0, 10**9 - 1))
def test_cpus_have_three_decimals(milli: int) -> None:
    assert values.parse_cpus(f"{milli // 1000}.{milli % 1000:03d}") == milli


@given(st.binary(min_size=32, max_size=32), st.integers(0, 63), st.integers(0, 33))
def test_an_address_with_one_changed_byte_is_refused(key: bytes, prefix: int, at: int) -> None:
    payload = bytes([prefix]) + key
    data = payload + hashlib.blake2b(b"SS58PRE" + payload).digest()[:2]
    address = _base58(data)
    assert values.check_address(address) == address
    changed = bytearray(data)
    changed[at] ^= 1
    if changed[0] != data[0] and _base58(bytes(changed)) == address:
        return
    try:
        values.check_address(_base58(bytes(changed)))
    except ValueError:
        return
    payload = bytes(changed[:-2])
    assert hashlib.blake2b(b"SS58PRE" + payload).digest()[:2] == bytes(changed[-2:])


@given(printable, st.sampled_from(["{}", '"{}"', "'{}'", "[a, '{}']"]))
def test_a_resolved_value_reads_back_as_itself(value: str, style: str) -> None:
    text = f"a: {style.format('${V}')}\nb: 1\n"
    found = yaml.compose(resolve(text, {"V": value}), Loader=yaml.SafeLoader)
    node = found.value[0][1]
    scalar = node.value[1] if isinstance(node, yaml.SequenceNode) else node
    assert scalar.value == value
    assert found.value[1][1].value == "1"


def _base58(data: bytes) -> str:
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number, chars = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        chars = alphabet[digit] + chars
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + chars
