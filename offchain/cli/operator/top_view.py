"""The screen of gantry top: tables of hosts, tasks and queues, for terminals from 80 columns on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from offchain.schema import terminal_escaping
from offchain.schema.durations import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import duration_text
from offchain.services.event_text import time_text
from offchain.services.host_views import HostView
from offchain.services.network_overview import NetworkOverview, leased_gpus
from offchain.services.record_views import TaskView

HOST_COLUMNS: Final = ("HOST", "STATUS", "REGION", "GPUS", "CPU", "MEM", "GPU/H", "SCORE", "LEASES")
TASK_COLUMNS: Final = ("TASK", "KIND", "STATE", "QUEUE", "PODS", "AGE", "PAID")
QUEUE_COLUMNS: Final = ("QUEUE", "WAITING", "OLDEST")
_KEYS: Final = "q: quit  s: order of hosts"
_FRAME_LINES: Final = 9
"""Lines of the header, of empty lines and of the headers of tables."""
_MOST_QUEUES: Final = 5

SORTS: Final[Mapping[str, Callable[[HostView], Any]]] = {
    "load": lambda host: (-leased_gpus(host), -host.live_leases, host.id),
    "score": lambda host: (-(host.score_ppm or 0), host.id),
    "price": lambda host: (int(host.ask["gpu_per_hour"]), host.id),
    "status": lambda host: (host.status, host.id),
    "address": lambda host: host.id,
}
"""Orders of hosts; the key s takes the next one."""


def header_lines(seen: NetworkOverview) -> list[str]:
    """Return the summary of a network in two lines."""
    hosts = ", ".join(f"{count} {status}" for status, count in sorted(seen.statuses.items())) or "none"
    tasks = ", ".join(f"{count} {state}" for state, count in seen.states.items() if count) or "none"
    return [
        f"Block {seen.block}  {time_text(seen.time_ms)} UTC  GPUs leased: {seen.gpus_leased:g} of {seen.gpus}",
        f"Hosts: {hosts}",
        f"Tasks: {tasks}",
    ]


def host_rows(seen: NetworkOverview, sort: str) -> list[tuple[str, ...]]:
    return [_host_row(host) for host in sorted(seen.hosts, key=SORTS[sort])]


def task_rows(seen: NetworkOverview) -> list[tuple[str, ...]]:
    return [_task_row(task, seen.time_ms) for task in seen.tasks]


def queue_rows(seen: NetworkOverview) -> list[tuple[str, ...]]:
    return [(queue.name, str(queue.waiting), _age(queue.oldest_ms)) for queue in seen.queues]


def screen(seen: NetworkOverview, sort: str, lines: int, problem: str = "") -> RenderableType:
    """Return the screen for a terminal with that number of lines. `problem`: why the numbers are not up to date."""
    queues = queue_rows(seen)[:_MOST_QUEUES]
    left = max(4, lines - _FRAME_LINES - len(queues))
    tasks = task_rows(seen)[: max(2, left // 2)]
    hosts = host_rows(seen, sort)[: max(2, left - len(tasks))]
    last = Text(f"{_KEYS} ({sort})", style="dim", no_wrap=True, overflow="ellipsis")
    if problem:
        last = Text(terminal_escaping.line(problem), style="bold red", no_wrap=True, overflow="ellipsis")
    return Group(
        *(Text(terminal_escaping.line(line), no_wrap=True, overflow="ellipsis") for line in header_lines(seen)),
        _table(HOST_COLUMNS, hosts),
        _table(TASK_COLUMNS, tasks),
        _table(QUEUE_COLUMNS, queues) if queues else Text("No task waits."),
        last,
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style="bold reverse", expand=True)
    for name in header:
        drawn.add_column(Text(name), no_wrap=True, overflow="ellipsis")
    for row in rows:
        drawn.add_row(*(Text(terminal_escaping.line(cell)) for cell in row))
    return drawn


def _host_row(host: HostView) -> tuple[str, ...]:
    return (
        f"{host.id[:6]}…{host.id[-6:]}",
        host.status.partition("(")[0],
        host.region or "-",
        f"{leased_gpus(host):g}/{len(host.devices)}",
        _used(host, "cpu_milli"),
        _used(host, "memory_mib"),
        format_amount(int(host.ask["gpu_per_hour"])).removesuffix(" GTY"),
        "-" if host.score_ppm is None else f"{host.score_ppm / 1_000_000:.2f}",
        str(host.live_leases),
    )


def _task_row(task: TaskView, now_ms: int) -> tuple[str, ...]:
    return (
        str(task.id),
        task.kind,
        task.state,
        task.queue,
        f"{len(task.leases)}/{task.pods_wanted}",
        _age(max(0, now_ms - task.submitted_at)),
        format_amount(task.paid - task.paid % 1_000_000),
    )


def _used(host: HostView, resource: str) -> str:
    total = host.total[resource]
    return f"{100 * (total - host.free[resource]) // total} %" if total else "-"


def _age(ms: int) -> str:
    """Return a duration without its small parts: 3m, 2h5m, 4d."""
    unit = DAY_MS if ms >= 2 * DAY_MS else MINUTE_MS if ms >= HOUR_MS else SECOND_MS
    return duration_text(ms - ms % unit)
