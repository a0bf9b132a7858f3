"""Signed extrinsics: the payload is as specified, and a second codec (cyscale) can read the result."""

from dataclasses import replace
from hashlib import blake2b

import pytest
from scalecodec import ScaleBytes
from test_scale import RAW, RUNTIME, library

from offchain.adapters.chain import extrinsic as xt
from offchain.adapters.chain.metadata import Extension
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.keys.signer import from_uri, verify
from offchain.errors import WrongChain
from offchain.ports import BlockRef, Call
from offchain.schema.chain_types.values import compact

__all__ = ["library"]
GENESIS, BIRTH = b"\x11" * 32, BlockRef(1234, b"\x22" * 32)
SHORT = Call("Tasks", "settle", {"task": 5})
LONG = Call("System", "remark", {"remark": bytes(300)})


@pytest.mark.parametrize("crypto", ["sr25519", "ed25519"])
@pytest.mark.parametrize("call", [SHORT, LONG])
def test_cyscale_reads_the_extrinsic_and_its_signature_is_of_the_payload(library, call, crypto):
    terms = xt.SigningTerms(GENESIS, BIRTH, 64, nonce=70, tip=3)
    signer = from_uri("//Alice", crypto)
    extrinsic = xt.sign(RUNTIME, call, signer, terms)
    # Written out: mortality, nonce, tip, mode of the metadata hash; then versions, genesis, birth block, no hash.
    extra = bytes.fromhex("2501") + compact(70) + compact(3) + b"\0"
    additional = (1).to_bytes(4, "little") * 2 + GENESIS + BIRTH.hash + b"\0"
    payload = RUNTIME.encode_call(call) + extra + additional
    if len(payload) > 256:
        payload = blake2b(payload, digest_size=32).digest()
    assert xt.payload(RUNTIME, RUNTIME.encode_call(call), terms) == payload

    read = library.runtime_config.create_scale_object("Extrinsic", metadata=library.metadata)
    read.decode(ScaleBytes(extrinsic.data))
    assert read.value["address"] in (signer.address, "0x" + signer.public_key.hex())
    assert read.value["nonce"] == 70
    assert read.value["tip"] == 3
    signature = bytes.fromhex(read.value["signature"][crypto.title()][2:])
    assert verify(signer.public_key, crypto, payload, signature)
    assert extrinsic.hash == blake2b(extrinsic.data, digest_size=32).digest()
    assert extrinsic.valid_until == 1234 + 63


@pytest.mark.parametrize("period", [4, 32, 64, 4096])
def test_an_era_begins_at_any_block(library, period):
    for birth in range(0, 3 * period, max(1, period // 7)):
        era = library.runtime_config.create_scale_object("Era")
        era.decode(ScaleBytes(xt.era_bytes(birth, period)))
        assert era.birth(birth) == birth
        assert era.death(birth) == birth + period


@pytest.mark.parametrize("period", [0, 3, 5, 63, 8192])
def test_other_eras_are_refused(period):
    with pytest.raises(ValueError, match="power of two"):
        xt.era_bytes(10, period)


def test_an_extension_that_wants_more_is_refused():
    runtime = ChainRuntime(RAW, "gantry", 1, 1)
    u64 = next(n for n, t in enumerate(runtime.metadata.types) if getattr(t.definition, "name", "") == "u64")
    odd = Extension("CheckSomething", u64, u64)
    runtime.metadata = replace(runtime.metadata, extensions=(*runtime.metadata.extensions, odd))
    with pytest.raises(WrongChain, match="CheckSomething"):
        xt.sign(runtime, SHORT, from_uri("//Alice"), xt.SigningTerms(GENESIS, BIRTH, 64, 0))


@pytest.mark.parametrize("crypto", ["sr25519", "ed25519"])
@pytest.mark.parametrize(("call", "name"), [(SHORT, "Tasks.settle"), (LONG, "System.remark")])
def test_signer_and_call_are_read_from_the_bytes(call, name, crypto):
    signer = from_uri("//Alice", crypto)
    extrinsic = xt.sign(RUNTIME, call, signer, xt.SigningTerms(GENESIS, BIRTH, 64, nonce=70, tip=3))
    assert xt.read_head(RUNTIME, extrinsic.data) == (signer.address, name)


@pytest.mark.parametrize("version", [b"\x04", b"\x05"])
def test_an_inherent_has_a_call_and_no_signer(version):
    body = version + RUNTIME.encode_call(Call("Timestamp", "set", {"now": 7}))
    assert xt.read_head(RUNTIME, compact(len(body)) + body) == (None, "Timestamp.set")


def test_bytes_that_are_no_known_extrinsic_have_no_head():
    signed = xt.sign(RUNTIME, SHORT, from_uri("//Alice"), xt.SigningTerms(GENESIS, BIRTH, 64, 0)).data
    for broken in (b"", b"\x04\x99", signed[:20], compact(3) + b"\x04\xff\xff"):
        assert xt.read_head(RUNTIME, broken) == (None, None)
    # A call that the runtime does not have: the signer is known all the same.
    call = RUNTIME.encode_call(SHORT)
    odd = signed[: -len(call)] + b"\xff\xff" + call[2:]
    assert xt.read_head(RUNTIME, odd) == (from_uri("//Alice").address, None)
