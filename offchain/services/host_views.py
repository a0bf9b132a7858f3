"""Hosts as commands show them: records of the chain, read once into frozen values."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from offchain.errors import CheckFailed
from offchain.ports import ChainPort
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.score import host_ppm
from offchain.schema.chain_types.suspension import Suspension, suspension_of
from offchain.services.event_text import state_text
from offchain.services.record_views import JsonView, json_fields, json_key, text_of

_PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class HostView(JsonView):
    """A host and its score."""

    id: str = field(metadata=json_key("host"))
    provider: str
    status: str
    region: str
    tier: str
    capabilities: tuple[str, ...]
    endpoint: bytes
    network_mbps: tuple[int, int]
    """Download and upload rate that the host measured; zeros: not yet measured."""
    latency_ms: int | None
    """Round trip to its gateways or to other hosts that the host measured; None: not yet measured."""
    total: dict[str, int]
    free: dict[str, int]
    devices: tuple[dict[str, Any], ...]
    ask: dict[str, Any]
    bond: int
    last_heartbeat: int
    live_leases: int
    answers_challenges: bool
    challenged: int | None
    """The GPU that accepts no lease until the host has answered a challenge for it."""
    suspension: Suspension | None
    score_ppm: int | None = field(metadata=json_key("host_score"))
    """Parts per million; None: no score yet."""
    settled_leases: int

    def plain(self) -> dict[str, Any]:
        found: dict[str, Any] = json_fields(self)
        suspension = None if self.suspension is None else self.suspension.plain()
        return found | {"endpoint": text_of(self.endpoint), "suspension": suspension}


def score_text(score_ppm: int | None) -> str | None:
    """Return a score as a number between 0 and 1."""
    return None if score_ppm is None else f"{score_ppm / _PPM:.6f}"


async def read_host(chain: ChainPort, host: str, at: bytes | None = None) -> HostView:
    """Return a host. Raises CheckFailed if none is registered under this address."""
    record, score = await asyncio.gather(
        chain.query("Hosts", "Hosts", [host], at), chain.query("Reputation", "HostScores", [host], at)
    )
    if record is None:
        raise CheckFailed(f"no host {host} is registered.", "gantry host list shows all hosts.", code="no_such_host")
    return host_view(host, record, score)


async def read_hosts(chain: ChainPort, at: bytes | None = None) -> list[HostView]:
    """Return all hosts, ordered by address."""
    records, scores = await asyncio.gather(
        chain.query_map("Hosts", "Hosts", at=at), chain.query_map("Reputation", "HostScores", at=at)
    )
    by_host = dict(scores)
    return sorted((host_view(host, record, by_host.get(host)) for host, record in records), key=lambda view: view.id)


def _suspension(host: str, record: dict[str, Any]) -> Suspension | None:
    if not isinstance(gen.HostStatus.decode(record["status"]), gen.HostStatusSuspended):
        return None
    return suspension_of(host, gen.HostRecord.decode(record))


def host_view(host: str, record: dict[str, Any], score: dict[str, Any] | None) -> HostView:
    """Return the view of a `HostRecord` and a `HostScore`, both in plain form."""
    return HostView(
        id=host,
        provider=record["provider"],
        status=state_text(record["status"]),
        region=text_of(record["region"]),
        tier=record["tier"],
        capabilities=tuple(name for name, there in record["capabilities"].items() if there),
        endpoint=bytes(record["endpoint"]),
        network_mbps=(record["network_mbps_down"], record["network_mbps_up"]),
        latency_ms=record["latency_ms"] or None,
        total=dict(record["total"]),
        free=dict(record["free"]),
        devices=tuple(
            {
                "vendor": state_text(device["spec"]["vendor"]),
                "model": text_of(device["spec"]["model"]),
                "vram_mib": device["spec"]["vram_mib"],
                "simulated": device["spec"]["simulated"],
                "milli_free": device["milli_free"],
                "shared_by": device["shared_by"],
                "attested": device["attested"],
                "healthy": device["healthy"],
            }
            for device in record["devices"]
        ),
        ask=record["ask"]
        | {
            "gpu": [{"model": text_of(price["model"]), "per_hour": price["per_hour"]} for price in record["ask"]["gpu"]]
        },
        bond=record["bond"],
        last_heartbeat=record["last_heartbeat"],
        live_leases=record["live_leases"],
        answers_challenges=record["answers_challenges"],
        challenged=record["challenged"],
        suspension=_suspension(host, record),
        score_ppm=None if score is None else host_ppm(gen.HostScore.decode(score)),
        settled_leases=0 if score is None else score["settled_leases"],
    )
