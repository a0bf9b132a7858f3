"""Options of several commands."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any, TypeVar

import click

from offchain.cli.kit import network as networks
from offchain.schema.manifest.values import check_address
from offchain.schema.protocol.fields import WireError
from offchain.schema.protocol.gateway import parse_gateway

F = TypeVar("F", bound=Callable[..., Any])
_GATEWAYS = "gantry.gateways"


class Percent(click.FloatRange):
    """A number above 0 and up to `most`. Unlike its base class it rejects "nan"."""

    def __init__(self, most: float) -> None:
        super().__init__(0, most, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if isnan(found):
            self.fail(f"{value!r} is no number.", param, ctx)
        return found


class _Address(click.ParamType[str]):
    """The address of an account or a host."""

    name = "ADDRESS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return check_address(str(value))
        except ValueError as error:
            self.fail(f"{error}; copy one that gantry host list or gantry account list shows", param, ctx)


def address(command: F) -> F:
    return click.argument("address", type=_Address())(command)


def url(command: F) -> F:
    return click.option(
        "--url",
        metavar="WS",
        help="The node's address. Else GANTRY_URL, else the local network of this clone, else ws://127.0.0.1:9944.",
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
        metavar="ADDRESS",
        multiple=True,
        callback=_checked_gateways,
        expose_value=False,
        help="Also try this gateway if the host itself does not answer: ACCOUNT@HOST:PORT. May be repeated. "
        "Gateways that the host names are always tried. Else GANTRY_GATEWAY, else ~/.config/gantry/gateways.",
    )(command)


def given_gateways() -> tuple[str, ...]:
    """Return the gateways to try besides those that a host names: those of the option, else the known ones."""
    context = click.get_current_context(silent=True)
    given: tuple[str, ...] = () if context is None else context.meta.get(_GATEWAYS, ())
    return given or networks.known_gateways()


def _checked_gateways(context: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    for text in value:
        try:
            parse_gateway(text)
        except WireError as error:
            raise click.BadParameter(f"{error}") from None
    context.meta[_GATEWAYS] = value


def account(command: F) -> F:
    """Add --account and --password-file."""
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
