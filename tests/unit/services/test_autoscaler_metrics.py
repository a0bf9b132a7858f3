"""The autoscaler over a chain in memory: services that scale by a metric which their pods serve."""

import asyncio
import contextlib

import pytest
from autoscaler_world import MANIFEST, TENANT, Net

from offchain.adapters.chain.typed import GantryChain
from offchain.services.autoscaler import Autoscaler

OWN = MANIFEST.replace(b"cpu, target: 50%", b"{port: 9090, name: jobs, target_per_pod: 10}")


class Page:
    """A connection into a pod that serves a page in pieces."""

    def __init__(self, net, pieces):
        self.net, self.pieces, self.asked = net, list(pieces), b""

    async def write(self, data):
        self.asked += data

    async def read_main(self):
        assert self.asked.startswith(b"GET /metrics HTTP/1.0\r\n")
        if self.pieces and self.pieces[0] is None:
            await asyncio.Event().wait()
        return self.pieces.pop(0) if self.pieces else None

    def drop(self):
        self.net.dropped += 1


class OwnNet(Net):
    """A service whose pods tell a number."""

    def __init__(self):
        super().__init__(OWN)
        self.numbers, self.asked = {}, []

    async def receipt(self, number):
        raise AssertionError(f"no receipt of {number} is needed")

    async def dial(self, number, port):
        self.asked.append((number >> 16 & 0xFF, port))
        return Page(self, self.numbers[number >> 16 & 0xFF])

    def told(self, *numbers):
        """What each pod tells; None: its page never ends; bytes: in place of a page."""
        head = b"HTTP/1.0 200 OK\r\n\r\n"
        for pod, number in enumerate(numbers):
            page = number if isinstance(number, bytes) else b"# TYPE jobs gauge\njobs %d\n" % (number or 0)
            self.numbers[pod] = [head, None] if number is None else [head, page[:9], page[9:]]

    async def look(self, *numbers):
        self.told(*numbers)
        await self.steps(1, demand_percent=0)


@pytest.fixture
def own():
    net = OwnNet()
    net.scaler = Autoscaler(
        GantryChain(net.chain), net.perform, lambda *_: contextlib.nullcontext(net), *[TENANT.address] * 2
    )
    return net


async def test_a_metric_of_the_pods_adds_pods(own):
    await own.look(35)
    assert own.wanted == 4
    assert own.asked == [(0, 9090)]
    await own.look(9, 9, 9, 8)
    assert own.wanted == 4
    assert own.dropped == 5


async def test_a_lower_metric_removes_pods_after_the_window(own):
    own.pods(4)
    for _ in range(4):
        await own.look(0, 0, 0, 0)
    assert own.wanted == 4
    for _ in range(4):
        await own.look(0, 0, 0, 0)
    assert own.wanted == 1


@pytest.mark.parametrize("page", [None, b"jobs NaN", b"", b"other 1\n", b"jobs 1\n" + b" " * (1 << 20)])
async def test_a_page_without_the_metric_removes_no_pods(own, page, monkeypatch):
    monkeypatch.setattr("offchain.services.autoscaler.PAGE_S", 0.0)
    own.pods(3)
    for _ in range(10):
        await own.look(page, page, page)
    assert own.calls == []
    assert own.dropped == 30


async def test_a_counter_that_restarts_is_followed_from_there(own):
    page = b"# TYPE jobs counter\njobs %d\n"
    own.pods(2)
    for count in (1_000, 1_150, 1_300, 0, 150, 300):
        await own.look(*[page % count] * 2)
    assert own.calls == []
    await own.look(*[page % 900] * 2)
    assert own.wanted > 2
