"""Which hosts `gantry host list` shows, and in which order: the filters and orders of the market."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import click

from offchain.cli.kit import options
from offchain.indexer.offers import NO_EVIDENCE_PPM
from offchain.services.host_views import HostView

_WHOLE_MILLI: Final = 1000
_PPM: Final = 1_000_000
_TIERS: Final = ("Consumer", "Professional", "Datacenter")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostListFilter:
    """The hosts to show. None and False do not restrict. `max_price`: base units for a GPU an hour."""

    online: bool
    gpu: str | None
    free: bool
    free_gpus: int | None
    attested: bool
    real: bool
    region: str | None
    tier: str | None
    max_price: int | None
    min_score: float | None
    provider: str | None
    retired: bool
    sort: str

    def matches(self, view: HostView) -> bool:
        """Return whether to show a host. Its status counts, and all other conditions have to hold for the same GPUs."""
        if not (view.status == "Online" if self.online else self.retired or view.status != "Retired"):
            return False
        wanted = ((self.region, view.region), (self.tier, view.tier), (self.provider, view.provider))
        if any(value is not None and value != own for value, own in wanted):
            return False
        if self.min_score is not None and _score(view) < self.min_score * _PPM:
            return False
        if self._least_gpus and len(self._gpus(view)) < self._least_gpus:
            return False
        return self.max_price is None or self.price(view) <= self.max_price

    def price(self, view: HostView) -> int:
        """Return the lowest price an hour of a GPU whose model fits, in base units; without one, that of any GPU."""
        listed = {price["model"]: int(price["per_hour"]) for price in view.ask["gpu"]}
        other = int(view.ask["gpu_per_hour"])
        prices = [listed.get(device["model"], other) for device in view.devices if self._has_model(device)]
        return min(prices, default=other)

    def sort_key(self, view: HostView) -> Any:
        """Return the value by which hosts are ordered."""
        return _ORDERS[self.sort](self, view)

    def count_free(self, view: HostView) -> int:
        """Return how many GPUs whose model fits are wholly free."""
        return sum(self._has_model(device) and _is_free(view, place) for place, device in enumerate(view.devices))

    @property
    def restricts(self) -> bool:
        """Whether hosts that are not retired can be left out."""
        chosen = (self.region, self.tier, self.max_price, self.min_score, self.provider)
        return self.online or bool(self._least_gpus) or any(value is not None for value in chosen)

    @property
    def _least_gpus(self) -> int:
        """How many GPUs that fit a host needs."""
        asks = self.gpu is not None or self.free or self.attested or self.real
        return max(self.free_gpus or 0, int(asks))

    def _gpus(self, view: HostView) -> list[Mapping[str, Any]]:
        """Return the healthy GPUs that meet all conditions."""
        needs_free = self.free or self.free_gpus is not None
        return [
            device
            for place, device in enumerate(view.devices)
            if self._has_model(device)
            and device["healthy"]
            and (not needs_free or _is_free(view, place))
            and (not self.attested or device["attested"])
            and (not self.real or not device["simulated"])
        ]

    def _has_model(self, device: Mapping[str, Any]) -> bool:
        return self.gpu is None or self.gpu.lower() in device["model"].lower()


def _score(view: HostView) -> int:
    return NO_EVIDENCE_PPM if view.score_ppm is None else view.score_ppm


def _is_free(view: HostView, place: int) -> bool:
    device = view.devices[place]
    return bool(device["healthy"]) and device["milli_free"] == _WHOLE_MILLI and place != view.challenged


_ORDERS: Final[Mapping[str, Callable[[HostListFilter, HostView], Any]]] = {
    "address": lambda _, view: view.id,
    "price": lambda chosen, view: (chosen.price(view), view.id),
    "score": lambda _, view: (-_score(view), view.id),
    "free": lambda chosen, view: (-chosen.count_free(view), view.id),
    "latency": lambda _, view: (view.latency_ms or math.inf, view.id),
}

filter_options: Final = options.grouped(
    "chosen",
    HostListFilter,
    click.option("--online", is_flag=True, help="Only hosts that take work."),
    click.option(
        "--gpu", metavar="MODEL", help="Only hosts with a GPU whose model contains this text, for example a100."
    ),
    click.option("--free", is_flag=True, help="Only hosts with a free GPU, of that model if one is given."),
    click.option("--free-gpus", type=click.IntRange(1, 255), metavar="N", help="Only hosts with N such free GPUs."),
    click.option("--attested", is_flag=True, help="Only GPUs that a challenge proved to be genuine."),
    click.option("--real", is_flag=True, help="No simulated GPUs."),
    click.option("--region", metavar="REGION", help="Only hosts of this region."),
    click.option(
        "--tier",
        type=click.Choice(_TIERS, case_sensitive=False),
        help="Only hosts of this class.",
    ),
    click.option(
        "--max-price", type=options.AMOUNT, help="Only hosts that ask for at most so many GTY for a GPU an hour."
    ),
    click.option(
        "--min-score", type=click.FloatRange(0, 1), metavar="SCORE", help="Only hosts with at least this score, 0 to 1."
    ),
    click.option("--provider", metavar="ADDRESS", help="Only hosts of this provider."),
    click.option("--retired", is_flag=True, help="Also hosts that have been retired."),
    click.option("--sort", type=click.Choice(list(_ORDERS)), default="address", show_default=True, help="Order."),
)
