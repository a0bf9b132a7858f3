"""The notifier: follows the index and delivers notices, for `gantry worker notifier`."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offchain.adapters.metrics.definitions import MetricDefinition, MetricReading
from offchain.adapters.metrics.serving import MetricsAddress, serve_metrics
from offchain.adapters.periodic_jobs import PeriodicJobs
from offchain.clock import unix_ms
from offchain.errors import OurError
from offchain.indexer.notification_rows import DeliveryRow, SubscriptionRow
from offchain.indexer.queries import open_for_reading
from offchain.services import log
from offchain.services.notifications.alerts import AlertReceiver, HostAlert
from offchain.services.notifications.notices import Topic
from offchain.services.notifications.sending import MailSender, NotDelivered, SmtpSettings, WebhookSender
from offchain.services.notifications.store import MAILTO, MailSubscription, NotificationStore
from offchain.services.runner import run_until_stopped

P = ParamSpec("P")
T = TypeVar("T")

STEP_S: Final = 2.0
_MOST_DUE: Final = 64
_MOST_MAILS: Final = 10_000
_WRITE_LIMIT_S: Final = 10.0


class _MailEntry(BaseModel):
    """An entry of the operator's file."""

    model_config = ConfigDict(extra="forbid")
    account: str = Field(max_length=64)
    email: str = Field(max_length=254, pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+$")
    topics: list[Topic] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierSettings:
    """`index`: address of the index; `before_ms`: how long before an end its account is notified."""

    index: str
    before_ms: int
    mails: Sequence[MailSubscription] = ()
    smtp: SmtpSettings | None = None
    alerts: tuple[str, int] | None = None
    """Host and port where Alertmanager's webhooks are received; None: nowhere."""
    alerts_token: str | None = field(default=None, repr=False)
    metrics: MetricsAddress | None = None
    """Where metrics are served; None: nowhere."""


ANOMALOUS_HOSTS: Final = MetricDefinition(
    "gantry_notifier_anomalous_hosts",
    "gauge",
    "Hosts with an anomaly in the last 24 hours of the chain, by anomaly.",
    ("anomaly",),
)
METRICS: Final = (ANOMALOUS_HOSTS,)


def read_mails(path: Path) -> list[MailSubscription]:
    """Read the operator's list of e-mail addresses (YAML): account, email, topics. Raises OurError."""
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
        if not isinstance(entries, list) or len(entries) > _MOST_MAILS:
            raise OurError(f"{path} is not a list of at most {_MOST_MAILS} entries.", "Write - account: …, email: …")
        made = [_MailEntry.model_validate(entry) for entry in entries]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise OurError(f"{path} cannot be read: {error}", "Correct the file (docs/notifications.md).") from None
    return [
        MailSubscription(one.account, one.email, None if one.topics is None else frozenset(one.topics)) for one in made
    ]


class Notifier:
    """Steps of the notifier. `hooks` and `mail` deliver; None: the operator has no mail server."""

    def __init__(self, store: NotificationStore, hooks: WebhookSender, mail: MailSender | None) -> None:
        self._store = store
        self._hooks = hooks
        self._mail = mail
        self._turn = asyncio.Lock()
        """Held while the database is used."""
        self._log = log.EventLog("notifier")

    async def step(self, now_ms: int | None = None) -> None:
        """Read new events, and make one attempt of each delivery whose time has come."""
        now = unix_ms() if now_ms is None else now_ms
        while await self._stored(self._store.step, now):
            pass
        due = await self._stored(self._store.due, now, _MOST_DUE)
        done = await asyncio.gather(*(self._attempt(row, hook) for row, hook in due))
        for (row, _), reason in zip(due, done, strict=True):
            if reason is None:
                await self._stored(self._store.delivered, row)
            elif not await self._stored(self._store.failed, row, reason, now):
                self._log.warning("given_up", recipient=row.recipient, notice=row.notice, reason=reason)

    async def take_alerts(self, alerts: Sequence[HostAlert]) -> None:
        """Store the deliveries of alerts about hosts."""
        known = await self._stored(self._store.take_alerts, alerts, unix_ms())
        self._log.info("alerts", taken=known, of_unknown_hosts=len(alerts) - known)

    def readings(self) -> Iterator[MetricReading]:
        """Read the metrics of the notifier."""
        for kind, hosts in self._store.anomalous_hosts.items():
            yield ANOMALOUS_HOSTS.read(hosts, kind.value)

    async def _stored(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call the store in a thread, one call at a time."""
        async with self._turn:
            return await asyncio.to_thread(function, *arguments, **named)

    async def _attempt(self, row: DeliveryRow, hook: SubscriptionRow | None) -> str | None:
        """Return why an attempt failed; None if it succeeded."""
        try:
            if hook is not None:
                await self._hooks.send(hook.url, hook.secret, row.notice, row.body)
            elif self._mail is not None:
                await self._mail.send(row.recipient.removeprefix(MAILTO), row.notice, row.body)
            else:
                return "there is no mail server"
        except NotDelivered as error:
            return str(error)
        return None


async def run_notifier(settings: NotifierSettings) -> None:
    """Run until SIGTERM or SIGINT. Raises GantryError if the index cannot be used."""
    log.set_up()
    out = log.EventLog("notifier")
    mail = None if settings.smtp is None else MailSender(settings.smtp)
    with contextlib.closing(open_for_reading(settings.index, _WRITE_LIMIT_S)) as db:
        store = NotificationStore(db, settings.mails, settings.before_ms)
        async with WebhookSender() as hooks, contextlib.AsyncExitStack() as stack:
            notifier = Notifier(store, hooks, mail)
            await stack.enter_async_context(serve_metrics(settings.metrics, [notifier.readings]))
            if settings.alerts is not None:
                receiver = AlertReceiver(settings.alerts_token or "", notifier.take_alerts)
                out.info("alerts", url=await stack.enter_async_context(receiver.listening(*settings.alerts)))
            jobs = await stack.enter_async_context(PeriodicJobs())
            jobs.add("notifications", notifier.step, STEP_S)
            out.info("started", index=db.name, mails=len(settings.mails), pid=os.getpid())
            await run_until_stopped(_forever, out)


async def _forever() -> None:
    await asyncio.Event().wait()
