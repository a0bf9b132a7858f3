"""Release statements: what is signed, what is read, and what is refused."""

import json

import pytest

from node_agent.core.release_statement import (
    DOMAIN,
    MAX_KEYS,
    MAX_STATEMENT_BYTES,
    ReleaseRefused,
    ReleaseStatement,
    ReleaseVersion,
    check_signature,
    check_version,
    parse_key,
    parse_statement,
    parse_version,
    sign_statement,
    signed_payload,
)
from offchain.adapters.keys.signer import Ed25519Signer

KEY, OTHER = Ed25519Signer(b"\1" * 32), Ed25519Signer(b"\2" * 32)
PUBLIC, OTHER_PUBLIC = KEY.public_key.hex(), OTHER.public_key.hex()
STATEMENT = ReleaseStatement(ReleaseVersion(1, 2, 3), "ab" * 32, "2026-01-31T12:00:00Z", (OTHER_PUBLIC,))
FILE = sign_statement(STATEMENT, [KEY])


def changed(**facts):
    document = json.loads(FILE)
    document["statement"] |= facts
    return canonical(document)


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def test_what_was_signed_is_read_again():
    signed = parse_statement(FILE)
    assert signed.statement == STATEMENT
    assert check_signature(signed, [OTHER_PUBLIC, PUBLIC]) == PUBLIC
    assert (
        parse_statement(
            sign_statement(ReleaseStatement(ReleaseVersion(0, 0, 1), "00" * 32, STATEMENT.created), [KEY])
        ).statement.next_keys
        == ()
    )


def test_one_of_several_signatures_is_enough():
    assert check_signature(parse_statement(sign_statement(STATEMENT, [KEY, OTHER])), [OTHER_PUBLIC]) == OTHER_PUBLIC


def test_another_key_is_refused():
    with pytest.raises(ReleaseRefused, match=rf"signed by {PUBLIC}; this agent keeps {OTHER_PUBLIC}"):
        check_signature(parse_statement(FILE), [OTHER_PUBLIC])


def test_a_signature_without_the_domain_is_refused():
    document = json.loads(FILE)
    bare = signed_payload(STATEMENT).removeprefix(DOMAIN)
    document["signatures"][0]["signature"] = KEY.sign(bare).hex()
    with pytest.raises(ReleaseRefused, match="not signed by release key"):
        check_signature(parse_statement(canonical(document)), [PUBLIC])


def test_a_wrong_signature_beside_a_right_one_is_refused():
    document = json.loads(sign_statement(STATEMENT, [KEY, OTHER]))
    document["signatures"][0]["signature"] = "00" * 64
    with pytest.raises(ReleaseRefused, match=PUBLIC):
        check_signature(parse_statement(canonical(document)), [PUBLIC, OTHER_PUBLIC])


@pytest.mark.parametrize(
    "facts", [{"version": "1.2.4"}, {"sha256": "cd" * 32}, {"created": "2026-01-31T12:00:01Z"}, {"next_keys": [PUBLIC]}]
)
def test_an_altered_statement_is_refused(facts):
    with pytest.raises(ReleaseRefused, match="it was altered"):
        check_signature(parse_statement(changed(**facts)), [PUBLIC])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "Expecting value"),
        (b"[]\n", "not a JSON object"),
        (FILE[:-2], "delimiter|Expecting"),
        (FILE[:-1], "not canonical"),
        (FILE + b"\n", "not canonical"),
        (b" " + FILE, "not canonical"),
        (FILE.replace(b'{"created"', b'{"version":"1.2.3","created"'), "a field is written twice"),
        (FILE.replace(b'{"key"', b'{"key":"' + b"00" * 32 + b'","key"'), "a field is written twice"),
        (FILE.replace(b"1.2.3", b"1.\\u0032.3"), "not canonical"),
        (FILE.replace(b"1.2.3", "1.٢.3".encode()), "codec"),
        (b"[" * 10_000, "nested too deeply"),
        (b" " * (MAX_STATEMENT_BYTES + 1), "longer than 16384 bytes"),
        (changed(format=2), "format is not 1"),
        (changed(format=True), "format is not 1"),
        (changed(format=1.0), "format is not 1"),
        (changed(extra=1), "unknown field 'extra'"),
        (changed(version="1.2"), "not a version"),
        (changed(version="01.2.3"), "not a version"),
        (changed(version="1.2.1000000"), "not a version"),
        (changed(version=[1, 2, 3]), "version is not text"),
        (changed(sha256="AB" * 32), "not a SHA-256"),
        (changed(sha256="ab" * 31), "not a SHA-256"),
        (changed(created="2026-01-31 12:00:00"), "not a time"),
        (changed(created="2026-02-31T12:00:00Z"), "day"),
        (changed(next_keys=[]), "1 to 8"),
        (changed(next_keys=[PUBLIC, PUBLIC]), "listed twice"),
        (changed(next_keys=[f"{number:064x}" for number in range(MAX_KEYS + 1)]), "1 to 8"),
        (changed(next_keys=["xx" * 32]), "not a release key"),
        (canonical(json.loads(FILE) | {"signatures": []}), "1 to 8 signatures"),
        (canonical(json.loads(FILE) | {"signatures": json.loads(FILE)["signatures"] * 2}), "two signatures"),
        (canonical({"statement": json.loads(FILE)["statement"]}), "no field 'signatures'"),
    ],
)
def test_other_files_are_refused(data, why):
    with pytest.raises(ReleaseRefused, match=why):
        parse_statement(data)


def test_what_could_not_be_read_is_not_signed():
    with pytest.raises(ValueError, match="two signatures"):
        sign_statement(STATEMENT, [KEY, KEY])
    with pytest.raises(ValueError, match="not a SHA-256"):
        sign_statement(ReleaseStatement(ReleaseVersion(1, 2, 3), "ab", STATEMENT.created), [KEY])


@pytest.mark.parametrize("in_use", ["1.2.4", "1.3.0", "2.0.0", "1.10.0"])
def test_an_older_version_is_refused_unless_a_downgrade_is_allowed(in_use):
    with pytest.raises(ReleaseRefused, match=rf"version 1.2.3; version {in_use} is in use, and the release is older"):
        check_version(STATEMENT, parse_version(in_use), allow_downgrade=False)
    check_version(STATEMENT, parse_version(in_use), allow_downgrade=True)


def test_the_same_version_is_refused_and_a_newer_one_is_not():
    with pytest.raises(ReleaseRefused, match="the same version with another SHA-256"):
        check_version(STATEMENT, ReleaseVersion(1, 2, 3), allow_downgrade=False)
    check_version(STATEMENT, ReleaseVersion(1, 2, 2), allow_downgrade=False)


@pytest.mark.parametrize(("text", "good"), [(PUBLIC, True), (f" 0x{PUBLIC.upper()}\n", True), ("ab", False)])
def test_keys_as_they_are_given(text, good):
    if good:
        assert parse_key(text.replace("0X", "0x")) == PUBLIC
    else:
        with pytest.raises(ValueError, match="64 hex digits"):
            parse_key(text)
