"""Where the cells of one record of comma-separated values begin, so that a mistake is told by its place in the file."""

from __future__ import annotations

from collections.abc import Iterator


class Record:
    """The text of one record: a line, or several where a cell between quotes has line breaks in it."""

    def __init__(self, text: str, line: int) -> None:
        self._text = text
        self._line = line
        """The file's line that it begins with."""

    def place(self, cell: int) -> str:
        """Line and column, both from 1, at which a cell begins; where the record ends if it has fewer cells."""
        starts = [at for at, _ in _cells(self._text)]
        return self._told(starts[cell] if cell < len(starts) else len(self._text.rstrip("\r\n")))

    def broken(self) -> str:
        """Line and column at which the last cell begins that has an opening quote, or else the last cell."""
        cells = list(_cells(self._text))
        quoted = [at for at, quoted in cells if quoted]
        return self._told(quoted[-1] if quoted else cells[-1][0])

    def _told(self, at: int) -> str:
        before = self._text[:at]
        return f"line {self._line + before.count(chr(10))}, column {at - before.rfind(chr(10))}"


def _cells(text: str) -> Iterator[tuple[int, bool]]:
    """Where each cell begins, and whether with a quote. Only there a quote means that commas are of the cell."""
    begin, inside = 0, text.startswith('"')
    for at, char in enumerate(text):
        # Two quotes within quotes mean one: the first closes, the second opens again.
        if char == '"' and at > begin and text[begin] == '"':
            inside = not inside
        elif char == "," and not inside:
            yield begin, text[begin] == '"'
            begin = at + 1
            inside = text.startswith('"', begin)
    yield begin, text.startswith('"', begin)
