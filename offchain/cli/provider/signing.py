"""How the provider agrees to a call: by its key, by a proxy's key, or by a signature made elsewhere."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys import keystore
from offchain.adapters.keys.signer import from_uri
from offchain.cli.provider.agent_output import StepOutput
from offchain.cli.provider.call_text import signing_request, wallet_link
from offchain.errors import CallFailed, OurError, RefusedError
from offchain.ports import Block, BlockRef, Call, ChainEvent, ChainPort, Signer
from offchain.schema.manifest.values import check_address

TIMEOUT_S = 120.0
_PASSWORD = "GANTRY_PASSWORD"  # noqa: S105  (the name of a variable)


class Address(click.ParamType[str]):
    """An account's address."""

    name = "ADDRESS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The address as it was given."""
        try:
            return check_address(str(value))
        except ValueError as error:
            self.fail(f"{error}; write it as your wallet shows it", param, ctx)


@dataclass(frozen=True, slots=True)
class SigningOptions:
    """What was given to sign with. At most one of the first three."""

    uri: str | None
    variable: str | None
    key_file: Path | None
    proxy_for: str | None
    by_hand: str | None

    def authority(self, known_provider: str | None) -> SigningAuthority:
        """Who agrees, and how. `known_provider`: the one that the host has joined under, where it has.

        Raises OurError where it cannot be told who owns the host. Asks for a key file's password.
        """
        given = [value for value in (self.uri, self.variable, self.key_file) if value is not None]
        if len(given) > 1 or (given and self.by_hand) or (self.proxy_for and (self.by_hand or not given)):
            raise OurError(
                "Exactly one of --provider, --provider-uri-env, --provider-key-file and --by-hand is needed; "
                "--proxy-for goes with one of the first three.",
                "Leave out the others.",
            )
        if not given:
            provider = self.by_hand or known_provider
            if provider is None:
                raise OurError(
                    "Who owns this host? Exactly one of --provider, --provider-uri-env, --provider-key-file and "
                    "--by-hand is needed.",
                    "With --by-hand ADDRESS you sign in your own wallet, and no key has to be on this machine.",
                )
            return SigningAuthority(provider)
        signer = self._signer()
        return SigningAuthority(self.proxy_for or signer.address, signer)

    def _signer(self) -> Signer:
        if self.uri is not None:
            if not self.uri.startswith("//") or "///" in self.uri:
                raise OurError(
                    "--provider takes development accounts only (//Bob): others see the arguments of a program.",
                    "Put the secret into an environment variable and name that with --provider-uri-env.",
                )
            return from_uri(self.uri)
        if self.variable is not None:
            # Taken out: the agent that this command may start would have it in its own environment for ever.
            secret = os.environ.pop(self.variable, None)
            if not secret:
                raise OurError(
                    f"The environment variable {self.variable} is not set.", "Put the provider's secret into it."
                )
            return from_uri(secret)
        password = os.environ.pop(_PASSWORD, None)
        if password is None:
            password = click.prompt(f"Password of {self.key_file}", hide_input=True, err=True)
        return keystore.load(Path(str(self.key_file)), password)


@dataclass(frozen=True, slots=True)
class SigningAuthority:
    """The provider, and who signs for it: its own key, its proxy's, or (None) somebody elsewhere."""

    provider: str
    signer: Signer | None = None

    @property
    def by_proxy(self) -> bool:
        """Whether another account signs for the provider."""
        return self.signer is not None and self.signer.address != self.provider


@dataclass(frozen=True, slots=True)
class SigningSession:
    """Has calls of the provider take effect on one chain. `url` is shown to who signs elsewhere."""

    port: ChainPort
    authority: SigningAuthority
    tell: StepOutput
    url: str

    async def agreed(
        self, call: Call, why: str, done: Callable[[], Awaitable[bool]], *, wait: bool = True
    ) -> tuple[ChainEvent, ...]:
        """Have the provider's call take effect; gives its events, none where it was signed elsewhere.

        `why`: a sentence that goes before the request to sign. `done`: whether the chain has what the call is for.
        `wait` False: only print the request. Raises :class:`RefusedError` with the chain's reason.
        """
        authority = self.authority
        if authority.signer is None:
            await self._ask_elsewhere(call, why, done, wait=wait)
            return ()
        if authority.by_proxy:
            events = await send(self.port, authority.signer, proxied(authority.provider, call))
            await _raise_refusal(self.port, events)
            return events
        return await send(self.port, authority.signer, call)

    async def _ask_elsewhere(self, call: Call, why: str, done: Callable[[], Awaitable[bool]], *, wait: bool) -> None:
        encoded = await self.port.encode_call(call)
        self.tell.text(*signing_request(call, encoded, self.authority.provider, self.url, why))
        self.tell.step(
            "sign",
            call=f"0x{encoded.hex()}",
            function=f"{call.pallet}.{call.function}",
            provider=self.authority.provider,
            link=wallet_link(self.url, encoded),
        )
        if not wait:
            return
        self.tell.text("Waiting for it to be on the chain. You may stop here (Ctrl-C) and run this again later.")
        await wait_until(self.port.finalized(), done)


async def wait_until(heads: AsyncGenerator[BlockRef, None], done: Callable[[], Awaitable[bool]]) -> None:
    """Ask `done` at each of these blocks until it is true."""
    async with aclosing(heads) as stream:
        async for _ in stream:
            if await done():
                return


def proxied(provider: str, call: Call) -> Call:
    """The call as a proxy makes it for the provider."""
    inner = {call.pallet: {call.function: dict(call.args)} if call.args else call.function}
    return Call("Proxy", "proxy", {"real": {"Id": provider}, "force_proxy_type": None, "call": inner})


async def send(port: ChainPort, signer: Signer, call: Call) -> tuple[ChainEvent, ...]:
    """Have a call included and final; gives its events. Raises :class:`RefusedError` with the chain's reason."""
    try:
        included, block = await submit_once(port, signer, call, TIMEOUT_S)
    except TimeoutError:
        raise RefusedError(
            f"{call.pallet}.{call.function} came into no block within {TIMEOUT_S:g} s.",
            "Check that the chain makes blocks, then try again.",
        ) from None
    return events_of(block, included.index)


def events_of(block: Block, index: int) -> tuple[ChainEvent, ...]:
    """The events of one extrinsic."""
    return tuple(event for event in block.events if event.extrinsic == index)


def options(command: Any) -> Any:
    """The options that say who signs. Gives `keys`."""

    @wraps(command)
    def gathered(*args: Any, **values: Any) -> Any:
        keys = SigningOptions(
            values.pop("provider"),
            values.pop("provider_uri_env"),
            values.pop("provider_key_file"),
            values.pop("proxy_for"),
            values.pop("by_hand"),
        )
        return command(*args, keys=keys, **values)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


_OPTIONS = (
    click.option("--provider", metavar="//NAME", help="A development account that owns the host, for example //Bob."),
    click.option("--provider-uri-env", metavar="VAR", help="The environment variable that holds the signer's secret."),
    click.option(
        "--provider-key-file",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="The signer's polkadot.js keystore; its password is asked for, or read from GANTRY_PASSWORD.",
    ),
    click.option(
        "--proxy-for", type=Address(), help="The key above is a proxy's (type Provider); this account owns the host."
    ),
    click.option("--by-hand", type=Address(), help="This account owns the host, and you sign in a wallet of your own."),
)


async def _raise_refusal(port: ChainPort, events: tuple[ChainEvent, ...]) -> None:
    for event in events:
        if (event.pallet, event.name) != ("Proxy", "ProxyExecuted"):
            continue
        result = event.fields["result"]
        if isinstance(result, dict) and "Err" in result:
            failure = await port.failure_of(result["Err"])
            raise CallFailed(failure.pallet, failure.name, failure.doc)
