"""Batches of lifecycle operations, sustained: each cohort of tasks is assigned, started, reported, settled and pruned.

Operations are counted from the events of final blocks, one event for each operation of each task. The best case: 256
neighbouring tasks of one tenant on one host a batch, without GPUs. By one validator, or by four on the same machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chainbench import costs, importing, load
from chainbench.costs import Costs
from chainbench.driver import Cohort
from chainbench.importing import Imported
from chainbench.load import Loaded
from chainbench.node import SLOT_SECONDS, Node, running, running_validators
from chainbench.scene import BATCH, PARAMS, Scene, endowed
from offchain.devnet.release import Binaries

EVENTS = {
    "assign": "Tasks.Assigned",
    "start": "Tasks.PodStarted",
    "result": "Tasks.PodReported",
    "settle": "Tasks.Settled",
    "prune": "Tasks.Pruned",
}
SCHEDULERS = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """`hosts` have a cohort each, so that there is always more to do than a block takes. With many more, a cohort's
    life would take longer than the run. More operations a second than `most_per_second` are not prepared for."""

    hosts: int
    most_per_second: int


ALONE, AMONG_SEVERAL = Plan(768, 36_000), Plan(256, 18_000)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured. `imported`: the blocks of the load, run again on a database of their own; None of several
    validators, whose own counters tell."""

    loaded: Loaded
    costs: Mapping[str, Costs]
    imported: Imported | None


def measure(binaries: Binaries, seconds: int) -> Outcome:
    """Sustain it for so long with one validator, then import its blocks."""
    with running(binaries, endowed(schedulers=SCHEDULERS, cranks=SCHEDULERS), PARAMS) as node:
        each, loaded = _loaded([node], seconds, ALONE)
        return Outcome(loaded, each, importing.measure(node, loaded.counted))


def measure_validators(binaries: Binaries, seconds: int) -> Outcome:
    """Sustain it for so long with four validators, of which one takes all extrinsics from the generator."""
    with running_validators(binaries, endowed(schedulers=SCHEDULERS, cranks=SCHEDULERS), PARAMS) as nodes:
        each, loaded = _loaded(nodes, seconds, AMONG_SEVERAL)
        return Outcome(loaded, each, None)


def _loaded(nodes: Sequence[Node], seconds: int, plan: Plan) -> tuple[dict[str, Costs], Loaded]:
    slots = seconds // int(SLOT_SECONDS)
    a_round = plan.hosts * BATCH
    rounds = int(plan.most_per_second * load.driven_seconds(slots) / (a_round * len(EVENTS))) + 1
    scene = Scene(nodes[0], plan.hosts, BATCH, SCHEDULERS)
    scene.build()
    first = scene.submit_tasks(BATCH + a_round * rounds)
    each = costs.of_stages(scene, scene.cohort_stages(0, range(first, first + BATCH)))
    starts = range(first + BATCH, first + BATCH + a_round * rounds, BATCH)
    cohorts = [
        Cohort(number % plan.hosts, scene.cohort_stages(number % plan.hosts, range(start, start + BATCH)))
        for number, start in enumerate(starts)
    ]
    return each, load.drive(nodes, scene, cohorts, slots, EVENTS)
