"""Subscriptions, pending deliveries and reminders in the index database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import delete, func, select

from offchain.backoff import backoff
from offchain.core.host_anomalies import AnomalyKind, HostAnomalies
from offchain.indexer import meta
from offchain.indexer.block_rows import unpack
from offchain.indexer.database import IndexDatabase
from offchain.indexer.notification_rows import DeliveryRow, ReminderRow, SubscriptionRow
from offchain.indexer.queries import mentions_of_kinds
from offchain.indexer.rows import BlockRow, EventRow, HostRow, LeaseRow, TaskRow
from offchain.indexer.status import kept_from, last_block
from offchain.indexer.tables import TABLES, columns
from offchain.schema.durations import HOUR_MS
from offchain.services.notifications.alerts import HostAlert
from offchain.services.notifications.notices import (
    DisputeNotice,
    DropReminders,
    Effect,
    Happened,
    HostNotice,
    LeaseNotice,
    SetReminder,
    effects_of,
    notice_body,
    notice_id,
    reminder_text,
)

MOST_ATTEMPTS: Final = 10
FIRST_RETRY_MS: Final = 30_000
LONGEST_RETRY_MS: Final = HOUR_MS
MOST_PENDING: Final = 1_000
"""Deliveries that wait for one recipient; further ones are dropped."""
_MOST_EVENTS: Final = 2_000
"""Events of one step."""
_MOST_REMINDERS: Final = 500
_MOST_TENANTS: Final = 100
"""Tenants of a host that are notified."""
MAILTO: Final = "mailto:"


@dataclass(frozen=True, slots=True)
class MailSubscription:
    """An e-mail address to which the operator sends the notices of an account. `topics`: None for all."""

    account: str
    address: str
    topics: frozenset[str] | None = None


class NotificationStore:
    """Reads new events of the index and notes deliveries, in one transaction a step."""

    def __init__(self, db: IndexDatabase, mails: Sequence[MailSubscription], before_ms: int) -> None:
        """`before_ms`: how long before an end a notice is made."""
        self._db = db
        self._mails = mails
        self._before_ms = before_ms
        self._anomalies = HostAnomalies()
        self.anomalous_hosts: Mapping[AnomalyKind, int] = dict.fromkeys(AnomalyKind, 0)
        """How many hosts have each anomaly, as of the last step."""

    def step(self, now_ms: int) -> bool:
        """Note what follows from the next events and from the chain's time; return whether more events wait.

        The first step begins at the present block: nobody is notified of the past.
        """
        with self._db.transaction():
            last = last_block(self._db)
            if last is None:
                return False
            stored = meta.read_meta(self._db).get(meta.NOTIFIED_TO)
            if stored is None:
                meta.note(self._db, meta.NOTIFIED_TO, last.number)
                return False
            first = max(int(stored) + 1, kept_from(self._db))
            events, upto = self._events(first, last.number)
            for seen in events:
                for effect in (*effects_of(seen), *self._anomalies_of(seen)):
                    self._apply(effect, seen.time_ms, now_ms)
            meta.note(self._db, meta.NOTIFIED_TO, upto)
            self._remind(last.time_ms if upto == last.number else None, now_ms)
            if events:
                counted = {kind: self._anomalies.hosts_with(kind, last.time_ms) for kind in AnomalyKind}
                self.anomalous_hosts = counted
            return upto < last.number

    def take_alerts(self, alerts: Sequence[HostAlert], now_ms: int) -> int:
        """Note deliveries of alerts to the providers of their hosts; return how many alerts are about known hosts."""
        host = columns(HostRow)
        with self._db.transaction():
            last = last_block(self._db)
            names = {alert.host for alert in alerts}
            providers = {row.host: row.provider for row in self._db.rows(HostRow, host.host.in_(sorted(names)))}
            known = [alert for alert in alerts if alert.host in providers]
            for alert in known:
                about = {"host": alert.host, "alert": alert.name, "status": alert.status, "severity": alert.severity}
                time_ms = 0 if last is None else last.time_ms
                self._note(providers[alert.host], "host_alert", alert.about, alert.text, about, time_ms, now_ms)
            return len(known)

    def due(self, now_ms: int, limit: int) -> list[tuple[DeliveryRow, SubscriptionRow | None]]:
        """Return deliveries whose time has come, with their webhook; None for an e-mail."""
        delivery, subscription = columns(DeliveryRow), columns(SubscriptionRow)
        with self._db.transaction():
            statement = select(TABLES[DeliveryRow]).where(delivery.due_ms <= now_ms)
            rows = [DeliveryRow(*row) for row in self._db.execute(statement.order_by(delivery.due_ms).limit(limit))]
            names = sorted({row.recipient for row in rows})
            known = {row.id: row for row in self._db.rows(SubscriptionRow, subscription.id.in_(names))}
            kept = [row for row in rows if row.recipient in known or row.recipient.startswith(MAILTO)]
            self._remove([row for row in rows if row not in kept])  # the subscription was deleted
        return [(row, known.get(row.recipient)) for row in kept]

    def delivered(self, row: DeliveryRow) -> None:
        with self._db.transaction():
            self._remove([row])

    def failed(self, row: DeliveryRow, reason: str, now_ms: int) -> bool:
        """Note a failed attempt and why it failed; return whether there is another one."""
        attempts = row.attempts + 1
        with self._db.transaction():
            if attempts >= MOST_ATTEMPTS:
                self._remove([row])
                return False
            due_ms = now_ms + backoff(row.attempts, FIRST_RETRY_MS, LONGEST_RETRY_MS)
            self._db.upsert(DeliveryRow, [replace(row, due_ms=due_ms, attempts=attempts, failure=reason)])
            return True

    def _events(self, first: int, last: int) -> tuple[list[Happened], int]:
        """Return the events of whole blocks from `first` on, a bounded number, and the last of these blocks."""
        block = columns(BlockRow)
        upto = first - 1
        taken = 0
        for row in self._db.rows(BlockRow, block.number >= first, block.number <= last, limit=_MOST_EVENTS):
            if taken and taken + row.events > _MOST_EVENTS:
                break
            taken, upto = taken + row.events, row.number
        event = columns(EventRow)
        chosen = event.pallet.in_(("Tasks", "Leases", "Hosts", "Reputation", "Verification"))
        rows = self._db.execute(
            select(TABLES[EventRow], block.time_ms)
            .where(event.block == block.number, event.block >= first, event.block <= upto, chosen)
            .order_by(event.block, event.place)
        )
        found = [(EventRow(*row[:-1]), row[-1]) for row in rows]
        return [Happened(e.block, e.place, time, e.pallet, e.name, json.loads(e.fields)) for e, time in found], upto

    def _anomalies_of(self, seen: Happened) -> list[Effect]:
        """Return the notices of anomalies that an event begins."""
        fields, found = seen.fields, None
        if (seen.pallet, seen.name) == ("Reputation", "Scored") and isinstance(fields.get("score_ppm"), int):
            found = self._anomalies.scored(str(fields.get("host")), fields["score_ppm"], seen.time_ms)
        elif (seen.pallet, seen.name) == ("Tasks", "PodStarted") and isinstance(fields.get("lease"), int):
            for lease in self._db.rows(LeaseRow, columns(LeaseRow).lease == fields["lease"]):
                found = self._anomalies.started(lease.host, seen.time_ms - lease.assigned_ms, seen.time_ms)
        if found is None:
            return []
        return [HostNotice("host_anomaly", found.host, found.text, f"{seen.block}.{seen.place}")]

    def _apply(self, effect: Effect, time_ms: int, now_ms: int) -> None:
        reminder = columns(ReminderRow)
        match effect:
            case SetReminder(topic, lease, at_ms):
                self._db.upsert(ReminderRow, [ReminderRow(lease, topic, at_ms)])
            case DropReminders(lease):
                self._db.execute(
                    delete(TABLES[ReminderRow]).where(reminder.lease == lease, reminder.topic == "lease_ending")
                )
            case LeaseNotice(topic, lease, text, event):
                for account in self._parties(lease):
                    self._note(account, topic, event, text, {"lease": lease, "event": event}, time_ms, now_ms)
            case DisputeNotice(topic, task, accused, text, event):
                leases = self._accused(task) if accused is None else accused
                for account in sorted({one for lease in leases for one in self._parties(lease)}):
                    self._note(account, topic, event, text, {"task": task, "event": event}, time_ms, now_ms)
            case HostNotice(topic, host, text, event):
                for account in self._concerned(host, with_tenants=topic == "host_degraded"):
                    self._note(account, topic, event, text, {"host": host, "event": event}, time_ms, now_ms)

    def _remind(self, chain_ms: int | None, now_ms: int) -> None:
        """Note the notices of ends that come soon. None: the events are behind the chain, and may move ends."""
        if chain_ms is None:
            return
        reminder = columns(ReminderRow)
        soon = select(TABLES[ReminderRow]).where(reminder.at_ms <= chain_ms + self._before_ms)
        for row in [
            ReminderRow(*one) for one in self._db.execute(soon.order_by(reminder.at_ms).limit(_MOST_REMINDERS))
        ]:
            text = reminder_text(row.topic, row.lease, row.at_ms)
            for account in self._parties(row.lease):
                about = {"lease": row.lease, "at_ms": row.at_ms}
                self._note(account, row.topic, f"{row.lease}@{row.at_ms}", text, about, chain_ms, now_ms)
            self._db.execute(
                delete(TABLES[ReminderRow]).where(reminder.lease == row.lease, reminder.topic == row.topic)
            )

    def _note(
        self, account: str, topic: str, about: str, text: str, fields: Mapping[str, object], time_ms: int, now_ms: int
    ) -> None:
        """Note a delivery for each recipient of an account's notices."""
        id_ = notice_id(account, topic, about)
        body = notice_body(id_, account, topic, text, fields, time_ms)
        delivery = columns(DeliveryRow)
        for recipient in self._recipients(account, topic):
            waiting = select(func.count()).select_from(TABLES[DeliveryRow]).where(delivery.recipient == recipient)
            if self._db.execute(waiting)[0][0] < MOST_PENDING:
                self._db.upsert(DeliveryRow, [DeliveryRow(recipient, id_, now_ms, 0, body)])

    def _recipients(self, account: str, topic: str) -> list[str]:
        hooks = self._db.rows(SubscriptionRow, columns(SubscriptionRow).account == account)
        mails = [one for one in self._mails if one.account == account and (one.topics is None or topic in one.topics)]
        return [hook.id for hook in hooks if topic in hook.topics.split(",")] + [MAILTO + one.address for one in mails]

    def _parties(self, lease: int) -> list[str]:
        """Return the tenant of a lease and the provider of its host."""
        row, task, host = columns(LeaseRow), columns(TaskRow), columns(HostRow)
        found = self._db.execute(
            select(task.tenant, host.provider).where(row.lease == lease, task.task == row.task, host.host == row.host)
        )
        return sorted({account for pair in found for account in pair})

    def _accused(self, task: int) -> list[int]:
        """Return the leases that the dispute about a task accuses; none if its opening is no longer in the index."""
        opened = mentions_of_kinds(self._db, [str(task)], [("Verification", "DisputeOpened")], 1)
        return [int(lease) for one in opened for lease in unpack(one.event.fields)["accused"]]

    def _concerned(self, host: str, *, with_tenants: bool) -> list[str]:
        """Return the provider of a host, and tenants whose leases there have not ended."""
        lease, task = columns(LeaseRow), columns(TaskRow)
        providers = self._db.execute(select(columns(HostRow).provider).where(columns(HostRow).host == host))
        if not with_tenants:
            return sorted(account for (account,) in providers)
        tenants = self._db.execute(
            select(task.tenant)
            .where(lease.host == host, lease.ended_ms.is_(None), task.task == lease.task)
            .distinct()
            .limit(_MOST_TENANTS)
        )
        return sorted({account for (account,) in (*providers, *tenants)})

    def _remove(self, rows: Iterable[DeliveryRow]) -> None:
        delivery = columns(DeliveryRow)
        for row in rows:
            chosen = (delivery.recipient == row.recipient, delivery.notice == row.notice)
            self._db.execute(delete(TABLES[DeliveryRow]).where(*chosen))
