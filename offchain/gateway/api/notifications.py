"""Webhooks of accounts: an account that is signed in adds, lists, tests and removes its own."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, Field
from sqlalchemy import delete, func, select, update

from offchain.clock import unix_ms
from offchain.gateway.api.action import ApiAction
from offchain.gateway.api.answers import NotFound, as_of, not_found
from offchain.gateway.api.endpoints import one_answer_of
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.models import AnsweredModel, ResourceAnswer
from offchain.gateway.api.parameters import BadParameter, NoParameters, Parameters
from offchain.gateway.api.sign_in import require_session
from offchain.gateway.api.sign_in_store import Identity, SignInStore
from offchain.indexer.database import IndexDatabase
from offchain.indexer.notification_rows import DeliveryRow, SubscriptionRow
from offchain.indexer.tables import TABLES, columns
from offchain.services.notifications.notices import TEST_NOTICE, TOPICS, Topic, notice_of_test
from offchain.services.notifications.sending import MOST_URL, checked_url

MOST_WEBHOOKS: Final = 5
"""Webhooks of an account."""


class WebhookBody(Parameters):
    """A webhook to be added."""

    url: Annotated[
        str,
        Field(max_length=MOST_URL, description="HTTPS URL at a public address."),
        AfterValidator(checked_url),
    ]
    topics: Annotated[list[Topic], Field(min_length=1, max_length=len(TOPICS), description="What it is notified of.")]


class OneWebhook(Parameters):
    id: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


class TestedWebhookBody(OneWebhook):
    """The webhook that gets a test notice."""


class WebhookResource(AnsweredModel):
    """A webhook of an account, without its secret."""

    id: str
    url: str
    topics: list[Topic]
    created_ms: Annotated[int, Field(description="Unix milliseconds of the gateway's clock.")]


class NewWebhookResource(WebhookResource):
    """A new webhook. `secret` is shown once: it is the key of the signatures (HMAC-SHA256)."""

    secret: str


class ListedWebhookResource(WebhookResource):
    """A webhook with the notices that wait for it; a notice that was delivered, or given up, waits no longer."""

    waiting: Annotated[int, Field(description="Notices that are not delivered yet.")]
    failed_attempts: Annotated[int, Field(description="Of the waiting notice with most of them.")]
    failure: Annotated[str | None, Field(description="Why the last attempt of this notice failed.")]
    next_attempt_ms: Annotated[
        int | None, Field(description="When the first waiting notice is due, by the clock of the notifier.")
    ]
    test: Annotated[bool, Field(description="Whether a test notice is among the waiting ones.")]


class WebhookList(AnsweredModel):
    """The webhooks of an account."""

    webhooks: list[ListedWebhookResource]


class TestNoticeResource(AnsweredModel):
    """A test notice that waits for the notifier."""

    id: str
    notice: Annotated[str, Field(description="The header `Gantry-Notice-Id` of the test notice.")]


class RemovedWebhookResource(AnsweredModel):
    """A webhook that was removed, with the notices that waited for it."""

    removed: bool


class NotificationsApi:
    """Webhooks in the index database."""

    def __init__(self, readers: IndexReaders, store: SignInStore) -> None:
        self._readers = readers
        self._store = store

    async def add(self, who: Identity, asked: WebhookBody) -> ResourceAnswer[NewWebhookResource]:
        """Add a webhook of the account that is signed in. Raises BadParameter beyond the limit."""
        require_session(who)
        secret = secrets.token_urlsafe(32)
        topics = ",".join(sorted(set(asked.topics)))
        row = SubscriptionRow(secrets.token_hex(8), who.account, asked.url, topics, secret, unix_ms())

        def write(db: IndexDatabase) -> None:
            own = columns(SubscriptionRow).account == who.account
            ((count,),) = db.execute(select(func.count()).select_from(TABLES[SubscriptionRow]).where(own))
            if count >= MOST_WEBHOOKS:
                raise BadParameter(
                    "url", f"this account has {MOST_WEBHOOKS} webhooks, which is the limit.", "Remove one first."
                )
            db.insert(SubscriptionRow, [row])

        await self._store.write(write)
        data = NewWebhookResource(**_resource(row).model_dump(), secret=secret)
        return ResourceAnswer[NewWebhookResource](as_of=await self._readers.read(as_of), data=data)

    async def present(self, who: Identity) -> ResourceAnswer[WebhookList]:
        """Return the webhooks of the account that is signed in."""
        require_session(who)
        own = columns(SubscriptionRow).account == who.account

        def read(db: IndexDatabase) -> list[ListedWebhookResource]:
            return [_listed(row, _waiting_for(db, row.id)) for row in db.rows(SubscriptionRow, own)]

        data = WebhookList(webhooks=await self._readers.read(read))
        return ResourceAnswer[WebhookList](as_of=await self._readers.read(as_of), data=data)

    async def test(self, who: Identity, asked: TestedWebhookBody) -> ResourceAnswer[TestNoticeResource]:
        """Have the notifier send a test notice at once. Raises NotFound if the account has no webhook with this id.

        A test notice that waits already is due now: so at most one waits for a webhook.
        """
        require_session(who)
        row, delivery, now_ms = columns(SubscriptionRow), columns(DeliveryRow), unix_ms()

        def write(db: IndexDatabase) -> str | None:
            if not db.rows(SubscriptionRow, row.account == who.account, row.id == asked.id):
                return None
            tests = (delivery.recipient == asked.id, delivery.notice.startswith(TEST_NOTICE))
            for waiting in db.rows(DeliveryRow, *tests):
                db.execute(update(TABLES[DeliveryRow]).where(*tests).values(due_ms=now_ms))
                return waiting.notice
            notice, body = notice_of_test(who.account, asked.id, now_ms)
            db.insert(DeliveryRow, [DeliveryRow(asked.id, notice, now_ms, 0, body)])
            return notice

        notice = await self._store.write(write)
        if notice is None:
            raise await self._readers.read(lambda db: _no_webhook(db, who, asked))
        data = TestNoticeResource(id=asked.id, notice=notice)
        return ResourceAnswer[TestNoticeResource](as_of=await self._readers.read(as_of), data=data)

    async def remove(self, who: Identity, asked: OneWebhook) -> ResourceAnswer[RemovedWebhookResource]:
        """Remove a webhook. Raises NotFound if the account has none with this id."""
        require_session(who)
        row = columns(SubscriptionRow)
        chosen = (row.account == who.account, row.id == asked.id)

        def write(db: IndexDatabase) -> bool:
            found = db.rows(SubscriptionRow, *chosen)
            db.execute(delete(TABLES[SubscriptionRow]).where(*chosen))
            return bool(found)

        if not await self._store.write(write):
            raise await self._readers.read(lambda db: _no_webhook(db, who, asked))
        data = RemovedWebhookResource(removed=True)
        return ResourceAnswer[RemovedWebhookResource](as_of=await self._readers.read(as_of), data=data)


def _no_webhook(db: IndexDatabase, who: Identity, asked: OneWebhook) -> NotFound:
    return not_found(db, f"webhook {asked.id} of {who.account}")


def _waiting_for(db: IndexDatabase, webhook: str) -> list[DeliveryRow]:
    """Return the notices that wait for a webhook."""
    return db.rows(DeliveryRow, columns(DeliveryRow).recipient == webhook)


def _listed(row: SubscriptionRow, waiting: Sequence[DeliveryRow]) -> ListedWebhookResource:
    worst = max(waiting, key=lambda one: one.attempts, default=None)
    return ListedWebhookResource(
        **_resource(row).model_dump(),
        waiting=len(waiting),
        failed_attempts=0 if worst is None else worst.attempts,
        failure=None if worst is None else worst.failure,
        next_attempt_ms=min((one.due_ms for one in waiting), default=None),
        test=any(one.notice.startswith(TEST_NOTICE) for one in waiting),
    )


def _resource(row: SubscriptionRow) -> WebhookResource:
    topics: list[Topic] = row.topics.split(",")  # type: ignore[assignment]  # checked when it was made
    return WebhookResource(id=row.id, url=row.url, topics=topics, created_ms=row.created_ms)


NOTIFICATION_ACTIONS: Final = (
    ApiAction(
        "GET",
        "/v1/notifications",
        "webhooks",
        "The webhooks of the account.",
        NoParameters,
        one_answer_of(WebhookList),
        needs_token=True,
        act=lambda api, who, _: api.notifications.present(who),
    ),
    ApiAction(
        "POST",
        "/v1/notifications",
        "add_webhook",
        "Add a webhook, which is notified of the account's leases and hosts.",
        WebhookBody,
        one_answer_of(NewWebhookResource),
        needs_token=True,
        act=lambda api, who, asked: api.notifications.add(who, asked),
    ),
    ApiAction(
        "POST",
        "/v1/notifications/test",
        "test_webhook",
        "Have the notifier send a test notice to a webhook.",
        TestedWebhookBody,
        one_answer_of(TestNoticeResource),
        needs_token=True,
        act=lambda api, who, asked: api.notifications.test(who, asked),
    ),
    ApiAction(
        "DELETE",
        "/v1/notifications/{id}",
        "remove_webhook",
        "Remove a webhook.",
        OneWebhook,
        one_answer_of(RemovedWebhookResource),
        needs_token=True,
        act=lambda api, who, asked: api.notifications.remove(who, asked),
    ),
)
