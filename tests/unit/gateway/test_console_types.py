"""The console's types of answers have only fields that the API's OpenAPI document has."""

import re

import pytest

from offchain.devnet.paths import ROOT
from offchain.gateway.api.openapi import document
from offchain.services.notifications.notices import TOPICS

API = ROOT / "offchain" / "console" / "src" / "api"
TYPES = tuple(sorted(API.glob("*types.ts")))
_INTERFACE = re.compile(r"^export interface (\w+)(?: extends (\w+))? \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+)\??: ", re.MULTILINE)
GENERIC = {"ResourceAnswer", "Page"}
TOPICS_FILE = API.parent / "lib" / "notification_topics.ts"
RENAMED = {"ManifestErrorLine": "ManifestError"}
"""Interfaces whose names differ from those of the document, where these are taken in the console."""


def interfaces() -> dict[str, tuple[str | None, set[str]]]:
    text = "\n".join(file.read_text(encoding="utf-8") for file in TYPES)
    found = {name: (base or None, set(_FIELD.findall(body))) for name, base, body in _INTERFACE.findall(text)}
    return {name: value for name, value in found.items() if name not in GENERIC}


@pytest.mark.parametrize("name", sorted(interfaces()))
def test_a_type_of_the_console_has_fields_of_the_api(name: str) -> None:
    base, fields = interfaces()[name]
    if base is not None:
        fields |= interfaces()[base][1]
    schemas = document()["components"]["schemas"]
    schema = RENAMED.get(name, name)
    assert schema in schemas, f"the API has no answer {schema}"
    assert fields - set(schemas[schema]["properties"]) == set()


def test_the_console_offers_every_topic_of_webhooks() -> None:
    text = TOPICS_FILE.read_text(encoding="utf-8")
    assert set(re.findall(r"^  (\w+): \"", text, re.MULTILINE)) == set(TOPICS)
