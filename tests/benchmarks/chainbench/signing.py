"""Many signed extrinsics, made before the clock starts, by all processors."""

from __future__ import annotations

import concurrent.futures
import hashlib
import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from chainbench.node import Node
from offchain.adapters.chain import extrinsic
from offchain.adapters.chain.extrinsic import SigningTerms
from offchain.adapters.keys import signer as keys
from offchain.adapters.keys import ss58
from offchain.ports import BlockRef, Signer
from offchain.schema.chain_types.values import Call, blake2_256, compact

Crypto = Literal["sr25519", "ed25519"]
# The longest that a runtime remembers; a long run signs everything at its beginning.
ERA_BLOCKS = 4096
_HASHED_OVER = 256
_CHUNK = 2000
# Version, address and signature before the extensions.
_HEAD = 1 + 33 + 65


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the benchmark: whoever knows its name knows its secret."""

    name: str
    crypto: Crypto = "sr25519"

    @property
    def signer(self) -> Signer:
        seed = hashlib.blake2b(f"gantry-bench/{self.name}".encode(), digest_size=32).digest()
        return keys.Ed25519Signer(seed) if self.crypto == "ed25519" else keys.Sr25519Signer.from_seed(seed)


@dataclass(frozen=True, slots=True)
class Order:
    """One extrinsic to sign: who, with which nonce, and the bytes of the call."""

    account: Account
    nonce: int
    call: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """What is the same in every extrinsic of a run: bytes around the nonce, and what is signed besides."""

    before_nonce: bytes
    after_nonce: bytes
    additional: bytes


def form_of(node: Node) -> Form:
    """Take apart what the product's own signer makes: the extensions, cut at the nonce."""
    call = Call("System", "remark", {"remark": b""})
    signer = Account("form", "ed25519").signer
    one, two = (SigningTerms(node.genesis, BlockRef(0, node.genesis), ERA_BLOCKS, nonce) for nonce in (0x15, 0x2A))
    whole = extrinsic.sign(node.runtime, call, signer, one).data
    extra = whole[len(compact(len(whole))) + _HEAD : -len(node.runtime.encode_call(call))]
    payloads = [extrinsic.payload(node.runtime, b"", terms) for terms in (one, two)]
    place = next(at for at, (left, right) in enumerate(zip(*payloads, strict=True)) if left != right)
    return Form(extra[:place], extra[place + 1 :], payloads[0][len(extra) :])


def signed(form: Form, orders: Sequence[Order]) -> list[bytes]:
    made = []
    signers: dict[Account, tuple[Signer, bytes]] = {}
    for order in orders:
        known = signers.get(order.account)
        if known is None:
            signer = order.account.signer
            kind = b"\x00" if signer.crypto == "ed25519" else b"\x01"
            known = signers[order.account] = signer, b"\x84\x00" + ss58.decode(signer.address) + kind
        signer, head = known
        extra = form.before_nonce + compact(order.nonce) + form.after_nonce
        payload = order.call + extra + form.additional
        signature = signer.sign(blake2_256(payload) if len(payload) > _HASHED_OVER else payload)
        body = head + signature + extra + order.call
        made.append(compact(len(body)) + body)
    return made


def sign_all(node: Node, orders: Sequence[Order]) -> list[bytes]:
    """The extrinsics in the order of `orders`."""
    form = form_of(node)
    chunks = [orders[start : start + _CHUNK] for start in range(0, len(orders), _CHUNK)]
    if len(chunks) <= 1:
        return signed(form, orders)
    with concurrent.futures.ProcessPoolExecutor(
        os.cpu_count(), mp_context=multiprocessing.get_context("forkserver")
    ) as pool:
        return [made for chunk in pool.map(signed, [form] * len(chunks), chunks) for made in chunk]
