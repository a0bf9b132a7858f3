"""Webhooks of accounts: an account that is signed in adds, lists and removes its own."""

from __future__ import annotations

import secrets
from typing import Annotated, Final

from pydantic import AfterValidator, Field
from sqlalchemy import delete, func, select

from offchain.clock import unix_ms
from offchain.gateway.api.action import ApiAction
from offchain.gateway.api.answers import as_of, not_found
from offchain.gateway.api.endpoints import one_answer_of
from offchain.gateway.api.index_readers import IndexReaders
from offchain.gateway.api.models import AnsweredModel, ResourceAnswer
from offchain.gateway.api.parameters import BadParameter, NoParameters, Parameters
from offchain.gateway.api.sign_in import require_session
from offchain.gateway.api.sign_in_store import Identity, SignInStore
from offchain.indexer.database import IndexDatabase
from offchain.indexer.notification_rows import SubscriptionRow
from offchain.indexer.tables import TABLES, columns
from offchain.services.notifications.notices import TOPICS, Topic
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


class WebhookResource(AnsweredModel):
    """A webhook of an account, without its secret."""

    id: str
    url: str
    topics: list[Topic]
    created_ms: Annotated[int, Field(description="Unix milliseconds of the gateway's clock.")]


class NewWebhookResource(WebhookResource):
    """A new webhook. `secret` is shown once: it is the key of the signatures (HMAC-SHA256)."""

    secret: str


class WebhookList(AnsweredModel):
    """The webhooks of an account."""

    webhooks: list[WebhookResource]


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
        found = await self._readers.read(lambda db: db.rows(SubscriptionRow, own))
        data = WebhookList(webhooks=[_resource(row) for row in found])
        return ResourceAnswer[WebhookList](as_of=await self._readers.read(as_of), data=data)

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
            raise await self._readers.read(lambda db: not_found(db, f"webhook {asked.id} of {who.account}"))
        data = RemovedWebhookResource(removed=True)
        return ResourceAnswer[RemovedWebhookResource](as_of=await self._readers.read(as_of), data=data)


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
