"""Options of several commands: their types, the decorators that add them, and the values that most commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from math import isnan
from typing import Any, TypeVar

import click

from offchain.cli.kit import accounts, session
from offchain.cli.kit import network as networks
from offchain.ports import ChainPort, Signer
from offchain.schema.manifest.values import check_address, parse_amount, parse_duration
from offchain.schema.protocol.gateway import GatewayAddress, parse_gateway

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
_GATEWAYS = "gantry.gateways"


class Parsed(click.ParamType[T]):
    """A value that `parse` makes of the text. `advice` follows the message of its ValueError."""

    def __init__(self, name: str, parse: Callable[[str], T], advice: str = "") -> None:
        self.name = name
        self._parse = parse
        self._advice = advice

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        if not isinstance(value, str):
            converted: T = value
            return converted
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(f"{error}{self._advice}", param, ctx)


class Percent(click.FloatRange):
    """A number above 0 and up to `most`. Unlike its base class it rejects "nan"."""

    def __init__(self, most: float) -> None:
        super().__init__(0, most, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if isnan(found):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return found


class TaskNumber(click.IntRange):
    """The number of a task."""

    name = "task number"

    def __init__(self) -> None:
        super().__init__(0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not value.isdecimal():
            self.fail(f"{value!r} is not the number of a task; gantry task list shows them.", param, ctx)
        return super().convert(value, param, ctx)


def base_units(text: str) -> int:
    """Return an amount in GTY as base units. Raises ValueError."""
    try:
        return parse_amount(text if "GTY" in text else f"{text} GTY")
    except ValueError as error:
        raise ValueError(f"{error}; write it like 0.5") from None


TASK = TaskNumber()
DURATION = Parsed("TIME", parse_duration, "; write for example 30m, 2h or 1d12h")
"""A duration in the notation of manifests, which is converted to ms."""
AMOUNT = Parsed("GTY", base_units)
GATEWAY: Parsed[GatewayAddress] = Parsed("ADDRESS", parse_gateway)
_ADDRESS = Parsed("ADDRESS", check_address, "; copy one that gantry host list or gantry account list shows")


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """The values of the options that :func:`common` adds."""

    url: str | None
    account: str | None = None
    password_file: str | None = None
    as_json: bool = False

    def open_account(self) -> Signer:
        """Return the account that signs. Asks for its password on a terminal."""
        return accounts.open_account(self.account, self.password_file)

    def connected(self) -> AbstractAsyncContextManager[ChainPort]:
        """Yield a checked connection to the chosen network."""
        return session.connected(self.url)


def grouped(
    name: str, make: Callable[..., Any], *options: Callable[[Any], Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options; the command receives as `name` what `make` returns for their values, given by keyword."""
    keys = parameter_names(options)

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(*args: Any, **values: Any) -> Any:
            made = make(**{key: values.pop(key) for key in keys})
            return command(*args, **{name: made}, **values)

        return with_options(call, options)

    return add


def parameter_names(options: Iterable[Callable[[Any], Any]]) -> list[str]:
    """Return the names of the arguments that these options pass to a command."""
    command = click.command()(with_options(lambda: None, options))
    return [param.name for param in command.params if param.expose_value and param.name is not None]


def with_options(command: Callable[..., Any], options: Iterable[Callable[[Any], Any]]) -> Callable[..., Any]:
    """Return the command with these options, which --help lists in this order."""
    for option in reversed(list(options)):
        command = option(command)
    return command


def common(*, account: bool = False, json: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --url, and on request --account, --password-file and --json; the command receives them as `common`."""
    return grouped("common", CommonOptions, *([_account] if account else []), url, *([as_json] if json else []))


def address(command: F) -> F:
    return click.argument("address", type=_ADDRESS)(command)


def url(command: F) -> F:
    return click.option(
        "--url",
        metavar="WS",
        help="The node's address, or several with commas between them. Else GANTRY_URL, else the local network of "
        "this clone, else ws://127.0.0.1:9944.",
    )(command)


def index(command: F) -> F:
    return click.option(
        "--index",
        metavar="ADDRESS",
        help="The index: the path of an SQLite file, or postgresql://user@host/database. Else GANTRY_INDEX, else the "
        "one of the local network of this clone, else ~/.local/state/gantry/index.db.",
    )(command)


def as_json(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="One JSON object, or one a line for lists.")(command)


def gateway(command: F) -> F:
    """Add --gateway; :func:`given_gateways` returns its values."""
    return click.option(
        "--gateway",
        "gateways",
        type=GATEWAY,
        multiple=True,
        callback=_store_gateways,
        expose_value=False,
        help="Also try this gateway if the host itself does not answer: ACCOUNT@HOST:PORT. May be repeated. "
        "Gateways that the host names are always tried. Else GANTRY_GATEWAY, else ~/.config/gantry/gateways.",
    )(command)


def given_gateways() -> tuple[str, ...]:
    """Return the gateways to try besides those that a host names: those of the option, else the known ones."""
    context = click.get_current_context(silent=True)
    given: tuple[GatewayAddress, ...] = () if context is None else context.meta.get(_GATEWAYS, ())
    return tuple(gateway.text for gateway in given) or networks.known_gateways()


def _store_gateways(context: click.Context, _: click.Parameter, value: tuple[GatewayAddress, ...]) -> None:
    context.meta[_GATEWAYS] = value


def _account(command: F) -> F:
    command = click.option(
        "--password-file",
        type=click.Path(exists=True, dir_okay=False),
        help="File with the account's password. Else GANTRY_PASSWORD, else you are asked.",
    )(command)
    return click.option(
        "--account",
        metavar="NAME",
        help="Name of an account (gantry account list), a keystore file, or a development account like //Charlie. "
        "Else GANTRY_ACCOUNT, else your only account.",
    )(command)
