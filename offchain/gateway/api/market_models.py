"""What the API answers about offers, devices and the market."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from offchain.gateway.api.models import Account, Amount, AnsweredModel, TimeMs


class CapacityResource(AnsweredModel):
    """An amount of what every machine has."""

    cpu_milli: int
    memory_mib: int
    disk_gib: int


class GpuPriceResource(AnsweredModel):
    """The list price of one whole device of a model for an hour."""

    model: str
    per_hour: Amount


class AskResource(AnsweredModel):
    """A price list: list prices an hour, and factors on them by billing unit in millionths; 0: not offered."""

    gpu: list[GpuPriceResource]
    gpu_per_hour: Annotated[Amount, Field(description="For one whole device of any other model.")]
    cpu_core_per_hour: Amount
    memory_gib_per_hour: Amount
    disk_gib_per_hour: Amount
    network_gib: Annotated[Amount, Field(description="For each GiB that a pod sends.")]
    storage_gib_per_hour: Annotated[Amount, Field(description="For one GiB of the disk of a stopped rental.")]
    second_ppm: int
    hour_ppm: int
    day_ppm: int


class OfferResource(AnsweredModel):
    """What a host offers of one GPU model; a host with two models has two offers.

    `model` is null for a host without GPUs; its prices are those of one core. `outdated`: the host has changed, or may
    have, since `read_block`, and is read again with one of the next blocks.
    """

    host: Account
    provider: Account
    status: str
    region: str
    tier: str
    model: str | None
    vendor: str | None
    simulated: bool
    gpus: int
    gpus_free: Annotated[int, Field(description="Devices that are wholly free, healthy and not challenged.")]
    vram_mib: Annotated[int, Field(description="Memory of the smallest device.")]
    attested: Annotated[int, Field(description="Number of devices that a challenge proved to be real.")]
    price_per_hour: Annotated[Amount, Field(description="For one whole device, billed by `billing`.")]
    billing: Annotated[str, Field(description="The shortest billing unit that the host offers.")]
    price_second: Annotated[Amount | None, Field(description="An hour, billed by the second; null: not offered.")]
    price_hour: Annotated[Amount | None, Field(description="An hour, billed by the hour.")]
    price_day: Annotated[Amount | None, Field(description="An hour, billed by the day.")]
    reputation_ppm: Annotated[int, Field(description="In millionths; 500,000 before the first lease.")]
    bond: Amount
    bond_required: Amount
    total: CapacityResource
    free: CapacityResource
    network_mbps_down: int
    network_mbps_up: int
    latency_ms: Annotated[int | None, Field(description="Measured round trip; null: not measured.")]
    capabilities: list[str]
    live_leases: int
    generation: Annotated[int, Field(description="How often the hardware was changed.")]
    registered_ms: TimeMs
    offered_since_ms: TimeMs
    ask: AskResource
    read_block: Annotated[int, Field(description="The final block from whose storage the offer was read.")]
    outdated: bool


class DeviceResource(AnsweredModel):
    """A device of a host. `shared_by`: the tenant whose leases hold shares of it."""

    host: Account
    index: int
    vendor: str
    model: str
    vram_mib: int
    simulated: bool
    milli_free: Annotated[int, Field(description="Thousandths that no lease holds.")]
    shared_by: Account | None
    attested: bool
    healthy: bool
    challenged: Annotated[bool, Field(description="It takes no new lease until a challenge is answered.")]
    read_block: int
    outdated: bool


class MarketResource(AnsweredModel):
    """The offers of one GPU model by hosts that take leases. Prices are for an hour of one whole device."""

    model: str | None
    simulated: bool
    hosts: int
    gpus: int
    gpus_free: int
    lowest_price: Amount
    lowest_free_price: Annotated[Amount | None, Field(description="Of hosts with a free device; null: there is none.")]
    median_price: Annotated[Amount, Field(description="Half of the hosts ask for at most this.")]
