"""Reading YAML nodes into plain values, remembering line and key path, and collecting every problem."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import yaml

from offchain.schema.manifest.types import Problem

T = TypeVar("T")

_TAG = "tag:yaml.org,2002:"
_MAX_GUESSES = 50
_MAX_GUESSED = 64
_SHAPES = {"map": "a mapping", "seq": "a list", "null": "empty", "bool": "true or false", "str": "text"}


@dataclass(frozen=True, slots=True)
class Field:
    """A value in the file: its node, the line of its key, its path."""

    node: yaml.Node
    line: int
    path: str

    @property
    def kind(self) -> str:
        """The node's YAML type: map, seq, str, int, float, bool, null, timestamp."""
        return self.node.tag.removeprefix(_TAG)

    @property
    def shape(self) -> str:
        """What a reader of the file would call it."""
        return _SHAPES.get(self.kind, "a number" if self.kind in ("int", "float") else f"a {self.kind}")


class Reader:
    """Typed access to nodes. Each method gives None where the value is wrong, after noting the problem."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def problem(self, field: Field, message: str, remedy: str) -> None:
        """Note a problem with a field."""
        self.problems.append(Problem(field.line, field.path, message, remedy))

    def mapping(
        self, field: Field, allowed: Iterable[str], refused: Mapping[str, str], *, extensions: bool = False
    ) -> dict[str, Field]:
        """Give entries by key. Unknown, refused and repeated keys are problems; `x-` too unless asked for."""
        known = set(allowed)
        entries: dict[str, Field] = {}
        for key, entry in self._entries(field):
            if key in known:
                entries[key] = entry
            elif key in refused:
                self.problem(entry, f'Gantry does not support "{key}" here', refused[key])
            elif not (extensions and key.startswith("x-") and not self._close(key, known)):
                close = self._close(key, known | set(refused))
                names = ", ".join(sorted(known))
                self.problem(
                    entry,
                    f'unknown key "{key}"',
                    f'Did you mean "{close}"? Otherwise remove it' if close else f"Remove it; known here: {names}",
                )
        return entries

    def any_mapping(self, field: Field) -> dict[str, Field]:
        """The entries of a mapping with keys of the user's choice."""
        return dict(self._entries(field))

    def _entries(self, field: Field) -> list[tuple[str, Field]]:
        if not isinstance(field.node, yaml.MappingNode):
            self.problem(field, f"expected a mapping, found {field.shape}", "Write key: value lines below it")
            return []
        seen: dict[str, Field] = {}
        merged: dict[str, Field] = {}
        for key_node, value_node in field.node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(
                    Field(key_node, line, field.path), "a key must be plain text", "Write a name before the colon"
                )
                continue
            key = key_node.value
            entry = Field(value_node, line, f"{field.path}.{key}" if field.path else key)
            if key_node.tag == f"{_TAG}merge":
                merged |= {name: value for name, value in self._merge(field, entry) if name not in merged}
            elif key in seen:
                self.problem(entry, f'"{key}" is written twice, first on line {seen[key].line}', "Keep one of the two")
            else:
                seen[key] = entry
        return list((merged | seen).items())

    def _merge(self, field: Field, entry: Field) -> list[tuple[str, Field]]:
        nodes = entry.node.value if isinstance(entry.node, yaml.SequenceNode) else [entry.node]
        found: dict[str, Field] = {}
        for node in nodes:
            for key, value in self._entries(Field(node, entry.line, field.path)):
                found.setdefault(key, value)
        return list(found.items())

    def sequence(self, field: Field) -> list[Field]:
        """The items of a list."""
        if not isinstance(field.node, yaml.SequenceNode):
            self.problem(field, f"expected a list, found {field.shape}", "Write its items as a list: [a, b]")
            return []
        return [
            Field(node, node.start_mark.line + 1, f"{field.path}[{index}]")
            for index, node in enumerate(field.node.value)
        ]

    def text(self, field: Field, *, max_bytes: int = 4096, empty: bool = False) -> str | None:
        """Text. Numbers are taken as written; true, false and null must be quoted to be text."""
        if field.kind in ("bool", "null") or not isinstance(field.node, yaml.ScalarNode):
            self.problem(field, f"expected text, found {field.shape}", "Quote it if it is meant as text")
            return None
        value: str = field.node.value
        if "\0" in value:
            self.problem(field, "the text has a NUL character in it", "Remove it")
        elif not value and not empty:
            self.problem(field, "the text is empty", "Write a value or remove the key")
        elif len(value.encode()) > max_bytes:
            self.problem(field, f"the text is {len(value.encode())} bytes long", f"Keep it to {max_bytes} bytes")
        else:
            return value
        return None

    def parsed(self, field: Field, parse: Callable[[str], T], remedy: str) -> T | None:
        """A value with a notation of its own."""
        text = self.text(field)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.problem(field, str(error), remedy)
            return None

    def integer(self, field: Field, low: int, high: int) -> int | None:
        """A whole number within bounds, quoted or not."""
        text = field.node.value if isinstance(field.node, yaml.ScalarNode) else ""
        digits = text[1:] if text[:1] in ("-", "+") else text
        remedy = f"Write a whole number from {low} to {high}"
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 20:
            self.problem(
                field, f"expected a whole number, found {chr(34) + text + chr(34) if text else field.shape}", remedy
            )
            return None
        value = int(text)
        if not low <= value <= high:
            self.problem(field, f"{value} is out of range", remedy)
            return None
        return value

    def boolean(self, field: Field) -> bool | None:
        """True or false."""
        text = field.node.value.lower() if isinstance(field.node, yaml.ScalarNode) else ""
        if text in ("true", "false"):
            return bool(text == "true")
        self.problem(field, f"expected true or false, found {text or field.shape}", "Write true or false")
        return None

    def choice(self, field: Field, choices: Mapping[str, str | None]) -> str | None:
        """One of some words. A word whose value is a text is known, but refused with that text as remedy."""
        text = self.text(field)
        if text is None:
            return None
        if text in choices:
            refusal = choices[text]
            if refusal is None:
                return text
            self.problem(field, f'"{text}" is not supported yet', refusal)
            return None
        close = self._close(text, choices)
        usable = " or ".join(word for word, refusal in choices.items() if refusal is None)
        self.problem(field, f'unknown value "{text}"', f'Did you mean "{close}"?' if close else f"Write {usable}")
        return None

    def _close(self, key: str, known: Iterable[str]) -> str | None:
        """The known word that was probably meant. Comparing costs time: it is not done for long or for many words."""
        if len(key) > _MAX_GUESSED or len(self.problems) >= _MAX_GUESSES:
            return None
        found = difflib.get_close_matches(key.lower(), list(known), n=1, cutoff=0.7)
        return found[0] if found else None
