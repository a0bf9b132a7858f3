"""Options that the agent's commands share, and what they mean together with the folder's configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import Any

import click

from node_agent.images.registries import Endpoint, parse_allowed
from node_agent.runtime import config as configs
from node_agent.runtime.startup import AgentSettings
from node_agent.telemetry.hardware import MAX_MODEL_BYTES, profile_names
from node_agent.telemetry.probe import Reserve
from offchain.cli.provider.agent_output import tell_error
from offchain.errors import GantryError
from offchain.schema.chain_types._generated_chain import Ask, BillingUnit, GpuPrice, Tier
from offchain.schema.manifest.values import parse_amount
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.gateway import GatewayAddress, parse_gateway
from offchain.schema.terminal_escaping import unseen

GTY = 10**12
PPM = 10**6
MAX_MODEL_PRICES = 8
DEFAULT_URL = "ws://127.0.0.1:9944"
DEFAULT_STATE = Path.home() / ".local/share/gantry/agent"


class PriceParam(click.ParamType[int]):
    """A price in GTY."""

    name = "GTY"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Base units."""
        if isinstance(value, int):
            return value
        try:
            return parse_amount(value if "GTY" in value else f"{value} GTY")
        except ValueError as error:
            self.fail(f"{error}; write it like 0.5", param, ctx)


class ModelPriceParam(click.ParamType[GpuPrice]):
    """A price for the GPUs of one model."""

    name = "MODEL=GTY"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> GpuPrice:
        """Model and base units."""
        if isinstance(value, GpuPrice):
            return value
        model, _, price = str(value).rpartition("=")
        if not 0 < len(model.encode()) <= MAX_MODEL_BYTES:
            self.fail(f'{value!r} is not MODEL=GTY; write it like "NVIDIA A100-SXM4-80GB=2.5"', param, ctx)
        return GpuPrice(model.encode(), PriceParam().convert(price, param, ctx))


class UnitFactorParam(click.ParamType[tuple[BillingUnit, int]]):
    """What leases billed by a unit cost, as a factor of the list price."""

    name = "UNIT=FACTOR"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[BillingUnit, int]:
        """The unit, and the factor in parts per million."""
        unit, _, factor = str(value).partition("=")
        try:
            ppm = int(Decimal(factor) * PPM)
            found = BillingUnit(unit.capitalize())
        except (ValueError, ArithmeticError):
            ppm, found = -1, BillingUnit.SECOND
        if not 0 <= ppm <= 10 * PPM:
            self.fail(f"{value!r} is not UNIT=FACTOR; write it like day=0.8 (0: not offered; at most 10)", param, ctx)
        return found, ppm


class BindAddressParam(click.ParamType[str]):
    """An address to listen on."""

    name = "IP:PORT"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The address as it was given."""
        ip, _, port = value.rpartition(":")
        if not ip or not port.isdecimal() or int(port) > 65535:
            self.fail(f"{value!r} is not IP:PORT; write it like 0.0.0.0:4434 (port 0: any free one)", param, ctx)
        return value


class GatewayParam(click.ParamType[GatewayAddress]):
    """A gateway's address."""

    name = "ADDRESS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> GatewayAddress:
        """Its parts."""
        if isinstance(value, GatewayAddress):
            return value
        try:
            return parse_gateway(str(value))
        except WireError as error:
            self.fail(f"{error}; its operator knows it", param, ctx)


class RegistryParam(click.ParamType[Endpoint]):
    """A registry that images may be pulled from wherever it is."""

    name = "HOST[:PORT]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Endpoint:
        """Its host, port and whether it has TLS."""
        if isinstance(value, Endpoint):
            return value
        try:
            return parse_allowed(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class GenesisParam(click.ParamType[bytes]):
    """A chain's genesis hash."""

    name = "HASH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Its 32 bytes."""
        if isinstance(value, bytes):
            return value
        try:
            raw = bytes.fromhex(str(value).removeprefix("0x"))
        except ValueError:
            raw = b""
        if len(raw) != 32:
            self.fail(f"{value!r} is not a genesis hash: write 64 hex digits; gantry doctor shows it", param, ctx)
        return raw


@dataclass(frozen=True, slots=True)
class DefaultNetwork:
    """The network that the other `gantry` commands use, for an agent that has not joined one."""

    url: str = DEFAULT_URL
    genesis: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentArguments:
    """What was given on the command line; None: nothing, so that the folder's configuration counts."""

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
    registry_mirror: str | None = None
    allow_registries: tuple[Endpoint, ...] = ()
    image_quota_gib: int | None = None
    tier: Tier | None = None
    gateways: tuple[GatewayAddress, ...] = ()


def resolve_settings(
    given: AgentArguments, config: configs.JoinConfig | None, network: DefaultNetwork
) -> AgentSettings:
    """What counts: the command line, else what `join` kept, else the network of the other commands. Pure."""
    kept = config.reserve if config is not None else Reserve()
    reserve = Reserve(
        kept.cpu_milli if given.reserve_cpus is None else int(given.reserve_cpus * 1000),
        kept.memory_mib if given.reserve_memory_mib is None else given.reserve_memory_mib,
        kept.disk_gib if given.reserve_disk_gib is None else given.reserve_disk_gib,
    )
    if config is None:
        url = given.url or network.url
        # The network's genesis says nothing about a node that was named otherwise.
        genesis = given.genesis or (network.genesis if url == network.url else None)
        return AgentSettings(
            url=url,
            genesis=genesis,
            state=given.state,
            bind=given.bind,
            simulate=given.simulate,
            docker_host=given.docker_host,
            runtime=given.runtime,
            network=not given.no_network,
            reserve=reserve,
            keep_gpus=given.keep_gpus,
            share_gpus=bool(given.share_gpus),
            registry_mirror=given.registry_mirror,
            allow_registries=given.allow_registries,
            image_quota_gib=given.image_quota_gib,
            tier=given.tier,
            gateways=given.gateways,
        )
    return AgentSettings(
        url=given.url or config.url,
        genesis=given.genesis or config.genesis,
        state=given.state,
        bind=given.bind or config.bind,
        simulate=given.simulate or config.simulate,
        docker_host=given.docker_host or config.docker_host,
        runtime=given.runtime or config.runtime,
        network=config.network and not given.no_network,
        reserve=reserve,
        keep_gpus=given.keep_gpus or config.keep_gpus,
        share_gpus=config.share_gpus if given.share_gpus is None else given.share_gpus,
        registry_mirror=given.registry_mirror or config.registry_mirror,
        allow_registries=given.allow_registries or config.allow_registries,
        image_quota_gib=config.image_quota_gib if given.image_quota_gib is None else given.image_quota_gib,
        tier=given.tier or config.tier,
        gateways=given.gateways or config.gateways,
    )


_STATE = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_STATE,
    help="The agent's folder: host key, configuration, database, results, logs.",
)
_URL = click.option("--url", help="The chain node's address. Default: the one joined with, else the local network's.")
_GENESIS = click.option(
    "--genesis",
    type=GenesisParam(),
    envvar="GANTRY_GENESIS",
    help="Insist on the chain with this genesis hash. Default: the one first met.",
)
_MACHINE = (
    click.option(
        "--bind", type=BindAddressParam(), help="UDP address where tenants reach this host. Default: any, kept."
    ),
    click.option(
        "--gateway",
        "gateways",
        type=GatewayParam(),
        multiple=True,
        envvar="GANTRY_GATEWAY",
        help="Be reached through this gateway, too: ACCOUNT@HOST:PORT. For machines that tenants cannot dial. May be "
        "given several times. Else GANTRY_GATEWAY.",
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
    click.option("--reserve-cpus", type=click.FloatRange(min=0), help="Cores kept for the machine.  [default: 0]"),
    click.option(
        "--reserve-memory-mib", type=click.IntRange(min=0), help="Memory kept for the machine.  [default: 512]"
    ),
    click.option("--reserve-disk-gib", type=click.IntRange(min=0), help="Disk kept for the machine.  [default: 2]"),
    click.option(
        "--keep-gpu",
        "keep_gpus",
        type=click.IntRange(min=0),
        multiple=True,
        help="A GPU that you keep for yourself, by its number in nvidia-smi. May be given several times.",
    ),
    click.option(
        "--share-gpus/--whole-gpus",
        "share_gpus",
        default=None,
        help="Whether tenants may take a part of a GPU, for that part of its price; what is left of it then is for the "
        "same account alone.  [default: whole GPUs]",
    ),
)
_IMAGES = (
    click.option("--registry-mirror", metavar="URL", help="Pull images through this registry, for example a cache."),
    click.option(
        "--allow-registry",
        "allow_registries",
        type=RegistryParam(),
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
_PRICES = (
    click.option("--gpu-price", type=PriceParam(), help="A whole GPU for 1 h.  [default: 1]"),
    click.option("--cpu-price", type=PriceParam(), help="A core for 1 h.  [default: 0.01]"),
    click.option("--memory-price", type=PriceParam(), help="A GiB of memory for 1 h.  [default: 0.002]"),
    click.option("--disk-price", type=PriceParam(), help="A GiB of disk for 1 h.  [default: 0.0001]"),
    click.option(
        "--storage-price", type=PriceParam(), help="A GiB of a stopped rental's disk for 1 h.  [default: 0.0001]"
    ),
    click.option(
        "--gpu-model-price",
        "model_prices",
        type=ModelPriceParam(),
        multiple=True,
        help="A whole GPU of this model for 1 h, instead of --gpu-price. May be given 8 times.",
    ),
    click.option(
        "--unit-factor",
        "unit_factors",
        type=UnitFactorParam(),
        multiple=True,
        help="Leases billed by the second, hour or day cost so many times the list price.  [default: 1 for each]",
    ),
)
TIER = click.option(
    "--tier",
    type=click.Choice([tier.value.lower() for tier in Tier]),
    help="The class of the machine; the bond goes by it. Default: by the models of its GPUs.",
)
REGION = click.option("--region", help="Where the machine stands, at most 32 characters.  [default: local]")
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object, or one a line where there are steps.")


def folder(command: Any) -> Any:
    """--state, --url and --genesis: for commands that act on a host that has joined. Gives Settings."""
    return _gathered(command, (_STATE, _URL, _GENESIS), joined=True)


def machine(command: Any) -> Any:
    """The same, and what describes the machine. Gives Settings."""
    return _gathered(command, (_STATE, _URL, _GENESIS, *_MACHINE, *_IMAGES), joined=False)


def prices(command: Any) -> Any:
    """The price list. Gives `ask`: a function from the ask of before, None where there is none, to the one now."""
    names = ("gpu_price", "cpu_price", "memory_price", "disk_price", "storage_price", "model_prices", "unit_factors")

    @wraps(command)
    def gathered(*settings: Any, **values: Any) -> Any:
        given = PriceList(**{name: values.pop(name) for name in names})
        return command(*settings, ask=given.over, **values)

    for option in reversed(_PRICES):
        gathered = option(gathered)
    return gathered


STANDARD_ASK = Ask((), GTY, GTY // 100, GTY // 500, GTY // 10_000, 0, GTY // 10_000, PPM, PPM, PPM)
"""What is asked where a provider says nothing."""


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices as given; None or empty: not given."""

    gpu_price: int | None
    cpu_price: int | None
    memory_price: int | None
    disk_price: int | None
    storage_price: int | None
    model_prices: tuple[GpuPrice, ...]
    unit_factors: tuple[tuple[BillingUnit, int], ...]

    def over(self, before: Ask | None) -> Ask:
        """The prices of before with those that were given in their place."""
        old = before or STANDARD_ASK
        models = {price.model: price for price in (*old.gpu, *self.model_prices)}
        if len({price.model for price in self.model_prices}) < len(self.model_prices) or len(models) > MAX_MODEL_PRICES:
            raise click.BadParameter(
                f"give it for at most {MAX_MODEL_PRICES} models, and once for each", param_hint="--gpu-model-price"
            )
        units = {BillingUnit.SECOND: old.second_ppm, BillingUnit.HOUR: old.hour_ppm, BillingUnit.DAY: old.day_ppm}
        units |= dict(self.unit_factors)
        return Ask(
            gpu=tuple(models.values()),
            gpu_per_hour=_or(self.gpu_price, old.gpu_per_hour),
            cpu_core_per_hour=_or(self.cpu_price, old.cpu_core_per_hour),
            memory_gib_per_hour=_or(self.memory_price, old.memory_gib_per_hour),
            disk_gib_per_hour=_or(self.disk_price, old.disk_gib_per_hour),
            network_gib=old.network_gib,
            storage_gib_per_hour=_or(self.storage_price, old.storage_gib_per_hour),
            second_ppm=units[BillingUnit.SECOND],
            hour_ppm=units[BillingUnit.HOUR],
            day_ppm=units[BillingUnit.DAY],
        )


def region_of(text: str) -> str:
    """A region that the chain takes."""
    if len(text.encode()) > configs.MAX_REGION_BYTES:
        raise click.BadParameter(f"it is longer than {configs.MAX_REGION_BYTES} bytes", param_hint="--region")
    if (hidden := unseen(text)) is not None:
        raise click.BadParameter(f"it holds {hidden}, which cannot be seen; leave it out", param_hint="--region")
    return text


def tier_of(text: str | None) -> Tier | None:
    """The tier that was named."""
    return None if text is None else Tier(text.capitalize())


def _gathered(command: Any, options: tuple[Callable[[Any], Any], ...], *, joined: bool) -> Any:
    machine_names = () if joined else (
        "bind", "docker_host", "runtime", "no_network", "simulate", "reserve_cpus", "reserve_memory_mib",
        "reserve_disk_gib", "keep_gpus", "share_gpus", "registry_mirror", "allow_registries", "image_quota_gib",
        "gateways",
    )  # fmt: skip

    @wraps(command)
    @click.pass_context
    def gathered(ctx: click.Context, /, **values: Any) -> Any:
        names = ("state", "url", "genesis", *machine_names)
        given = AgentArguments(**{name: values.pop(name) for name in names})
        given = dataclasses.replace(given, state=given.state.absolute(), tier=tier_of(values.pop("tier", None)))
        network = ctx.obj if isinstance(ctx.obj, DefaultNetwork) else DefaultNetwork()
        try:
            config = configs.load(given.state)
        except GantryError as error:
            tell_error(error, as_json=bool(values.get("as_json")))
            ctx.exit(1)
        return command(resolve_settings(given, config, network), **values)

    for option in reversed(options):
        gathered = option(gathered)
    return gathered


def _or(given: int | None, before: int) -> int:
    return before if given is None else given
