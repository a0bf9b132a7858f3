"""Files of the opener of a dispute: what jurors accept as its files."""

import pytest

from offchain.adapters.keys.signer import from_uri
from offchain.ports import Signer
from offchain.schema.protocol.evidence import MAX_FILES, own_member, pack, unpack
from offchain.schema.protocol.fields import WireError
from offchain.services.evidence_files import checked_files, signed_files

GENESIS, TASK = b"g" * 32, 7
OPENER = from_uri("//Charlie")
OWN = {"a.txt": b"first", "b.bin": bytes(1000)}


def made(own: dict[str, bytes] | None = None) -> bytes:
    return signed_files(OWN if own is None else own, GENESIS, TASK, OPENER)


@pytest.mark.parametrize("opener", [OPENER, from_uri("//Opener", "ed25519")], ids=["sr25519", "ed25519"])
def test_the_files_that_the_opener_signed_are_accepted(opener: Signer) -> None:
    data = signed_files(OWN, GENESIS, TASK, opener)
    assert checked_files(data, GENESIS, TASK, opener.address) == {own_member(name): own for name, own in OWN.items()}


def test_files_of_another_dispute_chain_or_account_are_refused() -> None:
    for genesis, task, opener in (
        (b"h" * 32, TASK, OPENER.address),
        (GENESIS, TASK + 1, OPENER.address),
        (GENESIS, TASK, from_uri("//Eve").address),
    ):
        with pytest.raises(WireError, match="not signed by the opener"):
            checked_files(made(), genesis, task, opener)


def test_changed_added_and_missing_files_are_refused() -> None:
    members = unpack(made(), MAX_FILES)
    first = own_member("a.txt")
    without = {name: data for name, data in members.items() if name != first}
    for changed in ({**members, first: b"other"}, {**members, own_member("c"): b""}, without):
        with pytest.raises(WireError, match="not signed by the opener"):
            checked_files(pack(changed), GENESIS, TASK, OPENER.address)


def test_other_members_than_files_and_no_files_are_refused() -> None:
    """Otherwise files could take the place of members that the collector writes itself."""
    members = unpack(made(), MAX_FILES)
    for changed in ({**members, "bundle.json": b"{}"}, {"signature.json": members["signature.json"]}):
        with pytest.raises(WireError, match="other names"):
            checked_files(pack(changed), GENESIS, TASK, OPENER.address)


@pytest.mark.parametrize("signature", [b"", b"[]", b"{}", b'{"crypto":"rsa","signature":"' + b"00" * 64 + b'","v":1}'])
def test_a_malformed_signature_is_refused(signature: bytes) -> None:
    members = unpack(made(), MAX_FILES)
    with pytest.raises(WireError):
        checked_files(pack({**members, "signature.json": signature}), GENESIS, TASK, OPENER.address)


def test_what_is_no_archive_or_too_long_is_refused() -> None:
    for data in (b"", b"x" * 600, bytes(MAX_FILES + 1), made() + b"\0" * 512):
        with pytest.raises(WireError):
            checked_files(data, GENESIS, TASK, OPENER.address)
