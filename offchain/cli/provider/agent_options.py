"""Options of the agent's commands, and the settings that follow from them and the stored configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from node_agent.challenge.program_port import parse_challenge_image
from node_agent.images.registries import Endpoint, parse_allowed
from node_agent.runtime import join_config as configs
from node_agent.runtime.settings import AgentSettings
from node_agent.telemetry.hardware import profile_names
from node_agent.telemetry.probe import Reserve
from offchain.adapters.local_http import ListenError, parse_address
from offchain.cli.kit import options
from offchain.cli.kit.failures import report_failure
from offchain.cli.kit.output import StepOutput
from offchain.cli.provider.confidential_check import CONFIDENTIAL
from offchain.errors import GantryError
from offchain.schema.chain_types._generated_chain import Tier
from offchain.schema.protocol.gateway import GatewayAddress, parse_gateway
from offchain.schema.terminal_escaping import unseen

DEFAULT_URL = "ws://127.0.0.1:9944"
DEFAULT_STATE = Path.home() / ".local/share/gantry/agent"


def _bind_address(text: str) -> str:
    ip, _, port = text.rpartition(":")
    if not ip or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is not IP:PORT; write it like 0.0.0.0:4434 (port 0: any free one)")
    return text


def _metrics_address(text: str) -> str:
    try:
        parse_address(text, "metrics")
    except ListenError as error:
        raise ValueError(f"{error.message} {error.hint}") from None
    return text


def _genesis(text: str) -> bytes:
    """Return the 32 bytes of a genesis hash."""
    try:
        raw = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise ValueError(f"{text!r} is not a genesis hash: write 64 hex digits; gantry doctor shows it")
    return raw


@dataclass(frozen=True, slots=True)
class DefaultNetwork:
    """The network of the other `gantry` commands, for an agent that has not joined one."""

    url: str = DEFAULT_URL
    genesis: bytes | None = None
    engine: str | None = None
    """The address of the Docker engine that the local network of scripts/up uses; None for other networks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentArguments:
    """Values of the command line; None if not given, so that the stored configuration counts."""

    state: Path
    url: str | None = None
    genesis: bytes | None = None
    bind: str | None = None
    simulate: str | None = None
    docker_host: str | None = None
    runtime: str | None = None
    no_network: bool = False
    reserve_cpus: float | None = None
    reserve_memory_mib: int | None = None
    reserve_disk_gib: int | None = None
    keep_gpus: tuple[int, ...] = ()
    share_gpus: bool | None = None
    answer_challenges: bool | None = None
    challenge_image: str | None = None
    confidential: bool | None = None
    registry_mirror: str | None = None
    allow_registries: tuple[Endpoint, ...] = ()
    image_quota_gib: int | None = None
    tier: Tier | None = None
    gateways: tuple[GatewayAddress, ...] = ()
    metrics: str | None = None


def resolve_settings(
    given: AgentArguments, config: configs.JoinConfig | None, network: DefaultNetwork
) -> AgentSettings:
    """Return the settings: from the command line, else the stored configuration, else the default network. Pure."""
    kept = config.reserve if config is not None else Reserve()
    reserve = Reserve(
        kept.cpu_milli if given.reserve_cpus is None else int(given.reserve_cpus * 1000),
        kept.memory_mib if given.reserve_memory_mib is None else given.reserve_memory_mib,
        kept.disk_gib if given.reserve_disk_gib is None else given.reserve_disk_gib,
    )
    if config is None:
        url = given.url or network.url
        # The default network's genesis does not apply to a node named otherwise.
        genesis = given.genesis or (network.genesis if url == network.url else None)
    else:
        url, genesis = given.url or config.url, given.genesis or config.genesis

    def chosen(name: str) -> Any:
        value = getattr(given, name)
        return getattr(config, name) if value in (None, "", ()) and config is not None else value

    stored = {name: chosen(name) for name in _STORED}
    if config is None and url == network.url and stored["docker_host"] is None:
        stored["docker_host"] = network.engine

    return AgentSettings(
        url=url,
        genesis=genesis,
        state=given.state,
        network=(config is None or config.network) and not given.no_network,
        reserve=reserve,
        share_gpus=bool(chosen("share_gpus")),
        answer_challenges=bool(chosen("answer_challenges")),
        confidential=bool(chosen("confidential")),
        **stored,
    )


_STORED = (
    "bind", "simulate", "docker_host", "runtime", "keep_gpus", "registry_mirror", "allow_registries", "image_quota_gib",
    "tier", "gateways", "metrics", "challenge_image",
)  # fmt: skip
"""Settings that come from the stored configuration unless they are given."""


_STATE = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_STATE,
    help="The agent's folder: host key, configuration, database, results, logs.",
)
_URL = click.option(
    "--url",
    help="The chain node's address, or several with commas between them. Default: the one joined with, else the local "
    "network's.",
)
_GENESIS = click.option(
    "--genesis",
    type=options.Parsed("HASH", _genesis),
    envvar="GANTRY_GENESIS",
    help="Require the chain with this genesis hash. Default: the one of the first contact.",
)
_MACHINE = (
    click.option(
        "--bind",
        type=options.Parsed("IP:PORT", _bind_address),
        help="UDP address where tenants reach this host. Default: any address, the last port.",
    ),
    click.option(
        "--gateway",
        "gateways",
        type=options.Parsed("ADDRESS", parse_gateway, "; its operator knows it"),
        multiple=True,
        envvar="GANTRY_GATEWAY",
        help="Also be reachable through this gateway: ACCOUNT@HOST:PORT. For machines that tenants cannot dial. May be "
        "given several times. Else GANTRY_GATEWAY.",
    ),
    click.option(
        "--metrics",
        type=options.Parsed("IP:PORT", _metrics_address),
        envvar="GANTRY_AGENT_METRICS",
        help="Serve metrics for Prometheus there by HTTP (docs/monitoring.md). A port alone: on this machine only. "
        "Else GANTRY_AGENT_METRICS.  [default: off]",
    ),
    click.option("--docker-host", metavar="URL", help="The Docker engine, for example unix:///var/run/docker.sock."),
    click.option(
        "--runtime",
        metavar="NAME",
        help="The engine's runtime for all tenants' containers, for example runsc (gVisor).  [default: runc]",
    ),
    click.option("--no-network", is_flag=True, help="Give tenants' containers no network at all."),
    click.option(
        "--simulate",
        metavar="PROFILE",
        help=f"Offer simulated GPUs of a profile ({', '.join(profile_names())}, or a JSON file) instead of real "
        "ones. They are marked as simulated on the chain.",
    ),
    click.option("--reserve-cpus", type=click.FloatRange(min=0), help="Cores reserved for the machine.  [default: 0]"),
    click.option(
        "--reserve-memory-mib", type=click.IntRange(min=0), help="Memory reserved for the machine.  [default: 512]"
    ),
    click.option("--reserve-disk-gib", type=click.IntRange(min=0), help="Disk reserved for the machine.  [default: 2]"),
    click.option(
        "--keep-gpu",
        "keep_gpus",
        type=click.IntRange(min=0),
        multiple=True,
        help="A GPU that is not offered, by its number in nvidia-smi. May be given several times.",
    ),
    click.option(
        "--share-gpus/--whole-gpus",
        "share_gpus",
        default=None,
        help="Whether tenants may lease a share of a GPU for that share of its price; the rest is then for the same "
        "account alone.  [default: whole GPUs]",
    ),
    click.option(
        "--answer-challenges/--no-challenges",
        "answer_challenges",
        default=None,
        help="Whether verifiers may have this host prove its GPUs (docs/trust.md). The second challenge that is not "
        "answered costs a part of the bond.  [default: no challenges]",
    ),
    click.option(
        "--challenge-image",
        type=options.Parsed("DIGEST", parse_challenge_image),
        help="Run the program that proves GPUs in a container of this image, for example sha256:… (docs/providers.md). "
        "Needed for real GPUs; simulated ones are proven without it by numpy.",
    ),
)
_IMAGES = (
    click.option("--registry-mirror", metavar="URL", help="Pull images through this registry, for example a cache."),
    click.option(
        "--allow-registry",
        "allow_registries",
        type=options.Parsed("HOST[:PORT]", parse_allowed),
        multiple=True,
        envvar="GANTRY_ALLOW_REGISTRY",
        help="Pull images from this registry although its address is not public. With http:// before it, without TLS. "
        "May be given several times. Else GANTRY_ALLOW_REGISTRY.",
    ),
    click.option(
        "--image-quota-gib",
        type=click.IntRange(min=1),
        help="Disk for tenants' images; the longest unused go first.  [default: a quarter of the free, at most 200]",
    ),
)
TIER = click.option(
    "--tier",
    type=click.Choice([tier.value.lower() for tier in Tier]),
    help="Tier of the machine, which determines the bond. Default: by its GPU models.",
)
REGION = click.option("--region", help="Location of the machine, at most 32 characters.  [default: local]")


def folder(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --state, --url and --genesis, for commands on a joined host. Passes AgentSettings."""
    return _with_settings(command, (_STATE, _URL, _GENESIS))


def machine(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of :func:`folder` and those that describe the machine. Passes AgentSettings."""
    return _with_settings(command, (_STATE, _URL, _GENESIS, *_MACHINE, CONFIDENTIAL, *_IMAGES))


def region_of(text: str) -> str:
    """Check a region against the limits of the chain."""
    if len(text.encode()) > configs.MAX_REGION_BYTES:
        raise click.BadParameter(f"it is longer than {configs.MAX_REGION_BYTES} bytes", param_hint="--region")
    if (hidden := unseen(text)) is not None:
        raise click.BadParameter(f"it holds {hidden}, which cannot be seen; leave it out", param_hint="--region")
    return text


def tier_of(text: str | None) -> Tier | None:
    """Return the tier of this name."""
    return None if text is None else Tier(text.capitalize())


output = options.grouped(
    "output",
    StepOutput,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object, or one per line for several steps."),
)
"""Adds --json. Passes `output`."""


def _with_settings(command: Callable[..., Any], given: Sequence[Callable[[Any], Any]]) -> Callable[..., Any]:
    names = options.parameter_names(given)

    @wraps(command)
    @click.pass_context
    def call(ctx: click.Context, /, **values: Any) -> Any:
        arguments = AgentArguments(**{name: values.pop(name) for name in names})
        arguments = dataclasses.replace(
            arguments, state=arguments.state.absolute(), tier=tier_of(values.pop("tier", None))
        )
        network = ctx.obj if isinstance(ctx.obj, DefaultNetwork) else DefaultNetwork()
        try:
            config = configs.load(arguments.state)
        except GantryError as error:
            ctx.exit(report_failure(error, as_json="output" in values and values["output"].as_json))
        return command(resolve_settings(arguments, config, network), **values)

    return options.with_options(call, given)
