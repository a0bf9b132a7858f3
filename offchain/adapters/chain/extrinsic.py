"""Signed extrinsics of format V4: the payload that is signed, and the bytes of the whole; who signed which call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.chain.scale_decode import read_compact
from offchain.errors import BadReply, WrongChain
from offchain.ports import BlockRef, Call, SignedExtrinsic, Signer
from offchain.schema.chain_types.values import blake2_256, compact

_SIGNED_V4 = 0x84
_BARE = (0x04, 0x05)
_GENERAL_V5 = 0x45
_SIGNATURE_VARIANT = {"ed25519": "Ed25519", "sr25519": "Sr25519"}
_HASHED_OVER = 256


@dataclass(frozen=True, slots=True)
class SigningTerms:
    """Chain, lifetime, nonce and tip of an extrinsic. Valid for `era_blocks` from `birth`, a recent block.

    `metadata_hash`: of the metadata by which a signing device has read the call; None: no hash is signed.
    """

    genesis: bytes
    birth: BlockRef
    era_blocks: int
    nonce: int
    tip: int = 0
    metadata_hash: bytes | None = None


def era_bytes(birth: int, period: int) -> bytes:
    """The two bytes of a mortal era from block `birth` to `birth + period - 1`.

    `period` is a power of two from 4 to 4096; longer ones cannot begin at any block.
    """
    if not 4 <= period <= 1 << 12 or period & (period - 1):
        raise ValueError(f"{period} is not a power of two from 4 to 4096")
    return (period.bit_length() - 2 | birth % period << 4).to_bytes(2, "little")


def era_period(era: bytes, birth: int) -> int:
    """The period of a mortal era that begins at block `birth`. Raises ValueError for another era."""
    period = 2 << (int.from_bytes(era, "little") & 15)
    if len(era) != 2 or era_bytes(birth, period) != era:
        raise ValueError(f"0x{era.hex()} is not the era of an extrinsic that is valid from block {birth}")
    return period


def _extensions(runtime: ChainRuntime, terms: SigningTerms) -> tuple[bytes, bytes]:
    """(bytes that go into the extrinsic, bytes that are signed besides)."""
    extra_of: dict[str, bytes] = {
        "CheckMortality": era_bytes(terms.birth.number, terms.era_blocks),
        "CheckNonce": compact(terms.nonce),
        "ChargeTransactionPayment": compact(terms.tip),
        "CheckMetadataHash": b"\0" if terms.metadata_hash is None else b"\1",
    }
    additional_of: dict[str, bytes] = {
        "CheckSpecVersion": runtime.spec_version.to_bytes(4, "little"),
        "CheckTxVersion": runtime.transaction_version.to_bytes(4, "little"),
        "CheckGenesis": terms.genesis,
        "CheckMortality": terms.birth.hash,
        "CheckMetadataHash": b"\0" if terms.metadata_hash is None else b"\1" + terms.metadata_hash,
    }
    extra = additional = b""
    for extension in runtime.metadata.extensions:
        extra += extra_of.get(extension.name) or _empty(runtime, extension.extra, extension.name)
        additional += additional_of.get(extension.name) or _empty(runtime, extension.additional, extension.name)
    return extra, additional


def _empty(runtime: ChainRuntime, type_id: int, name: str) -> bytes:
    """Nothing; raises WrongChain where an extension that is not known here has a value."""
    try:
        runtime.decode(type_id, b"")
    except Exception as error:
        raise WrongChain(f"no transaction extension {name}", f"one that wants {name}", "spec") from error
    return b""


def payload(runtime: ChainRuntime, call: bytes, terms: SigningTerms) -> bytes:
    """The bytes that are signed: the call with its extensions, or their hash where they exceed 256 bytes."""
    extra, additional = _extensions(runtime, terms)
    whole = call + extra + additional
    return blake2_256(whole) if len(whole) > _HASHED_OVER else whole


def sign(runtime: ChainRuntime, call: Call, signer: Signer, terms: SigningTerms) -> SignedExtrinsic:
    """Sign a call."""
    encoded = runtime.encode_call(call)
    signature = {_SIGNATURE_VARIANT[signer.crypto]: signer.sign(payload(runtime, encoded, terms))}
    return assemble(runtime, encoded, signer.address, signature, terms)


def assemble(
    runtime: ChainRuntime, call: bytes, account: str, signature: dict[str, bytes], terms: SigningTerms
) -> SignedExtrinsic:
    """Return the extrinsic of an encoded call. `signature`: `MultiSignature` in plain form, of :func:`payload`."""
    extra, _ = _extensions(runtime, terms)
    body = (
        bytes([_SIGNED_V4])
        + runtime.encode(runtime.metadata.address, account, "signer")
        + runtime.encode(runtime.metadata.signature, signature, "signature")
        + extra
        + call
    )
    data = compact(len(body)) + body
    valid_until = terms.birth.number + terms.era_blocks - 1
    return SignedExtrinsic(data, blake2_256(data), account, terms.nonce, terms.birth.number, valid_until)


def read_head(runtime: ChainRuntime, extrinsic: bytes) -> tuple[str | None, str | None]:
    """Return the signer and the call (`Pallet.function`) of an extrinsic; None for what it lacks or is not known."""
    try:
        signer, pos = _read_signer(runtime, extrinsic)
    except (IndexError, ValueError):
        return None, None
    return signer, runtime.call_name(extrinsic[pos : pos + 2])


def read_call(runtime: ChainRuntime, extrinsic: bytes) -> tuple[str | None, Call]:
    """Return the signer and the call of an extrinsic. Raises BadReply if it is not one of this runtime."""
    try:
        signer, pos = _read_signer(runtime, extrinsic)
        plain, end = runtime.decode_at(runtime.metadata.call, extrinsic, pos)
        ((pallet, inner),) = plain.items()
        ((function, args),) = inner.items() if isinstance(inner, Mapping) else ((inner, {}),)
    except (IndexError, ValueError, AttributeError, RecursionError):
        raise _unreadable() from None
    if end != len(extrinsic):
        raise _unreadable()
    return signer, Call(pallet, function, args)


def _unreadable() -> BadReply:
    return BadReply("The extrinsic cannot be decoded by the runtime of its block.", "Read the block from a node.")


def _read_signer(runtime: ChainRuntime, extrinsic: bytes) -> tuple[str | None, int]:
    """Return the signer, if there is one, and the offset of the call. Raises as a decoder does, and ValueError."""
    _, pos = read_compact(extrinsic, 0)
    version, pos = extrinsic[pos], pos + 1
    signer = None
    if version == _SIGNED_V4:
        address, pos = runtime.decode_at(runtime.metadata.address, extrinsic, pos)
        signer = address.get("Id") if isinstance(address, dict) else address
        _, pos = runtime.decode_at(runtime.metadata.signature, extrinsic, pos)
    elif version == _GENERAL_V5:
        pos += 1  # the version of the extensions
    elif version not in _BARE:
        raise ValueError(f"format {version} of extrinsics is not known")
    if version not in _BARE:
        for extension in runtime.metadata.extensions:
            _, pos = runtime.decode_at(extension.extra, extrinsic, pos)
    return signer, pos
