"""What others wrote, made harmless for a terminal: control sequences hide text, forge it, and some are typed back."""

from __future__ import annotations

import codecs
import logging
import re
from typing import Any, Final

_BIDI: Final = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""They make a terminal show text in another order than it is in."""
_IN_TEXT: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
_COLOUR: Final = r"\x1b\[[0-9;:]{0,32}m"
_IN_STREAM: Final = re.compile(f"({_COLOUR})|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}]")
_BEGUN: Final = re.compile(r"\x1b(\[[0-9;:]{0,32})?\Z")
_PLAIN_AGAIN: Final = b"\x1b[0m"


def text(value: str) -> str:
    """The text with its control characters written out; lines and tabs stay."""
    return _IN_TEXT.sub(_written_out, value)


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
        return text(super().formatMessage(record)).replace("\n", "\\n")

    def formatException(self, ei: Any) -> str:  # noqa: N802  (its base's name)
        """See :class:`logging.Formatter`."""
        return text(super().formatException(ei))


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
