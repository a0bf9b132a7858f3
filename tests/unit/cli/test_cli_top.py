"""gantry top: one read as text and JSON, and the live view on a terminal."""

from __future__ import annotations

import io
import os
import pty
import select
import sys
import threading
from pathlib import Path

import pytest
from cli_world import CHARLIE, GTY, HOST, Pallets, World, the_host
from rich.console import Console

from offchain.cli import main as cli
from offchain.cli.kit import terminal
from offchain.cli.operator.top_view import SORTS, header_lines, screen
from offchain.services.host_views import host_view
from offchain.services.network_overview import NetworkOverview, QueueView
from tests.support.chain_records import device


def test_the_state_is_printed_once(world: World, manifest: Path) -> None:
    world.chain.effects = Pallets(world.chain).effects
    assert world.run("submit", manifest, "--account", "//Charlie", "--json")[0] == 0
    status, out, _ = world.run("top", "--once")
    assert status == 0
    assert "Hosts: 1 Online" in out
    assert f"{HOST[:6]}…{HOST[-6:]}" in out


def test_the_state_as_json(world: World) -> None:
    taken = {**device(model=b"A100").encode(), "milli_free": 250}
    world.put("Hosts", "Hosts", HOST, the_host(devices=[taken]))
    found = world.json("top", "--once")
    assert (found["gpus"], found["gpus_leased"]) == (1, 0.75)
    assert found["hosts_by_status"] == {"Online": 1}
    assert [host["host"] for host in found["hosts"]] == [HOST]


def test_without_a_terminal_it_names_the_option(world: World) -> None:
    status, _, err = world.run("top")
    assert status != 0
    assert "--once" in err


def overview(hosts: int) -> NetworkOverview:
    region = "a region with a long name \x1b[31m"
    views = [host_view(f"{CHARLIE[:40]}{number:08}", the_host(), None) for number in range(hosts)]
    return NetworkOverview(7, 1_700_000_000_000, tuple(views), {"Queued": 3}, (), (QueueView(region, 3, 5_000_000),))


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 40), (80, 10)])
def test_the_screen_fits_the_terminal(columns: int, lines: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=columns, height=lines, force_terminal=True, color_system=None)
    console.print(screen(overview(50), "load", lines))
    drawn = out.getvalue().splitlines()
    assert max(map(len, drawn)) <= columns
    assert len(drawn) <= max(lines, 14)
    assert "\x1b[31m" not in out.getvalue()
    assert any("LEASES" in line for line in drawn)


def test_orders_of_hosts() -> None:
    busy = the_host(devices=[{**device().encode(), "milli_free": 0}])
    cheap = the_host()
    cheap["ask"] = {**cheap["ask"], "gpu_per_hour": GTY // 2}
    views = {"b": host_view("b", busy, None), "a": host_view("a", cheap, None)}
    assert min(views.values(), key=SORTS["load"]).id == "b"
    assert min(views.values(), key=SORTS["price"]).id == "a"
    assert min(views.values(), key=SORTS["address"]).id == "a"


def test_the_header_says_that_there_is_nothing() -> None:
    empty = NetworkOverview(0, 0, (), {"Queued": 0}, (), ())
    assert header_lines(empty)[1:] == ["Hosts: none", "Tasks: none"]


@pytest.mark.usefixtures("world")
def test_keys_of_the_live_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """s takes the next order, and q ends the view and restores the terminal."""
    own, other = pty.openpty()
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    shown, ended = bytearray(), threading.Event()

    def watch() -> None:
        # Reads what is drawn; presses a key when the view that it waits for is there.
        waits = [(b"(load)", b"s"), (b"(score)", b"q")]
        while not ended.is_set():
            if select.select([own], [], [], 0.1)[0]:
                shown.extend(os.read(own, 65536))
            if waits and waits[0][0] in shown:
                os.write(own, waits.pop(0)[1])

    watcher = threading.Thread(target=watch)
    watcher.start()
    with (
        os.fdopen(other, "r", encoding="utf-8", closefd=False) as stdin,
        os.fdopen(other, "w", encoding="utf-8", closefd=False) as stdout,
    ):
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        status = cli.main(["top"])
        ended.set()
    watcher.join(30)
    os.close(other)
    os.close(own)
    assert status == 0
    assert b"(score)" in shown
