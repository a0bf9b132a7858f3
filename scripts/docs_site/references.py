"""Pages of reference that are made from the code: command line, HTTP API, keys of a manifest."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import click

from offchain.cli.main import cli
from offchain.cli.provider.agent import main as agent
from offchain.gateway.api.openapi import document
from offchain.schema.manifest.assemble import FileSection
from offchain.schema.manifest.section import Section


def cli_page() -> str:
    """Return the help of every command."""
    parts = ["# Command line", "This page is made from the program: each command's own `--help`."]
    for names, command, context in _commands(cli, ("gantry",), None):
        parts += [f"## {' '.join(names)}", f"```text\n{command.get_help(context).rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _commands(
    command: click.Command, names: tuple[str, ...], parent: click.Context | None
) -> Iterator[tuple[tuple[str, ...], click.Command, click.Context]]:
    # `gantry agent` hands its arguments on to a group of its own.
    found = agent if names == ("gantry", "agent") else command
    context = click.Context(found, info_name=names[-1], parent=parent, terminal_width=100, max_content_width=100)
    yield names, found, context
    if isinstance(found, click.Group):
        for name in found.list_commands(context):
            below = found.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _commands(below, (*names, name), context)


def api_page() -> str:
    """Return the resources and models of the OpenAPI document."""
    found = document()
    parts = [
        "# Resources of the HTTP API",
        f"This page is made from the OpenAPI document. {found['info']['description']}",
    ]
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            parts += [f"## {method.upper()} {path}", operation["summary"]]
            rows = [
                (f"`{one['name']}`", one["in"], one.get("description", "")) for one in operation.get("parameters", ())
            ]
            parts += [_table(("parameter", "in", ""), rows)] if rows else []
            content = operation.get("requestBody", {}).get("content", {})
            parts += [f"Body: {_linked(kind['schema'])}." for kind in content.values()]
            answer = next(iter(operation["responses"].values())).get("content", {})
            parts += [f"Answer: {_linked(kind['schema'])} (`{name}`)." for name, kind in answer.items()]
    for name, schema in sorted(found["components"]["schemas"].items()):
        parts += [f"## {name}", schema.get("description", "")]
        rows = [
            (f"`{key}`", _kind(one), one.get("description", "")) for key, one in schema.get("properties", {}).items()
        ]
        parts += [_table(("field", "type", ""), rows)] if rows else []
    return "\n\n".join(part for part in parts if part) + "\n"


def _linked(schema: dict[str, Any]) -> str:
    name = schema.get("$ref", "").rpartition("/")[2]
    return f"[{name}](#{name.lower()})" if name else _kind(schema)


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _linked(schema)
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def manifest_page() -> str:
    """Return the keys of every section, and the keys of Compose that are refused."""
    parts = [
        "# Keys of a manifest",
        "This page is made from the models that read a manifest; [Manifest](../manifest.md) explains the keys.",
    ]
    for path, section in _sections(FileSection, "", frozenset()):
        parts += [f"## {path or 'The file'}"]
        if section.short_for is not None:
            parts += [f"A value that is no mapping stands for `{section.short_for}`."]
        keys = [field.alias or name for name, field in section.model_fields.items()]
        rows = [(f"`{key}`", section.required.get(key, "")) for key in keys]
        parts += [_table(("key", "required"), rows)]
        refused = [(f"`{key}`", hint) for key, hint in section.unsupported.items()]
        parts += [_table(("refused key", "instead"), refused)] if refused else []
    return "\n\n".join(parts) + "\n"


def _sections(
    section: type[Section], path: str, above: frozenset[type[Section]]
) -> Iterator[tuple[str, type[Section]]]:
    yield path, section
    for name, field in section.model_fields.items():
        for below in _named(field.annotation):
            if below not in above:
                key = f"{path}.{field.alias or name}".lstrip(".")
                yield from _sections(below, key, above | {section})


def _named(annotation: Any) -> Iterator[type[Section]]:
    """Yield the sections in a type, such as those of a list."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _named(part)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(_cell(one) for one in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
