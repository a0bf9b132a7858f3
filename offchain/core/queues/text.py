"""The file that defines queues: YAML text into a tree. Every problem names line, key path, value and what to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

from pydantic import PlainValidator, ValidationInfo

from offchain.core.queues.ageing import HIGHEST_PRIORITY, Ageing
from offchain.core.queues.tree import DEFAULT, Most, Queue, Tree, tree
from offchain.schema.manifest.section import (
    Bytes,
    Entries,
    Flag,
    Items,
    Notation,
    NullAllowed,
    Section,
    Whole,
    notation,
    validate,
)
from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.values import parse_size
from offchain.schema.manifest.yaml_reader import OPERATOR_MAX, Problems, YamlValue, read_yaml

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*", re.ASCII)
_NAME_BYTES: Final = 32
"""The longest name of a queue that the chain stores with a task."""
_NUMBER: Final = re.compile(r"\d{1,9}(\.\d{1,6})?", re.ASCII)
_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%", re.ASCII)
_MIB: Final = 1024**2
_EXAMPLE: Final = "examples/queues.yaml"
_LIMIT_HINT: Final = "Write a part of the network, 40%, or amounts: {gpus: 8, cpus: 64, memory: 256GiB}"
_NUMBER_HINT: Final = "Write a number: 2 or 0.5"


class QueuesError(ManifestError):
    """The file cannot be used. `problems` has every error found, in the order of their lines."""


def parse_queues(text: str, *, source: str = "queues") -> Tree:
    """Return the tree that a file defines. Raise QueuesError with every problem; `source` names the file."""
    problems = Problems()
    root = read_yaml(text, problems, _EXAMPLE, bound=OPERATOR_MAX)
    file = validate(QueuesFile, root, problems) if root is not None else None
    if file is None or problems.found:
        raise QueuesError(source, problems.found)
    return tree([(section or QueueSection.model_construct()).queue(name) for name, section in file.queues.items()])


def _number(limit: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if _NUMBER.fullmatch(text) is None:
            raise ValueError(f'"{text}" is not a number of 0 or more')
        if float(text) > limit:
            raise ValueError(f"{text} is more than {limit:g}")
        return float(text)

    return parse


def _weight(text: str) -> float:
    weight = _number(10**9)(text)
    if not weight:
        raise ValueError("a weight of 0 would never be served")
    return weight


def _part(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not a part of the network')
    if float(match[1]) > 100:
        raise ValueError(f"{text} is more than the whole network")
    return float(match[1]) / 100


Amount = Annotated[float | None, Notation(_number(10**9), _NUMBER_HINT)]


class LimitSection(Section):
    cpus: Amount = None
    memory: Annotated[int | None, Notation(parse_size, "Write a size: 256GiB")] = None
    gpus: Amount = None

    def check(self, problems: Problems) -> None:
        if not self.written and not problems.has(self.place()):
            problems.add(self.place(), "it limits nothing", _LIMIT_HINT)


def _read_limit(value: YamlValue, info: ValidationInfo) -> Most:
    if not value.is_mapping:
        return Most(part=notation(value, _part, _LIMIT_HINT))
    section = LimitSection.model_validate(value, context=info.context)
    return Most(
        cpu_milli=None if section.cpus is None else round(section.cpus * 1000),
        memory_mib=None if section.memory is None else section.memory // _MIB,
        gpu_milli=None if section.gpus is None else round(section.gpus * 1000),
    )


class AgeingSection(Section):
    """How waiting tasks gain priority."""

    per_hour: Annotated[float, Notation(_number(10**6), _NUMBER_HINT)] = Ageing().per_hour
    up_to: Annotated[int, Whole(0, HIGHEST_PRIORITY)] = Ageing().up_to


class QueueSection(Section):
    weight: Annotated[float, Notation(_weight, "Write a number above 0, or most: 0% to close it")] = 1.0
    borrow: Flag = True
    most: Annotated[Any, PlainValidator(_read_limit)] = None
    account_most: Annotated[Any, PlainValidator(_read_limit)] = None
    ageing: AgeingSection | None = None
    accounts: Annotated[tuple[Annotated[str, Bytes(64)], ...], Items()] = ()

    def check(self, problems: Problems) -> None:
        at = self.place("accounts")
        if "accounts" in self.written and not self.accounts and not problems.has(at):
            problems.add(at, "nobody may use the queue", "Name an account, or remove the key: then everybody may")

    def queue(self, name: str) -> Queue:
        ageing = None if self.ageing is None else Ageing(self.ageing.per_hour, self.ageing.up_to)
        accounts = frozenset(self.accounts)
        return Queue(name, self.weight, self.borrow, self.most, self.account_most, ageing, accounts)


class QueuesFile(Section):
    required: ClassVar = {"queues": f"Start from {_EXAMPLE}"}
    queues: Annotated[dict[str, Annotated[QueueSection | None, NullAllowed]], Entries] = {}  # noqa: RUF012

    def check(self, problems: Problems) -> None:
        at = self.place("queues")
        entries = problems.entries(at) if at.is_mapping and "queues" in self.written else {}
        for name, entry in entries.items():
            if _NAME.fullmatch(name) is None:
                hint = "Use small letters, digits and dashes, with a slash before the part of a queue: research/vision"
                problems.add(entry, f'"{name}" is not the name of a queue', hint)
            elif len(name) > _NAME_BYTES:
                problems.add(entry, f'"{name}" is {len(name)} bytes long', f"Keep it to {_NAME_BYTES}")
            elif name.startswith(f"{DEFAULT}/"):
                hint = f'Give the queue a name outside of "{DEFAULT}"'
                problems.add(entry, f'"{name}": its parts are the accounts', hint)
        default = self.queues.get(DEFAULT)
        if default is not None and "accounts" in default.written:
            problems.add(default.place("accounts"), f'"{DEFAULT}" is for everybody', "Remove it")
