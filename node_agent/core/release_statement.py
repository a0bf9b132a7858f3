"""Release statement: which bundle is which version of the agent, signed with ed25519 by the publisher of releases.

The file beside a bundle is one line of canonical JSON (ASCII, sorted keys, no white space) and a line feed:

    {"signatures":[{"key":HEX,"signature":HEX}],"statement":{"created":TIME,"format":1,"sha256":HEX,"version":"1.2.3"}}

`statement` may have `next_keys`, the release keys that hosts keep once this release is in use. A signature covers
:data:`DOMAIN` and the canonical JSON of `statement`. The file is untrusted input: its size and every count are bounded,
and any spelling but the canonical one is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, Protocol

from offchain.adapters.keys.signer import verify
from offchain.errors import TheirError
from offchain.schema.protocol.fields import canonical_json

DOMAIN = b"gantry/agent-release/v1\0"
FORMAT = 1
MAX_STATEMENT_BYTES = 16_384
MAX_KEYS = 8
_KEY = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")
_CREATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


class ReleaseRefused(TheirError):  # noqa: N818
    """A release that the stored release keys do not permit. Nothing of it was unpacked or run."""

    code = "release_refused"


class SigningKey(Protocol):
    """An ed25519 key that signs."""

    @property
    def public_key(self) -> bytes:
        """32 bytes."""

    def sign(self, payload: bytes) -> bytes:
        """64 bytes."""


@dataclass(frozen=True, slots=True, order=True)
class ReleaseVersion:
    """Version of the agent; versions are ordered by their numbers."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True, slots=True)
class ReleaseStatement:
    """What is signed. `sha256`: of the bundle; `created`: UTC, to the second; `next_keys`: empty where keys stay."""

    version: ReleaseVersion
    sha256: str
    created: str
    next_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SignedStatement:
    """A statement with its signatures, (public key, signature) as hex digits. Parsed, not verified."""

    statement: ReleaseStatement
    signatures: tuple[tuple[str, str], ...]


def parse_version(text: str) -> ReleaseVersion:
    """Parse "MAJOR.MINOR.PATCH". Raises ValueError."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a version: write MAJOR.MINOR.PATCH, three numbers below 1000000")
    return ReleaseVersion(*map(int, match.groups()))


def parse_key(text: str) -> str:
    """Return the 64 hex digits of a public release key in lower case. Raises ValueError."""
    key = text.strip().lower().removeprefix("0x")
    if _KEY.fullmatch(key) is None:
        raise ValueError(f"{text[:80]!r} is not a release key: write the 64 hex digits of an ed25519 public key")
    return key


def parse_keys(value: object) -> tuple[str, ...]:
    """Check a list of 1 to :data:`MAX_KEYS` different release keys in lower case. Raises ValueError."""
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= MAX_KEYS:
        raise ValueError(f"a list of release keys holds 1 to {MAX_KEYS} of them")
    keys = tuple(_matched(_KEY, key, "a release key") for key in value)
    if len(set(keys)) < len(keys):
        raise ValueError("a release key is listed twice")
    return keys


def signed_payload(statement: ReleaseStatement) -> bytes:
    """Return the bytes that a signature covers."""
    return DOMAIN + canonical_json(_plain(statement))


def sign_statement(statement: ReleaseStatement, keys: Sequence[SigningKey]) -> bytes:
    """Return the statement file, signed with each of these keys.

    Raises ValueError if :func:`parse_statement` rejects it.
    """
    data = signed_payload(statement)
    signatures = [{"key": key.public_key.hex(), "signature": key.sign(data).hex()} for key in keys]
    made = canonical_json({"signatures": signatures, "statement": _plain(statement)}) + b"\n"
    try:
        parse_statement(made)
    except ReleaseRefused as error:
        raise ValueError(error.message) from None
    return made


def parse_statement(data: bytes) -> SignedStatement:
    """Read a statement file. Raises :class:`ReleaseRefused` unless :func:`sign_statement` could have written it."""
    if len(data) > MAX_STATEMENT_BYTES:
        _refuse(f"it is longer than {MAX_STATEMENT_BYTES} bytes")
    try:
        document = json.loads(data.decode("ascii"), object_pairs_hook=_no_duplicates)
        signed = _signed(document)
    except RecursionError:
        _refuse("its brackets are nested too deeply")
    except ValueError as error:
        _refuse(str(error))
    if canonical_json(document) + b"\n" != data:
        _refuse("it is not canonical JSON")
    return signed


def check_signature(signed: SignedStatement, kept: Sequence[str]) -> str:
    """Return the stored key that signed. Signatures of other keys are ignored. Raises :class:`ReleaseRefused`."""
    data = signed_payload(signed.statement)
    found = [(key, signature) for key, signature in signed.signatures if key in kept]
    for key, signature in found:
        if not verify(bytes.fromhex(key), "ed25519", data, bytes.fromhex(signature)):
            raise ReleaseRefused(
                f"The release statement is not signed by release key {key}, although it says so: it was altered.",
                "Nothing was changed. Get the statement again from who publishes the releases.",
            )
    if not found:
        signers = ", ".join(key for key, _ in signed.signatures)
        raise ReleaseRefused(
            f"The release statement is signed by {signers}; this agent keeps {', '.join(kept)}.",
            "Nothing was changed. Install the release that names the new key first, or, if who publishes the releases "
            "confirms that key, keep it with gantry agent join --release-key.",
        )
    return found[0][0]


def check_version(statement: ReleaseStatement, in_use: ReleaseVersion, *, allow_downgrade: bool) -> None:
    """Refuse another bundle whose version is not newer than the one in use. Raises :class:`ReleaseRefused`."""
    if statement.version > in_use or allow_downgrade:
        return
    relation = "the same version" if statement.version == in_use else "older"
    raise ReleaseRefused(
        f"The release has version {statement.version}; version {in_use} is in use, and the release is {relation}"
        f"{' with another SHA-256' if statement.version == in_use else ''}.",
        "Nothing was changed. Take a newer release, or give --allow-downgrade if you want exactly this one.",
    )


def _signed(document: object) -> SignedStatement:
    outer = _fields(document, "the file", {"signatures", "statement"})
    facts = _fields(
        outer["statement"], "the statement", {"created", "format", "sha256", "version"}, optional={"next_keys"}
    )
    if type(facts["format"]) is not int or facts["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    version = facts["version"]
    if not isinstance(version, str):
        raise ValueError("its version is not text")  # noqa: TRY004  (a file's content, not a caller's argument)
    created = _matched(_CREATED, facts["created"], "a time such as 2026-01-31T12:00:00Z")
    datetime.fromisoformat(created)
    statement = ReleaseStatement(
        parse_version(version),
        _matched(_KEY, facts["sha256"], "a SHA-256"),
        created,
        parse_keys(facts["next_keys"]) if "next_keys" in facts else (),
    )
    entries = outer["signatures"]
    if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_KEYS:
        raise ValueError(f"it does not hold 1 to {MAX_KEYS} signatures")
    signatures = []
    for entry in entries:
        parts = _fields(entry, "a signature", {"key", "signature"})
        signatures.append(
            (_matched(_KEY, parts["key"], "a release key"), _matched(_SIGNATURE, parts["signature"], "a signature"))
        )
    if len({key for key, _ in signatures}) < len(signatures):
        raise ValueError("it holds two signatures of one key")
    return SignedStatement(statement, tuple(signatures))


def _fields(value: object, what: str, required: set[str], optional: set[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")  # noqa: TRY004  (a file's content, not a caller's argument)
    names = set(value)
    if missing := sorted(required - names):
        raise ValueError(f"{what} has no field {missing[0]!r}")
    if unknown := sorted(names - required - (optional or set())):
        raise ValueError(f"{what} has an unknown field {unknown[0][:40]!r}")
    return value


def _matched(pattern: re.Pattern[str], value: object, what: str) -> str:
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise ValueError(f"{str(value)[:40]!r} is not {what}")
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field is written twice")
    return found


def _plain(statement: ReleaseStatement) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "created": statement.created,
        "format": FORMAT,
        "sha256": statement.sha256,
        "version": str(statement.version),
    }
    if statement.next_keys:
        facts["next_keys"] = list(statement.next_keys)
    return facts


def _refuse(why: str) -> NoReturn:
    raise ReleaseRefused(
        f"This is not a release statement: {why}.",
        "Nothing was changed. Use the .statement file that scripts/release-agent --key wrote beside the bundle.",
    )
