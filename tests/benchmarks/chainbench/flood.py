"""Hands extrinsics to a node as fast as it takes them: WebSocket frames made beforehand, no waiting for each answer."""

from __future__ import annotations

import base64
import contextlib
import secrets
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from offchain.devnet.node_rpc import NodeRpc

_TICK_SECONDS = 0.005
_WRITE, _READ = 1 << 20, 1 << 18
_TEXT, _PING, _PONG = 1, 9, 10
# Where a refusal's text begins in the node's answer.
_REASON = len('{"jsonrpc":"2.0","id":1,')
# The most that goes out in one tick, over all lanes.
_BURST = 400
_POLL_SECONDS = 0.1
# The most that the node has not answered, over all lanes. What it has not yet checked when it makes a block it checks
# twice, and a sender that goes on regardless makes that more.
UNANSWERED = 96
# The timestamp is in every block, and nobody submits it.
INHERENTS = 1


def frame(extrinsic: bytes, number: int = 1) -> bytes:
    """One masked text frame with one `author_submitExtrinsic`. The mask is zero: the text stays as it is."""
    head = b'{"jsonrpc":"2.0","id":%d,"method":"author_submitExtrinsic","params":["0x' % number
    text = head + extrinsic.hex().encode() + b'"]}'
    if len(text) < 126:
        return bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text
    if len(text) < 1 << 16:
        return b"\x81\xfe" + struct.pack(">H", len(text)) + b"\0\0\0\0" + text
    return b"\x81\xff" + struct.pack(">Q", len(text)) + b"\0\0\0\0" + text


class Wire:
    """A WebSocket that never waits: it writes what the socket takes and reads what has come."""

    def __init__(self, port: int) -> None:
        self.sock = _connect(port)
        self.out = bytearray()
        self._in = bytearray()

    def exchange(self) -> list[bytes]:
        """Write what the socket takes; the texts that have come."""
        with contextlib.suppress(BlockingIOError):
            while self.out:
                del self.out[: self.sock.send(memoryview(self.out)[:_WRITE])]
        with contextlib.suppress(BlockingIOError):
            while got := self.sock.recv(_READ):
                self._in += got
            raise ConnectionError("the node closed a connection")
        return list(self._texts())

    def _texts(self) -> Iterator[bytes]:
        place = 0
        while len(self._in) >= place + 2:
            kind, size, start = self._in[place] & 15, self._in[place + 1], place + 2
            if size >= 126:
                start += 2 if size == 126 else 8
                size = int.from_bytes(self._in[place + 2 : start], "big")
            if len(self._in) < start + size:
                break
            content = bytes(self._in[start : start + size])
            if kind == _TEXT:
                yield content
            elif kind == _PING:
                self.out += bytes([0x80 | _PONG, 0x80 | len(content)]) + b"\0\0\0\0" + content
            place = start + size
        del self._in[:place]

    def close(self) -> None:
        self.sock.close()


@dataclass(frozen=True, slots=True)
class Report:
    """What the generator did. `refused`: texts of the node's refusals; `cpu_share`: of one core, while it ran."""

    sent: int
    answered: int
    refused: Counter[str]
    seconds: float
    cpu_share: float


def _connect(port: int) -> socket.socket:
    """An open WebSocket."""
    sock = socket.create_connection(("127.0.0.1", port))
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    lines = (
        "GET / HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
    )
    sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += sock.recv(1)
    if b" 101 " not in answer.split(b"\r\n")[0]:
        raise ConnectionError(answer.decode(errors="replace"))
    sock.settimeout(0)
    return sock


class Followed:
    """Counts the extrinsics in the blocks of the best chain while the flood runs, from a thread of its own."""

    def __init__(self, port: int) -> None:
        self._rpc = NodeRpc(port)
        self._at = self._best()
        self.included = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _best(self) -> int:
        return int(self._rpc.call("chain_getHeader")["number"], 16)

    def _run(self) -> None:
        while not self._stopped.wait(_POLL_SECONDS):
            best = self._best()
            while self._at < best:
                self._at += 1
                block_hash = self._rpc.call("chain_getBlockHash", self._at)
                body = self._rpc.call("chain_getBlock", block_hash)["block"]["extrinsics"]
                self.included += len(body) - INHERENTS


def flood(port: int, lanes: Sequence[Sequence[bytes]], *, per_second: float, window: int, seconds: float) -> Report:
    """Send `per_second` extrinsics, never more than `window` between sent and included; one connection a lane.

    The window keeps the pool below its limit: what the pool drops leaves a gap in an account's nonces. No more than
    `UNANSWERED` wait for the node's answer, as with senders that look at it.
    """
    wires = [Wire(port) for _ in lanes]
    sent = [0] * len(lanes)
    answered = 0
    refusals: Counter[str] = Counter()
    used = time.process_time()
    began = time.monotonic()
    with Followed(port) as followed:
        while time.monotonic() - began < seconds:
            room = window - (sum(sent) - refusals.total() - followed.included)
            due = per_second * (time.monotonic() - began) - sum(sent)
            unanswered = UNANSWERED - (sum(sent) - answered)
            each = int(max(0, min(room, unanswered, due, _BURST))) // len(lanes)
            for number, wire in enumerate(wires):
                wire.out += b"".join(lanes[number][sent[number] : sent[number] + each])
                sent[number] = min(sent[number] + each, len(lanes[number]))
                texts = wire.exchange()
                answered += len(texts)
                refusals.update(text[_REASON:].decode() for text in texts if b'"error":' in text)
            time.sleep(_TICK_SECONDS)
    took = time.monotonic() - began
    cpu = time.process_time() - used
    for wire in wires:
        wire.close()
    return Report(sum(sent), answered, refusals, took, cpu / took)
