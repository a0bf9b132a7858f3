"""Notices from events to a real HTTP server and a real mail server, on SQLite and PostgreSQL."""

import contextlib
import io
import json

import aiohttp
import pytest
from sqlalchemy import delete

from offchain.indexer.notification_rows import DeliveryRow, ReminderRow, SubscriptionRow
from offchain.indexer.rows import BlockRow, EventRow, HostRow, LeaseRow, MentionRow, TaskRow
from offchain.indexer.tables import TABLES
from offchain.schema.durations import HOUR_MS
from offchain.services.notifications.alerts import AlertReceiver
from offchain.services.notifications.notices import notice_of_test
from offchain.services.notifications.sending import (
    NOTICE_ID,
    SIGNATURE,
    MailSender,
    SmtpSettings,
    WebhookSender,
    signature,
)
from offchain.services.notifications.service import Notifier
from offchain.services.notifications.store import FIRST_RETRY_MS, MOST_ATTEMPTS, MailSubscription, NotificationStore
from tests.support.history_blocks import History
from tests.support.index_rig import opened
from tests.support.smtp_server import mail_server
from tests.support.webhook_receiver import webhook_receiver


@pytest.fixture
async def receiver():
    async with webhook_receiver() as made:
        yield made


class Chain:
    """An index to which blocks with events are added."""

    def __init__(self, db):
        self.db = db
        self.lease = next(row for row in db.rows(LeaseRow) if row.ended_ms is None)
        (task,) = [row for row in db.rows(TaskRow) if row.task == self.lease.task]
        (host,) = [row for row in db.rows(HostRow) if row.host == self.lease.host]
        self.tenant, self.provider = task.tenant, host.provider

    @property
    def last(self):
        return self.db.rows(BlockRow, newest=1)[0]

    def emit(self, *events):
        last, number = self.last, self.last.number + 1
        block = BlockRow(number, f"0x{number:064x}", last.hash, last.time_ms + 2000, 0, len(events))
        rows = [
            EventRow(number, place, None, pallet, name, json.dumps(fields), None)
            for place, (pallet, name, fields) in enumerate(events)
        ]
        with self.db.transaction():
            self.db.insert(BlockRow, [block])
            self.db.insert(EventRow, rows)
            named = [(row, json.loads(row.fields).get("task")) for row in rows]
            mentions = [MentionRow(str(task), row.block, row.place) for row, task in named if task is not None]
            self.db.insert(MentionRow, mentions)

    def subscribe(self, account, url, topics="lease_ended,lease_ending,host_degraded", id_="0" * 16):
        with self.db.transaction():
            self.db.insert(SubscriptionRow, [SubscriptionRow(id_, account, url, topics, "key", 1)])


@pytest.fixture
def chain(address):
    db, index = opened(address)
    index.add(list(History(7).blocks(20)))
    yield Chain(db)
    db.close()


@contextlib.asynccontextmanager
async def notifying(chain, mails=(), smtp_port=None, **options):
    store = NotificationStore(chain.db, mails, 6 * HOUR_MS)
    mail = None
    if smtp_port is not None:
        mail = MailSender(SmtpSettings(host="127.0.0.1", port=smtp_port, sender="gantry@example.org"))
    async with WebhookSender(**{"public_only": False} | options) as hooks:
        notifier = Notifier(store, hooks, mail)
        await notifier.step(0)  # begins at the present block
        yield notifier


def ended(chain, reason="DurationExceeded"):
    fields = {"task": chain.lease.task, "lease": chain.lease.lease, "reason": reason, "bills": []}
    return ("Tasks", "LeaseEnded", fields)


async def test_a_signed_notice_is_delivered_once(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url + "/hook")
    async with notifying(chain) as notifier:
        chain.emit(ended(chain))
        await notifier.step(1000)
        await notifier.step(2000)
    ((headers, body),) = receiver.got
    found = json.loads(body)
    assert (found["topic"], found["account"], found["lease"]) == ("lease_ended", chain.tenant, chain.lease.lease)
    assert headers[NOTICE_ID] == found["id"]
    time_s = int(headers[SIGNATURE].partition(",")[0].removeprefix("t="))
    assert headers[SIGNATURE] == signature("key", body, time_s)
    assert chain.db.rows(DeliveryRow) == []


async def test_only_chosen_topics_and_the_account_s_own_leases(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url, topics="pod_moved")
    chain.subscribe("5Stranger", receiver.url, id_="1" * 16)
    async with notifying(chain) as notifier:
        chain.emit(ended(chain))
        await notifier.step(1000)
    assert receiver.got == []


async def test_failures_are_repeated_later_with_the_same_id_and_given_up_at_last(chain, receiver):
    receiver.status = 500
    chain.subscribe(chain.tenant, receiver.url)
    now = 1000
    async with notifying(chain) as notifier:
        chain.emit(ended(chain))
        await notifier.step(now)
        await notifier.step(now + FIRST_RETRY_MS - 1)
        assert len(receiver.got) == 1
        for _ in range(MOST_ATTEMPTS):
            now += 10 * HOUR_MS
            await notifier.step(now)
    assert len(receiver.got) == MOST_ATTEMPTS
    assert len({headers[NOTICE_ID] for headers, _ in receiver.got}) == 1
    assert chain.db.rows(DeliveryRow) == []


async def test_redirects_are_not_followed(chain, receiver):
    receiver.status = 307
    chain.subscribe(chain.tenant, receiver.url)
    async with notifying(chain) as notifier:
        chain.emit(ended(chain))
        await notifier.step(1000)
    assert len(receiver.got) == 1
    assert [(row.attempts, row.failure) for row in chain.db.rows(DeliveryRow)] == [
        (1, "the receiver answered with status 307")
    ]


async def test_a_test_notice_of_a_gateway_is_signed_and_delivered_whatever_the_topics_are(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url, topics="pod_moved")
    notice, body = notice_of_test(chain.tenant, "0" * 16, 1)
    with chain.db.transaction():
        chain.db.insert(DeliveryRow, [DeliveryRow("0" * 16, notice, 1, 0, body)])
    async with notifying(chain) as notifier:
        await notifier.step(1000)
    ((headers, got),) = receiver.got
    time_s = int(headers[SIGNATURE].partition(",")[0].removeprefix("t="))
    assert (got.decode(), headers[NOTICE_ID]) == (body, notice)
    assert headers[SIGNATURE] == signature("key", got, time_s)
    assert chain.db.rows(DeliveryRow) == []


async def test_a_notice_survives_a_restart_before_its_delivery(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url)
    async with notifying(chain):
        chain.emit(ended(chain))
    store = NotificationStore(chain.db, [], 0)
    while store.step(1000):
        pass
    async with notifying(chain):
        pass
    # The step of the new process, at time 0, found nothing due; at its time the notice is delivered.
    async with notifying(chain) as notifier:
        await notifier.step(1000)
    assert len(receiver.got) == 1


async def test_a_dispute_is_told_to_both_sides_of_the_accused_lease_until_it_is_over(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url + "/tenant", topics="lease_disputed")
    chain.subscribe(chain.provider, receiver.url + "/provider", topics="lease_disputed", id_="1" * 16)
    chain.subscribe("5Stranger", receiver.url, topics="lease_disputed", id_="2" * 16)
    task = chain.lease.task
    opened = {
        "task": task,
        "by": chain.tenant,
        "accused": [chain.lease.lease],
        "stake": 1,
        "evidence": "0x",
        "until": 1,
    }
    async with notifying(chain) as notifier:
        chain.emit(("Verification", "DisputeOpened", opened))
        await notifier.step(1000)
        chain.emit(("Verification", "DisputeDecided", {"task": task, "level": 0, "verdict": "Yes", "appeal_until": 9}))
        chain.emit(("Verification", "DisputeClosed", {"task": task, "outcome": "Upheld"}))
        await notifier.step(2000)
    told = [json.loads(body) for _, body in receiver.got]
    assert {(one["account"], one["task"]) for one in told} == {(chain.tenant, task), (chain.provider, task)}
    texts = [one["text"] for one in told if one["account"] == chain.provider]
    assert len(told) == 2 * len(texts) == 6
    for step in ("name evidence until", "can appeal until", "is over: upheld"):
        assert sum(step in text for text in texts) == 1, texts


async def test_a_failed_challenge_is_told_to_the_provider_alone(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url, topics="challenge_failed")
    chain.subscribe(chain.provider, receiver.url, topics="challenge_failed", id_="1" * 16)
    closed = {"challenge": 3, "host": chain.lease.host, "device": 0, "outcome": "Failed", "returned": 0}
    async with notifying(chain) as notifier:
        chain.emit(("Verification", "ChallengeClosed", closed | {"outcome": "Passed"}))
        chain.emit(("Verification", "ChallengeClosed", closed))
        await notifier.step(1000)
    ((headers, body),) = receiver.got
    found = json.loads(body)
    assert (found["account"], found["topic"], found["host"]) == (chain.provider, "challenge_failed", chain.lease.host)
    time_s = int(headers[SIGNATURE].partition(",")[0].removeprefix("t="))
    assert headers[SIGNATURE] == signature("key", body, time_s)


async def test_an_end_that_comes_is_told_once_and_not_if_it_was_put_off(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url)
    soon = chain.last.time_ms + HOUR_MS
    started = {"task": chain.lease.task, "lease": chain.lease.lease, "depletes_at": soon, "state": "Running"}
    async with notifying(chain) as notifier:
        chain.emit(("Tasks", "PodStarted", started))
        chain.emit(("Leases", "Extended", {"lease": chain.lease.lease, "amount": 1, "ends_at": soon + 90 * HOUR_MS}))
        await notifier.step(1000)
        assert receiver.got == []
        chain.emit(("Leases", "ToppedUp", {"lease": chain.lease.lease, "amount": 1, "depletes_at": soon + 2 * HOUR_MS}))
        await notifier.step(2000)
        await notifier.step(3000)
    ((_, body),) = receiver.got
    assert (json.loads(body)["topic"], json.loads(body)["at_ms"]) == ("lease_ending", soon + 2 * HOUR_MS)
    assert chain.db.rows(ReminderRow) == []


async def test_a_host_s_provider_and_tenants_are_told_by_web_and_mail(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url)
    mails = [MailSubscription(chain.provider, "ops@example.org"), MailSubscription("5Other", "x@example.org")]
    async with mail_server() as post, notifying(chain, mails, post.port) as notifier:
        post.refuses = True
        chain.emit(("Hosts", "StatusChanged", {"host": chain.lease.host, "from": "Online", "to": "Offline"}))
        await notifier.step(1000)
        assert (len(receiver.got), post.mails) == (1, [])
        post.refuses = False
        await notifier.step(1000 + FIRST_RETRY_MS)
    ((to, mail),) = post.mails
    assert to == ["ops@example.org"]
    assert mail["Subject"] == "Gantry: host degraded"
    assert f"Host {chain.lease.host} is Offline" in mail.get_content().replace("\n", " ")


async def test_a_falling_reputation_is_told_to_the_provider_only(chain, receiver):
    topics = "host_anomaly,host_degraded"
    chain.subscribe(chain.tenant, receiver.url, topics)
    chain.subscribe(chain.provider, receiver.url, topics, id_="1" * 16)
    async with notifying(chain) as notifier:
        for score in (900_000, 880_000, 700_000):
            chain.emit(("Reputation", "Scored", {"host": chain.lease.host, "score_ppm": score}))
        await notifier.step(1000)
        assert [(one.metric.name, one.labels, one.value) for one in notifier.readings()] == [
            ("gantry_notifier_anomalous_hosts", ("slow_starts",), 0),
            ("gantry_notifier_anomalous_hosts", ("falling_reputation",), 1),
        ]
    ((_, body),) = receiver.got
    found = json.loads(body)
    assert (found["topic"], found["account"], found["host"]) == ("host_anomaly", chain.provider, chain.lease.host)
    assert "fell from 90.0 % to 70.0 %" in found["text"]


@contextlib.asynccontextmanager
async def receiving(notifier, token="t" * 32):
    """Receive webhooks of Alertmanager; yield a function that posts one and returns the status."""
    async with (
        AlertReceiver("t" * 32, notifier.take_alerts).listening("127.0.0.1", 0) as url,
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
    ):

        async def post(body):
            async with session.post(url, data=body) as answer:
                return answer.status

        yield post


def message(host, status="firing"):
    labels = {"alertname": "GantryTargetDown", "severity": "page", "host": host}
    about = {"fingerprint": "ab", "startsAt": "2026-11-27T10:00:00Z", "annotations": {"summary": "no answer"}}
    return json.dumps({"version": "4", "alerts": [{"status": status, "labels": labels, **about}]})


async def test_an_alert_about_a_host_reaches_its_provider_as_a_signed_notice(chain, receiver):
    chain.subscribe(chain.provider, receiver.url, "host_alert")
    chain.subscribe(chain.tenant, receiver.url, "host_alert", id_="1" * 16)
    async with notifying(chain) as notifier, receiving(notifier) as post:
        assert await post(message(chain.lease.host)) == 200
        assert await post(message(chain.lease.host, "resolved")) == 200
        assert await post(message("5Unknown")) == 200
        assert len(chain.db.rows(DeliveryRow)) == 2, "it is stored before the answer"
        await notifier.step(2**52)
    found = {json.loads(body)["status"]: (headers, json.loads(body), body) for headers, body in receiver.got}
    assert found.keys() == {"firing", "resolved"}
    headers, notice, body = found["firing"]
    assert (notice["topic"], notice["account"], notice["alert"]) == ("host_alert", chain.provider, "GantryTargetDown")
    time_s = int(headers[SIGNATURE].partition(",")[0].removeprefix("t="))
    assert headers[SIGNATURE] == signature("key", body, time_s)


async def test_strangers_and_odd_messages_notify_nobody(chain, receiver):
    chain.subscribe(chain.provider, receiver.url, "host_alert")
    async with notifying(chain) as notifier:
        async with receiving(notifier, token="other") as post:
            assert await post(message(chain.lease.host)) == 401
        async with receiving(notifier) as post:
            assert await post(b"{}") == 400
            assert await post(io.BytesIO(b"x" * (2 << 20))) == 413
    assert chain.db.rows(DeliveryRow) == []


async def test_a_removed_webhook_gets_nothing(chain, receiver):
    chain.subscribe(chain.tenant, receiver.url)
    async with notifying(chain) as notifier:
        chain.emit(ended(chain))
        notifier._store.step(1000)
        with chain.db.transaction():
            chain.db.execute(delete(TABLES[SubscriptionRow]))
        await notifier.step(1000)
    assert receiver.got == []
    assert chain.db.rows(DeliveryRow) == []
