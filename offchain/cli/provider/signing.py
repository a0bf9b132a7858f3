"""Signatures of the provider: by its key, by a proxy's key, or in a wallet elsewhere."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import click

from offchain.adapters.chain.submit_once import submit_once
from offchain.adapters.keys import keystore
from offchain.adapters.keys.signer import from_uri
from offchain.cli.kit import options as kit
from offchain.cli.kit.output import StepOutput
from offchain.cli.kit.session import report_sent
from offchain.errors import CallFailed, OurError, RefusedError
from offchain.ports import Block, BlockRef, Call, ChainEvent, ChainPort, Signer
from offchain.schema.manifest.values import check_address
from offchain.services.call_text import call_lines

TIMEOUT_S = 120.0
_PASSWORD = "GANTRY_PASSWORD"  # noqa: S105  (the name of a variable)


@dataclass(frozen=True, slots=True)
class SigningOptions:
    """Options that choose the signer. At most one of the first three is given."""

    provider: str | None
    provider_uri_env: str | None
    provider_key_file: Path | None
    proxy_for: str | None
    by_hand: str | None

    def authority(self, known_provider: str | None) -> SigningAuthority:
        """Return who signs. `known_provider`: the provider under whom the host has joined.

        Raises OurError if the provider is unknown. Asks for the password of a key file.
        """
        given = [value for value in (self.provider, self.provider_uri_env, self.provider_key_file) if value is not None]
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
        if self.provider is not None:
            if not self.provider.startswith("//") or "///" in self.provider:
                raise OurError(
                    "--provider takes development accounts only (//Bob): others see the arguments of a program.",
                    "Put the secret into an environment variable and name that with --provider-uri-env.",
                )
            return from_uri(self.provider)
        if self.provider_uri_env is not None:
            # Removed, because the agent that this command may start would inherit it.
            secret = os.environ.pop(self.provider_uri_env, None)
            if not secret:
                raise OurError(
                    f"The environment variable {self.provider_uri_env} is not set.",
                    "Put the provider's secret into it.",
                )
            return from_uri(secret)
        password = os.environ.pop(_PASSWORD, None)
        if password is None:
            password = click.prompt(f"Password of {self.provider_key_file}", hide_input=True, err=True)
        return keystore.load(Path(str(self.provider_key_file)), password)


@dataclass(frozen=True, slots=True)
class SigningAuthority:
    """The provider and its signer: its own key, its proxy's, or None for a wallet elsewhere."""

    provider: str
    signer: Signer | None = None

    @property
    def by_proxy(self) -> bool:
        """Whether another account signs for the provider."""
        return self.signer is not None and self.signer.address != self.provider


@dataclass(frozen=True, slots=True)
class SigningSession:
    """Submits calls of the provider on one chain.

    `url` is shown for a signature elsewhere. `quiet`: without :func:`report_sent`.
    """

    port: ChainPort
    authority: SigningAuthority
    output: StepOutput
    url: str
    quiet: bool = False

    async def submit(
        self, call: Call, why: str, done: Callable[[], Awaitable[bool]], *, wait: bool = True
    ) -> tuple[ChainEvent, ...]:
        """Submit the provider's call and return its events, none if it was signed elsewhere.

        `why`: a sentence before the request to sign. `done`: whether the chain shows the call's effect. `wait` False:
        only print the request. Raises :class:`RefusedError` with the chain's reason.
        """
        authority = self.authority
        if authority.signer is None:
            await self._ask_elsewhere(call, why, done, wait=wait)
            return ()
        if authority.by_proxy:
            by_proxy = proxied(authority.provider, call)
            events = await send(self.port, authority.signer, by_proxy, quiet=self.quiet)
            await _raise_refusal(self.port, events)
            return events
        return await send(self.port, authority.signer, call, quiet=self.quiet)

    async def _ask_elsewhere(self, call: Call, why: str, done: Callable[[], Awaitable[bool]], *, wait: bool) -> None:
        encoded = await self.port.encode_call(call)
        self.output.text(*signing_request(call, encoded, self.authority.provider, self.url, why))
        self.output.step(
            "sign",
            call=f"0x{encoded.hex()}",
            function=f"{call.pallet}.{call.function}",
            provider=self.authority.provider,
            link=wallet_link(self.url, encoded),
        )
        if not wait:
            return
        self.output.text("Waiting for the call on the chain. You may interrupt (Ctrl-C) and repeat this command later.")
        await wait_until(self.port.finalized(), done)


async def wait_until(heads: AsyncGenerator[BlockRef, None], done: Callable[[], Awaitable[bool]]) -> None:
    """Call `done` at each of these blocks until it is true."""
    async with aclosing(heads) as stream:
        async for _ in stream:
            if await done():
                return


def proxied(provider: str, call: Call) -> Call:
    """Return the call as a proxy makes it for the provider."""
    inner = {call.pallet: {call.function: dict(call.args)} if call.args else call.function}
    return Call("Proxy", "proxy", {"real": {"Id": provider}, "force_proxy_type": None, "call": inner})


async def send(port: ChainPort, signer: Signer, call: Call, *, quiet: bool = False) -> tuple[ChainEvent, ...]:
    """Submit a call, wait until it is final and return its events.

    `quiet`: without :func:`report_sent`. Raises :class:`RefusedError` with the chain's reason.
    """
    try:
        included, block = await submit_once(port, signer, call, TIMEOUT_S, None if quiet else report_sent)
    except TimeoutError:
        raise RefusedError(
            f"{call.pallet}.{call.function} was in no block within {TIMEOUT_S:g} s.",
            "Check that the chain makes blocks, then try again.",
        ) from None
    return events_of(block, included.index)


def events_of(block: Block, index: int) -> tuple[ChainEvent, ...]:
    """Return the events of one extrinsic."""
    return tuple(event for event in block.events if event.extrinsic == index)


_ACCOUNT = kit.Parsed("ADDRESS", check_address, "; write it as your wallet shows it")
options = kit.grouped(
    "keys",
    SigningOptions,
    click.option("--provider", metavar="//NAME", help="A development account that owns the host, for example //Bob."),
    click.option("--provider-uri-env", metavar="VAR", help="The environment variable that holds the signer's secret."),
    click.option(
        "--provider-key-file",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="The signer's polkadot.js keystore. The password is read from GANTRY_PASSWORD or asked for.",
    ),
    click.option(
        "--proxy-for",
        type=_ACCOUNT,
        help="The key above is a proxy's (type Provider); this account owns the host.",
    ),
    click.option("--by-hand", type=_ACCOUNT, help="This account owns the host, and you sign in a wallet of your own."),
)
"""Adds the options that choose the signer. Passes `keys`."""


async def _raise_refusal(port: ChainPort, events: tuple[ChainEvent, ...]) -> None:
    for event in events:
        if (event.pallet, event.name) != ("Proxy", "ProxyExecuted"):
            continue
        result = event.fields["result"]
        if isinstance(result, dict) and "Err" in result:
            failure = await port.failure_of(result["Err"])
            raise CallFailed(failure.pallet, failure.name, failure.doc)


_WALLET = "https://polkadot.js.org/apps/"


def wallet_link(url: str, encoded: bytes) -> str:
    """Return a link to a call in polkadot.js, ready to be signed. `url`: a node that the wallet can reach."""
    return f"{_WALLET}?rpc={quote(url, safe='')}#/extrinsics/decode/0x{encoded.hex()}"


def signing_request(call: Call, encoded: bytes, provider: str, url: str, why: str) -> list[str]:
    """Return the request to sign for a key that is elsewhere."""
    return [
        f"{why} This call needs the signature of {provider}:",
        "",
        *(f"  {line}" for line in call_lines(call)),
        "",
        "Sign it in polkadot.js (Developer, Extrinsics, Decode) or any other wallet that takes call data:",
        f"  0x{encoded.hex()}",
        f"  {wallet_link(url, encoded)}",
        "",
    ]


def duration(ms: int) -> str:
    """Return a duration in its two largest units: 1d 3h, 5m 10s, 0s."""
    seconds = max(0, ms) // 1000
    parts = [(seconds // 86_400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")]
    shown = [f"{count}{unit}" for count, unit in parts if count]
    return " ".join(shown[:2]) or "0s"
