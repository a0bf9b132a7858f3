"""scripts/bench: measure, print, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import sys

from main_job import BenchError, measure
from table import Figure, record


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures Gantry on this machine, prints a table, and writes it into docs/benchmarks.md.",
    )
    benchmarks = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    main_job = benchmarks.add_parser("main", help="the main job: scripts/up, submit to running, memory")
    main_job.add_argument("--tasks", type=int, default=15, metavar="N", help="tasks for submit → running (15)")
    main_job.add_argument("--cold", action="store_true", help="also with an empty cache (downloads the packages)")
    main_job.add_argument("--json", action="store_true", help="end with one JSON object on the last line")
    main_job.add_argument("--no-record", action="store_true", help="leave docs/benchmarks.md alone")
    options = parser.parse_args()
    if options.tasks < 1:
        parser.error(f"--tasks {options.tasks}: write a number from 1 up")
    try:
        figures = measure(options.tasks, cold=options.cold)
    except BenchError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    if not options.no_record:
        record(figures)
    for figure in figures:
        sys.stdout.write(_line(figure))
    if options.json:
        sys.stdout.write(json.dumps({figure.name.replace("-", "_"): _json(figure) for figure in figures}) + "\n")
    return 0


def _line(figure: Figure) -> str:
    return f"{figure.name:<16} {figure.value:>8g} {figure.unit:<4} (p95 {figure.p95:g}, target ≤ {figure.target:g})\n"


def _json(figure: Figure) -> dict[str, object]:
    return {"value": figure.value, "p95": figure.p95, "unit": figure.unit, "target": figure.target, "met": figure.met}


if __name__ == "__main__":
    sys.exit(main())
