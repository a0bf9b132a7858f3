"""Read the recorded decisions about a task from `decisions.db`, which decision_recorder writes."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from offchain.errors import OurError
from offchain.schema.protocol.decisions import (
    MAX_DECISIONS,
    Decision,
    DecisionReport,
    PlacedPod,
    RecordedCandidates,
    RecordedOutcome,
    WaitRecord,
    candidate_report,
)
from offchain.schema.protocol.fields import json_object

FILE: Final = "decisions.db"

TABLES: Final = (
    """
    CREATE TABLE decisions (
        id INTEGER PRIMARY KEY, task INTEGER NOT NULL, generation INTEGER NOT NULL, at_ms INTEGER NOT NULL,
        numbers TEXT NOT NULL, pods INTEGER NOT NULL, spots TEXT NOT NULL, turn INTEGER NOT NULL,
        placed INTEGER NOT NULL, alike INTEGER, seen TEXT,
        answer TEXT, reason TEXT, block INTEGER, answered_ms INTEGER
    ) STRICT;
    CREATE INDEX decisions_of_task ON decisions (task, generation);
    CREATE TABLE waits (
        task INTEGER NOT NULL, generation INTEGER NOT NULL, since_ms INTEGER NOT NULL, at_ms INTEGER NOT NULL,
        times INTEGER NOT NULL, why TEXT NOT NULL, PRIMARY KEY (task, generation)
    ) STRICT;
    CREATE INDEX waits_by_time ON waits (at_ms);
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT
    """,
)
"""`numbers`: of all pods, with commas; `spots`: the placements of the first pods; `alike`: see Decision.like."""


class DecisionsError(OurError):
    """A file of decisions cannot be read."""

    code = "no_decisions"


def read(path: Path, task: int, like: int | None = None) -> DecisionReport:
    """Return what is recorded about a task. `like`: an equal task that is tried in its place while it waits.

    `path`: the file, or its folder. Raises DecisionsError.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise DecisionsError(
            f"There is no {file}: no scheduler keeps its decisions there.",
            "Name the folder of a scheduler on this machine (its --state-dir), or the URL of one that answers.",
        )
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            db.execute("BEGIN")
            facts = {row["name"]: row["value"] for row in db.execute("SELECT name, value FROM facts")}
            waits = tuple(_waits(db, task))
            if like is not None and like != task:
                waits = (*waits, *(replace(wait, like=like) for wait in list(_waits(db, like))[-1:]))
            found = tuple(_decisions(db, task))
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise DecisionsError(
            f"The file {file} cannot be read: {error}.", "Read it as the user that the scheduler runs as."
        ) from None
    return DecisionReport(task, facts.get("account", ""), facts.get("seed", ""), found, waits)


def _decisions(db: sqlite3.Connection, task: int) -> Iterator[Decision]:
    newest = db.execute("SELECT * FROM decisions WHERE task = ? ORDER BY id DESC LIMIT ?", (task, MAX_DECISIONS))
    for row in newest.fetchall()[::-1]:
        spots = (PlacedPod(pod, host, tuple(devices)) for pod, host, devices in json.loads(row["spots"]))
        yield Decision(
            at_ms=row["at_ms"],
            generation=row["generation"],
            pods=row["pods"],
            spots=tuple(spots),
            turn=row["turn"],
            placed=row["placed"],
            seen=_seen(db, row),
            like=row["alike"],
            answer=None
            if row["answer"] is None
            else RecordedOutcome(row["answer"], row["reason"], row["block"], row["answered_ms"]),
        )


def _seen(db: sqlite3.Connection, row: sqlite3.Row) -> RecordedCandidates | None:
    """Return the explanation of the row, or that of the equal task which was explained in its place."""
    text = row["seen"]
    if text is None and row["alike"] is not None:
        asked = "SELECT seen FROM decisions WHERE task = ? AND at_ms = ? AND seen IS NOT NULL"
        other = db.execute(asked, (row["alike"], row["at_ms"])).fetchone()
        text = None if other is None else other["seen"]
    return None if text is None else candidate_report(json_object(text.encode()))


def _waits(db: sqlite3.Connection, task: int) -> Iterator[WaitRecord]:
    newest = db.execute("SELECT * FROM waits WHERE task = ? ORDER BY generation DESC LIMIT ?", (task, MAX_DECISIONS))
    for row in newest.fetchall()[::-1]:
        moments = {name: row[name] for name in ("generation", "since_ms", "at_ms", "times")}
        yield WaitRecord(**moments, **json.loads(row["why"]))
