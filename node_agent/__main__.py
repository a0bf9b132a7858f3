"""`python -m node_agent`: run the agent of a host, or register the host."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sqlite3
import sys
from collections.abc import Coroutine
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from node_agent.ports import DriverError
from node_agent.startup import Settings, register_host, run_agent
from node_agent.telemetry.hardware import MAX_MODEL_BYTES, profile_names
from node_agent.telemetry.probe import Reserve
from offchain.link import keystore
from offchain.link.errors import GantryError, OurError
from offchain.link.keys import from_uri
from offchain.link.ports import Signer
from offchain.schema._generated_chain import Ask, BillingUnit, GpuPrice, Tier
from offchain.schema.manifest_values import parse_amount

T = TypeVar("T")
GTY = 10**12
PPM = 10**6
MAX_MODEL_PRICES = 8


class Amount(click.ParamType[int]):
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


class ModelPrice(click.ParamType[GpuPrice]):
    """A price for the GPUs of one model."""

    name = "MODEL=GTY"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> GpuPrice:
        """Model and base units."""
        if isinstance(value, GpuPrice):
            return value
        model, _, price = str(value).rpartition("=")
        if not 0 < len(model.encode()) <= MAX_MODEL_BYTES:
            self.fail(f'{value!r} is not MODEL=GTY; write it like "NVIDIA A100-SXM4-80GB=2.5"', param, ctx)
        return GpuPrice(model.encode(), Amount().convert(price, param, ctx))


class UnitFactor(click.ParamType[tuple[BillingUnit, int]]):
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


class Bind(click.ParamType[str]):
    """An address to listen on."""

    name = "IP:PORT"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The address as it was given."""
        ip, _, port = value.rpartition(":")
        if not ip or not port.isdecimal() or int(port) > 65535:
            self.fail(f"{value!r} is not IP:PORT; write it like 0.0.0.0:4434 (port 0: any free one)", param, ctx)
        return value


class Genesis(click.ParamType[bytes]):
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


def _common(command: Any) -> Any:
    """The options that running and registering share."""
    options = [
        click.option("--url", default="ws://127.0.0.1:9944", show_default=True, help="The chain node's address."),
        click.option(
            "--genesis",
            type=Genesis(),
            envvar="GANTRY_GENESIS",
            help="Insist on the chain with this genesis hash. Default: the one first met.",
        ),
        click.option(
            "--state",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path.home() / ".local/share/gantry/agent",
            help="The agent's folder: host key, database, results, logs.",
        ),
        click.option("--bind", type=Bind(), help="UDP address where tenants reach this host. Default: any, kept."),
        click.option(
            "--simulate",
            metavar="PROFILE",
            help=f"Offer simulated GPUs of a profile ({', '.join(profile_names())}, or a JSON file) instead of real "
            "ones. They are marked as simulated on the chain.",
        ),
        click.option("--reserve-cpus", type=click.FloatRange(min=0), default=0.0, help="Cores kept for the machine."),
        click.option("--reserve-memory-mib", type=click.IntRange(min=0), default=512, show_default=True),
        click.option("--reserve-disk-gib", type=click.IntRange(min=0), default=2, show_default=True),
    ]
    for option in reversed(options):
        command = option(command)

    @wraps(command)
    def gathered(**values: Any) -> Any:
        reserve = Reserve(
            int(values.pop("reserve_cpus") * 1000), values.pop("reserve_memory_mib"), values.pop("reserve_disk_gib")
        )
        names = ("url", "state", "bind", "simulate", "genesis")
        settings = Settings(reserve=reserve, **{name: values.pop(name) for name in names})
        return command(settings, **values)

    return gathered


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """The agent of a Gantry host: turns this machine into a host that is paid for running tasks."""
    os.umask(0o077)
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S"
    )
    for noisy in ("apscheduler", "urllib3", "websockets"):
        logging.getLogger(noisy).setLevel(logging.ERROR)


@main.command()
@click.option("--docker-host", metavar="URL", help="The Docker engine, for example unix:///var/run/docker.sock.")
@click.option("--no-network", is_flag=True, help="Give tenants' containers no network at all.")
@_common
def run(settings: Settings, docker_host: str | None, *, no_network: bool) -> None:
    """Run the agent until it is stopped. Containers run on when it stops; the next start takes them up again."""
    _finish(run_agent(settings, docker_host, network=not no_network))


@main.command()
@click.option("--provider", metavar="//NAME", help="A development account that owns the host, for example //Bob.")
@click.option("--provider-uri-env", metavar="VAR", help="The environment variable that holds the provider's secret.")
@click.option(
    "--provider-key-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A polkadot.js keystore; its password is asked for, or read from GANTRY_PASSWORD.",
)
@click.option("--region", default="local", show_default=True, help="Where the machine stands, at most 32 characters.")
@click.option("--gpu-price", type=Amount(), default=GTY, help="A whole GPU for 1 h.  [default: 1]")
@click.option("--cpu-price", type=Amount(), default=GTY // 100, help="A core for 1 h.  [default: 0.01]")
@click.option("--memory-price", type=Amount(), default=GTY // 500, help="A GiB of memory for 1 h.  [default: 0.002]")
@click.option("--disk-price", type=Amount(), default=GTY // 10_000, help="A GiB of disk for 1 h.  [default: 0.0001]")
@click.option(
    "--storage-price",
    type=Amount(),
    default=GTY // 10_000,
    help="A GiB of a stopped rental's disk for 1 h.  [default: 0.0001]",
)
@click.option(
    "--gpu-model-price",
    "model_prices",
    type=ModelPrice(),
    multiple=True,
    help="A whole GPU of this model for 1 h, instead of --gpu-price. May be given 8 times.",
)
@click.option(
    "--unit-factor",
    "unit_factors",
    type=UnitFactor(),
    multiple=True,
    help="Leases billed by the second, hour or day cost so many times the list price.  [default: 1 for each]",
)
@click.option(
    "--tier",
    type=click.Choice([tier.value.lower() for tier in Tier]),
    help="The class of the machine; the bond goes by it. Default: by the models of its GPUs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_common
def register(
    settings: Settings,
    provider: str | None,
    provider_uri_env: str | None,
    provider_key_file: Path | None,
    region: str,
    gpu_price: int,
    cpu_price: int,
    memory_price: int,
    disk_price: int,
    storage_price: int,
    model_prices: tuple[GpuPrice, ...],
    unit_factors: tuple[tuple[BillingUnit, int], ...],
    tier: str | None,
    *,
    as_json: bool,
) -> None:
    """Register this machine as a host. The provider's account signs, posts the bond and is paid."""
    if len(region.encode()) > 32:
        raise click.BadParameter("it is longer than 32 bytes", param_hint="--region")
    if len(model_prices) > MAX_MODEL_PRICES or len({price.model for price in model_prices}) < len(model_prices):
        raise click.BadParameter(
            f"give it for at most {MAX_MODEL_PRICES} models, and once for each", param_hint="--gpu-model-price"
        )
    factors = dict.fromkeys(BillingUnit, PPM) | dict(unit_factors)
    ask = Ask(
        gpu=model_prices,
        gpu_per_hour=gpu_price,
        cpu_core_per_hour=cpu_price,
        memory_gib_per_hour=memory_price,
        disk_gib_per_hour=disk_price,
        network_gib=0,
        storage_gib_per_hour=storage_price,
        second_ppm=factors[BillingUnit.SECOND],
        hour_ppm=factors[BillingUnit.HOUR],
        day_ppm=factors[BillingUnit.DAY],
    )

    async def work() -> dict[str, object]:
        signer = _provider(provider, provider_uri_env, provider_key_file)
        return await register_host(settings, signer, region, ask, Tier(tier.capitalize()) if tier else None)

    result = _finish(work())
    if as_json:
        click.echo(json.dumps(result))
    else:
        click.echo(f"Host {result['host']} is registered under {result['provider']} ({result['status']}).")


def _provider(uri: str | None, variable: str | None, key_file: Path | None) -> Signer:
    given = [value for value in (uri, variable, key_file) if value is not None]
    if len(given) != 1:
        raise OurError(
            "Who owns this host? Exactly one of --provider, --provider-uri-env and --provider-key-file is needed."
        )
    if uri is not None:
        if not uri.startswith("//") or "///" in uri:
            raise OurError(
                "--provider takes development accounts only (//Bob): others see the arguments of a program.",
                "Put the secret into an environment variable and name that with --provider-uri-env.",
            )
        return from_uri(uri)
    if variable is not None:
        secret = os.environ.get(variable)
        if not secret:
            raise OurError(f"The environment variable {variable} is not set.", "Put the provider's secret into it.")
        return from_uri(secret)
    password = os.environ.get("GANTRY_PASSWORD")
    if password is None:
        password = click.prompt(f"Password of {key_file}", hide_input=True, err=True)
    return keystore.load(Path(str(key_file)), password)


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; an error becomes one message and a non-zero exit."""
    try:
        return asyncio.run(work)
    except (GantryError, DriverError) as error:
        click.echo(f"error: {error}", err=True)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
    except (OSError, sqlite3.Error) as error:
        click.echo(f"error: {error}. Containers run on; mend the cause and start the agent again.", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
