"""Terminal escaping of untrusted text: control sequences can hide or forge text, or make a terminal send input.

Invisible characters are escaped as well: they hide text, reorder it ("Trojan Source"), or make two names look equal.
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
"""Some scripts and emoji need the joiners: they stay in logs and are escaped in names and messages."""
_IN_TEXT: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_JOINERS}{_UNSEEN}]")
_IN_LINE: Final = re.compile(f"[\x00-\x1f\x7f-\x9f{_JOINERS}{_UNSEEN}]")
_COLOUR: Final = r"\x1b\[[0-9;:]{0,32}m"
_IN_STREAM: Final = re.compile(f"({_COLOUR})|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_UNSEEN}]")
_BEGUN: Final = re.compile(r"\x1b(\[[0-9;:]{0,32})?\Z")
_PLAIN_AGAIN: Final = b"\x1b[0m"


def text(value: str) -> str:
    """Return the text with control and invisible characters escaped, except line feeds and tabs."""
    return _IN_TEXT.sub(_written_out, value)


def line(value: str) -> str:
    """Return the text with line feeds and tabs escaped as well, so that a value cannot imitate another line."""
    return _IN_LINE.sub(_written_out, value)


def unseen(value: str) -> str | None:
    """Return the first character that :func:`line` escapes, as `U+001B`; None: there is none."""
    found = _IN_LINE.search(value)
    return None if found is None else f"U+{ord(found[0]):04X}"


class StreamEscaper:
    """Terminal escaping of a stream of bytes that arrives in pieces; colours and carriage returns stay."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""
        self._coloured = False

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown now. An incomplete sequence is kept until its end."""
        return self._shown(self._begun + self._decoder.decode(data), more=True)

    def end(self) -> bytes:
        """Return the rest of the stream, and reset colours."""
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
    """A log formatter that escapes untrusted names and messages, so that each record is one line."""

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
