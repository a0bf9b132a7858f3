"""What is compiled before a scheduler begins."""

from __future__ import annotations

import sys
from dataclasses import replace

from core_builders import gpu, host, pod, task, wants

from offchain.core.planning.desk import Desk
from offchain.core.planning.warm import warm


def compiled() -> dict[str, int]:
    """How often each function of the planner was compiled."""
    parts = ("placing", "fleet", "planning", "queues", "timing")
    prefixes = tuple(f"offchain.core.{part}." for part in parts)
    modules = [module for name, module in sys.modules.items() if name.startswith(prefixes)]
    found = [(name, of) for module in modules for name, of in vars(module).items() if hasattr(of, "signatures")]
    return {f"{of.__module__}.{name}": len(of.signatures) for name, of in found}


def test_rounds_with_reservations_need_nothing_that_was_not_compiled():
    warm()
    before = compiled()
    desk = Desk(b"seed")
    desk.put_hosts([host("a", devices=(gpu(), gpu())), host("b")])
    for number in range(5):
        desk.put_task(task(id=number, resources=pod(gpus=wants())))
    assert desk.round(10).blocked
    desk.task_gone(0)
    desk.put_task(replace(desk.task(1), id=7, resources=pod()))
    assert desk.round(10).placements
    assert compiled() == before
