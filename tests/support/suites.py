"""The test suites of `scripts/test`: what each runs, at which level, and how long it takes.

A suite is one command with an exit status of its own. Suites run at the same time, so a suite may not depend on
another. Suites that need a chain, a network or a Docker engine start one themselves (conftest.py of their folder).
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offchain.devnet.paths import ROOT, cache_dir

# The last one removes tasks that others look at.
NETWORK_TESTS: Final = (
    "api",
    "audit_proofs",
    "console",
    "console_pods",
    "kills",
    "life",
    "gateway",
    "metrics",
    "operator_console",
    "other_clients",
    "refusals",
    "rpc",
    "shares",
    "spot",
    "usage",
    "alerts",
    "pruning",
)
WORKLOAD_TESTS: Final = ("autoscaler", "examples", "kinds", "rental", "services", "way")
"""Files of tests/integration, on two networks at the same time."""


@dataclass(frozen=True, slots=True)
class Suite:
    """One command of `scripts/test`.

    `paths`: arguments of pytest, relative to the root; empty for a suite that is not run by pytest.
    `seconds`: the time it takes on two cores beside others; the longest suites are started first.
    `spread`: pytest distributes its tests over processes, one for each processor.
    `busy`: it needs a processor all the time, so it runs with a lower priority than suites that wait for a chain.
    `online`: it may need package registries, so it stays in the network namespace of the machine.
    `long`: it runs with `--long` only, or if it is named. `long_command` takes the place of `command` with `--long`.
    """

    name: str
    about: str
    seconds: int
    paths: tuple[str, ...] = ()
    spread: bool = False
    command: tuple[str, ...] = ()
    long_command: tuple[str, ...] = ()
    busy: bool = False
    online: bool = False
    long: bool = False


CORES: Final = len(os.sched_getaffinity(0))
CARGO: Final = "cargo"
RELEASE: Final = "release"
FUZZ: Final = "fuzz"
_LONG_RANDOM_SECONDS: Final = "180"
"""Time for random calls of the pallets' tests with `--long`."""
_LONG_ROUNDS: Final = "10000"
"""Rounds of each strategy of chain/runtime/tests/economics.rs with `--long`."""
LEVEL: Final = "GANTRY_TEST_LEVEL"
"""Environment variable that tells a suite its level, `default` or `long`; absent where pytest is started by hand."""


def _cargo_command() -> tuple[str, ...]:
    """Return cargo's command for all crates but the node, which only an SDK update changes, and the weights tool.

    Everything is compiled once, with benchmarks and the checks of upgrades: without them in the only build, their tests
    would need a second build of the SDK.
    """
    parts = ("--lib", "--bins", "--tests")
    # rustdoc takes minutes to find that no comment has an example.
    if any("```" in path.read_text(encoding="utf-8") for path in (ROOT / "chain").rglob("*.rs")):
        parts = ()
    return (
        *("cargo", "test", "--manifest-path", str(ROOT / "chain" / "Cargo.toml"), "--locked", "--no-fail-fast"),
        *("--target-dir", os.environ.get("GANTRY_TEST_TARGET_DIR", str(cache_dir() / "target-test"))),
        *("--workspace", "--exclude", "gantry-node", "--exclude", "gantry-weights"),
        *("--features", "gantry-runtime/runtime-benchmarks,gantry-runtime/try-runtime"),
        *(*parts, "--", "--quiet"),
    )


SUITES: Final = (
    Suite(CARGO, "pallets and runtime (cargo)", 120, command=_cargo_command(), busy=True, online=True),
    Suite(
        RELEASE,
        "the released runtime is what its sources give",
        60,
        command=("scripts/release-chain", "--verify"),
        long_command=("scripts/release-chain", "--rebuild"),
        busy=True,
        online=True,
    ),
    Suite("unit", "unit and property tests", 400, ("tests/unit", "tests/property"), spread=True, busy=True),
    Suite("contract", "each port, on its fake and on the real system", 500, ("tests/contract",)),
    Suite(
        "network",
        "a local network: tasks from submission to bill, kill -9, bad input, other clients",
        500,
        tuple(f"tests/integration/test_{name}.py" for name in NETWORK_TESTS),
    ),
    Suite(
        "workloads",
        "a local network: services, rentals, examples, ways to hosts",
        500,
        tuple(f"tests/integration/test_{name}.py" for name in WORKLOAD_TESTS),
    ),
    Suite("validators", "four validators in network namespaces", 200, ("tests/acceptance/test_validators.py",)),
    Suite(
        "stories",
        "wallets, challenges, compared results and disputes, each from its opening to the last coin",
        300,
        ("tests/acceptance/test_wallets.py", "tests/acceptance/verification"),
    ),
    Suite(
        "hosts",
        "preemption and survival of hosts, a chain started anew: workers and agents without containers",
        260,
        (
            "tests/acceptance/test_spot.py",
            "tests/acceptance/test_survival.py",
            "tests/acceptance/test_chain_reset.py",
            "tests/acceptance/test_challenged_hosts.py",
            "tests/acceptance/test_admission.py",
            "tests/acceptance/test_disputed_jobs.py",
            "tests/acceptance/test_compared_results.py",
            "tests/acceptance/test_audited_results.py",
        ),
    ),
    Suite("join", "a new provider joins, works, is paid and leaves", 200, ("tests/acceptance/join",)),
    Suite(
        "package",
        "the wheel in an environment of its own: command and SDK",
        150,
        ("tests/acceptance/package",),
        online=True,
    ),
    Suite("attacks", "attacks on a running network", 600, ("tests/acceptance/attacks",)),
    Suite("abuse", "wrong calls, each refused by name", 60, ("tests/acceptance/abuse",)),
    Suite(
        "scripts",
        "scripts/up, scripts/down, scripts/docs and the release",
        200,
        tuple(f"tests/acceptance/test_{name}.py" for name in ("up", "release", "container_rpc", "docs_site")),
    ),
    Suite(
        "console",
        "the web console: its functions, its assets, and its pages in a browser",
        180,
        ("tests/acceptance/console",),
    ),
    Suite("faults", "every process killed once under load", 200, ("tests/acceptance/faults",)),
    Suite(
        "storm",
        "bad networks, clocks and disks; bursts of tasks; several schedulers",
        900,
        ("tests/acceptance/storm",),
        long=True,
    ),
    Suite(
        FUZZ,
        "sequences of calls on the runtime, guided by coverage, for five minutes",
        1200,
        command=("scripts/fuzz", "chain", "--seconds", "300"),
        busy=True,
        online=True,
        long=True,
    ),
    Suite(
        "compose",
        "the network of docker-compose.yml, built and started: a task, crashes, an upgrade, four validators",
        400,
        ("tests/acceptance/compose",),
        online=True,
        long=True,
    ),
    Suite(
        "upgrade",
        "a chain of the previous release takes the released runtime",
        200,
        ("tests/acceptance/test_upgrade.py",),
        long=True,
    ),
    Suite("gpu", "tasks on a real NVIDIA GPU, where there is one", 90, ("tests/acceptance/gpu",), long=True),
)


def selected(names: list[str], *, long: bool) -> list[Suite]:
    """Return the suites with these names, or all of the level, the longest first. Raises ValueError."""
    known = {suite.name: suite for suite in SUITES}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no suite {name!r}; the suites are: {', '.join(known)}")
    chosen = [known[name] for name in names] if names else [suite for suite in SUITES if long or not suite.long]
    return sorted(chosen, key=lambda suite: -suite.seconds)


def pytest_command(suite: Suite, report: Path, arguments: list[str]) -> list[str]:
    """Return the command of a suite that pytest runs; `report` is the file of its results (JUnit XML)."""
    spread = ("-n", str(CORES), "--dist", "worksteal") if suite.spread else ("-p", "no:xdist")
    return [
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(ROOT)),
        *("-o", "junit_family=xunit1", f"--junit-xml={report}", *spread),
        *(str(ROOT / path) for path in suite.paths),
        *arguments,
    ]


def environment(*, long: bool) -> dict[str, str]:
    """Return the environment of all suites; the level chooses how many random cases they try."""
    level = {LEVEL: "default"}
    if long:
        level = {LEVEL: "long", "GANTRY_RANDOM_SECONDS": _LONG_RANDOM_SECONDS, "GANTRY_ROUNDS": _LONG_ROUNDS}
    return {**os.environ, **level, "PYTHONUNBUFFERED": "1"}
