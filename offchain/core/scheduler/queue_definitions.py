"""Queue definitions: the queue tree with weights, limits and ageing, and the YAML file that defines it.

A task names its queue. It waits in `default` if the queue does not exist, has child queues, or does not admit the
task's account. In `default` every account is a child of its own, with equal weights: without any definition the
network is shared fairly between accounts.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar, Final, NamedTuple

from pydantic import PlainValidator, ValidationInfo

from offchain.core.scheduler.pod_request import UNLIMITED, ResourceAmount
from offchain.schema.durations import HOUR_MS
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

ROOT: Final = ""
DEFAULT: Final = "default"

HIGHEST_PRIORITY: Final = 255
MAX_BATCH_WINDOW_MS: Final = HOUR_MS // 10
"""Tasks submitted within this time count as submitted together, however slowly they age."""

ABOVE_CEILING: Final = 0
AT_CEILING: Final = 1
BELOW_CEILING: Final = 2
"""The ranks of tasks in a queue, by their effective priority: above, at and below the ceiling of ageing."""


@dataclass(frozen=True, slots=True)
class AgeingPolicy:
    """Priority that a task gains per hour of waiting, up to the ceiling `up_to`; 0 per hour disables ageing.

    effective = max(priority, min(up_to, priority + per_hour * hours waited))

    Ageing prevents starvation behind tasks of higher priority. Tasks above the ceiling are ordered by their own
    priority, tasks at the ceiling by age, tasks below it by the time at which they will reach it, which is the order of
    their effective priorities at any time. A task changes its rank once, at a time that is known when it is submitted.
    """

    per_hour: float = 10.0
    up_to: int = HIGHEST_PRIORITY

    @property
    def batch_window_ms(self) -> int:
        """The time in which no task gains a whole point of priority."""
        return int(min(MAX_BATCH_WINDOW_MS, HOUR_MS / self.per_hour)) if self.per_hour else MAX_BATCH_WINDOW_MS

    def ageing_ms(self, priority: int) -> int:
        """Return the time from submission to the ceiling; -1 - priority for a task that does not age."""
        if priority > self.up_to or not self.per_hour:
            return -1 - priority
        return math.ceil((self.up_to - priority) * HOUR_MS / self.per_hour)

    def effective_priority(self, priority: int, submitted_at: int, now_ms: int) -> float:
        gained = self.per_hour * max(0, now_ms - submitted_at) / HOUR_MS
        return max(float(priority), min(float(self.up_to), priority + gained))


class QueueLeaf(NamedTuple):
    """Where tasks wait in one line: a queue without child queues, or one account in `default` (else empty)."""

    queue: str
    account: str = ""


@dataclass(frozen=True, slots=True)
class ResourceLimit:
    """A hard limit: a fraction of the network (0 to 1) and absolute amounts. None does not limit."""

    fraction: float | None = None
    cpu_milli: int | None = None
    memory_mib: int | None = None
    gpu_milli: int | None = None

    def of(self, totals: ResourceAmount) -> ResourceAmount:
        """Return the limit as an amount, in a network with these totals."""
        whole = UNLIMITED if self.fraction is None else totals.scaled(self.fraction)
        absolute = (self.cpu_milli, self.memory_mib, self.gpu_milli)
        return whole.minimum(ResourceAmount(*(UNLIMITED[0] if one is None else one for one in absolute)))


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """The definition of one queue.

    `weight`: its share among its siblings. `borrow`: it may use more than its share while others leave it unused.
    `limit`: the most that it may use. `account_limit`: the most that one account may use in it and its descendants.
    `ageing` is inherited by child queues without their own. `accounts` may use it and its descendants; empty: all.
    """

    name: str
    weight: float = 1.0
    borrow: bool = True
    limit: ResourceLimit | None = None
    account_limit: ResourceLimit | None = None
    ageing: AgeingPolicy | None = None
    accounts: frozenset[str] = frozenset()

    @property
    def parent(self) -> str:
        """The name of the parent queue; the root's is empty."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class QueueTree:
    """All queues by name, parents before children; the root and `default` always exist."""

    queues: Mapping[str, QueueDefinition]
    children: Mapping[str, tuple[str, ...]] = field(init=False)
    """[queue]: the names of its child queues, for queues that have any."""

    def __post_init__(self) -> None:
        """Reject an incomplete tree: :func:`queue_tree` completes one."""
        children: dict[str, list[str]] = {ROOT: []}
        for name, queue in self.queues.items():
            if name != queue.name or (name and queue.parent not in self.queues):
                raise ValueError(f'queue "{name}" has no place in the tree')
            if name:
                children.setdefault(queue.parent, []).append(name)
        if DEFAULT not in self.queues or DEFAULT in children or ROOT not in self.queues:
            raise ValueError(f'there must be a queue "{DEFAULT}", without child queues')
        object.__setattr__(self, "children", {name: tuple(found) for name, found in children.items()})

    def digest(self) -> bytes:
        """Return the SHA-256 of the definitions as canonical JSON.

        Two trees have the same digest if and only if they order tasks by the same definitions.
        """
        definitions = [asdict(queue) | {"accounts": sorted(queue.accounts)} for _, queue in sorted(self.queues.items())]
        return hashlib.sha256(json.dumps(definitions, sort_keys=True, separators=(",", ":")).encode()).digest()

    def leaf_of(self, queue: str, account: str) -> QueueLeaf:
        """Return where a task of this account waits that names this queue."""
        is_leaf = queue not in (ROOT, DEFAULT) and queue in self.queues and queue not in self.children
        if is_leaf and all(not one.accounts or account in one.accounts for one in self.path(queue)):
            return QueueLeaf(queue)
        return QueueLeaf(DEFAULT, account)

    def path(self, queue: str) -> tuple[QueueDefinition, ...]:
        """Return the queue and its ancestors, up to the root."""
        found = [self.queues[queue]]
        while found[-1].name:
            found.append(self.queues[found[-1].parent])
        return tuple(found)

    def ageing(self, queue: str) -> AgeingPolicy:
        """Return the ageing policy of a queue, its own or inherited."""
        return next((one.ageing for one in self.path(queue) if one.ageing is not None), AgeingPolicy())

    def nominal_share(self, queue: str) -> float:
        """Return the fraction of the network that a queue gets by weight if all queues use all they can get."""
        share = 1.0
        for one in self.path(queue):
            if one.name:
                share *= one.weight / sum(self.queues[name].weight for name in self.children[one.parent])
        return share

    def limit_of(self, queue: str, totals: ResourceAmount) -> ResourceAmount | None:
        """Return the most that a queue may use: its limit, and its nominal share if it may not borrow; None: all."""
        defined = self.queues[queue]
        if defined.borrow and defined.limit is None:
            return None
        limit = UNLIMITED if defined.limit is None else defined.limit.of(totals)
        return limit if defined.borrow else limit.minimum(totals.scaled(self.nominal_share(queue)))


def queue_tree(queues: Iterable[QueueDefinition] = ()) -> QueueTree:
    """Build the tree of these queues; missing ancestors and `default` are added with default settings."""
    defined = {queue.name: queue for queue in queues}
    found: dict[str, QueueDefinition] = {ROOT: QueueDefinition(ROOT)}
    for name in (*defined, DEFAULT):
        steps = name.split("/")
        for depth in range(1, len(steps) + 1):
            ancestor = "/".join(steps[:depth])
            found.setdefault(ancestor, defined.get(ancestor) or QueueDefinition(ancestor))
    return QueueTree(found)


EQUAL_SHARES: Final = queue_tree()
"""The tree without any definition: one queue, in which every account has the same weight."""


_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*", re.ASCII)
_MAX_NAME_BYTES: Final = 32
"""The longest name of a queue that the chain stores with a task."""
_NUMBER: Final = re.compile(r"\d{1,9}(\.\d{1,6})?", re.ASCII)
_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%", re.ASCII)
_MIB: Final = 1024**2
_EXAMPLE: Final = "examples/queues.yaml"
_LIMIT_HINT: Final = "Write a part of the network, 40%, or amounts: {gpus: 8, cpus: 64, memory: 256GiB}"
_NUMBER_HINT: Final = "Write a number: 2 or 0.5"


class QueueFileError(ManifestError):
    """The file cannot be used. `problems` has every error found, in the order of their lines."""


def parse_queues(text: str, *, source: str = "queues") -> QueueTree:
    """Return the tree that a file defines. Raise QueueFileError with every problem; `source` names the file."""
    problems = Problems()
    root = read_yaml(text, problems, _EXAMPLE, bound=OPERATOR_MAX)
    file = validate(QueuesFile, root, problems) if root is not None else None
    if file is None or problems.found:
        raise QueueFileError(source, problems.found)
    return queue_tree(
        [(section or QueueSection.model_construct()).queue(name) for name, section in file.queues.items()]
    )


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


Quantity = Annotated[float | None, Notation(_number(10**9), _NUMBER_HINT)]


class LimitSection(Section):
    cpus: Quantity = None
    memory: Annotated[int | None, Notation(parse_size, "Write a size: 256GiB")] = None
    gpus: Quantity = None

    def check(self, problems: Problems) -> None:
        if not self.written and not problems.has(self.place()):
            problems.add(self.place(), "it limits nothing", _LIMIT_HINT)


def _read_limit(value: YamlValue, info: ValidationInfo) -> ResourceLimit:
    if not value.is_mapping:
        return ResourceLimit(fraction=notation(value, _part, _LIMIT_HINT))
    section = LimitSection.model_validate(value, context=info.context)
    return ResourceLimit(
        cpu_milli=None if section.cpus is None else round(section.cpus * 1000),
        memory_mib=None if section.memory is None else section.memory // _MIB,
        gpu_milli=None if section.gpus is None else round(section.gpus * 1000),
    )


class AgeingSection(Section):
    """How waiting tasks gain priority."""

    per_hour: Annotated[float, Notation(_number(10**6), _NUMBER_HINT)] = AgeingPolicy().per_hour
    up_to: Annotated[int, Whole(0, HIGHEST_PRIORITY)] = AgeingPolicy().up_to


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

    def queue(self, name: str) -> QueueDefinition:
        ageing = None if self.ageing is None else AgeingPolicy(self.ageing.per_hour, self.ageing.up_to)
        accounts = frozenset(self.accounts)
        return QueueDefinition(name, self.weight, self.borrow, self.most, self.account_most, ageing, accounts)


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
            elif len(name) > _MAX_NAME_BYTES:
                problems.add(entry, f'"{name}" is {len(name)} bytes long', f"Keep it to {_MAX_NAME_BYTES}")
            elif name.startswith(f"{DEFAULT}/"):
                hint = f'Give the queue a name outside of "{DEFAULT}"'
                problems.add(entry, f'"{name}": its parts are the accounts', hint)
        default = self.queues.get(DEFAULT)
        if default is not None and "accounts" in default.written:
            problems.add(default.place("accounts"), f'"{DEFAULT}" is for everybody', "Remove it")
