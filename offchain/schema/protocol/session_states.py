"""The states of a session of the multiplexer, and what leads from one to another."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final


class SessionState(Enum):
    """State of a session. ASKED: the dialler waits for the host's answer; ENDED_*: the side that has sent all."""

    ASKED = auto()
    OPEN = auto()
    ENDED_HERE = auto()
    ENDED_THERE = auto()
    CLOSED = auto()


class SessionMove(Enum):
    """Something that happens to a session. HERE: an action of this side; THERE: of the other."""

    ACCEPT = auto()
    REFUSE = auto()
    DATA_HERE = auto()
    DATA_THERE = auto()
    END_HERE = auto()
    END_THERE = auto()
    CREDIT = auto()
    RESET = auto()


_S, _M = SessionState, SessionMove
TABLE: Final[Mapping[SessionState, Mapping[SessionMove, SessionState]]] = MappingProxyType(
    {
        _S.ASKED: {_M.ACCEPT: _S.OPEN, _M.REFUSE: _S.CLOSED, _M.CREDIT: _S.ASKED, _M.RESET: _S.CLOSED},
        _S.OPEN: {
            _M.DATA_HERE: _S.OPEN,
            _M.DATA_THERE: _S.OPEN,
            _M.END_HERE: _S.ENDED_HERE,
            _M.END_THERE: _S.ENDED_THERE,
            _M.CREDIT: _S.OPEN,
            _M.RESET: _S.CLOSED,
        },
        _S.ENDED_HERE: {
            _M.DATA_THERE: _S.ENDED_HERE,
            _M.END_THERE: _S.CLOSED,
            _M.CREDIT: _S.ENDED_HERE,
            _M.RESET: _S.CLOSED,
        },
        _S.ENDED_THERE: {
            _M.DATA_HERE: _S.ENDED_THERE,
            _M.END_HERE: _S.CLOSED,
            _M.CREDIT: _S.ENDED_THERE,
            _M.RESET: _S.CLOSED,
        },
    }
)
"""State -> move -> next state. A move that is missing is not allowed."""


def diagram() -> str:
    """Return the table as a Mermaid state diagram, without moves that keep the state."""
    arrows: dict[tuple[SessionState, SessionState], list[str]] = {}
    for source, row in TABLE.items():
        for move, target in row.items():
            if target is not source:
                arrows.setdefault((source, target), []).append(move.name)
    lines = [f"    {source.name} --> {target.name}: {', '.join(names)}" for (source, target), names in arrows.items()]
    return "\n".join(["stateDiagram-v2", *lines]) + "\n"
