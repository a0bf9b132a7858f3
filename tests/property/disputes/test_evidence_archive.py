"""Archives of evidence: their bytes follow from their members, and everything else is refused."""

import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offchain.schema.protocol.evidence import pack, unpack
from offchain.schema.protocol.fields import WireError
from tests.support.examples import examples

NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=100).filter(
    lambda name: not name.endswith("/")
)
MEMBERS = st.dictionaries(NAMES, st.binary(max_size=2_000), max_size=8)
MOST = 1 << 20


@settings(max_examples=examples(100))
@given(MEMBERS)
def test_the_bytes_follow_from_the_members(members: dict[str, bytes]) -> None:
    data = pack(members)
    assert unpack(data, MOST) == members
    assert pack(dict(reversed(members.items()))) == data


@settings(max_examples=examples(200))
@given(MEMBERS, st.data())
def test_no_other_bytes_are_read_as_the_same_members(members: dict[str, bytes], draw: st.DataObject) -> None:
    data = bytearray(pack(members))
    place = draw.draw(st.integers(0, len(data) - 1))
    data[place] ^= draw.draw(st.integers(1, 255))
    try:
        found = unpack(bytes(data), MOST)
    except WireError:
        return
    assert found != members


@settings(max_examples=examples(100))
@given(st.binary(max_size=3_000))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        unpack(data, MOST)


def archive(*members: tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(bytes(member.size)))
    return made.getvalue()


def test_links_devices_and_hidden_headers_are_refused() -> None:
    link = tarfile.TarInfo("log")
    link.type, link.linkname = tarfile.SYMTYPE, "../secret"
    named = tarfile.TarInfo("log")
    named.pax_headers = {"comment": "hidden"}
    owned = tarfile.TarInfo("log")
    owned.uname = "somebody"
    sparse = tarfile.TarInfo("log")
    sparse.pax_headers = {"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,0"}
    for member in (link, named, owned, sparse):
        with pytest.raises(WireError):
            unpack(archive(member), MOST)


def test_an_archive_longer_than_its_limit_is_not_read() -> None:
    data = pack({"log": bytes(2_000)})
    with pytest.raises(WireError, match=f"{len(data)} bytes is longer than {len(data) - 1}"):
        unpack(data, len(data) - 1)


def test_names_that_ustar_cannot_hold_are_refused() -> None:
    for name in ("", "x" * 101, "ü"):
        with pytest.raises(ValueError, match="not a name of 1 to 100 ASCII characters"):
            pack({name: b""})
