import base64
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offchain.adapters.keys import keystore, ss58
from offchain.adapters.keys import signer as keys
from offchain.errors import BadKey

# Published by the Substrate project for its development phrase (`subkey inspect`).
KNOWN = {
    ("//Alice", "sr25519"): "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
    ("//Bob", "sr25519"): "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty",
    ("//Alice//stash", "sr25519"): "5GNJqTPyNqANBkUVMN1LPPrxXnFouWXoe2wNSmmEoLctxiZY",
    ("//Alice", "ed25519"): "5FA9nQDVg267DEd8m1ZypXLBnvN7SFxYwV7ndqSYGiN9TTpu",
    ("//Bob", "ed25519"): "5GoNkf6WdbxCFnPdAnYYQyCjAKPJgLNxXwPjwTh6DGg6gN3E",
}


@pytest.mark.parametrize(("uri", "crypto"), KNOWN)
def test_development_accounts_have_their_known_addresses(uri, crypto):
    assert keys.from_uri(uri, crypto).address == KNOWN[uri, crypto]
    assert keys.from_uri(keys.DEV_PHRASE + uri, crypto).address == KNOWN[uri, crypto]


def test_phrase_seed_and_password_each_lead_elsewhere():
    phrase = keys.from_uri(keys.DEV_PHRASE)
    assert phrase.address == "5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV"
    seed = keys.from_uri("0xfac7959dbfe72f052e5a0c3c8d6530f202b02fd8f9f5ca3580ec8deb7797479e")
    assert seed.address == phrase.address
    assert keys.from_uri(keys.DEV_PHRASE + "///secret").address != phrase.address
    assert len({keys.from_uri(uri).address for uri in ("//a", "/a", "//a/b", "//1", "/1", "//a///p")}) == 6


@pytest.mark.parametrize(
    ("uri", "crypto", "says"),
    [
        ("bottom drive obey", "sr25519", "not a valid secret phrase"),
        ("0x12", "sr25519", "A seed has 32 bytes"),
        ("0xzz", "sr25519", "hexadecimal"),
        ("/soft", "ed25519", "no soft children"),
    ],
)
def test_bad_uris_are_refused_without_showing_them(uri, crypto, says):
    with pytest.raises(BadKey, match=says) as refused:
        keys.from_uri(uri, crypto)
    assert uri not in str(refused.value)


@pytest.mark.parametrize("crypto", ["sr25519", "ed25519"])
def test_signatures_hold_for_their_payload_only(crypto):
    signer, other = keys.from_uri("//Alice", crypto), keys.from_uri("//Bob", crypto)
    signature = signer.sign(b"payload")
    assert keys.verify(signer.public_key, crypto, b"payload", signature)
    assert not keys.verify(signer.public_key, crypto, b"payloae", signature)
    assert not keys.verify(other.public_key, crypto, b"payload", signature)
    assert not keys.verify(signer.public_key, crypto, b"payload", signature[:-1])
    assert not keys.verify(signer.public_key, crypto, b"payload", bytes(64))


@pytest.mark.parametrize("crypto", ["sr25519", "ed25519"])
def test_a_signer_keeps_its_secret(crypto):
    signer = keys.from_uri("//Alice", crypto)
    assert repr(signer) == f"<{type(signer).__name__} {signer.address}>"
    with pytest.raises(TypeError):
        pickle.dumps(signer)


@given(st.binary(min_size=32, max_size=32), st.integers(0, 16383))
def test_addresses_round_trip(key, prefix):
    text = ss58.encode(key, prefix)
    assert ss58.decode(text) == key
    assert ss58.decode(text, prefix) == key
    with pytest.raises(BadKey, match="another network"):
        ss58.decode(text, prefix ^ 1)


@given(st.text(max_size=60))
def test_other_text_is_no_address(text):
    if not ss58.is_address(text):
        with pytest.raises(BadKey):
            ss58.decode(text)


def test_a_mistyped_address_is_noticed():
    right = KNOWN["//Alice", "sr25519"]
    for position in range(len(right)):
        wrong = right[:position] + ("1" if right[position] != "1" else "2") + right[position + 1 :]
        assert not ss58.is_address(wrong)


@pytest.mark.parametrize("crypto", ["sr25519", "ed25519"])
def test_a_keystore_opens_with_its_password_only(tmp_path, crypto):
    signer, path = keys.from_uri("//Alice", crypto), tmp_path / "alice.json"
    keystore.save(path, signer, "pässword", "Alice")
    assert path.stat().st_mode & 0o777 == 0o600
    opened = keystore.load(path, "pässword")
    assert (opened.address, opened.crypto) == (signer.address, crypto)
    assert keys.verify(signer.public_key, crypto, b"x", opened.sign(b"x"))
    with pytest.raises(BadKey, match="password does not open"):
        keystore.load(path, "password")
    with pytest.raises(BadKey, match="never overwritten"):
        keystore.save(path, signer, "other")


# Exported by @polkadot/keyring for //Alice, password "testing".
POLKADOT_JS = [
    {
        "address": "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
        "encoded": (
            "0JEdAyPYZNAZMDnuIQexYc+PZc5p98EN03M9EbSAp7UAAAIAAQAAAAgAAAAf3m/591R57WAATWYVZKKCRCsap6dQD+"
            "oREY8YFj2L9JQjYOO+LD7TNMUsIJ8GriBgx0RMZmtOGGZwYTXWCwe65Nn1/58pocVCB369Sc1vupXD0eQS7tK+Wbo9"
            "u5ErLZ4cCB+wJzggvEMCGNN5hte7sRZA+NL/Wd3IU7QRRovo5ZIKcrTMfN4vV24UQc90P3r+NS9K8FDW2rGVkWLO"
        ),
        "encoding": {"content": ["pkcs8", "sr25519"], "type": ["scrypt", "xsalsa20-poly1305"], "version": "3"},
        "meta": {"name": "Alice"},
    },
    {
        "address": "5FA9nQDVg267DEd8m1ZypXLBnvN7SFxYwV7ndqSYGiN9TTpu",
        "encoded": (
            "nuhqiJxmfHRhvhwYC65Ri5JDF5WZAq0ogO2BGU4DgzcAAAIAAQAAAAgAAAAliTUTpLV822g6KUEMADfLfMxT+4Bb0v"
            "5zTljVQQclY78kO14fJTAzqDmBiIItaQOanbP/QtipfDVBpIOzoP58m2VFvNi2+PVkCD9ikHTjgKgoiOkea+2qXGej"
            "6KCHtrfzEu2HxSASl9Rysz3zVvgyQ4NhavaWiAFwm/UvUo8OVI5JC+qcWvM/hliWlb8HzRMloPrZph/lBavzvdBY"
        ),
        "encoding": {"content": ["pkcs8", "ed25519"], "type": ["scrypt", "xsalsa20-poly1305"], "version": "3"},
        "meta": {"name": "Alice"},
    },
]


@pytest.mark.parametrize("document", POLKADOT_JS, ids=("sr25519", "ed25519"))
def test_a_keystore_made_by_polkadot_js_opens(document):
    assert keystore.decrypt(document, "testing").address == document["address"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"encoding": {"content": ["pkcs8", "sr25519"], "type": ["none"], "version": "3"}}, "encrypted in a way"),
        (
            {"encoding": {"content": ["pkcs8", "sr25519"], "type": ["scrypt", "xsalsa20-poly1305"], "version": "2"}},
            "version 3",
        ),
        ({"encoding": None}, "version 3"),
        ({"encoded": "!"}, "damaged"),
        ({"encoded": "AAAA"}, "damaged"),
        ({"encoded": None}, "damaged"),
        ({"address": "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"}, "do not belong together"),
    ],
)
def test_other_keystores_are_refused(change, says):
    document = keystore.encrypt(keys.from_uri("//Alice"), "p") | change
    with pytest.raises(BadKey, match=says):
        keystore.decrypt(document, "p")


def test_files_that_are_no_keystores_are_refused(tmp_path):
    path = tmp_path / "k"
    for content in ("", "[]", "{", "7"):
        path.write_text(content)
        with pytest.raises(BadKey):
            keystore.load(path, "p")
    with pytest.raises(BadKey, match="cannot be read"):
        keystore.load(tmp_path / "none", "p")


def test_a_keystore_must_not_ask_for_endless_work():
    document = keystore.encrypt(keys.from_uri("//Alice"), "p")
    raw = bytearray(base64.b64decode(document["encoded"]))
    raw[32:36] = (1 << 30).to_bytes(4, "little")
    with pytest.raises(BadKey, match="unusual amount of work"):
        keystore.decrypt(document | {"encoded": base64.b64encode(raw).decode()}, "p")


def test_a_host_key_is_made_once_and_read_back(tmp_path):
    path = tmp_path / "state" / "host.key"
    made = keys.new_host_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert keys.load_host_key(path).public_key == made.public_key
    assert bytes.fromhex(path.read_text().strip()) == made.seed()
    with pytest.raises(BadKey, match="never overwritten"):
        keys.new_host_key(path)


def test_a_host_key_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "host.key"
    keys.new_host_key(path)
    path.chmod(0o640)
    with pytest.raises(BadKey, match="may be read by others") as refused:
        keys.load_host_key(path)
    assert refused.value.hint == f"Run: chmod 600 {path}"


@pytest.mark.parametrize("content", [b"", b"zz" * 32, b"00" * 31, b"00" * 33, b"\xff" * 64])
def test_files_that_are_no_host_keys_are_refused(tmp_path, content):
    path = tmp_path / "host.key"
    path.touch(mode=0o600)
    path.write_bytes(content)
    with pytest.raises(BadKey, match="is not a host key"):
        keys.load_host_key(path)
    with pytest.raises(BadKey, match="cannot be read"):
        keys.load_host_key(tmp_path / "none")


def test_a_link_is_not_followed_when_a_key_is_made(tmp_path):
    (tmp_path / "host.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadKey):
        keys.new_host_key(tmp_path / "host.key")
    assert not (tmp_path / "elsewhere").exists()
