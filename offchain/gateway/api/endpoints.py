"""The resources of the API: path, parameters, answer, and the function that reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from offchain.gateway.api import (
    history,
    market,
    market_models,
    matter_models,
    matters,
    models,
    movements,
    price_history,
    report_models,
    reports,
    reputation_models,
    score_changes,
    search,
)
from offchain.gateway.api import parameters as ask
from offchain.gateway.api.csv_export import CsvExport
from offchain.indexer.database import IndexDatabase

_IN_PATH: Final = re.compile(r"\{(\w+)\}")
STREAM_PATH: Final = "/v1/events/stream"
OPENAPI_PATH: Final = "/v1/openapi.json"


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """A resource that is read with GET. `name` is unique, for generated clients."""

    path: str
    name: str
    about: str
    parameters: type[ask.Parameters]
    answer: type[BaseModel]
    read: Callable[[IndexDatabase, Any], BaseModel]
    export: CsvExport | None = None
    """The same list as a table."""
    as_text: Callable[[IndexDatabase, Any], tuple[models.BlockReference, str, str | None]] | None = None
    """The same page as CSV or HTML, with the block and the cursor of the next page."""

    @property
    def in_path(self) -> tuple[str, ...]:
        """The names of the parameters that belong to the path."""
        return in_path(self.path)


def in_path(path: str) -> tuple[str, ...]:
    """Return the names of the parameters in a path."""
    return tuple(_IN_PATH.findall(path))


def _page(model: type[BaseModel]) -> type[BaseModel]:
    return models.Page[model]  # type: ignore[valid-type]


def one_answer_of(model: type[BaseModel]) -> type[BaseModel]:
    """Return the model of an answer with one resource."""
    return models.ResourceAnswer[model]  # type: ignore[valid-type]


ENDPOINTS: Final = (
    ApiEndpoint(
        "/v1/network",
        "network",
        "The chain and its index.",
        ask.NoParameters,
        one_answer_of(models.NetworkResource),
        history.network,
    ),
    ApiEndpoint("/v1/blocks", "blocks", "Final blocks.", ask.BlockList, _page(models.BlockResource), history.blocks),
    ApiEndpoint(
        "/v1/search",
        "search",
        "What a number, hash, digest or address names.",
        ask.SearchText,
        models.SearchAnswer,
        search.search,
    ),
    ApiEndpoint(
        "/v1/documentation",
        "documentation",
        "Documentation of calls, events and errors in the metadata of the runtime.",
        ask.DocumentationList,
        _page(models.DocumentationResource),
        history.documentation,
    ),
    ApiEndpoint(
        "/v1/blocks/{block}",
        "block",
        "A final block, by number or hash.",
        ask.OneBlock,
        one_answer_of(models.BlockResource),
        history.block,
    ),
    ApiEndpoint(
        "/v1/blocks/{block}/extrinsics",
        "extrinsics_of_block",
        "The extrinsics of a block.",
        ask.ExtrinsicsOfBlock,
        _page(models.ExtrinsicResource),
        history.extrinsics,
    ),
    ApiEndpoint(
        "/v1/extrinsics/{hash}",
        "extrinsics_by_hash",
        "The extrinsics with this hash, usually one.",
        ask.OneExtrinsic,
        _page(models.ExtrinsicResource),
        history.extrinsic,
    ),
    ApiEndpoint(
        "/v1/events", "events", "Events of final blocks.", ask.EventList, _page(models.EventResource), history.events
    ),
    ApiEndpoint("/v1/tasks", "tasks", "Tasks.", ask.TaskList, _page(models.TaskResource), history.tasks),
    ApiEndpoint(
        "/v1/tasks/counts",
        "task_counts",
        "How many tasks are in each state.",
        ask.NoParameters,
        _page(models.TaskCountResource),
        history.task_counts,
    ),
    ApiEndpoint("/v1/tasks/{task}", "task", "A task.", ask.OneTask, one_answer_of(models.TaskResource), history.task),
    ApiEndpoint(
        "/v1/tasks/{task}/bills",
        "bills_of_task",
        "The payments for a task.",
        ask.BillsOfTask,
        _page(models.BillResource),
        history.bills_of_task,
    ),
    ApiEndpoint("/v1/leases", "leases", "Leases.", ask.LeaseList, _page(models.LeaseResource), history.leases),
    ApiEndpoint(
        "/v1/leases/{lease}", "lease", "A lease.", ask.OneLease, one_answer_of(models.LeaseResource), history.lease
    ),
    ApiEndpoint(
        "/v1/leases/{lease}/bills",
        "bills_of_lease",
        "The payments for a lease.",
        ask.BillsOfLease,
        _page(models.BillResource),
        history.bills_of_lease,
    ),
    ApiEndpoint("/v1/hosts", "hosts", "Hosts, by address.", ask.HostList, _page(models.HostResource), history.hosts),
    ApiEndpoint("/v1/hosts/{host}", "host", "A host.", ask.OneHost, one_answer_of(models.HostResource), history.host),
    ApiEndpoint(
        "/v1/offers",
        "offers",
        "What hosts offer, by GPU model: capacity, free capacity, prices, reputation.",
        ask.OfferList,
        _page(market_models.OfferResource),
        market.offers,
    ),
    ApiEndpoint(
        "/v1/devices",
        "devices",
        "Devices of hosts.",
        ask.DeviceList,
        _page(market_models.DeviceResource),
        market.devices,
    ),
    ApiEndpoint(
        "/v1/market",
        "market",
        "Offers and prices by GPU model, of hosts that take leases.",
        ask.MarketList,
        _page(market_models.MarketResource),
        market.market,
    ),
    ApiEndpoint(
        "/v1/challenges",
        "challenges",
        "Challenges of hosts.",
        matter_models.ChallengeList,
        _page(matter_models.ChallengeResource),
        matters.challenges,
    ),
    ApiEndpoint(
        "/v1/challenges/{challenge}",
        "challenge",
        "A challenge with its committees and their votes.",
        matter_models.OneChallenge,
        one_answer_of(matter_models.ChallengeDetailResource),
        matters.challenge,
    ),
    ApiEndpoint(
        "/v1/disputes",
        "disputes",
        "Disputes about the results of tasks.",
        matter_models.DisputeList,
        _page(matter_models.DisputeResource),
        matters.disputes,
    ),
    ApiEndpoint(
        "/v1/disputes/{task}",
        "dispute",
        "The dispute about a task with its juries and their votes, its evidence and stakes.",
        matter_models.OneDispute,
        one_answer_of(matter_models.DisputeDetailResource),
        matters.dispute,
    ),
    ApiEndpoint(
        "/v1/schedulers",
        "schedulers",
        "Schedulers, by address.",
        matter_models.SchedulerList,
        _page(matter_models.SchedulerResource),
        matters.schedulers,
    ),
    ApiEndpoint(
        "/v1/schedulers/{account}",
        "scheduler",
        "A scheduler with its last penalties.",
        matter_models.OneScheduler,
        one_answer_of(matter_models.SchedulerDetailResource),
        matters.scheduler,
    ),
    ApiEndpoint(
        "/v1/queues",
        "queues",
        "Queue definitions that bonded schedulers have published, by digest.",
        matter_models.QueueList,
        _page(matter_models.QueueDefinitionsResource),
        matters.queues,
    ),
    ApiEndpoint(
        "/v1/reputation/{account}/changes",
        "score_changes",
        "Changes of the score of a host or tenant, with the events that caused each.",
        reputation_models.ScoreChangesOf,
        _page(reputation_models.ScoreChangeResource),
        score_changes.score_changes,
    ),
    ApiEndpoint(
        "/v1/market/prices",
        "prices_of_model",
        "Prices of a GPU model by hour or day: lowest, median, and the mean of running leases.",
        price_history.PricesOfModel,
        one_answer_of(price_history.PriceHistoryResource),
        price_history.prices_of_model,
    ),
    ApiEndpoint(
        "/v1/reports/{subject}",
        "report",
        "Use, waits, failures, payments and SLA by host, model, region, tenant or provider; also as CSV and HTML.",
        report_models.ReportOf,
        _page(report_models.ReportLineResource),
        reports.report,
        as_text=reports.report_text,
    ),
    ApiEndpoint(
        "/v1/accounts/{account}/escrows",
        "escrows",
        "Coins of an account on hold for leases, by lease.",
        ask.EscrowsOfAccount,
        _page(models.EscrowResource),
        history.escrows,
    ),
    ApiEndpoint(
        "/v1/accounts/{account}/transfers",
        "transfers",
        "Every transfer, hold, release and fee of an account.",
        ask.TransfersOfAccount,
        _page(models.TransferResource),
        history.transfers,
    ),
    ApiEndpoint(
        "/v1/accounts/{account}/movements",
        "movements",
        "Every change of an account's coins, free or on hold, with running totals; also as CSV.",
        ask.MovementsOfAccount,
        _page(models.MovementResource),
        movements.movements,
        movements.EXPORT,
    ),
)
