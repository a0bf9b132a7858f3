"""Runs the parts, and puts what they find into figures, a text and one object."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from table import MIB, Figure

from chainbench import batched, costs, flat, heartbeats, mix, single, state
from chainbench.blocks import Sustained
from chainbench.costs import Costs
from chainbench.flood import FloodResult
from chainbench.importing import Imported
from chainbench.load import AUTHORING, IMPORTED, IMPORTING, Loaded
from chainbench.progress import say
from chainbench.single import CHECKERS, Pool
from offchain.devnet.release import Binaries, binaries

PARTS = ("single", "batched", "validators", "mix", "heartbeats", "flat", "state")
POOL_TYPES = ("fork-aware", "single-state")
_TASKS_A_DAY = 1_000_000
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Found:
    """What one part found: rows for the page, more lines for the terminal, keys of the object."""

    figures: Sequence[Figure]
    lines: Sequence[str]
    facts: dict[str, Any]


def measure(parts: Sequence[str], seconds: int, pool_type: str | None = None) -> list[Found]:
    """Each of these parts, on a node of its own. `seconds`: how long load is sustained. `pool_type`: of `single`."""
    run: dict[str, Callable[[Binaries], Found]] = {
        "single": lambda release: _single(single.measure(release, seconds, pool_type), pool_type),
        "batched": lambda release: _batched(batched.measure(release, seconds)),
        "validators": lambda release: _validators(batched.measure_validators(release, seconds)),
        "mix": lambda release: _mix(mix.measure(release, seconds)),
        "heartbeats": lambda release: _heartbeats(heartbeats.measure(release, seconds)),
        "flat": lambda release: _flat(flat.measure(release)),
        "state": lambda release: _state(state.measure(release)),
    }
    release = binaries()
    found = []
    for part in parts:
        say(part)
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
        "signatures_each": round(sustained.signatures_each, 5),
    }
    return lines, facts


def _costs(each: Costs) -> tuple[str, dict[str, float]]:
    facts = {name: round(cost, 4 if cost > 1e-2 else 8) for name, cost in dataclasses.asdict(each).items()}
    facts["most_per_s"] = round(each.most_per_second)
    return f"  an operation costs {each}, so that blocks hold {each.most_per_second:.0f} a second at most", facts


def _single(outcome: single.Outcome, pool_type: str | None) -> Found:
    lines, facts = _load("singly signed", outcome.sustained)
    line, facts["costs"] = _costs(costs.mean(outcome.costs))
    lines += [
        line,
        (
            f"  an extrinsic whose call does nothing: {outcome.overhead.author_us:.0f} µs to author, "
            f"{outcome.overhead.weight_us:.0f} µs of weight"
        ),
        (
            f"  node {outcome.cpu_us_each:.0f} µs of processor each, {outcome.extrinsic_bytes:.0f} bytes each, "
            f"generator {outcome.generator.cpu_share:.0%} of a core"
        ),
        _pool_line(outcome.pool),
    ]
    lines += _refusals(outcome.generator)
    rate = outcome.sustained.per_second
    name = "chain-single" if pool_type is None else f"chain-single-{pool_type}"
    figures = [
        Figure(name, "tx/s", (round(rate),), 1_800, at_least=True),
        Figure(f"{name}-missed", "slots", (outcome.sustained.missed_slots,), 0),
    ]
    facts |= {"cpu_us": round(outcome.cpu_us_each), "generator_cpu_share": round(outcome.generator.cpu_share, 3)}
    facts["refused_by_node"] = outcome.generator.refused.total()
    facts["overhead"] = {
        "author_us": round(outcome.overhead.author_us, 1),
        "weight_us": round(outcome.overhead.weight_us, 1),
    }
    facts["pool"] = {
        "checks_each": round(outcome.pool.checks, 2),
        "repeats_share": round(outcome.pool.repeats, 3),
        "check_us": round(outcome.pool.check_us),
        "author_us": round(outcome.pool.author_us),
    }
    return Found(figures, lines, {"single_tx_per_s": round(rate, 1), "single": facts})


def _refusals(sent: FloodResult) -> list[str]:
    return [f"  refused by the node {count} times, then sent again: {why}" for why, count in sent.refused.items()]


def _pool_line(pool: Pool) -> str:
    return (
        f"  the pool checks each {pool.checks:.2f} times, {pool.check_us:.0f} µs a check, {pool.repeats:.0%} of the "
        f"checks are repeats; the author takes {pool.author_us:.0f} µs for each"
    )


def _batches(what: str, loaded: Loaded, each: Costs) -> tuple[list[str], dict[str, Any]]:
    """What is said of batches by whichever nodes, on whichever tasks."""
    lines, facts = _load(what, loaded.sustained)
    line, facts["costs"] = _costs(each)
    memory = sum(node.memory_mib for node in loaded.nodes)
    lines += [
        line,
        (
            f"  author {loaded.metric_us(AUTHORING):.1f} µs, {loaded.cpu_us:.1f} µs of processor an operation "
            f"({loaded.cores:.2f} cores), memory {memory:.0f} MiB, generator {loaded.generator_cpu_share:.0%} of a core"
        ),
    ]
    facts |= {
        "author_us": round(loaded.metric_us(AUTHORING), 1),
        "cpu_us": round(loaded.cpu_us, 1),
        "cores": round(loaded.cores, 2),
        "node_memory_mib": round(memory),
        "generator_cpu_share": round(loaded.generator_cpu_share, 3),
        "resent": dict(loaded.refused),
    }
    return lines, facts


def _rate(name: str, sustained: Sustained, target: float | None) -> list[Figure]:
    """The figures of a sustained load: operations a second, and slots without a block."""
    return [
        Figure(name, "ops/s", (round(sustained.per_second),), target, at_least=True),
        Figure(f"{name}-missed", "slots", (sustained.missed_slots,), None if target is None else 0),
    ]


def _batched(outcome: batched.Outcome) -> Found:
    loaded = outcome.loaded
    lines, facts = _batches("batched", loaded, costs.mean(outcome.costs))
    figures = _rate("chain-batched", loaded.sustained, 27_000)
    if outcome.imported is not None:
        line, facts["import"], figure = _import(outcome.imported)
        lines.append(line)
        figures.append(figure)
    return Found(figures, lines, {"batched_ops_per_s": round(loaded.sustained.per_second, 1), "batched": facts})


def _import(imported: Imported) -> tuple[str, dict[str, float], Figure]:
    share = imported.slot_share
    line = (
        f"  a full block ({imported.events:.0f} events, weight {imported.normal_ms:.0f} ms) is imported in "
        f"{imported.wall_ms:.0f} ms, {imported.cpu_ms:.0f} ms of processor: {share:.2f} of its slot"
    )
    facts = {
        "blocks": imported.blocks,
        "wall_ms": round(imported.wall_ms, 1),
        "cpu_ms": round(imported.cpu_ms, 1),
        "weight_ms": round(imported.normal_ms, 1),
        "events": round(imported.events),
        "slot_share": round(share, 3),
    }
    return line, facts, Figure("chain-import", "of a slot", (round(share, 2),), 1)


# Of whose time there is a row of its own where several validators share the processors.
_TASKS = {
    "pool": (*CHECKERS, "txpool-background", "on-transaction-imported"),
    "gossip": ("network-transactions-handler", "libp2p-node", "network-worker", "syncing"),
    "grandpa": ("grandpa-voter",),
}


def _validators(outcome: batched.Outcome) -> Found:
    loaded = outcome.loaded
    lines, facts = _batches("batched, four validators", loaded, costs.mean(outcome.costs))
    imported = sum(node.metrics.total(IMPORTED) for node in loaded.nodes)
    import_ms = sum(node.metrics.total(IMPORTING) for node in loaded.nodes) / max(1, imported) * 1000
    split = {"author": loaded.metric_us(AUTHORING), "import": loaded.metric_us(IMPORTING)}
    split |= {name: loaded.task_us(*tasks) for name, tasks in _TASKS.items()}
    lines += [
        "  of all four, µs an operation, waiting for a processor included: "
        + ", ".join(f"{name} {cost:.1f}" for name, cost in split.items()),
        f"  a block is imported in {import_ms:.0f} ms by each of the others",
    ]
    facts |= {"split_us": {name: round(cost, 1) for name, cost in split.items()}, "import_ms": round(import_ms, 1)}
    rate = loaded.sustained.per_second
    figures = _rate("chain-validators", loaded.sustained, 8_000)
    return Found(figures, lines, {"four_validators_ops_per_s": round(rate, 1), "four_validators": facts})


def _mix(outcome: mix.Outcome) -> Found:
    loaded = outcome.loaded
    operations = loaded.sustained.operations
    shares = operations if sum(operations.values()) else dict.fromkeys(operations, 1)
    lines, facts = _batches("mix of GPU tasks", loaded, costs.mean(outcome.costs, shares))
    pods = loaded.sustained.operations["result"] / loaded.sustained.seconds
    lines.append(f"  {pods:.0f} pods a second from start to result")
    facts["pods_per_s"] = round(pods, 1)
    rate = loaded.sustained.per_second
    return Found(_rate("chain-mix", loaded.sustained, None), lines, {"mix_ops_per_s": round(rate, 1), "mix": facts})


def _heartbeats(outcome: heartbeats.Outcome) -> Found:
    lines, facts = _load("heartbeats", outcome.sustained)
    line, facts["costs"] = _costs(outcome.costs)
    minutes = outcome.period_ms / 60_000
    lines += [
        line,
        f"  author {outcome.author_us:.0f} µs, node {outcome.cpu_us:.0f} µs of processor each",
        (
            f"  {heartbeats.FLEET:,} hosts, period {minutes:g} min: {outcome.needed:.0f} a second as agents send them "
            f"({outcome.needed_at_period:.0f} at the period), {outcome.share_of_taken:.1%} of what the chain takes, "
            f"{outcome.share:.1%} of the weight of blocks"
        ),
    ]
    lines += _refusals(outcome.generator)
    facts |= {
        "hosts": heartbeats.FLEET,
        "period_ms": outcome.period_ms,
        "needed_per_s": round(outcome.needed, 1),
        "needed_per_s_at_period": round(outcome.needed_at_period, 1),
        "share_of_taken": round(outcome.share_of_taken, 4),
        "author_us": round(outcome.author_us),
        "cpu_us": round(outcome.cpu_us),
        "refused_by_node": outcome.generator.refused.total(),
    }
    rate = outcome.sustained.per_second
    figures = [
        Figure("chain-heartbeats", "1/s", (round(rate),)),
        Figure("chain-heartbeats-share", "of blocks", (round(outcome.share, 3),)),
    ]
    keys = {"heartbeats_per_s": round(rate, 1), "heartbeats_100k_share": round(outcome.share, 4)}
    return Found(figures, lines, {**keys, "heartbeats": facts})


def _flat(outcome: flat.Outcome) -> Found:
    first = flat.LEVELS[0]
    lines = [
        f"cost of an operation by tasks in state, µs, and against a node with {first:,} at the same moments:",
    ]
    remarks = {first: "so unlike are the two nodes", **{at: f"{change:+.1%}" for at, change in outcome.change.items()}}
    for level, remark in remarks.items():
        cost = f"{outcome.author_us[level]:.1f} against {outcome.small_us[level]:.1f}"
        lines.append(f"  {level:>9,}: {cost}, ratio {outcome.ratio[level]:.3f}: {remark}")
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
        *(f"{kind}, an operation: {one}" for kind, one in outcome.costs.items()),
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
        "costs": _by_kind(outcome.costs),
        "state_bytes": {stage: round(value, 2) for stage, value in size.items()},
        "database": databases,
        "year_gb": {name: round(value) for name, value in year.items()},
    }
    return Found(figures, lines, {"state": facts})


def _by_kind(each: Mapping[str, Costs]) -> dict[str, dict[str, float]]:
    return {kind: _costs(one)[1] for kind, one in each.items()}
