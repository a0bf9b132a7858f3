"""Rows of notifications. Gateways write subscriptions and test notices; the notifier writes all others."""

from __future__ import annotations

from dataclasses import dataclass

from offchain.indexer.rows import Row


@dataclass(frozen=True, slots=True)
class SubscriptionRow(Row):
    """A webhook of an account. `topics`: with commas between them; `secret`: the key of its signatures."""

    TABLE = "subscriptions"
    KEY = ("id",)
    INDEXES = (("account", "id"),)
    id: str
    account: str
    url: str
    topics: str
    secret: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class DeliveryRow(Row):
    """A notice that has not been delivered yet. `recipient`: id of a subscription, or `mailto:` and an address.

    `due_ms`: time of the next attempt, by the notifier's clock. `body`: JSON. `failure`: why the last attempt failed.
    """

    TABLE = "deliveries"
    KEY = ("recipient", "notice")
    INDEXES = (("due_ms",),)
    recipient: str
    notice: str
    due_ms: int
    attempts: int
    body: str
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class ReminderRow(Row):
    """The end of a lease, or of the keeping of its data: chain time of what a notice is about."""

    TABLE = "reminders"
    KEY = ("lease", "topic")
    INDEXES = (("at_ms",),)
    lease: int
    topic: str
    at_ms: int


NOTIFICATION_ROWS: tuple[type[Row], ...] = (SubscriptionRow, DeliveryRow, ReminderRow)
