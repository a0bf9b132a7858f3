"""Sealed boxes and their keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offchain.adapters.keys.sealed_box import (
    OVERHEAD,
    load_seal_key,
    new_seal_key,
    open_as_host,
    open_sealed,
    public_of,
    seal,
    seal_to_host,
)
from offchain.adapters.keys.signer import Ed25519Signer
from offchain.errors import BadKey

HOST, OTHER = Ed25519Signer(b"h" * 32), Ed25519Signer(b"o" * 32)


@given(st.binary(max_size=500))
def test_the_host_opens_what_was_sealed_to_it(data):
    sealed = seal_to_host(HOST.public_key, data)
    assert len(sealed) == len(data) + OVERHEAD
    assert open_as_host(HOST, sealed) == data


@given(st.binary(max_size=50), st.integers(0), st.integers(1, 255))
def test_no_other_key_opens_a_box_and_an_altered_box_is_refused(data, place, change):
    sealed = bytearray(seal_to_host(HOST.public_key, data))
    with pytest.raises(BadKey):
        open_as_host(OTHER, bytes(sealed))
    sealed[place % len(sealed)] ^= change
    with pytest.raises(BadKey):
        open_as_host(HOST, bytes(sealed))


@pytest.mark.parametrize("sealed", [b"", b"x" * 47])
def test_a_truncated_box_is_refused(sealed):
    with pytest.raises(BadKey):
        open_as_host(HOST, sealed)


@pytest.mark.parametrize("key", [b"", b"\xff" * 32, b"x" * 31])
def test_a_malformed_private_key_is_refused(key):
    with pytest.raises(BadKey):
        seal_to_host(key, b"")


def test_a_malformed_public_key_is_refused():
    with pytest.raises(BadKey, match="X25519"):
        seal(b"short", b"")


def test_a_key_file_is_made_once_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "new" / "mine.key"
    public = new_seal_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    private = load_seal_key(path)
    assert public_of(private) == public
    assert open_sealed(private, seal(public, b"x")) == b"x"
    with pytest.raises(BadKey, match="never overwritten"):
        new_seal_key(path)
    path.chmod(0o640)
    with pytest.raises(BadKey, match="chmod 600"):
        load_seal_key(path)


def test_a_malformed_key_file_is_refused(tmp_path):
    path = tmp_path / "x"
    with pytest.raises(BadKey, match="cannot be read"):
        load_seal_key(path)
    for content in (b"zz", b"ab" * 31, b"\xff\xfe"):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(BadKey, match="not a seal key"):
            load_seal_key(path)
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(BadKey):
        new_seal_key(link)
