"""Escape sequences of a hostile provider and a hostile pod, in commands that show them on a terminal."""

import asyncio
import os
import pty
import re
import sys
from pathlib import Path

import jobs

from offchain.adapters.chain import registration
from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.paths import ROOT
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.terminal_escaping import line
from tests.support.chain_records import ask, hardware
from tests.support.local_network import PATIENCE, TENANT, Net

PROVIDER = "//Eve"
ATTACK = "\x1b[2J\x9b6n\u202e\u200b\nOK"
HARDWARE = hardware(1_000, 1_024, 10)
UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
BOLD = re.compile(r"\x1b\[[01]m")
COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


async def on_terminal(net: Net, *arguments: str) -> str:
    """What a command writes to a terminal, as the terminal gets it."""
    master, slave = pty.openpty()
    env = {**os.environ, "GANTRY_STATE": str(net.state), "PYTHONPATH": str(ROOT), "COLUMNS": "400"}
    command = (sys.executable, "-m", "offchain.cli", *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=slave, stderr=slave, env=env, cwd=ROOT
    )
    os.close(slave)

    def read() -> bytes:
        found = bytearray()
        while True:
            try:
                data = os.read(master, 1 << 16)
            except OSError:  # the command has closed its end
                data = b""
            if not data:
                return bytes(found)
            found += data

    try:
        shown = await asyncio.wait_for(asyncio.to_thread(read), PATIENCE)
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
        os.close(master)
    return shown.decode()


async def test_a_hosts_region_and_endpoint_do_nothing_to_a_terminal(net: Net) -> None:
    """The chain takes any bytes. They are written out, and none of them begins a line of its own."""
    host, provider, name = from_uri("//Hostile", "ed25519"), from_uri(PROVIDER), ATTACK.encode()
    genesis = await net.chain.genesis_hash()
    call = registration.register(host, genesis, provider.address, HARDWARE, name + b"\xff", name, ask())
    await submit_once(net.chain, provider, call)
    try:
        for command in (("host", "list"), ("host", "show", host.address)):
            # The header of a table is bold; all else that the commands show is text.
            shown = BOLD.sub("", await on_terminal(net, *command))
            assert line(ATTACK) in shown, shown
            assert UNSEEN.search(shown) is None, (command, shown)
            assert re.search(r"(?m)^OK", shown) is None, (command, shown)
            as_json = await on_terminal(net, *command, "--json")
            assert UNSEEN.search(as_json) is None, (command, as_json)
    finally:
        await submit_once(net.chain, provider, gen.calls.hosts_retire(host=host.address))


async def test_a_region_that_cannot_be_seen_is_not_registered_by_the_command(net: Net, tmp_path: Path) -> None:
    done = await net.gantry("agent", "register", "--region", "eu\u202e", "--state", tmp_path, "--provider", PROVIDER)
    assert (done.code, "U+202E" in done.err) == (2, True), done.said


async def test_a_log_and_a_command_line_do_nothing_to_a_terminal(net: Net, tmp_path: Path) -> None:
    script = r"printf '\033]0;owned\007\033[31mred\033[2J\342\200\256\n'; printf '\377\302\233'; sleep 600"
    number = await jobs.submit(net, tmp_path, script)
    try:
        await net.until(number, {"Running"})

        async def written() -> str | None:
            shown = await on_terminal(net, "logs", str(number), "--account", TENANT)
            return shown if "red" in shown else None

        shown = await net.each_block(written, f"task {number} to write its log")
        assert r"\x1b]0;owned\x07" in shown
        assert "\x1b[31mred" in shown
        assert UNSEEN.search(COLOUR.sub("", shown)) is None, shown
        for command in (("task", "show", str(number)), ("task", "why", str(number)), ("task", "list")):
            shown = BOLD.sub("", await on_terminal(net, *command))
            assert UNSEEN.search(shown) is None, (command, shown)
    finally:
        await net.gantry("task", "cancel", str(number), "--account", TENANT)
