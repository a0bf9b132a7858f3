"""Extrinsics that a wallet signs elsewhere: the payload for it, and the extrinsic from its signature.

The payload has the form `SignerPayloadJSON` of polkadot.js, which wallets in browsers take.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from offchain.adapters.chain.extrinsic import SigningTerms, assemble, era_bytes, era_period, payload
from offchain.adapters.chain.runtime import ChainRuntime
from offchain.adapters.keys.wallet_signature import multi_signature
from offchain.errors import BadValue, RefusedError
from offchain.ports import BlockRef, SignedExtrinsic

ERA_BLOCKS: Final = 64
"""Blocks in which a wallet's extrinsic can be included: some minutes, for people who read what they sign."""
_LONGEST_ERA: Final = 4096
_FORMAT: Final = 4
_NO_SIGNATURE: Final = {"Sr25519": bytes(64)}
_FEE_BYTES: Final = 16


class WrongSignature(RefusedError):  # noqa: N818
    """A signature that is not one of the payload by the account."""

    code = "wrong_signature"


class WrongPayload(BadValue):
    """A payload that this chain does not take any more, or that another program made. `field`: the part at fault."""

    code = "wrong_payload"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"payload.{field}: {message}.", "Build the extrinsic again, and sign its payload as it is.")
        self.field = f"payload.{field}"


@dataclass(frozen=True, slots=True)
class UnsignedExtrinsic:
    """A call with everything that is signed with it. `signed_bytes`: what the key signs, as `payload` encodes it."""

    account: str
    call: bytes
    terms: SigningTerms
    payload: Mapping[str, Any]
    signed_bytes: bytes
    fee: int
    """The estimated fee in base units."""

    @property
    def valid_until(self) -> int:
        """The last block that can include it."""
        return self.terms.birth.number + self.terms.era_blocks - 1


class WalletExtrinsics(ABC):
    """Extrinsics of wallets, over a connection that a subclass provides."""

    @abstractmethod
    async def _signing_terms(self, nonce: int, era_blocks: int, tip: int = 0) -> tuple[ChainRuntime, SigningTerms]:
        """Return the runtime of the best block, and the terms of an extrinsic that is signed now."""

    @abstractmethod
    async def _call(self, method: str, *params: Any) -> Any:
        """Return the result of a request."""

    @abstractmethod
    async def next_nonce(self, account: str) -> int:
        """Return the account's next nonce."""

    async def runtime(self) -> ChainRuntime:
        """The runtime of the best block."""
        runtime, _ = await self._signing_terms(0, ERA_BLOCKS)
        return runtime

    async def unsigned_extrinsic(self, call: bytes, account: str) -> UnsignedExtrinsic:
        """An extrinsic of an encoded call, for the account's wallet to sign."""
        nonce = await self.next_nonce(account)
        runtime, terms = await self._signing_terms(nonce, ERA_BLOCKS)
        return unsigned(runtime, call, account, terms, await self._fee(runtime, call, account, terms))

    async def signed_extrinsic(
        self, account: str, call: bytes, given: Mapping[str, Any], signature: bytes
    ) -> SignedExtrinsic:
        """The extrinsic of a payload that a wallet has signed. Raises WrongPayload and WrongSignature."""
        runtime, now = await self._signing_terms(0, ERA_BLOCKS)
        terms = terms_of(runtime, account, call, given, now.genesis)
        return with_signature(runtime, account, call, terms, signature)

    async def _fee(self, runtime: ChainRuntime, call: bytes, account: str, terms: SigningTerms) -> int:
        made = assemble(runtime, call, account, _NO_SIGNATURE, terms)
        asked = made.data + len(made.data).to_bytes(4, "little")
        info = bytes.fromhex(
            (await self._call("state_call", "TransactionPaymentApi_query_info", f"0x{asked.hex()}")).removeprefix("0x")
        )
        # RuntimeDispatchInfo: weight, class, fee.
        return int.from_bytes(info[-_FEE_BYTES:], "little")


def unsigned(runtime: ChainRuntime, call: bytes, account: str, terms: SigningTerms, fee: int) -> UnsignedExtrinsic:
    """Return an extrinsic for a wallet to sign."""
    return UnsignedExtrinsic(
        account, call, terms, payload_json(runtime, account, call, terms), payload(runtime, call, terms), fee
    )


def payload_json(runtime: ChainRuntime, account: str, call: bytes, terms: SigningTerms) -> dict[str, Any]:
    """Return the `SignerPayloadJSON` of polkadot.js."""
    return {
        "address": account,
        "blockHash": f"0x{terms.birth.hash.hex()}",
        "blockNumber": _number(terms.birth.number, 4),
        "era": f"0x{era_bytes(terms.birth.number, terms.era_blocks).hex()}",
        "genesisHash": f"0x{terms.genesis.hex()}",
        "metadataHash": None if terms.metadata_hash is None else f"0x{terms.metadata_hash.hex()}",
        "method": f"0x{call.hex()}",
        "mode": 0 if terms.metadata_hash is None else 1,
        "nonce": _number(terms.nonce, 4),
        "signedExtensions": [extension.name for extension in runtime.metadata.extensions],
        "specVersion": _number(runtime.spec_version, 4),
        "tip": _number(terms.tip, 16),
        "transactionVersion": _number(runtime.transaction_version, 4),
        "version": _FORMAT,
    }


def terms_of(
    runtime: ChainRuntime, account: str, call: bytes, given: Mapping[str, Any], genesis: bytes
) -> SigningTerms:
    """Return the terms in a payload. Raises WrongPayload if it is not one of this call on this chain and runtime."""
    birth = BlockRef(_as_number(given, "blockNumber", 4), _as_bytes(given, "blockHash", 32))
    try:
        era_blocks = era_period(_as_bytes(given, "era", 2), birth.number)
    except ValueError as error:
        raise WrongPayload("era", str(error)) from None
    if era_blocks > _LONGEST_ERA:
        raise WrongPayload("era", f"it lasts {era_blocks} blocks, and at most {_LONGEST_ERA} are allowed")
    terms = SigningTerms(
        genesis,
        birth,
        era_blocks,
        _as_number(given, "nonce", 4),
        _as_number(given, "tip", _FEE_BYTES),
        _metadata_hash(given),
    )
    made = payload_json(runtime, account, call, terms)
    for name in ("address", "signedExtensions", "version"):
        if given.get(name) != made[name]:
            raise WrongPayload(name, f"it is {_shown(given.get(name))}, and this extrinsic has {_shown(made[name])}")
    for name, size in (("specVersion", 4), ("transactionVersion", 4)):
        if _as_number(given, name, size) != int(made[name], 16):
            raise WrongPayload(name, f"it is {_shown(given.get(name))}, and the chain has {made[name]} now")
    if _as_bytes(given, "genesisHash", 32) != genesis:
        raise WrongPayload("genesisHash", "it is that of another chain")
    if str(given.get("method", "")).lower() != made["method"]:
        raise WrongPayload("method", "it is not the call of call_hex")
    if given.get("assetId") is not None:
        raise WrongPayload("assetId", "the chain takes fees in its own coin only")
    return terms


def with_signature(
    runtime: ChainRuntime, account: str, call: bytes, terms: SigningTerms, signature: bytes
) -> SignedExtrinsic:
    """Return the signed extrinsic. Raises WrongSignature."""
    found = multi_signature(account, payload(runtime, call, terms), signature)
    if found is None:
        raise WrongSignature(
            f"The signature is not by {account}, or not of this payload.",
            "Sign the payload as it was built, with the key of that account.",
        )
    return assemble(runtime, call, account, found, terms)


def _metadata_hash(given: Mapping[str, Any]) -> bytes | None:
    """Return the hash that a signing device has added to the payload."""
    mode = given.get("mode", 0)
    if mode not in (0, 1):
        raise WrongPayload("mode", f"it is {_shown(mode)}, and has to be 0 or 1")
    return _as_bytes(given, "metadataHash", 32) if mode else None


def _number(value: int, size: int) -> str:
    return f"0x{value:0{2 * size}x}"


def _as_number(given: Mapping[str, Any], name: str, size: int) -> int:
    value = given.get(name)
    try:
        number = int(value, 16) if isinstance(value, str) and value.startswith("0x") else -1
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 8 * size:
        raise WrongPayload(name, f"a number as hexadecimal digits is needed, not {_shown(value)}")
    return number


def _as_bytes(given: Mapping[str, Any], name: str, size: int) -> bytes:
    value = given.get(name)
    try:
        found = bytes.fromhex(value[2:]) if isinstance(value, str) and value.startswith("0x") else b""
    except ValueError:
        found = b""
    if len(found) != size:
        raise WrongPayload(name, f"0x and {2 * size} hexadecimal digits are needed, not {_shown(value)}")
    return found


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
