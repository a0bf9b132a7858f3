"""Queue definitions: the queue tree with weights, limits and ageing, and the YAML file that defines it.

A task names its queue. It waits in `default` if the queue does not exist, has child queues, or does not admit the
task's account. In `default` every account is a child of its own, with equal weights: without any definition the
network is shared fairly between accounts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from offchain.core.scheduler.resources import UNLIMITED, ResourceAmount
from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import ManifestError
from offchain.schema.manifest.values import parse_size
from offchain.schema.manifest.yaml_section import section

ROOT: Final = ""
DEFAULT: Final = "default"

HOUR_MS: Final = 3_600_000
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


_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*", re.ASCII)
_MAX_NAME_BYTES: Final = 32
"""The chain's limit for the queue name of a task."""
_NUMBER: Final = re.compile(r"\d{1,9}(\.\d{1,6})?", re.ASCII)
_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%", re.ASCII)
_MIB: Final = 1024**2
_QUEUE_KEYS: Final = ("weight", "borrow", "most", "account_most", "ageing", "accounts")
_LIMIT_HINT: Final = "Write a part of the network, 40%, or amounts: {gpus: 8, cpus: 64, memory: 256GiB}"


class QueueFileError(ManifestError):
    """The file with queue definitions is invalid. Carries all problems in the order of their lines."""


def parse_queues(text: str, *, source: str = "queues") -> QueueTree:
    """Parse the YAML file that defines queues. `source` names the file in messages.

    Raises QueueFileError with every problem: line, field, value and hint.
    """
    reader = Reader()
    found = section(text, "queues", "examples/queues.yaml", reader)
    queues = [_queue(name, field, reader) for name, field in found.items()]
    if reader.problems:
        raise QueueFileError(source, reader.problems)
    return queue_tree(queues)


def _queue(name: str, field: Field, reader: Reader) -> QueueDefinition:
    if _NAME.fullmatch(name) is None:
        hint = "Use small letters, digits and dashes, with a slash before the part of a queue: research/vision"
        reader.problem(field, f'"{name}" is not the name of a queue', hint)
    elif len(name) > _MAX_NAME_BYTES:
        reader.problem(field, f'"{name}" is {len(name)} bytes long', f"Keep it to {_MAX_NAME_BYTES}")
    elif name.startswith(f"{DEFAULT}/"):
        reader.problem(field, f'"{name}": its parts are the accounts', f'Give the queue a name outside of "{DEFAULT}"')
    entries = {} if field.kind == "null" else reader.mapping(field, _QUEUE_KEYS, {})
    if name == DEFAULT and "accounts" in entries:
        reader.problem(entries["accounts"], f'"{DEFAULT}" is for everybody', "Remove it")
    return QueueDefinition(
        name=name,
        weight=_weight(entries.get("weight"), reader),
        borrow=reader.boolean(entries["borrow"]) is not False if "borrow" in entries else True,
        limit=_limit(entries.get("most"), reader),
        account_limit=_limit(entries.get("account_most"), reader),
        ageing=_ageing(entries.get("ageing"), reader),
        accounts=_accounts(entries.get("accounts"), reader),
    )


def _weight(field: Field | None, reader: Reader) -> float:
    weight = None if field is None else _number(field, 10**9, reader)
    if field is not None and weight == 0:
        reader.problem(field, "a weight of 0 would never be served", "Write a number above 0, or most: 0% to close it")
    return weight or 1.0


def _limit(field: Field | None, reader: Reader) -> ResourceLimit | None:
    if field is None:
        return None
    if field.kind != "map":
        fraction = reader.parsed(field, _percent, _LIMIT_HINT)
        return None if fraction is None else ResourceLimit(fraction=fraction)
    entries = reader.mapping(field, ("cpus", "memory", "gpus"), {})
    if not entries and not reader.problems:
        reader.problem(field, "it limits nothing", _LIMIT_HINT)
    cpus = _number(entries["cpus"], 10**9, reader) if "cpus" in entries else None
    gpus = _number(entries["gpus"], 10**9, reader) if "gpus" in entries else None
    memory = reader.parsed(entries["memory"], parse_size, "Write a size: 256GiB") if "memory" in entries else None
    return ResourceLimit(
        cpu_milli=None if cpus is None else round(cpus * 1000),
        memory_mib=None if memory is None else memory // _MIB,
        gpu_milli=None if gpus is None else round(gpus * 1000),
    )


def _ageing(field: Field | None, reader: Reader) -> AgeingPolicy | None:
    if field is None:
        return None
    entries = reader.mapping(field, ("per_hour", "up_to"), {})
    per_hour = _number(entries["per_hour"], 10**6, reader) if "per_hour" in entries else None
    up_to = reader.integer(entries["up_to"], 0, HIGHEST_PRIORITY) if "up_to" in entries else None
    default = AgeingPolicy()
    return AgeingPolicy(
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


def _number(field: Field, maximum: float, reader: Reader) -> float | None:
    def parse(text: str) -> float:
        if _NUMBER.fullmatch(text) is None:
            raise ValueError(f'"{text}" is not a number of 0 or more')
        if float(text) > maximum:
            raise ValueError(f"{text} is more than {maximum:g}")
        return float(text)

    return reader.parsed(field, parse, "Write a number: 2 or 0.5")


def _percent(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not a part of the network')
    if float(match[1]) > 100:
        raise ValueError(f"{text} is more than the whole network")
    return float(match[1]) / 100
