"""Read YAML of strangers with bounds, into values that know their line and key path; collect all problems.

PyYAML takes about 10 µs for a token and looks at every open bracket again for each token. An alias is one token, but a
reader of the tree visits the nodes of its anchor once more for each alias. Tokens and depth are counted while the text
is scanned, so that scanning stops at the first one beyond a bound; nodes are counted before anything reads the tree.

The loader is PyYAML's own, not that of libyaml. libyaml's is faster but accepts other texts: of 20,000 random short
texts it accepted 410 that PyYAML refuses, and refused 57 that PyYAML accepts. Every host must read a manifest in the
same way, and not every installation of PyYAML has libyaml.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.composer import ComposerError
from yaml.scanner import ScannerError

from offchain.schema.manifest.types import Problem

MAX_DEPTH: Final = 32
"""Mappings and lists within each other, with brackets or by indentation; a manifest needs eight."""
MAX_TOKENS: Final = 4096
"""Keys, values and punctuation of a manifest, as PyYAML's scanner counts them. The largest example has 230."""
MAX_NODES: Final = 4096
"""Keys, values, lists and mappings of a manifest, what an alias stands for counted each time."""
OPERATOR_MAX: Final = 1 << 17
"""Tokens and nodes of a file that an operator writes for its own service."""
_MAX_SUGGESTIONS: Final = 50
_MAX_SUGGESTION_LENGTH: Final = 64
"""Comparing words costs time: it is not done for more problems or for longer words than these."""
_TAG: Final = "tag:yaml.org,2002:"
_SHAPES: Final = {"map": "a mapping", "seq": "a list", "null": "empty", "bool": "true or false", "str": "text"}


class _BoundedLoader(yaml.SafeLoader):
    """The safe loader, which stops at the first token beyond a bound."""

    def __init__(self, text: str, max_tokens: int) -> None:
        super().__init__(text)
        self._max_tokens = max_tokens

    def fetch_more_tokens(self) -> None:
        if self.tokens_taken + len(self.tokens) > self._max_tokens:
            self._refuse(f"it has more than {self._max_tokens} YAML tokens (keys, values, brackets, commas)")
        super().fetch_more_tokens()

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803  (PyYAML's name)
        self._check_depth(1)
        super().fetch_flow_collection_start(TokenClass)

    def add_indent(self, column: int) -> bool:
        added = bool(super().add_indent(column))
        if added:
            self._check_depth(0)
        return added

    def _check_depth(self, more: int) -> None:
        if self.flow_level + len(self.indents) + more > MAX_DEPTH:
            self._refuse(f"more than {MAX_DEPTH} lists and mappings within each other")

    def _refuse(self, problem: str) -> None:
        raise ScannerError(None, None, problem, self.get_mark())


def compose(text: str, *, bound: int = MAX_TOKENS) -> yaml.Node | None:
    """Return the tree of the only document in `text`, None where it is empty.

    `bound` is the largest number of tokens, and of nodes with aliases expanded. A tree that is returned has no cycle.
    Raises yaml.YAMLError, with the line, where the text is not YAML or exceeds a bound.
    """
    loader = _BoundedLoader(text, bound)
    try:
        root: yaml.Node | None = loader.get_single_node()
    except (ValueError, OverflowError):
        # PyYAML gives the number of an escape such as "\U00110000" to chr() as it is.
        raise ScannerError(None, None, "an escape is no character of Unicode", loader.get_mark()) from None
    finally:
        loader.dispose()
    if root is not None:
        _check_expanded(root, bound)
    return root


def _check_expanded(root: yaml.Node, most: int) -> None:
    """Raise ComposerError where `root`, with each alias replaced by its anchor's nodes, has more than `most` nodes.

    Also where a text has half of a surrogate pair, which is no character and cannot be written as UTF-8.
    """
    sizes: dict[int, int] = {}
    """By node: how many nodes are in it, itself included; 0 while they are being counted."""
    stack = [(root, False)]
    while stack:
        node, counted = stack.pop()
        inner = _inner(node)
        if isinstance(node, yaml.ScalarNode) and not _is_unicode(node.value):
            raise ComposerError(None, None, "an escape is no character of Unicode", node.start_mark)
        if counted:
            sizes[id(node)] = size = 1 + sum(sizes[id(one)] for one in inner)
            if size > most:
                raise ComposerError(
                    None, None, f"it has more than {most} values, aliases counted in full", node.start_mark
                )
        elif id(node) not in sizes:
            sizes[id(node)] = 0
            stack.append((node, True))
            stack += ((one, False) for one in inner)
        elif sizes[id(node)] == 0:
            raise ComposerError(None, None, "an alias refers to itself", node.start_mark)


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _inner(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [one for pair in node.value for one in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


class InvalidValueError(ValueError):
    """A value of the file that is not accepted. `hint` says what to write; `at` None: the value that was read."""

    def __init__(self, message: str, hint: str, at: YamlValue | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.at = at


@dataclass(frozen=True, slots=True)
class YamlValue:
    """A value in the file: its node, the line of its key, its key path."""

    node: yaml.Node
    line: int
    path: str

    @property
    def kind(self) -> str:
        """The YAML type: map, seq, str, int, float, bool, null, timestamp."""
        return str(self.node.tag).removeprefix(_TAG)

    @property
    def shape(self) -> str:
        """The type in words."""
        return _SHAPES.get(self.kind, "a number" if self.kind in ("int", "float") else f"a {self.kind}")

    @property
    def raw(self) -> str:
        """A scalar as it is written; "" for a list or mapping."""
        return str(self.node.value) if isinstance(self.node, yaml.ScalarNode) else ""

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    def items(self) -> list[YamlValue]:
        """Return the items of a list. Raise InvalidValueError for anything else."""
        if not self.is_list:
            raise InvalidValueError(f"expected a list, found {self.shape}", "Write its items as a list: [a, b]", self)
        return [
            YamlValue(node, node.start_mark.line + 1, f"{self.path}[{index}]")
            for index, node in enumerate(self.node.value)
        ]


class Problems:
    """The problems of one file."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, at: YamlValue, message: str, hint: str) -> None:
        self.found.append(Problem(at.line, at.path, message, hint))

    def add_error(self, error: InvalidValueError, at: YamlValue) -> None:
        """Add an error; `at` is its place unless the error names one."""
        self.add(error.at or at, error.message, error.hint)

    def has(self, at: YamlValue) -> bool:
        """Return whether there is a problem with a value, or with a part of it."""
        return any(
            found.path == at.path or found.path.startswith((f"{at.path}.", f"{at.path}["))
            for found in reversed(self.found)
        )

    def similar(self, word: str, known: Iterable[str]) -> str | None:
        """Return the known word that was probably meant."""
        if len(word) > _MAX_SUGGESTION_LENGTH or len(self.found) >= _MAX_SUGGESTIONS:
            return None
        return next(iter(difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.7)), None)

    def entries(self, value: YamlValue) -> dict[str, YamlValue]:
        """Return the entries of a mapping, with merge keys (`<<`) resolved. Raise InvalidValueError if it is none.

        Repeated keys, and keys that are not scalars, are added to the problems.
        """
        if not value.is_mapping:
            raise InvalidValueError(
                f"expected a mapping, found {value.shape}", "Write key: value lines below it", value
            )
        own: dict[str, YamlValue] = {}
        merged: dict[str, YamlValue] = {}
        for key_node, node in value.node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                at = YamlValue(key_node, line, value.path)
                self.add(at, "a key must be plain text", "Write a name before the colon")
                continue
            key = key_node.value
            entry = YamlValue(node, line, f"{value.path}.{key}" if value.path else key)
            if key_node.tag == f"{_TAG}merge":
                for source in node.value if entry.is_list else [node]:
                    merged = self._merged(YamlValue(source, line, value.path)) | merged
            elif key in own:
                self.add(entry, f'"{key}" is written twice, first on line {own[key].line}', "Keep one of the two")
            else:
                own[key] = entry
        return merged | own

    def _merged(self, source: YamlValue) -> dict[str, YamlValue]:
        try:
            return self.entries(source)
        except InvalidValueError as error:
            self.add_error(error, source)
            return {}


def read_yaml(text: str, problems: Problems, example: str, *, bound: int = MAX_TOKENS) -> YamlValue | None:
    """Return the only document in `text`. Add a problem and return None if it is not YAML, too large or empty.

    `example` names a file from which the user can start.
    """
    try:
        node = compose(text, bound=bound)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.problem, error.context) if part)
        line = mark.line + 1 if mark else 1
        problems.found.append(
            Problem(line, "", f"this is not YAML: {reason}", "Correct the line; keep to one document")
        )
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        problems.found.append(Problem(1, "", f"this is not YAML: {reason}", "Correct the file"))
    else:
        if node is not None:
            return YamlValue(node, node.start_mark.line + 1, "")
        problems.found.append(Problem(1, "", "the file is empty", f"Start from {example}"))
    return None
