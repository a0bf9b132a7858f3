"""The text of a PDF document with standard fonts, as its pages draw it."""

import re
import zlib

_STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
_TEXT = re.compile(rb"\(((?:\\.|[^\\()])*)\) Tj")


def pdf_text(data: bytes) -> str:
    """The texts of all pages, with a space between two."""
    assert data.startswith(b"%PDF-")
    found = []
    for stream in _STREAM.findall(data):
        try:
            drawn = zlib.decompress(stream)
        except zlib.error:
            continue
        found += [re.sub(rb"\\(.)", rb"\1", text) for text in _TEXT.findall(drawn)]
    return b" ".join(found).decode("latin-1")
