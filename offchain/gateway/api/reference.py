"""The reference of the API as a page for people, made from the OpenAPI document."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from offchain.gateway.api.openapi import document


@cache
def page() -> str:
    """Return the page: HTML without scripts and styles."""
    found = document()
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>Gantry API</title></head><body>",
        f"<h1>Gantry API {escape(found['info']['version'])}</h1><p>{escape(found['info']['description'])}</p>",
        '<p>For programs: <a href="/v1/openapi.json">OpenAPI 3.1</a>.</p><h2>Resources</h2>',
        *(
            _resource(f"{method.upper()} {path}", operation)
            for path, methods in found["paths"].items()
            for method, operation in methods.items()
        ),
        "<h2>Answers</h2>",
        *(_schema(name, schema) for name, schema in sorted(found["components"]["schemas"].items())),
        "</body></html>",
    ]
    return "\n".join(parts)


def _resource(path: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code></td><td>{escape(one['in'])}</td>"
        f"<td>{escape(one['description'])}</td></tr>"
        for one in operation["parameters"]
    )
    answer = next(iter(operation["responses"].values()))["content"]
    kind, content = next(iter(answer.items()))
    name = content["schema"].get("$ref", "").rpartition("/")[2]
    link = f'<a href="#{escape(name)}">{escape(name)}</a>' if name else escape(kind)
    table = f"<table><tr><th>parameter</th><th>in</th><th></th></tr>{rows}</table>" if rows else ""
    return f"<h3><code>{escape(path)}</code></h3><p>{escape(operation['summary'])} Answer: {link}.</p>{table}"


def _schema(name: str, schema: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code></td><td>{escape(_kind(about))}</td>"
        f"<td>{escape(about.get('description', ''))}</td></tr>"
        for field, about in schema.get("properties", {}).items()
    )
    text = escape(schema.get("description", ""))
    return f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{text}</p><table>{rows}</table>'


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    return str(schema.get("type", "any"))
