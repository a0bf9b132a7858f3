"""Hands extrinsics to a node as fast as it takes them: WebSocket frames made beforehand, no waiting for each answer."""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from offchain.devnet.node_rpc import NodeRpc

_TICK_SECONDS = 0.005
_WRITE, _READ = 1 << 20, 1 << 18
_TEXT, _PING, _PONG = 1, 9, 10
# An extrinsic is sent no more often than this.
MAX_TRIES = 8
# Senders sign anew what was refused; the same bytes, which the generator sends again, are refused for half an hour
# otherwise.
NODE_OPTIONS = ("--tx-ban-seconds=0",)
# The most that goes out in one tick, over all lanes.
_BURST = 400
_POLL_SECONDS = 0.1
# The most that the node has not answered, over all lanes. What it has not yet checked when it makes a block it checks
# twice, and a sender that goes on regardless makes that more.
UNANSWERED = 96
# The timestamp is in every block, and nobody submits it.
INHERENTS = 1


def frame(extrinsic: bytes, number: int) -> bytes:
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
class FloodResult:
    """What the generator did. `sent`: extrinsics that were sent again included.

    `refused`: texts of the node's refusals; `cpu_share`: of one core, while it ran.
    """

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
    """Counts the extrinsics in the blocks of the best chain while the flood runs, from a thread of its own.

    `block`: the number of the newest block that was counted.
    """

    def __init__(self, port: int) -> None:
        self._rpc = NodeRpc(port)
        self.block = self._best()
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
            while self.block < best:
                block_hash = self._rpc.call("chain_getBlockHash", self.block + 1)
                body = self._rpc.call("chain_getBlock", block_hash)["block"]["extrinsics"]
                self.included += len(body) - INHERENTS
                self.block += 1


class _Lane:
    """A connection, the frames that are sent over it in their order, and those that the node refused.

    A refused extrinsic is sent again when the next block was made, as senders do: a call that a host may make free of
    charge is refused while the block before it is not processed.
    """

    def __init__(self, port: int, frames: Sequence[bytes]) -> None:
        self._wire = Wire(port)
        self._frames = frames
        self._next = 0
        self._again: deque[tuple[int, int]] = deque()
        """Number of the frame, and the block after which it is sent again."""
        self._tries: Counter[int] = Counter()
        self.sent = 0
        self.answered = 0
        self.refusals: Counter[str] = Counter()

    def send(self, count: int, block: int) -> None:
        """Send up to `count` frames, first those that were refused before `block`."""
        while count and self._again and self._again[0][1] < block:
            self._send(self._again.popleft()[0])
            count -= 1
        for number in range(self._next, min(self._next + count, len(self._frames))):
            self._send(number)
            self._next += 1

    def exchange(self, block: int) -> None:
        """Write and read what the socket has room for and holds. `block`: the best one."""
        for text in self._wire.exchange():
            self.answered += 1
            if b'"error":' in text:
                answer = json.loads(text)
                self.refusals[json.dumps(answer["error"])] += 1
                if self._tries[answer["id"]] < MAX_TRIES:
                    self._again.append((answer["id"], block))

    def close(self) -> None:
        self._wire.close()

    def _send(self, number: int) -> None:
        self._wire.out += self._frames[number]
        self._tries[number] += 1
        self.sent += 1


def flood(
    port: int, lanes: Sequence[Sequence[bytes]], *, per_second: float, window: int, seconds: float
) -> FloodResult:
    """Send `per_second` extrinsics, never more than `window` between sent and included; one connection a lane.

    `lanes`: frames, each with its position in the lane as its number. The window keeps the pool below its limit: what
    the pool drops leaves a gap in an account's nonces. No more than `UNANSWERED` wait for the node's answer, as with
    senders that look at it.
    """
    sending = [_Lane(port, frames) for frames in lanes]
    used = time.process_time()
    began = time.monotonic()
    with Followed(port) as followed:
        while time.monotonic() - began < seconds:
            sent = sum(lane.sent for lane in sending)
            unanswered = sent - sum(lane.answered for lane in sending)
            refused = sum(lane.refusals.total() for lane in sending)
            room = window - (sent - refused - followed.included)
            due = per_second * (time.monotonic() - began) - (sent - refused)
            each = int(max(0, min(room, UNANSWERED - unanswered, due, _BURST))) // len(lanes)
            for lane in sending:
                lane.send(each, followed.block)
                lane.exchange(followed.block)
            time.sleep(_TICK_SECONDS)
    took = time.monotonic() - began
    cpu = time.process_time() - used
    for lane in sending:
        lane.close()
    refusals = sum((lane.refusals for lane in sending), Counter[str]())
    sent, answered = sum(lane.sent for lane in sending), sum(lane.answered for lane in sending)
    return FloodResult(sent, answered, refusals, took, cpu / took)
