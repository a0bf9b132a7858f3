"""What is compiled before a scheduler begins."""

from __future__ import annotations

import sys
from dataclasses import replace

from offchain.core.scheduler.state import SchedulerState
from offchain.services.compiling import compile_kernels
from tests.support.core_builders import gpu, host, pod, task, wants
from tests.support.scheduler_events import put, remove, run_cycle


def compiled() -> dict[str, int]:
    """How often each function of the planner was compiled."""
    parts = ("scheduler", "queues", "timing", "preempting")
    prefixes = tuple(f"offchain.core.{part}." for part in parts)
    modules = [module for name, module in sys.modules.items() if name.startswith(prefixes)]
    found = [(name, of) for module in modules for name, of in vars(module).items() if hasattr(of, "signatures")]
    return {f"{of.__module__}.{name}": len(of.signatures) for name, of in found}


def test_cycles_with_reservations_compile_nothing_more():
    compile_kernels()
    before = compiled()
    state = SchedulerState(b"seed")
    put(state, host("a", devices=(gpu(), gpu())), host("b"))
    for number in range(5):
        put(state, task(id=number, resources=pod(gpus=wants())))
    assert run_cycle(state, 10).unschedulable
    remove(state, 0)
    put(state, replace(state.task(1), id=7, resources=pod()))
    assert run_cycle(state, 10).placements
    assert compiled() == before
