"""Runs the parts, and puts what they find into figures, a text and one object."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from table import MIB, Figure

from chainbench import batched, flat, single, state
from chainbench.blocks import Sustained
from offchain.local.release import Binaries, binaries

PARTS = ("single", "batched", "flat", "state")
_TASKS_A_DAY = 1_000_000
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Found:
    """What one part found: rows for the page, more lines for the terminal, keys of the object."""

    figures: Sequence[Figure]
    lines: Sequence[str]
    facts: dict[str, Any]


def measure(parts: Sequence[str], seconds: int) -> list[Found]:
    """Each of these parts, on a node of its own. `seconds`: how long load is sustained."""
    run: dict[str, Callable[[Binaries], Found]] = {
        "single": lambda release: _single(single.measure(release, seconds)),
        "batched": lambda release: _batched(batched.measure(release, seconds)),
        "flat": lambda release: _flat(flat.measure(release)),
        "state": lambda release: _state(state.measure(release)),
    }
    release = binaries()
    found = []
    for part in parts:
        sys.stderr.write(f"bench: chain, {part}\n")
        found.append(run[part](release))
    return found


def _load(what: str, sustained: Sustained) -> tuple[list[str], dict[str, Any]]:
    each = ", ".join(f"{kind} {count}" for kind, count in sustained.operations.items())
    blocks = max(1, sustained.blocks)
    size = [total / blocks / MIB for total in (sustained.block_bytes, sustained.event_bytes)]
    lines = [
        f"{what}: {sustained.per_second:.0f}/s over {sustained.seconds:.0f} s: {each}",
        f"  {sustained.blocks} blocks, {sustained.missed_slots} slots missed, {sustained.refused} refused",
        f"  a block: {size[0]:.2f} MiB, its events {size[1]:.2f} MiB",
    ]
    facts = {
        "seconds": sustained.seconds,
        "missed_slots": sustained.missed_slots,
        "refused": sustained.refused,
        "operations": dict(sustained.operations),
    }
    return lines, facts


def _single(outcome: single.Outcome) -> Found:
    lines, facts = _load("singly signed", outcome.sustained)
    lines.append(
        f"  node {outcome.cpu_us_each:.0f} µs of processor each, {outcome.extrinsic_bytes:.0f} bytes each, "
        f"generator {outcome.generator.cpu_share:.0%} of a core"
    )
    lines += [f"  refused by the node {count} times: {why}" for why, count in outcome.generator.refused.items()]
    rate = outcome.sustained.per_second
    figures = [
        Figure("chain-single", "tx/s", (round(rate),), 1_500, at_least=True),
        Figure("chain-single-missed", "slots", (outcome.sustained.missed_slots,), 0),
    ]
    facts |= {"cpu_us": round(outcome.cpu_us_each), "generator_cpu_share": round(outcome.generator.cpu_share, 3)}
    facts["refused_by_node"] = outcome.generator.refused.total()
    return Found(figures, lines, {"single_tx_per_s": round(rate, 1), "single": facts})


def _batched(outcome: batched.Outcome) -> Found:
    lines, facts = _load("batched", outcome.sustained)
    lines.append(
        f"  author {outcome.author_us:.1f} µs, node {outcome.cpu_us:.1f} µs of processor an operation, "
        f"memory {outcome.memory_mib:.0f} MiB, generator {outcome.generator_cpu_share:.0%} of a core"
    )
    rate = outcome.sustained.per_second
    figures = [
        Figure("chain-batched", "ops/s", (round(rate),), 20_000, at_least=True),
        Figure("chain-batched-missed", "slots", (outcome.sustained.missed_slots,), 0),
    ]
    facts |= {
        "author_us": round(outcome.author_us, 1),
        "cpu_us": round(outcome.cpu_us, 1),
        "node_memory_mib": round(outcome.memory_mib),
        "generator_cpu_share": round(outcome.generator_cpu_share, 3),
        "resent": dict(outcome.refused),
    }
    return Found(figures, lines, {"batched_ops_per_s": round(rate, 1), "batched": facts})


def _flat(outcome: flat.Outcome) -> Found:
    first = flat.LEVELS[0]
    lines = [
        f"cost of an operation by tasks in state, µs, and against a node with {first:,} at the same moments:",
    ]
    remarks = {first: "so unlike are the two nodes", **{at: f"{change:+.1%}" for at, change in outcome.change.items()}}
    for level, remark in remarks.items():
        costs = f"{outcome.author_us[level]:.1f} against {outcome.small_us[level]:.1f}"
        lines.append(f"  {level:>9,}: {costs}, ratio {outcome.ratio[level]:.3f}: {remark}")
    change = round(outcome.worst_change * 100, 1)
    facts: dict[str, Any] = {
        "author_us": {str(level): round(cost, 2) for level, cost in outcome.author_us.items()},
        "small_us": {str(level): round(cost, 2) for level, cost in outcome.small_us.items()},
        "ratio": {str(level): round(ratio, 3) for level, ratio in outcome.ratio.items()},
        "change_percent": {str(level): round(change * 100, 1) for level, change in outcome.change.items()},
        "worst_change_percent": change,
    }
    return Found([Figure("chain-flat", "% change", (change,), 10)], lines, {"flat": facts})


def _state(outcome: state.Outcome) -> Found:
    each = ", ".join(f"after {stage} {size:.0f}" for stage, size in outcome.state.items())
    year = {
        name: database.after_a_year(_TASKS_A_DAY) / _GB
        for name, database in (("archive", outcome.archive), ("pruned", outcome.pruned))
    }
    lines = [
        *(
            f"{kind}: {one.keys_read:.2f} keys read and {one.keys_written:.2f} written an operation, "
            f"in {one.reads:.2f} and {one.writes:.2f} calls"
            for kind, one in outcome.accesses.items()
        ),
        f"state, bytes a task: {each}",
        (
            f"database, bytes a task's life: archive {outcome.archive.a_task:.0f}, pruned {outcome.pruned.a_task:.0f}; "
            f"an empty block: {outcome.archive.an_empty_block:.0f} and {outcome.pruned.an_empty_block:.0f}"
        ),
        (
            f"a year of {_TASKS_A_DAY:,} tasks a day, on paper: archive {year['archive']:.0f} GB, "
            f"pruned {year['pruned']:.0f} GB"
        ),
    ]
    size = outcome.state
    figures = [
        Figure("chain-state-live", "B/task", (round(size["start"]),)),
        Figure("chain-state-settled", "B/task", (round(size["settle"]),)),
        Figure("chain-state-pruned", "B/task", (round(size["prune"], 2),)),
        Figure("chain-year-archive", "GB", (round(year["archive"]),)),
        Figure("chain-year-pruned", "GB", (round(year["pruned"]),)),
    ]
    databases = {
        name: {"bytes_a_task": round(one.a_task), "bytes_an_empty_block": round(one.an_empty_block)}
        for name, one in (("archive", outcome.archive), ("pruned", outcome.pruned))
    }
    facts = {
        "accesses": {kind: dataclasses.asdict(one) for kind, one in outcome.accesses.items()},
        "state_bytes": {stage: round(value, 2) for stage, value in size.items()},
        "database": databases,
        "year_gb": {name: round(value) for name, value in year.items()},
    }
    return Found(figures, lines, {"state": facts})
