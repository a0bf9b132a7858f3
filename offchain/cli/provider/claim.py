"""`gantry agent claim`: settle what the host has earned."""

from __future__ import annotations

from collections.abc import Sequence

import click

from node_agent.runtime import join_config as configs
from node_agent.runtime.settings import AgentSettings, key_of, open_chain
from offchain.adapters.chain.typed import GantryChain
from offchain.cli.kit.failures import run_command
from offchain.cli.kit.output import StepOutput
from offchain.cli.provider import agent_options, signing
from offchain.cli.provider.host_view import read_provider_host
from offchain.errors import CallFailed
from offchain.schema.chain_types._generated_chain import Escrow
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted
from offchain.services.earnings import LeaseEarnings, payouts


@click.command()
@signing.options
@agent_options.output
@agent_options.folder
def claim(settings: AgentSettings, keys: signing.SigningOptions, *, output: StepOutput) -> None:
    """Settle everything that is payable to the provider now.

    The network's settlers do this periodically. Any account may sign and pays the fee of the call; the coins go to the
    provider in any case.

    \b
    Example:
      gantry agent claim --provider-key-file provider.json
    """
    run_command(_claim(settings, keys, output), as_json=output.as_json)


async def _claim(settings: AgentSettings, keys: signing.SigningOptions, output: StepOutput) -> None:
    key = key_of(settings)
    config = configs.load(settings.state)
    async with open_chain(settings) as port:
        view = await read_provider_host(port, key.address, settings.state)
        wanted = [one for one in view.due if one.payable]
        if not wanted:
            output.text(_nothing(view.due))
            output.result({"host": key.address, "claimed": 0, "owed": view.owed})
            return
        provider = view.record.provider if view.record is not None else None
        authority = keys.authority(provider or (None if config is None else config.provider))
        chain = GantryChain(port)
        refused: list[str] = []
        for call, part in payouts(wanted):
            about = (
                f"The call settles {counted(len(part), 'lease')}: {format_amount(sum(one.payable for one in part))}."
            )

            async def paid(part: Sequence[LeaseEarnings] = part) -> bool:
                now = await chain.leases([one.lease for one in part])
                before = {lease.id: lease.record.escrow.paid for lease in view.leases}
                return all(
                    one.lease not in now or now[one.lease].record.escrow.paid > before[one.lease] for one in part
                )

            try:
                if authority.signer is None:
                    await signing.SigningSession(port, authority, output, settings.url).submit(call, about, paid)
                else:
                    # Any account may submit these calls: a proxy signs them in its own name.
                    await signing.send(port, authority.signer, call)
            except CallFailed as error:
                refused.append(str(error))
        before = {lease.id: lease.record.escrow for lease in view.leases}
        after = await chain.leases([one.lease for one in wanted])
        claimed = {
            number: _to_provider(lease.record.escrow) - _to_provider(before[number]) for number, lease in after.items()
        }
        left = view.owed - sum(claimed.values())
        for lease, amount in claimed.items():
            if amount:
                output.text(f"Lease {lease}: {format_amount(amount)}")
        for reason in refused:
            output.text(f"Not paid: {reason}")
        total = sum(claimed.values())
        output.text(f"{format_amount(total)} paid to {provider}; {format_amount(left)} still owed.")
        output.result(
            {
                "host": key.address,
                "claimed": total,
                "leases": {str(lease): amount for lease, amount in claimed.items() if amount},
                "owed": left,
                "refused": refused,
            }
        )


def _to_provider(escrow: Escrow) -> int:
    return escrow.paid - escrow.fee


def _nothing(due: Sequence[LeaseEarnings]) -> str:
    owed = sum(one.owed for one in due)
    if not owed:
        return "Nothing is owed to the provider now."
    reasons = sorted({one.why_not for one in due if one.why_not})
    return f"{format_amount(owed)} is owed, but not payable yet: {'; '.join(reasons)}."
