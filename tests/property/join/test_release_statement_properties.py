"""No change of a signed release statement passes, and any bytes are either read or refused."""

import json
from datetime import UTC, datetime

from hypothesis import example, given, settings
from hypothesis import strategies as st

from node_agent.core.release_statement import (
    ReleaseRefused,
    ReleaseStatement,
    ReleaseVersion,
    check_signature,
    parse_statement,
    sign_statement,
)
from offchain.adapters.keys.signer import Ed25519Signer
from tests.support.examples import examples

KEYS = [Ed25519Signer(bytes([number]) * 32) for number in range(1, 5)]
PUBLIC = [key.public_key.hex() for key in KEYS]
NUMBER = st.integers(0, 999_999)
STATEMENTS = st.builds(
    ReleaseStatement,
    st.builds(ReleaseVersion, NUMBER, NUMBER, NUMBER),
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.datetimes(datetime(1000, 1, 1), datetime(9999, 1, 1)).map(  # noqa: DTZ001  (made UTC below)
        lambda moment: moment.replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ),
    st.lists(st.sampled_from(PUBLIC), max_size=4, unique=True).map(tuple),
)
FILE = sign_statement(
    ReleaseStatement(ReleaseVersion(1, 2, 3), "ab" * 32, "2026-01-31T12:00:00Z", (PUBLIC[1],)), KEYS[:1]
)


def passes(data, kept):
    try:
        check_signature(parse_statement(data), kept)
    except ReleaseRefused:
        return False
    return True


@settings(max_examples=examples(200))
@given(STATEMENTS, st.lists(st.sampled_from(range(4)), min_size=1, unique=True), st.sets(st.sampled_from(range(4))))
def test_a_statement_is_accepted_only_with_the_signature_of_a_stored_key(statement, signers, kept):
    made = sign_statement(statement, [KEYS[number] for number in signers])
    assert parse_statement(made).statement == statement
    assert passes(made, [PUBLIC[number] for number in kept]) == bool(kept & set(signers))


@settings(max_examples=examples(500))
@given(st.integers(0, len(FILE) - 1), st.integers(0, 255))
def test_no_changed_byte_passes(place, value):
    changed = FILE[:place] + bytes([value]) + FILE[place + 1 :]
    assert passes(changed, PUBLIC[:1]) == (changed == FILE)


@settings(max_examples=examples(200))
@given(st.integers(0, len(FILE) - 1), st.binary(max_size=3))
def test_nothing_cut_off_or_added_passes(length, more):
    assert not passes(FILE[:length], PUBLIC[:1])
    assert passes(FILE + more, PUBLIC[:1]) == (not more)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["signatures", "statement", "key", "format", "version", "next_keys"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@settings(max_examples=examples(300))
@given(st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value).encode()))
@example(b'{"statement":' * 200)
def test_any_other_bytes_are_refused(data):
    assert not passes(data, PUBLIC)
