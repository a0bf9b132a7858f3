"""YAML of strangers: composed in a time that its length bounds.

PyYAML looks at every open bracket again for each token, so that a text of brackets takes a time that grows with the
square of its length.
"""

from __future__ import annotations

from typing import Any, Final

import yaml
from yaml.scanner import ScannerError

MAX_BRACKETS: Final = 32
"""Mappings and lists within each other that are written with brackets; a manifest needs eight."""


class _BoundedLoader(yaml.SafeLoader):
    """The safe loader, with a bound on brackets within each other. Indentation is bounded by the length of the text."""

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803  (PyYAML's name)
        if self.flow_level >= MAX_BRACKETS:
            raise ScannerError(None, None, f"more than {MAX_BRACKETS} brackets within each other", self.get_mark())
        super().fetch_flow_collection_start(TokenClass)


def compose(text: str) -> yaml.Node | None:
    """Return the tree of the only document in `text`, None where it is empty.

    Raises yaml.YAMLError where it is not YAML or has more than MAX_BRACKETS brackets within each other, and
    RecursionError where lists without brackets are nested too deeply.
    """
    return yaml.compose(text, Loader=_BoundedLoader)
