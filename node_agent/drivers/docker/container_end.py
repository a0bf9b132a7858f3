"""How a container ended, derived from the engine's reports."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from node_agent.core.values import Ending, EndKind, Usage

KILL_EXIT_CODES = (137, 143)
KILL_WINDOW_S = 60
"""A kill up to this long before the end counts as its cause; the grace time of `docker stop` is well within."""
END_NOTICE_S = 0.05
OOM_NOTICE_S = 1.0
"""The engine may report an exceeded memory limit up to this long after the end."""
REMEMBERED_EVENTS = 256
"""Number of past events that an engine keeps; a restarted engine has none from before."""
_ENDS = frozenset({"kill", "die", "oom"})
_ROUNDING_S = 0.002
_FATAL_SIGNALS = frozenset({"2", "3", "9", "15", "SIGINT", "SIGQUIT", "SIGKILL", "SIGTERM", "KILL", "TERM", ""})
_MIB = 1 << 20
FULL_BELOW_BYTES = 48 * _MIB
"""ext4 reserves 16 MiB and counts it as free, and a failing program may have removed some files."""
_NEARLY_ALL = 0.98
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class ResourceSample:
    """One reading of a container's control group."""

    cpu_ms: int = 0
    memory_mib: int = 0

    def joined(self, other: ResourceSample) -> ResourceSample:
        """Return the maxima: CPU time is cumulative, memory is kept as the peak."""
        return ResourceSample(max(self.cpu_ms, other.cpu_ms), max(self.memory_mib, other.memory_mib))


def parse_sample(stats: Mapping[str, Any]) -> ResourceSample:
    """Parse the engine's stats. An ended container has none, which reads as zero."""
    cpu_ns = ((stats.get("cpu_stats") or {}).get("cpu_usage") or {}).get("total_usage") or 0
    return ResourceSample(int(cpu_ns) // 1_000_000, -(-memory_bytes(stats) // _MIB))


def memory_bytes(stats: Mapping[str, Any]) -> int:
    """Return a container's memory from the engine's stats, without reclaimable file pages, as `docker stats` does."""
    memory = stats.get("memory_stats") or {}
    details = memory.get("stats") or {}
    cache = details.get("total_inactive_file", details.get("inactive_file", 0))
    return max(int(memory.get("usage") or 0) - int(cache), 0)


def event_window(state: Mapping[str, Any], now_s: float) -> tuple[float, float]:
    """Return the interval, in Unix seconds, whose events may explain a container's end. `state`: as inspected.

    `now_s`: the engine's own time, which may be before the end if its clock was set back. The engine reports an end
    when it learns of it, which on a busy machine is well after the end, but before it reports the container as exited:
    so all events until now count.
    """
    finished_s = parse_time_ms(state.get("FinishedAt")) / 1000
    # Events before the start concern an earlier run.
    # The engine may report the start of a very short run after its end.
    started_s = min(parse_time_ms(state.get("StartedAt")) / 1000, finished_s)
    # The engine delays its answer until the end of the interval.
    later_s = OOM_NOTICE_S if state.get("ExitCode") in KILL_EXIT_CODES else END_NOTICE_S
    until_s = max(finished_s + later_s, now_s + _ROUNDING_S)
    return max(finished_s - KILL_WINDOW_S, started_s), min(until_s, now_s + _ROUNDING_S + later_s)


def events_of_run(
    events: Iterable[Mapping[str, Any]],
    container: str,
    state: Mapping[str, Any],
    window: tuple[float, float],
    *,
    outlives_engine: bool,
) -> tuple[Mapping[str, Any], ...]:
    """Return the engine's events about a run's end; nothing if the engine did not see the run begin.

    An engine stops running containers at its restart, unless containers are to outlive it. A container that ends at
    that moment seems to have ended by itself, but its last output may be lost. An engine that may have forgotten the
    beginning, because it has as many events as it keeps, was running.
    """
    all_there_is = tuple(events)
    own = [event for event in all_there_is if (event.get("Actor") or {}).get("ID") == container]
    started_ms = parse_time_ms(state.get("StartedAt"))
    began = any(event.get("Action") == "start" and _time_ms(event) >= started_ms for event in own)
    if not (began or outlives_engine or len(all_there_is) >= REMEMBERED_EVENTS):
        return ()
    since_s, until_s = window
    return tuple(
        event for event in own if event.get("Action") in _ENDS and since_s <= _time_ms(event) / 1000 <= until_s
    )


def _time_ms(event: Mapping[str, Any]) -> int:
    return int(event.get("timeNano") or 0) // 1_000_000


def parse_ending(inspection: Mapping[str, Any], sample: ResourceSample, events: Iterable[Mapping[str, Any]]) -> Ending:
    """Derive the ending from a container's inspection, its metering and the engine's last events for it."""
    state = inspection["State"]
    exit_code = int(state.get("ExitCode") or 0)
    limit_mib = int((inspection.get("HostConfig") or {}).get("Memory") or 0) // _MIB
    events = tuple(events)
    # The engine does not set its flag if the container ended before the OOM notice came; the event exists still.
    reported = bool(state.get("OOMKilled")) or any(event.get("Action") == "oom" for event in events)
    at_limit = limit_mib > 0 and sample.memory_mib >= limit_mib * _NEARLY_ALL
    oom_killed = reported or (exit_code == 137 and at_limit)
    # The engine may report the start of a very short run after its end.
    wall_ms = max(parse_time_ms(state.get("FinishedAt")) - parse_time_ms(state.get("StartedAt")), 1)
    peak_mib = max(sample.memory_mib, limit_mib) if oom_killed else sample.memory_mib
    usage = Usage(wall_ms=wall_ms, cpu_ms=sample.cpu_ms, memory_peak_mib=peak_mib)
    kind = _kind(exit_code, oom_killed=oom_killed, events=events)
    return Ending(kind, exit_code, oom_killed, usage, mark=str(state.get("FinishedAt", "")))


def is_full(folder: str) -> bool:
    """Return whether the disk of a folder is full. False if the folder is not on this machine."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bfree * found.f_frsize < FULL_BELOW_BYTES or (found.f_files > 0 and found.f_ffree == 0)


def parse_health(state: Mapping[str, Any]) -> bool | None:
    """Return the result of a running container's health check; None before the first result or without a check."""
    return {"healthy": True, "unhealthy": False}.get(str((state.get("Health") or {}).get("Status", "")))


def _kind(exit_code: int, *, oom_killed: bool, events: tuple[Mapping[str, Any], ...]) -> EndKind:
    if any(event.get("Action") == "kill" and _signal(event) in _FATAL_SIGNALS for event in events):
        return EndKind.KILLED
    seen = any(event.get("Action") == "die" for event in events)
    if not seen and not oom_killed:
        # An engine without a record of the end was not running then: it stopped the container, or lost what the
        # container wrote meanwhile. With any exit code, the output may lack its last part.
        return EndKind.KILLED
    if exit_code in KILL_EXIT_CODES and not oom_killed:
        return EndKind.UNEXPLAINED
    return EndKind.SELF


def _signal(event: Mapping[str, Any]) -> str:
    attributes = (event.get("Actor") or {}).get("Attributes") or {}
    return str(attributes.get("signal", ""))


def parse_time_ms(text: str | None) -> int:
    """Convert the engine's time stamps (RFC 3339 with nanoseconds) to Unix milliseconds; 0 for its "never"."""
    match = _TIME.fullmatch(text or "")
    if match is None or match[1].startswith("0001"):
        return 0
    whole = datetime.fromisoformat(match[1] + ("+00:00" if match[3] == "Z" else match[3]))
    return int(whole.astimezone(UTC).timestamp()) * 1000 + int((match[2] or "").ljust(3, "0")[:3])
