"""YAML of strangers, read with bounds on depth, tokens and aliases.

PyYAML takes about 10 µs for a token and looks at every open bracket again for each token. An alias is one token, but a
reader of the tree visits the nodes of its anchor once more for each alias. Tokens and depth are counted while the text
is scanned, so that scanning stops at the first one beyond a bound; nodes are counted before anything reads the tree.

The loader is PyYAML's own, not that of libyaml. libyaml's is faster but accepts other texts: of 20,000 random short
texts it accepted 410 that PyYAML refuses, and refused 57 that PyYAML accepts. Every host must read a manifest in the
same way, and not every installation of PyYAML has libyaml.
"""

from __future__ import annotations

from typing import Any, Final

import yaml
from yaml.composer import ComposerError
from yaml.scanner import ScannerError

MAX_DEPTH: Final = 32
"""Mappings and lists within each other, with brackets or by indentation; a manifest needs eight."""
MAX_TOKENS: Final = 4096
"""Keys, values and punctuation of a manifest, as PyYAML's scanner counts them. The largest example has 230."""
MAX_NODES: Final = 4096
"""Keys, values, lists and mappings of a manifest, what an alias stands for counted each time."""
OPERATOR_MAX: Final = 1 << 17
"""Tokens and nodes of a file that an operator writes for its own service."""


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
    finally:
        loader.dispose()
    if root is not None:
        _check_expanded(root, bound)
    return root


def _check_expanded(root: yaml.Node, most: int) -> None:
    """Raise ComposerError where `root`, with each alias replaced by its anchor's nodes, has more than `most` nodes."""
    sizes: dict[int, int] = {}
    """By node: how many nodes are in it, itself included; 0 while they are being counted."""
    stack = [(root, False)]
    while stack:
        node, counted = stack.pop()
        inner = _inner(node)
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


def _inner(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [one for pair in node.value for one in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
