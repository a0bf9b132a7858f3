"""scripts/up: start a local network, run a task on it, print the outcome, and keep running."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from offchain.devnet import ports
from offchain.devnet.cleanup import clean
from offchain.devnet.monitoring import MonitoringPrograms
from offchain.devnet.network import TENANT, LocalNetwork
from offchain.devnet.node import LOCAL_GENESIS, merged, read_patch
from offchain.devnet.paths import ROOT, DevnetError, DevnetPaths
from offchain.devnet.release import binaries
from offchain.devnet.verifiers import GENESIS as VERIFIED_GENESIS
from offchain.processes import read_record, write_record

_VERIFIED_WITHIN = "5m"
"""For the first challenge. It takes about a minute."""
_EXAMPLE = ROOT / "examples" / "primes.yaml"


class _Stop(BaseException):
    """A signal asked the network to stop."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options of scripts/up."""
    parser = argparse.ArgumentParser(
        prog="scripts/up",
        description="Start a local Gantry network (node, workers, one agent), run examples/primes.yaml on it, "
        "show result, bill and the host's score, and stay up until Ctrl-C or scripts/down.",
        epilog="While it is up: scripts/gantry submit FILE --account //Charlie --wait. Logs are in .gantry/log.",
    )
    parser.add_argument("--once", action="store_true", help="stop everything when the task is settled")
    parser.add_argument("--detach", action="store_true", help="go to the background when the task is settled")
    parser.add_argument("--json", action="store_true", help="end with one JSON object on the last line")
    parser.add_argument(
        "--from-source", action="store_true", help="build node and runtime instead of using the release"
    )
    parser.add_argument(
        "--genesis-patch",
        type=Path,
        metavar="FILE",
        help="JSON object that is merged over the development genesis, for example to shorten slots and periods",
    )
    parser.add_argument(
        "--no-verifiers", action="store_true", help="run no verifiers, so that the host's GPU stays unproven"
    )
    parser.add_argument("--monitoring", action="store_true", help="also run Prometheus, Alertmanager and the notifier")
    parser.add_argument("--rpc-port", type=int, default=9944, metavar="N", help="port of the node's RPC (9944)")
    options = parser.parse_args(arguments)
    if not 1 <= options.rpc_port <= 65535:
        parser.error(f"{options.rpc_port} is not a port: write a number from 1 to 65535")
    if options.once and options.detach:
        parser.error("--once stops the network, --detach leaves it running: choose one")
    return options


class StepProgress:
    """Prints steps on standard error, and records when each was first printed: name -> seconds since `began`."""

    def __init__(self, began: float) -> None:
        self._began = began
        self.timeline: dict[str, float] = {}

    def say(self, what: str, happened: str) -> None:
        """Print that a step is done."""
        self.timeline.setdefault(what, round(time.time() - self._began, 1))
        sys.stderr.write(f"{what:<22} {happened}\n")
        sys.stderr.flush()


def up(options: argparse.Namespace) -> int:
    """Run the network, and return the exit status."""
    paths = DevnetPaths.here()
    began = float(os.environ.get("GANTRY_STARTED") or time.time())
    detached = _detach() if options.detach else None
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        with _alone(paths):
            _run(options, paths, began, detached)
    except DevnetError as error:
        sys.stderr.write(f"error: {error.message}.\n  {error.hint}.\n")
        return 1
    except _Stop:
        return 130
    return 0


def _run(options: argparse.Namespace, paths: DevnetPaths, began: float, detached: int | None) -> None:
    hint = f"Stop what uses it, or choose another: scripts/up --rpc-port {options.rpc_port + 1}"
    ports.require_free(options.rpc_port, "for the node's RPC", hint)
    is_verified = not options.no_verifiers and not options.once
    base = merged(LOCAL_GENESIS, VERIFIED_GENESIS if is_verified else {})
    patch = merged(base, {} if options.genesis_patch is None else read_patch(options.genesis_patch))
    progress = StepProgress(began)
    say = progress.say
    monitoring = MonitoringPrograms.find() if options.monitoring else None
    found = binaries(from_source=options.from_source)
    network = LocalNetwork(paths, found, options.rpc_port, say, patch, monitoring, is_verified=is_verified)
    say("Release", "checked")
    try:
        network.start()
        report = _demo(network, progress)
        network.supervisor.starting = False
        _show(report, as_json=options.json)
        if options.once:
            return
        if is_verified:
            network.start_verifiers()
        if detached is not None:
            _let_go(detached, paths.log / "supervisor.log", progress)
        else:
            say("Network", "is up. Ctrl-C or scripts/down ends it; scripts/gantry talks to it")
        with contextlib.suppress(_Stop):
            if is_verified:
                _await_proof(network)
            while True:
                network.supervisor.wait(3600)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        say("Network", "stopping")
        network.stop()


def _demo(network: LocalNetwork, progress: StepProgress) -> dict[str, Any]:
    """Run the example; return its outcome as `gantry submit --wait --json` reports it."""
    # The task may be in a block before the host is online: the scheduler assigns it in the next one.
    task = network.begin("submit", str(_EXAMPLE), "--account", TENANT, "--wait", "--json")
    status, _ = network.run("host", "wait", "--timeout", "90s")
    if status != 0:
        raise DevnetError("no host came online", f"The agent's log is {network.paths.log / 'agent.log'}")
    progress.say("Host online", "and ready for tasks")
    status, output = task.finish()
    try:
        outcome: dict[str, Any] = json.loads(output.splitlines()[-1])
    except (ValueError, IndexError):
        outcome = {}
    if status != 0 or outcome.get("state") != "Settled":
        raise DevnetError("the example did not succeed", f"The reason is above; logs are in {network.paths.log}")
    progress.say("Task", "settled")
    return outcome | {"seconds": progress.timeline["Task"], "timeline": progress.timeline}


def _await_proof(network: LocalNetwork) -> None:
    """Supervise the network until the host has answered its first challenge, and print the outcome."""
    status, _ = network.run("host", "wait", "--attested", "--timeout", _VERIFIED_WITHIN)
    if status == 0:
        network.say("Host verified", "it proved its GPU to a committee of verifiers: gantry host list --attested")
    else:
        network.say("Host not verified", f"gantry host list shows why; logs are in {network.paths.log}")


def _show(outcome: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        keys = ("task", "state", "result_digest", "paid", "host_score", "seconds", "result", "host", "fee", "timeline")
        sys.stdout.write(json.dumps({key: outcome[key] for key in keys if key in outcome}) + "\n")
    else:
        rows = (
            ("Task", outcome.get("task")),
            ("State", outcome.get("state")),
            ("Result", str(outcome.get("result", "")).rstrip()),
            ("Result digest", outcome.get("result_digest")),
            ("Bill", f"{outcome.get('paid_gty')} ({outcome.get('paid')} base units)"),
            ("Host", outcome.get("host")),
            ("Host score", f"{(outcome.get('host_score') or 0) / 1_000_000:.6f}"),
            ("Seconds", outcome.get("seconds")),
        )
        sys.stdout.write("\n" + "".join(f"{name:<22} {value}\n" for name, value in rows))
    sys.stdout.flush()


@contextlib.contextmanager
def _alone(paths: DevnetPaths) -> Iterator[None]:
    """Be the only supervisor of this state folder, and leave only the logs."""
    paths.state.mkdir(parents=True, exist_ok=True)
    lock = (paths.state / "lock").open("w", encoding="utf-8")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = read_record(paths.run / "supervisor.json")
            raise DevnetError(
                f"a local network is running already{f' (process {pid})' if pid else ''}",
                "Use it with scripts/gantry, or stop it with scripts/down",
            ) from None
        # What an earlier supervisor left when it was killed.
        clean(paths)
        _rotate(paths.log)
        write_record(paths.run / "supervisor.json", os.getpid())
        try:
            yield
        finally:
            clean(paths)


def _rotate(log: Path) -> None:
    log.mkdir(parents=True, exist_ok=True)
    for file in log.glob("*.log"):
        file.replace(file.with_suffix(".log.1"))


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _Stop


def _detach() -> int:
    """Continue in a child with a session of its own.

    Returns the descriptor on which the child reports success to the parent.
    """
    ours, theirs = os.pipe()
    if os.fork():
        os.close(theirs)
        said = os.read(ours, 1)
        os._exit(0 if said == b"0" else 1)
    os.close(ours)
    os.setsid()
    return theirs


def _let_go(pipe: int, log: Path, progress: StepProgress) -> None:
    progress.say("Network", "is up, in the background. scripts/down ends it; scripts/gantry talks to it")
    with log.open("ab") as target:
        os.dup2(target.fileno(), 1)
        os.dup2(target.fileno(), 2)
    os.write(pipe, b"0")
    os.close(pipe)
