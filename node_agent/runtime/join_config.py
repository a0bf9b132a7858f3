"""Configuration that `gantry agent join` stores in the agent's folder for later commands.

The file is not read by pydantic: its fields go through the functions that parse the options of the command line, and
`Ask` is a generated type. pydantic would need an adapter for each, and a translation of its errors to ours.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from node_agent.challenge.program_port import parse_challenge_image
from node_agent.images.registries import Endpoint, parse_allowed
from node_agent.telemetry.hardware import MAX_DEVICES
from node_agent.telemetry.probe import Reserve
from offchain.errors import OurError
from offchain.files import replace_file
from offchain.schema.chain_types._generated_chain import Ask, Tier
from offchain.schema.manifest.values import check_address
from offchain.schema.protocol.gateway import GatewayAddress, parse_gateway
from offchain.schema.terminal_escaping import unseen

NAME = "agent.json"
VERSION = 1
MAX_BYTES = 65_536
MAX_REGION_BYTES = 32
_FIELDS = (
    "version", "url", "genesis", "provider", "region", "bind", "docker_host", "network", "simulate", "reserve",
    "registry_mirror", "allow_registries", "image_quota_gib", "keep_gpus", "share_gpus", "tier", "ask", "gateways",
    "runtime", "metrics", "answer_challenges", "challenge_image", "confidential",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinConfig:
    """Configuration of a joined machine, without secrets: the host key has its own file, the provider's is nowhere."""

    url: str
    genesis: bytes
    """Genesis hash of the only chain to work for."""
    provider: str
    """SS58 address of the account that posts the bond and is paid."""
    region: str
    ask: Ask
    """The prices at registration. Later ones are only on the chain."""
    bind: str | None = None
    docker_host: str | None = None
    runtime: str | None = None
    """The engine's runtime for tenants' containers; None: runc."""
    network: bool = True
    """False: tenants' containers get no network."""
    simulate: str | None = None
    reserve: Reserve = field(default_factory=Reserve)
    registry_mirror: str | None = None
    allow_registries: tuple[Endpoint, ...] = ()
    """Registries from which images may be pulled although their addresses are not public."""
    image_quota_gib: int | None = None
    keep_gpus: tuple[int, ...] = ()
    """GPUs that the owner keeps, by their index in the driver's order (as in nvidia-smi)."""
    share_gpus: bool = False
    """Whether tenants may have shares of GPUs."""
    answer_challenges: bool = False
    """Whether the host answers challenges of its GPUs."""
    challenge_image: str | None = None
    """Image of the challenge program, by its digest."""
    confidential: bool = False
    """Whether the host makes attestation documents."""
    tier: Tier | None = None
    """Tier of the machine if the owner overrides the detected one."""
    gateways: tuple[GatewayAddress, ...] = ()
    """Gateways for tenants who cannot dial this machine."""
    metrics: str | None = None
    """`IP:PORT` where the agent serves metrics; None: nowhere."""


def save(folder: Path, config: JoinConfig) -> None:
    """Store the configuration, readable by its owner only. It is on disk when this returns."""
    document = {
        "version": VERSION,
        "url": config.url,
        "genesis": f"0x{config.genesis.hex()}",
        "provider": config.provider,
        "region": config.region,
        "bind": config.bind,
        "docker_host": config.docker_host,
        "network": config.network,
        "simulate": config.simulate,
        "reserve": asdict(config.reserve),
        "registry_mirror": config.registry_mirror,
        "image_quota_gib": config.image_quota_gib,
        "keep_gpus": list(config.keep_gpus),
        "share_gpus": config.share_gpus,
        "tier": None if config.tier is None else config.tier.value,
        "ask": _ask_plain(config.ask),
        "gateways": [gateway.text for gateway in config.gateways],
    }
    # Earlier releases, to which an update may go back, refuse unknown fields.
    if config.runtime is not None:
        document["runtime"] = config.runtime
    if config.answer_challenges:
        document["answer_challenges"] = True
    if config.challenge_image is not None:
        document["challenge_image"] = config.challenge_image
    if config.confidential:
        document["confidential"] = True
    if config.metrics is not None:
        document["metrics"] = config.metrics
    if config.allow_registries:
        document["allow_registries"] = [registry.url for registry in config.allow_registries]
    replace_file(folder / NAME, json.dumps(document, indent=2) + "\n")


def load(folder: Path) -> JoinConfig | None:
    """Return the configuration; None without one. Raises OurError that names an invalid field."""
    path = folder / NAME
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise OurError(f"{path} cannot be read: {error}.", "Check the file, or run gantry agent join again.") from None
    try:
        return _parsed(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise OurError(f"{path} is not valid: {_said(error)}.", "Correct it, or run gantry agent join again.") from None


def with_ask(folder: Path, ask: Ask) -> None:
    """Store other prices if there is a configuration."""
    config = load(folder)
    if config is not None:
        save(folder, replace(config, ask=ask))


def _parsed(text: str) -> JoinConfig:
    if len(text) > MAX_BYTES:
        raise ValueError(f"it is longer than {MAX_BYTES} bytes")
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004  (a file's content, not a caller's argument)
    unknown = sorted(set(document) - set(_FIELDS))
    if unknown:
        raise ValueError(f"there is no field {unknown[0]!r}")
    if document["version"] != VERSION:
        raise ValueError(f"version {document['version']!r} is not {VERSION}")
    genesis = bytes.fromhex(_text(document, "genesis").removeprefix("0x"))
    if len(genesis) != 32:
        raise ValueError("genesis has to be 64 hex digits")
    reserve = document["reserve"]
    region = _text(document, "region")
    if len(region.encode()) > MAX_REGION_BYTES:
        raise ValueError(f"region is longer than {MAX_REGION_BYTES} bytes")
    if (hidden := unseen(region)) is not None:
        raise ValueError(f"region holds {hidden}, which cannot be seen")
    # Earlier releases offered only whole GPUs.
    network, share_gpus = document["network"], document.get("share_gpus", False)
    answer_challenges = document.get("answer_challenges", False)
    confidential = document.get("confidential", False)
    flags = (
        ("network", network),
        ("share_gpus", share_gpus),
        ("answer_challenges", answer_challenges),
        ("confidential", confidential),
    )
    image = _optional(document, "challenge_image")
    for name, value in flags:
        if not isinstance(value, bool):
            raise ValueError(f"{name} has to be true or false")  # noqa: TRY004
    return JoinConfig(
        url=_text(document, "url"),
        genesis=genesis,
        provider=check_address(_text(document, "provider")),
        region=region,
        ask=_ask(document["ask"]),
        bind=_optional(document, "bind"),
        docker_host=_optional(document, "docker_host"),
        runtime=_optional(document, "runtime"),
        network=network,
        simulate=_optional(document, "simulate"),
        reserve=Reserve(*(_whole(reserve, name, 2**40) for name in ("cpu_milli", "memory_mib", "disk_gib"))),
        registry_mirror=_optional(document, "registry_mirror"),
        allow_registries=tuple(parse_allowed(str(text)) for text in document.get("allow_registries", ())),
        image_quota_gib=None if document["image_quota_gib"] is None else _whole(document, "image_quota_gib", 2**20),
        keep_gpus=tuple(_number(value, "keep_gpus", 16 * MAX_DEVICES) for value in document["keep_gpus"]),
        share_gpus=share_gpus,
        answer_challenges=answer_challenges,
        challenge_image=None if image is None else parse_challenge_image(image),
        confidential=confidential,
        tier=None if document["tier"] is None else Tier(document["tier"]),
        metrics=_optional(document, "metrics"),
        # Earlier releases had no gateways.
        gateways=tuple(parse_gateway(str(text)) for text in document.get("gateways", ())),
    )


def _ask_plain(ask: Ask) -> dict[str, Any]:
    plain: dict[str, Any] = ask.encode()
    gpus = [{"model": price.model.decode(errors="replace"), "per_hour": price.per_hour} for price in ask.gpu]
    return {**plain, "gpu": gpus}


def _ask(plain: Any) -> Ask:
    gpus = [{"model": str(entry["model"]).encode(), "per_hour": entry["per_hour"]} for entry in plain["gpu"]]
    ask = Ask.decode({**plain, "gpu": gpus})
    for name, value in plain.items():
        if name != "gpu":
            _number(value, f"ask.{name}", 2**128 - 1)
    return ask


def _text(document: dict[str, Any], name: str) -> str:
    value = document[name]
    if not isinstance(value, str) or len(value) > 1024:
        raise ValueError(f"{name} has to be text")
    return value


def _optional(document: dict[str, Any], name: str) -> str | None:
    return None if document.get(name) is None else _text(document, name)


def _whole(document: dict[str, Any], name: str, largest: int) -> int:
    return _number(document[name], name, largest)


def _number(value: Any, name: str, largest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise ValueError(f"{name} has to be a whole number from 0 to {largest}")
    return value


def _said(error: Exception) -> str:
    return f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
