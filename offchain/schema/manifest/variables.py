"""Replace variables in a manifest, as Compose does, before its digest is computed.

`$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME-default}`, `${NAME:?message}`, `${NAME?message}`, `${NAME:+other}`,
`${NAME+other}` and `$$` (a dollar) in values; keys and comments are left alone. Defaults may contain variables.
Compose replaces an unset variable without a default by nothing; here that is an error, because a manifest on the chain
cannot be corrected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import yaml

from offchain.schema.manifest.types import ManifestError, Problem
from offchain.schema.manifest.yaml_reader import compose

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OPERATORS = (":-", ":?", ":+", "-", "?", "+")
_MAX_DEPTH = 16
_UNSAFE = re.compile("[\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff\\ufeff\\ufffe\\uffff]")


class _VariableError(Exception):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def resolve(text: str, env: Mapping[str, str], *, source: str = "manifest") -> str:
    """Return the manifest's text with every variable replaced. Lines keep their numbers.

    A value that would change the structure of the file (a line break, a `#`) is quoted, so that it stays one value.
    Raise ManifestError. Text that is not YAML is returned unchanged: the parser reports what is wrong with it.
    """
    try:
        root = compose(text)
    except yaml.YAMLError:
        return text
    if root is None:
        return text
    problems: list[Problem] = []
    pieces: list[str] = []
    done = 0
    for node in _values(root):
        if "$" not in node.value or node.start_mark.index < done:
            continue
        start, end = node.start_mark.index, node.end_mark.index
        try:
            value = substitute(node.value, env)
            raw = substitute(text[start:end], env)
        except _VariableError as error:
            problems.append(Problem(node.start_mark.line + 1, "", error.message, error.hint))
            continue
        pieces += text[done:start], _written(node, text[start:end], raw, value)
        done = end
    if problems:
        raise ManifestError(source, problems)
    return "".join(pieces) + text[done:]


def substitute(text: str, env: Mapping[str, str], depth: int = 0) -> str:
    """Return the text of one value with its variables replaced."""
    pieces: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        pieces.append(text[at:dollar])
        after = text[dollar + 1 : dollar + 2]
        name = _NAME.match(text, dollar + 1)
        if after == "$":
            pieces.append("$")
            at = dollar + 2
        elif after == "{":
            close = _closing(text, dollar + 2)
            pieces.append(_expression(text[dollar + 2 : close], env, depth))
            at = close + 1
        elif name is not None:
            pieces.append(_expression(name[0], env, depth))
            at = name.end()
        else:
            raise _VariableError(f'"${after}" is not a variable', "Write $$ for a dollar sign")
    return "".join(pieces) + text[at:]


def _closing(text: str, start: int) -> int:
    """Return the index of the brace that closes the one before `start`."""
    depth = 1
    at = start
    while at < len(text):
        if text.startswith("${", at):
            depth += 1
            at += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise _VariableError(
        f'"${{{text[start : start + 40]}" has no closing brace', "Close it with }, or write $$ for a dollar"
    )


def _expression(inner: str, env: Mapping[str, str], depth: int) -> str:
    match = _NAME.match(inner)
    if match is None or depth > _MAX_DEPTH:
        raise _VariableError(f'"${{{inner}}}" is not a variable', "Write ${NAME} or ${NAME:-default}")
    name, rest = match[0], inner[match.end() :]
    operator = next((known for known in _OPERATORS if rest.startswith(known)), "")
    if rest and not operator:
        raise _VariableError(f'"${{{inner}}}" is not a variable', "Write ${NAME} or ${NAME:-default}")
    word = rest[len(operator) :]
    value = env.get(name)
    present = value is not None and not (operator.startswith(":") and not value)
    if operator.endswith("+"):
        return substitute(word, env, depth + 1) if present else ""
    if present and value is not None:
        return value
    if operator.endswith("-"):
        return substitute(word, env, depth + 1)
    said = substitute(word, env, depth + 1) if operator else ""
    raise _VariableError(
        f"the variable {name} is not set" + (f": {said}" if said else ""),
        f"Set it in your shell, or write ${{{name}:-default}}",
    )


def _values(root: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Yield every scalar that is a value or list item, each once, in the order of the file."""
    seen: set[int] = set()
    stack = [root]
    found: list[yaml.ScalarNode] = []
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            found.append(node)
        elif isinstance(node, yaml.SequenceNode):
            stack.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            stack.extend(value for _, value in node.value)
    yield from sorted(found, key=lambda node: node.start_mark.index)


def _written(node: yaml.ScalarNode, old: str, raw: str, value: str) -> str:
    """Return the text of the new value: as it was written if that reads back as the value, else in double quotes."""
    lines = old.count("\n")
    if node.style is None:
        # A plain value stays plain, and keeps its type, if it is read back unchanged in both kinds of context.
        in_place = "\n" not in raw and _reads_as(f"[{raw}]", value) and _reads_as(f"- {raw}", value)
    else:
        in_place = raw.count("\n") == lines and _reads_as(f"- {raw}\n", value)
    return raw if in_place else _quoted(value) + "\n" * lines


def _quoted(value: str) -> str:
    """Return the value in double quotes, with escapes for characters that YAML refuses."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def _reads_as(document: str, value: str) -> bool:
    try:
        node = compose(document)
    except yaml.YAMLError:
        return False
    items = node.value if isinstance(node, yaml.SequenceNode) else []
    return len(items) == 1 and isinstance(items[0], yaml.ScalarNode) and items[0].value == value
