"""Rows that are read from the chain's storage or metadata, because no event tells what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offchain.indexer.rows import CoinAmount, OrderedAmount, Row


@dataclass(frozen=True, slots=True)
class OfferRow(Row):
    """What a host offers of one GPU model, as it was at `read_block`. A host without GPUs has one row without a model.

    `gpus_free`: devices that are wholly free, healthy and not challenged; `vram_mib`: of the smallest one. `price`:
    base units for an hour of one whole device, or of one core where there is no model, in the shortest billing unit
    that the host offers, `billing`; `price_second`, `price_hour`, `price_day`: in each unit, None if it is not offered.
    `ask`: the price list as JSON.
    """

    TABLE = "offers"
    KEY = ("host", "model", "simulated")
    INDEXES = (
        ("status", "price", "host", "model", "simulated"),
        ("status", "score_ppm", "host", "model", "simulated"),
        ("status", "model", "price", "host", "simulated"),
        ("status", "model", "score_ppm", "host", "simulated"),
        ("status", "model", "simulated", "price", "gpus", "gpus_free"),
    )
    host: str
    model: str
    simulated: int
    read_block: int
    provider: str
    status: str
    region: str
    tier: str
    vendor: str
    gpus: int
    gpus_free: int
    vram_mib: int
    attested: int
    price: OrderedAmount
    billing: str
    price_second: CoinAmount | None
    price_hour: CoinAmount | None
    price_day: CoinAmount | None
    score_ppm: int
    bond: CoinAmount
    bond_required: CoinAmount
    cpu_milli: int
    cpu_milli_free: int
    memory_mib: int
    memory_mib_free: int
    disk_gib: int
    disk_gib_free: int
    network_mbps_down: int
    network_mbps_up: int
    latency_ms: int
    capabilities: str
    live_leases: int
    generation: int
    registered_ms: int
    offered_since_ms: int
    ask: str


@dataclass(frozen=True, slots=True)
class DeviceRow(Row):
    """A device of a host, as it was at `read_block`. `place`: its index, by which leases name it.

    `milli_free`: thousandths that no lease holds; `shared_by`: the tenant whose leases hold shares of it.
    """

    TABLE = "devices"
    KEY = ("host", "place")
    INDEXES = (("model", "host", "place"),)
    host: str
    place: int
    read_block: int
    vendor: str
    model: str
    vram_mib: int
    simulated: int
    milli_free: int
    shared_by: str | None
    attested: int
    healthy: int
    challenged: int


OPEN_MS: Final = (1 << 53) - 1
"""`until_ms` of the present period of :class:`HostUsageRow`."""


@dataclass(frozen=True, slots=True)
class HostUsageRow(Row):
    """A period from `since_ms` to `until_ms` in which nothing of the following changed.

    Without a model: whether the host was up (`online` is 1) or away or suspended (0); there is no row while a host is
    not verified or retired. With a model: thousandths of its GPUs that the host offered and that leases held.
    """

    TABLE = "host_usage"
    KEY = ("host", "until_ms", "model", "simulated")
    host: str
    until_ms: int
    model: str
    simulated: int
    since_ms: int
    online: int
    offered_milli: int
    leased_milli: int


@dataclass(frozen=True, slots=True)
class ModelPriceRow(Row):
    """Prices of a GPU model in the hour of the chain that begins at `hour_ms`, from samples.

    `lowest_price`: of all samples; `median_price`, `gpus`, `gpus_free`: of the last one. `paid_rate`: hourly rates of
    running leases, `leased_milli`: thousandths of GPUs that leases held, both summed over the samples.
    """

    TABLE = "model_prices"
    KEY = ("hour_ms", "model", "simulated")
    INDEXES = (("model", "simulated", "hour_ms"),)
    hour_ms: int
    model: str
    simulated: int
    gpus: int
    gpus_free: int
    lowest_price: CoinAmount
    median_price: CoinAmount
    paid_rate: CoinAmount
    leased_milli: int


@dataclass(frozen=True, slots=True)
class DueHostRow(Row):
    """A host whose storage has to be read again. `since_block`: the block that changed it last, as far as is known."""

    TABLE = "due_hosts"
    KEY = ("host",)
    host: str
    since_block: int


@dataclass(frozen=True, slots=True)
class DocumentationRow(Row):
    """Documentation of a call, event or error (`kind`) in the metadata; `fields`: that of its fields, as JSON."""

    TABLE = "documentation"
    KEY = ("pallet", "kind", "name")
    pallet: str
    kind: str
    name: str
    text: str
    fields: str


@dataclass(frozen=True, slots=True)
class GenesisBalanceRow(Row):
    """What an account had in the genesis block, of which there is no event."""

    TABLE = "genesis_balances"
    KEY = ("account",)
    account: str
    free: CoinAmount
    held: CoinAmount


STATE_ROWS: tuple[type[Row], ...] = (
    OfferRow,
    DeviceRow,
    HostUsageRow,
    ModelPriceRow,
    DueHostRow,
    DocumentationRow,
    GenesisBalanceRow,
)
"""Tables with the present state of hosts and the documentation of the runtime, which only a node can fill."""
