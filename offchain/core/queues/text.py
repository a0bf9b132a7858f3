"""The file that defines queues: YAML text into a tree, with every problem told by line, field, value and remedy."""

from __future__ import annotations

import re
from typing import Final

from offchain.core.queues.ageing import HIGHEST_PRIORITY, Ageing
from offchain.core.queues.tree import DEFAULT, Most, Queue, Tree, tree
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.values import parse_size
from offchain.schema.manifest.yaml_section import section

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*", re.ASCII)
_NAME_BYTES: Final = 32
"""So long may the name be that a task on the chain has room for."""
_NUMBER: Final = re.compile(r"\d{1,9}(\.\d{1,6})?", re.ASCII)
_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%", re.ASCII)
_MIB: Final = 1024**2
_QUEUE_KEYS: Final = ("weight", "borrow", "most", "account_most", "ageing", "accounts")
_MOST_REMEDY: Final = "Write a part of the network, 40%, or amounts: {gpus: 8, cpus: 64, memory: 256GiB}"


class QueuesError(ManifestError):
    """The file cannot be used. Carries every problem found, in the order of their lines."""


def parse_queues(text: str, *, source: str = "queues") -> Tree:
    """The tree that a file defines. Raises QueuesError with every problem; `source` names the file in messages."""
    reader = Reader()
    found = section(text, "queues", "examples/queues.yaml", reader)
    queues = [_queue(name, field, reader) for name, field in found.items()]
    if reader.problems:
        raise QueuesError(source, reader.problems)
    return tree(queues)


def _queue(name: str, field: Field, reader: Reader) -> Queue:
    if _NAME.fullmatch(name) is None:
        remedy = "Use small letters, digits and dashes, with a slash before the part of a queue: research/vision"
        reader.problem(field, f'"{name}" is not the name of a queue', remedy)
    elif len(name) > _NAME_BYTES:
        reader.problem(field, f'"{name}" is {len(name)} bytes long', f"Keep it to {_NAME_BYTES}")
    elif name.startswith(f"{DEFAULT}/"):
        reader.problem(field, f'"{name}": its parts are the accounts', f'Give the queue a name outside of "{DEFAULT}"')
    entries = {} if field.kind == "null" else reader.mapping(field, _QUEUE_KEYS, {})
    if name == DEFAULT and "accounts" in entries:
        reader.problem(entries["accounts"], f'"{DEFAULT}" is for everybody', "Remove it")
    return Queue(
        name=name,
        weight=_weight(entries.get("weight"), reader),
        borrow=reader.boolean(entries["borrow"]) is not False if "borrow" in entries else True,
        most=_most(entries.get("most"), reader),
        account_most=_most(entries.get("account_most"), reader),
        ageing=_ageing(entries.get("ageing"), reader),
        accounts=_accounts(entries.get("accounts"), reader),
    )


def _weight(field: Field | None, reader: Reader) -> float:
    weight = None if field is None else _number(field, 10**9, reader)
    if field is not None and weight == 0:
        reader.problem(field, "a weight of 0 would never be served", "Write a number above 0, or most: 0% to close it")
    return weight or 1.0


def _most(field: Field | None, reader: Reader) -> Most | None:
    if field is None:
        return None
    if field.kind != "map":
        part = reader.parsed(field, _percent, _MOST_REMEDY)
        return None if part is None else Most(part=part)
    entries = reader.mapping(field, ("cpus", "memory", "gpus"), {})
    if not entries and not reader.problems:
        reader.problem(field, "it limits nothing", _MOST_REMEDY)
    cpus = _number(entries["cpus"], 10**9, reader) if "cpus" in entries else None
    gpus = _number(entries["gpus"], 10**9, reader) if "gpus" in entries else None
    memory = reader.parsed(entries["memory"], parse_size, "Write a size: 256GiB") if "memory" in entries else None
    return Most(
        cpu_milli=None if cpus is None else round(cpus * 1000),
        memory_mib=None if memory is None else memory // _MIB,
        gpu_milli=None if gpus is None else round(gpus * 1000),
    )


def _ageing(field: Field | None, reader: Reader) -> Ageing | None:
    if field is None:
        return None
    entries = reader.mapping(field, ("per_hour", "up_to"), {})
    per_hour = _number(entries["per_hour"], 10**6, reader) if "per_hour" in entries else None
    up_to = reader.integer(entries["up_to"], 0, HIGHEST_PRIORITY) if "up_to" in entries else None
    default = Ageing()
    return Ageing(
        per_hour=default.per_hour if per_hour is None else per_hour,
        up_to=default.up_to if up_to is None else up_to,
    )


def _accounts(field: Field | None, reader: Reader) -> frozenset[str]:
    if field is None:
        return frozenset()
    items = reader.sequence(field)
    if not items and not reader.problems:
        reader.problem(field, "nobody may use the queue", "Name an account, or remove the key: then everybody may")
    return frozenset(text for item in items if (text := reader.text(item, max_bytes=64)) is not None)


def _number(field: Field, most: float, reader: Reader) -> float | None:
    def parse(text: str) -> float:
        if _NUMBER.fullmatch(text) is None:
            raise ValueError(f'"{text}" is not a number of 0 or more')
        if float(text) > most:
            raise ValueError(f"{text} is more than {most:g}")
        return float(text)

    return reader.parsed(field, parse, "Write a number: 2 or 0.5")


def _percent(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not a part of the network')
    if float(match[1]) > 100:
        raise ValueError(f"{text} is more than the whole network")
    return float(match[1]) / 100
