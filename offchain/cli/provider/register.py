"""`gantry agent register`: only register a host. `join` does all of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import click

from node_agent.runtime.settings import AgentSettings, find_hardware, open_pinned_chain, registration
from node_agent.runtime.state_dir import StateDir
from offchain.adapters.chain.submit_once import first_of
from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit.failures import run_command
from offchain.cli.kit.output import StepOutput
from offchain.cli.provider import agent_options, price_options, signing
from offchain.cli.provider.challenge_check import require_challenge_program
from offchain.errors import RefusedError
from offchain.schema.chain_types._generated_chain import Ask

INCLUDED, FINALIZED = "included", "finalized"


@click.command()
@signing.options
@agent_options.REGION
@price_options.prices
@agent_options.TIER
@click.option(
    "--wait-for",
    type=click.Choice([INCLUDED, FINALIZED]),
    default=FINALIZED,
    show_default=True,
    help="Return once the newest block has the host, or once that block is final.",
)
@agent_options.output
@agent_options.machine
def register(
    settings: AgentSettings,
    keys: signing.SigningOptions,
    region: str | None,
    ask: Callable[[Ask | None], Ask],
    *,
    wait_for: str,
    output: StepOutput,
) -> None:
    """Only register this machine as a host. The provider's account posts the bond and is paid."""
    where = agent_options.region_of(region or "local")
    prices = ask(None)

    async def work() -> dict[str, object]:
        authority = keys.authority(None)
        with contextlib.closing(StateDir(settings.state)) as state:
            key = state.host_key()
            hardware = find_hardware(settings, state)
            async with open_pinned_chain(settings, state) as port:
                chain = GantryChain(port)
                record = await chain.host(key.address)
                if record is None:
                    await require_challenge_program(settings, key.address, hardware.devices, output)
                    genesis = await port.genesis_hash()
                    call = await registration(settings, key, hardware, genesis, authority.provider, where, prices)

                    async def is_registered() -> bool:
                        return await chain.host(key.address) is not None

                    quiet = wait_for == INCLUDED  # the message is about finality
                    signing_session = signing.SigningSession(port, authority, output, settings.url, quiet)
                    submit = signing_session.submit(call, "The host is ready to be registered.", is_registered)
                    if wait_for == FINALIZED:
                        await submit
                    else:
                        # Calls of a reverted block return to the pool.
                        await first_of(submit, signing.wait_until(port.best(), is_registered))
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

    result = run_command(work(), as_json=output.as_json)
    output.text(f"Host {result['host']} is registered under {result['provider']} ({result['status']}).")
    output.result(result)
