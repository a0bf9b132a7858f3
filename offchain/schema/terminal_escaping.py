"""What others wrote, made harmless for a terminal: control sequences hide text, forge it, and some are typed back.

Characters that are not seen are written out as well: they hide text, show it in another order than it is in ("Trojan
Source"), or make two names look the same.
"""

from __future__ import annotations

import codecs
import logging
import re
from typing import Any, Final

_UNSEEN: Final = (
    # Format characters (Unicode category Cf) but the two joiners, separators of lines and paragraphs, surrogates.
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # Letters and marks without a shape.
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
)
_JOINERS: Final = "\u200c\u200d"
"""Some scripts and emoji need them: they stay in logs and are written out in names and messages."""
_IN_TEXT: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_JOINERS}{_UNSEEN}]")
_IN_LINE: Final = re.compile(f"[\x00-\x1f\x7f-\x9f{_JOINERS}{_UNSEEN}]")
_COLOUR: Final = r"\x1b\[[0-9;:]{0,32}m"
_IN_STREAM: Final = re.compile(f"({_COLOUR})|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_UNSEEN}]")
_BEGUN: Final = re.compile(r"\x1b(\[[0-9;:]{0,32})?\Z")
_PLAIN_AGAIN: Final = b"\x1b[0m"


def text(value: str) -> str:
    """The text with its control and unseen characters written out; lines and tabs stay."""
    return _IN_TEXT.sub(_written_out, value)


def line(value: str) -> str:
    """The same as one line: line feeds and tabs are written out too, so that a value cannot pass as another line."""
    return _IN_LINE.sub(_written_out, value)


def unseen(value: str) -> str | None:
    """Return the first character that :func:`line` writes out, as `U+001B`; None where there is none."""
    found = _IN_LINE.search(value)
    return None if found is None else f"U+{ord(found[0]):04X}"


class Harmless:
    """The same for a stream of bytes that arrives in pieces: colours and carriage returns stay, too."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""
        self._coloured = False

    def feed(self, data: bytes) -> bytes:
        """What can be shown now. A sequence that is not complete waits for its end."""
        return self._shown(self._begun + self._decoder.decode(data), more=True)

    def end(self) -> bytes:
        """What is left; colours do not outlive the stream."""
        rest = self._shown(self._begun + self._decoder.decode(b"", final=True), more=False)
        return rest + _PLAIN_AGAIN if self._coloured else rest

    def _shown(self, found: str, *, more: bool) -> bytes:
        begun = _BEGUN.search(found) if more else None
        self._begun = begun[0] if begun is not None else ""
        whole = found[: len(found) - len(self._begun)]
        return _IN_STREAM.sub(self._colour_or_written_out, whole).encode()

    def _colour_or_written_out(self, found: re.Match[str]) -> str:
        if found[1] is None:
            return _written_out(found)
        self._coloured = True
        return found[1]


class LogFormatter(logging.Formatter):
    """One line for each thing logged, whatever names and messages of others are in it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (its base's name)
        """See :class:`logging.Formatter`."""
        return line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  (its base's name)
        """See :class:`logging.Formatter`."""
        return text(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802  (its base's name)
        """See :class:`logging.Formatter`."""
        return text(super().formatStack(stack_info))


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
