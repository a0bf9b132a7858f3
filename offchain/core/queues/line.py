"""Those that wait in one part of the tree, by effective priority, then age, then number; kept while tasks come and go.

No step looks at every task: those that differ only in age stand one after the other (`Alike`), and all of one shape
are one member of the `Line`, so that a shape that fits nowhere is passed over at once. Mostly such a member is one
`Alike`; where tasks of one shape have several accounts or priorities it is a `Crowd` of them.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import TYPE_CHECKING

from offchain.core.queues.accounts import AccountHolds
from offchain.core.queues.ageing import RISEN, RISING, Ageing, Key
from offchain.core.queues.amount import Amount
from offchain.core.queues.claim import Claim
from offchain.core.queues.heaps import Heaps, Ranked
from offchain.core.queues.tree import Part

if TYPE_CHECKING:
    from offchain.core.queues.nodes import Leaf

_PASSES = 24
"""So many that cannot go are passed over one by one before all that could are looked at."""

_AGE = attrgetter("submitted_at", "id")
_WHEN = attrgetter("submitted_at")


class Shape:
    """A shape that waits somewhere. `blocked`: it fits nowhere in this round. `asleep`: nor when last tried."""

    __slots__ = ("alikes", "amount", "asleep", "blocked")

    def __init__(self, amount: Amount) -> None:
        self.amount = amount
        self.alikes: dict[Alike, None] = {}
        """Those who wait with it, anywhere."""
        self.blocked = False
        self.asleep = False


class Alike(Ranked):
    """Tasks of one shape and priority (and account, where accounts have limits), the oldest first.

    `accounts`: what the account holds of each queue that limits it. `kept`: by one of those limits.
    """

    __slots__ = ("account", "accounts", "claims", "crowd", "gone", "head", "kept", "line", "priority", "shape")

    def __init__(
        self, line: Line, shape: Shape, account: str, priority: int, accounts: tuple[AccountHolds, ...]
    ) -> None:
        self.standing_key = self.rising_key = None
        self.line = line
        self.shape = shape
        self.account = account
        self.priority = priority
        self.accounts = accounts
        self.crowd: Crowd | None = None
        self.claims: list[Claim] = []
        self.head = 0
        """Those before this place wait no more."""
        self.gone = 0
        """How many behind it wait no more."""
        self.kept = False

    def join(self, claim: Claim) -> None:
        """One more."""
        claims = self.claims
        if self.head == len(claims) or claims[-1] < claim:
            claims.append(claim)
        else:
            insort(claims, claim, lo=self.head)

    def first(self, waiting: Mapping[int, Claim]) -> Claim | None:
        """The oldest of those that still wait."""
        claims, head = self.claims, self.head
        while head < len(claims) and waiting.get(claims[head].id) is not claims[head]:
            head += 1
        self.gone = max(0, self.gone - (head - self.head))
        self.head = head
        if head > 16 and 2 * head > len(claims):
            del claims[:head]
            self.head = 0
        return claims[self.head] if self.head < len(claims) else None

    def oldest(self, waiting: Mapping[int, Claim], most: int, until_ms: int) -> list[Claim]:
        """The oldest of those that still wait, of those that came until then."""
        if not self.gone:
            claims, head = self.claims, self.head
            end = min(len(claims), head + most)
            if end > head and claims[end - 1].submitted_at > until_ms:
                end = bisect_right(claims, until_ms, lo=head, hi=end, key=_WHEN)
            return claims[head:end]
        found: list[Claim] = []
        for place in range(self.head, len(self.claims)):
            claim = self.claims[place]
            if len(found) == most or claim.submitted_at > until_ms:
                break
            if waiting.get(claim.id) is claim:
                found.append(claim)
        return found

    def leaves(self, claim: Claim, waiting: Mapping[int, Claim]) -> None:
        """One of them waits no more."""
        if claim is self.claims[self.head]:
            self.head += 1
            return
        self.gone += 1
        if self.gone > 16 and 2 * self.gone > len(self.claims) - self.head:
            self.claims = [one for one in self.claims if waiting.get(one.id) is one]
            self.head = self.gone = 0

    def leave(self, count: int, waiting: Mapping[int, Claim]) -> Claim | None:
        """So many of the oldest wait no more. Gives the first of those that do."""
        if self.gone:
            self.gone += count
        else:
            self.head += count
        return self.first(waiting)

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self.claims) - self.head - self.gone

    def stand(self, key: Key | None) -> None:
        """The first has this key now; None: there is nobody, or they are kept."""
        rising = key is not None and key[0] == RISING
        self.standing_key, self.rising_key = (None, key) if rising else (key, None)


class Crowd(Ranked):
    """Several `Alike` of one shape."""

    __slots__ = ("alikes", "heaps", "shape")

    def __init__(self, alike: Alike) -> None:
        super().__init__()
        self.shape = alike.shape
        self.alikes: dict[tuple[str, int], Alike] = {}
        self.heaps: Heaps[Alike] = Heaps()
        self.join(alike)

    def join(self, alike: Alike) -> None:
        """One more, which has its keys already."""
        alike.crowd = self
        self.alikes[alike.account, alike.priority] = alike
        self.moved(alike, None, None)

    def moved(self, alike: Alike, standing: Key | None, rising: Key | None) -> None:
        """One had these keys and may have others now."""
        self.heaps.moved(alike, standing, rising, self.alikes.values(), len(self.alikes))
        self.standing_key, self.rising_key = self.heaps.first_standing(), self.heaps.first_rising()


class Line:
    """All that wait in one part of the tree."""

    __slots__ = ("_ageing", "_heaps", "leaf", "members", "part", "together_ms")

    def __init__(self, leaf: Leaf, part: Part, ageing: Ageing) -> None:
        self.leaf = leaf
        self.part = part
        self.together_ms = ageing.together_ms
        """Tasks that came within so long of each other, and are alike, may go together."""
        self.members: dict[Shape, Alike | Crowd] = {}
        self._ageing = ageing
        self._heaps: Heaps[Alike | Crowd] = Heaps()

    def find(self, shape: Shape, account: str, priority: int) -> Alike | None:
        """Those that a task like this stands among."""
        member = self.members.get(shape)
        if isinstance(member, Crowd):
            return member.alikes.get((account, priority))
        return member if member is not None and member.priority == priority and member.account == account else None

    def take_in(self, alike: Alike) -> None:
        """A new one, in which nobody stands yet."""
        alike.shape.alikes[alike] = None
        member = self.members.get(alike.shape)
        if isinstance(member, Crowd):
            member.join(alike)
        elif member is None:
            self.members[alike.shape] = alike
        else:
            crowd = self.members[alike.shape] = Crowd(member)
            self._moved(crowd, None, None)
            crowd.join(alike)

    def drop(self, alike: Alike) -> None:
        """One in which nobody stands any more."""
        del alike.shape.alikes[alike]
        if alike.crowd is None:
            # Its entry in the heap counts no more, and is dropped when it comes up.
            alike.stand(None)
            del self.members[alike.shape]
            return
        self._stand(alike, None)
        del alike.crowd.alikes[alike.account, alike.priority]
        if not alike.crowd.alikes:
            del self.members[alike.shape]

    def alikes(self) -> Iterator[Alike]:
        """All that wait here."""
        for member in self.members.values():
            yield from member.alikes.values() if isinstance(member, Crowd) else (member,)

    def gather(
        self, shape: Shape, account: str, priority: int, accounts: tuple[AccountHolds, ...], claims: list[Claim]
    ) -> None:
        """Several alike come at once. Nobody has a place until `fill`."""
        alike = self.find(shape, account, priority) if shape in self.members else None
        if alike is None:
            alike = Alike(self, shape, account, priority, accounts)
            alike.claims = claims
            self.take_in(alike)
        else:
            alike.claims += claims

    def fill(self, now_ms: int) -> None:
        """Everybody has come: find all places. Nobody may have had one."""
        for alike in self.alikes():
            if len(alike.claims) > 1:
                alike.claims.sort(key=_AGE)
            alike.stand(self._key(alike.claims[0], now_ms))
        for member in self.members.values():
            if isinstance(member, Crowd):
                member.heaps.fill(member.alikes.values())
                member.standing_key = member.heaps.first_standing()
                member.rising_key = member.heaps.first_rising()
        self._heaps.fill(self.members.values())

    def place(self, alike: Alike, first: Claim | None, now_ms: int) -> None:
        """The first of `alike` is another one now, or is kept no more; None: there is none."""
        self._stand(alike, None if first is None or alike.kept else self._key(first, now_ms))

    def bring_back(self) -> None:
        """A new round: those that were passed over are looked at again."""
        self._heaps.bring_back()

    @property
    def passed(self) -> bool:
        """Whether somebody was passed over."""
        return bool(self._heaps.passed)

    def somebody(self) -> bool:
        """Whether somebody waits whom no limit of an account keeps, and who was not passed over."""
        return self._heaps.first_key() is not None

    def first(self, now_ms: int, room: Amount, awake: AbstractSet[Shape]) -> Alike | None:
        """Who is next, of a shape in `awake` (all that are not blocked) that there is room for."""
        self._advance(now_ms)
        while True:
            member = self._best(room, awake)
            alike = member.heaps.first() if isinstance(member, Crowd) else member
            if alike is None:
                return None
            keeper = next((one for one in alike.accounts if not one.allows(alike.shape.amount)), None)
            if keeper is None:
                return alike
            keeper.keep(alike)
            self._stand(alike, None)

    def near(self, key: Key) -> bool:
        """Whether who has this key is first here, or came so soon after whoever is that they may go together."""
        head = self._heaps.first_key()
        if head is key or head is None:
            return head is key
        most = self.together_ms
        return (
            key[2] - head[2] <= most
            and key[0] == head[0]
            and (key[1] == head[1] or (key[0] == RISING and key[1] - head[1] <= most))
        )

    def _best(self, room: Amount, awake: AbstractSet[Shape]) -> Alike | Crowd | None:
        heaps = self._heaps
        for _ in range(min(_PASSES, len(awake))):
            top = heaps.first()
            if top is None or (not top.shape.blocked and top.shape.amount.within(room)):
                return top
            heaps.pass_over()
        best: Alike | Crowd | None = None
        best_key: Key | None = None
        for member in self._awake(awake):
            key = member.key
            if key is None or member.shape.blocked or (best_key is not None and best_key < key):
                continue
            if member.shape.amount.within(room):
                best, best_key = member, key
        return best

    def _awake(self, awake: AbstractSet[Shape]) -> Iterator[Alike | Crowd]:
        """Every member that is not blocked, and perhaps others: by whichever list is shorter."""
        if len(awake) < len(self.members):
            return (self.members[shape] for shape in awake if shape in self.members)
        return iter(self.members.values())

    def _advance(self, now_ms: int) -> None:
        """Whoever has come up to the bound stands there from now on."""
        while (key := self._heaps.first_rising()) is not None and key[1] <= now_ms:
            member = self._heaps.rising[0][1]
            risen = RISEN, 0, key[2], key[3]
            if isinstance(member, Crowd):
                self._stand(member.heaps.rising[0][1], risen)
            elif member.crowd is not None:
                # An entry from before it was one of several.
                self._stand(member, risen)
            else:
                self._heaps.risen(risen)

    def _key(self, claim: Claim, now_ms: int) -> Key:
        return self._ageing.key(claim.priority, claim.submitted_at, claim.id, now_ms)

    def _stand(self, alike: Alike, key: Key | None) -> None:
        standing, rising = alike.standing_key, alike.rising_key
        if key == (standing or rising):
            return
        alike.stand(key)
        crowd = alike.crowd
        if crowd is None:
            self._moved(alike, standing, rising)
            return
        of_crowd = crowd.standing_key, crowd.rising_key
        crowd.moved(alike, standing, rising)
        self._moved(crowd, *of_crowd)

    def _moved(self, member: Alike | Crowd, standing: Key | None, rising: Key | None) -> None:
        self._heaps.moved(member, standing, rising, self.members.values(), len(self.members))
