"""Signed extrinsics against the library's own: the same payload is signed, and it can read the result."""

from dataclasses import replace
from hashlib import blake2b

import pytest
from async_substrate_interface.async_substrate import AsyncSubstrateInterface
from scalecodec import ScaleBytes
from test_scale import RAW, RUNTIME, library

from offchain.adapters.chain import extrinsic as xt
from offchain.adapters.chain.metadata import Extension
from offchain.adapters.chain.runtime import Runtime
from offchain.adapters.keys.signer import from_uri, verify
from offchain.errors import WrongChain
from offchain.ports import BlockRef, Call

__all__ = ["library"]
GENESIS, BIRTH = b"\x11" * 32, BlockRef(1234, b"\x22" * 32)
SHORT = Call("Tasks", "settle", {"task": 5})
LONG = Call("System", "remark", {"remark": bytes(300)})


@pytest.mark.parametrize("crypto", ["sr25519", "ed25519"])
@pytest.mark.parametrize("call", [SHORT, LONG])
async def test_the_library_signs_the_same_payload_and_reads_the_extrinsic(library, call, crypto):
    terms = xt.Terms(GENESIS, BIRTH, 64, nonce=70, tip=3)
    signer = from_uri("//Alice", crypto)
    extrinsic = xt.sign(RUNTIME, call, signer, terms)
    theirs = AsyncSubstrateInterface("ws://unused", _mock=True)

    async def get_block_hash(block_id=None, **_):
        return "0x" + {0: GENESIS, BIRTH.number: BIRTH.hash}[block_id].hex()

    theirs.get_block_hash = get_block_hash
    call_object = library.runtime_config.create_scale_object("Call", metadata=library.metadata)
    call_object.decode(ScaleBytes(RUNTIME.encode_call(call)))
    payload = await theirs.generate_signature_payload(
        call_object, era={"period": 64, "current": BIRTH.number}, nonce=70, tip=3, runtime=library
    )
    assert bytes(payload.data) == xt.payload(RUNTIME, RUNTIME.encode_call(call), terms)

    read = library.runtime_config.create_scale_object("Extrinsic", metadata=library.metadata)
    read.decode(ScaleBytes(extrinsic.data))
    assert read.value["address"] in (signer.address, "0x" + signer.public_key.hex())
    assert read.value["nonce"] == 70
    assert read.value["tip"] == 3
    signature = bytes.fromhex(read.value["signature"][crypto.title()][2:])
    assert verify(signer.public_key, crypto, bytes(payload.data), signature)
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
    runtime = Runtime(RAW, "gantry", 1, 1)
    u64 = next(n for n, t in enumerate(runtime.metadata.types) if getattr(t.definition, "name", "") == "u64")
    odd = Extension("CheckSomething", u64, u64)
    runtime.metadata = replace(runtime.metadata, extensions=(*runtime.metadata.extensions, odd))
    with pytest.raises(WrongChain, match="CheckSomething"):
        xt.sign(runtime, SHORT, from_uri("//Alice"), xt.Terms(GENESIS, BIRTH, 64, 0))
