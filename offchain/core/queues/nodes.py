"""The tree at work: what each queue holds, which of its parts is next."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush, heapreplace

from offchain.core.queues.ageing import Ageing
from offchain.core.queues.amount import NOTHING, Amount
from offchain.core.queues.line import Line, Shape
from offchain.core.queues.share import ALL_RESOURCES, dominant_share
from offchain.core.queues.tree import Part

_SLACK = 16
_FEW = 8
"""To sort so many times as many entries anew is less work than to enter them one by one."""

NEVER = -1
"""When a part was last served that never was."""


class Node:
    """A queue, or an account in `default`. `limit`: what it may hold; None: whatever there is."""

    __slots__ = ("aside", "entry", "held", "limit", "name", "parent", "served", "weight")

    def __init__(self, name: str, weight: float, parent: Branch | None) -> None:
        self.name = name
        self.weight = weight
        self.parent = parent
        self.held = NOTHING
        self.limit: Amount | None = None
        self.served = NEVER
        self.aside = False
        """Whether nothing of it can go any more in this round."""
        self.entry: Entry | None = None
        """Its place among its siblings; None: nobody there could go."""
        if parent is not None:
            parent.parts[name] = self

    def __lt__(self, other: Node) -> bool:
        """Entries that are alike are of the same node."""
        return False

    def ready(self) -> bool:
        """Whether somebody waits here who may go."""
        raise NotImplementedError

    def share(self, totals: Amount) -> float:
        """The share by which it is compared with its siblings, before its weight."""
        raise NotImplementedError

    def room(self, room: Amount) -> Amount:
        """What its limit leaves of the room that those above leave."""
        return room if self.limit is None else room.at_most(self.limit.minus(self.held))

    def serve(self, when_ms: int) -> None:
        """A task of it was placed then."""
        node: Node | None = self
        while node is not None:
            node.served = max(node.served, when_ms)
            node = node.parent

    def settle(self, totals: Amount) -> None:
        """Find its place among its siblings again, and the places of all above it."""
        node: Node = self
        while node.parent is not None:
            node.settle_here(totals)
            node = node.parent

    def settle_here(self, totals: Amount) -> None:
        """Find its own place alone. It must not be the root."""
        if self.parent is not None and self.ready() and not self.aside:
            old = self.entry
            self.entry = (self.share(totals) / self.weight, self.served, self.name, self)
            self.parent.enter(self.entry, old)
        else:
            self.entry = None


Entry = tuple[float, int, str, Node]
"""Share by weight, when it was last served, name: the least is next."""


class Leaf(Node):
    """A part of the tree in which tasks wait."""

    __slots__ = ("line",)

    def __init__(self, part: Part, weight: float, parent: Branch, ageing: Ageing) -> None:
        super().__init__(part.account or part.queue, weight, parent)
        self.line = Line(self, part, ageing)

    def ready(self) -> bool:
        """Whether somebody waits whom no limit of an account holds."""
        return self.line.somebody()

    def share(self, totals: Amount) -> float:
        """Its dominant share."""
        return dominant_share(self.held, totals)

    def renew(self, totals: Amount) -> Entry | None:
        """Its place, of which its parent is still to be told: :meth:`Branch.enter_all`."""
        if self.aside or not self.line.somebody():
            self.entry = None
        else:
            self.entry = (dominant_share(self.held, totals) / self.weight, self.served, self.name, self)
        return self.entry


class Branch(Node):
    """A queue with parts.

    `waits`: how many wait in all of it, by shape. `asking`: by resource, how many of those
    shapes ask for it and are not asleep.
    """

    __slots__ = ("asking", "heap", "parts", "waits", "witness")

    def __init__(self, name: str, weight: float, parent: Branch | None) -> None:
        self.parts: dict[str, Node] = {}
        self.heap: list[Entry] = []
        self.waits: dict[Shape, int] = {}
        self.asking = [0, 0, 0]
        self.witness: Shape | None = None
        super().__init__(name, weight, parent)

    def ready(self) -> bool:
        """Whether one of its parts is."""
        return self.next_part() is not None

    def share(self, totals: Amount) -> float:
        """Its dominant share in the resources asked for by what can be served; in all where nothing can."""
        asking = self.asking
        counted = [count > 0 for count in asking] if asking[0] or asking[1] or asking[2] else ALL_RESOURCES
        return dominant_share(self.held, totals, counted)

    def next_part(self) -> Node | None:
        """The part that is next."""
        heap = self.heap
        while heap:
            if heap[0][3].entry is heap[0]:
                return heap[0][3]
            heappop(heap)
        return None

    def enter(self, entry: Entry, old: Entry | None) -> None:
        """A part has this place now, and has noted it. It had the old one."""
        if old is not None and self.heap and self.heap[0] is old:
            heapreplace(self.heap, entry)
        else:
            heappush(self.heap, entry)
        if len(self.heap) > 2 * len(self.parts) + _SLACK:
            self._fill()

    def enter_all(self, entries: Sequence[Entry]) -> None:
        """Parts have these places now, and have noted them."""
        if _FEW * len(entries) > len(self.parts):
            self._fill()
            return
        for entry in entries:
            self.enter(entry, None)

    def _fill(self) -> None:
        self.heap = [part.entry for part in self.parts.values() if part.entry is not None]
        heapify(self.heap)

    def can_serve(self, room: Amount, awake: AbstractSet[Shape]) -> bool:
        """Whether a shape waits here that is in `awake` (those that are not blocked) and that there is room for."""
        waits, witness = self.waits, self.witness
        if witness is not None and not witness.blocked and witness in waits and witness.amount.within(room):
            return True
        fewer = (shape for shape in awake if shape in waits) if len(awake) < len(waits) else iter(waits)
        self.witness = next((shape for shape in fewer if not shape.blocked and shape.amount.within(room)), None)
        return self.witness is not None

    def comes(self, shape: Shape, count: int) -> None:
        """So many more of a shape wait here."""
        before = self.waits.get(shape, 0)
        self.waits[shape] = before + count
        if not before and not shape.asleep:
            self.ask(shape, 1)

    def goes(self, shape: Shape, count: int = 1) -> None:
        """So many of a shape wait here no more."""
        left = self.waits[shape] - count
        if left:
            self.waits[shape] = left
            return
        del self.waits[shape]
        if not shape.asleep:
            self.ask(shape, -1)

    def ask(self, shape: Shape, count: int) -> None:
        """One shape more, or one less, asks for its resources."""
        for resource in range(3):
            if shape.amount[resource]:
                self.asking[resource] += count
