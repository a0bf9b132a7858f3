"""`gantry agent register`: a host on the chain, and nothing else. `join` does all of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import click

from node_agent.runtime.startup import AgentSettings, find_hardware, open_pinned_chain, registration
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.submit_once import first_of
from offchain.adapters.chain.typed import GantryChain
from offchain.cli.provider import agent_options, signing
from offchain.cli.provider.agent_output import StepOutput, finish
from offchain.errors import RefusedError
from offchain.schema.chain_types._generated_chain import Ask

INCLUDED, FINALIZED = "included", "finalized"


@click.command()
@signing.options
@agent_options.REGION
@agent_options.prices
@agent_options.TIER
@click.option(
    "--wait-for",
    type=click.Choice([INCLUDED, FINALIZED]),
    default=FINALIZED,
    show_default=True,
    help="Return when the newest block has the host, or when that block is final and cannot be reverted any more.",
)
@agent_options.JSON
@agent_options.machine
def register(
    settings: AgentSettings,
    keys: signing.SigningOptions,
    region: str | None,
    ask: Callable[[Ask | None], Ask],
    *,
    wait_for: str,
    as_json: bool,
) -> None:
    """Register this machine as a host, and do nothing else. The provider's account posts the bond and is paid."""
    where = agent_options.region_of(region or "local")
    prices = ask(None)
    tell = StepOutput(as_json)

    async def work() -> dict[str, object]:
        authority = keys.authority(None)
        with contextlib.closing(StateDir(settings.state)) as state:
            key = state.host_key()
            hardware = find_hardware(settings, state)
            async with open_pinned_chain(settings, state) as port:
                chain = GantryChain(port)
                record = await chain.host(key.address)
                if record is None:
                    genesis = await port.genesis_hash()
                    call = await registration(settings, key, hardware, genesis, authority.provider, where, prices)

                    async def there() -> bool:
                        return await chain.host(key.address) is not None

                    desk = signing.SigningSession(port, authority, tell, settings.url)
                    agreed = desk.agreed(call, "The host is ready to be registered.", there)
                    if wait_for == FINALIZED:
                        await agreed
                    else:
                        # A block that is reverted gives its calls back to the pool.
                        await first_of(agreed, signing.wait_until(port.best(), there))
                    record = await chain.host(key.address)
                elif record.provider != authority.provider:
                    raise RefusedError(
                        f"Host {key.address} is registered already, under the provider {record.provider}.",
                        "Use that provider's key, or another --state folder for a new host key.",
                    )
            return {
                "host": key.address,
                "provider": authority.provider,
                "status": record.status.tag if record is not None else "Unknown",
                "devices": [device.model for device in hardware.devices],
                "simulated": any(device.simulated for device in hardware.devices),
            }

    result = finish(work(), as_json=as_json)
    tell.text(f"Host {result['host']} is registered under {result['provider']} ({result['status']}).")
    tell.result(result)
