"""`gantry agent claim`: have what the host has coming paid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from node_agent.runtime import config as configs
from node_agent.runtime.startup import AgentSettings, key_of, open_chain
from offchain.adapters.chain.typed import GantryChain
from offchain.cli.provider import agent_options, signing
from offchain.cli.provider.agent_output import StepOutput, finish
from offchain.cli.provider.earnings import LeaseEarnings
from offchain.cli.provider.host_view import read_provider_host
from offchain.errors import CallFailed
from offchain.ports import Call
from offchain.schema.chain_types._generated_chain import Escrow, calls
from offchain.schema.manifest.values import format_amount

BATCH = 64


@click.command()
@signing.options
@agent_options.JSON
@agent_options.folder
def claim(settings: AgentSettings, keys: signing.SigningOptions, *, as_json: bool) -> None:
    """Have everything that is payable now paid to the provider.

    The network's settlers do this by themselves, sooner or later. Any account may sign, and pays the fee of the call;
    the coins go to the provider in any case.

    \b
    Example:
      gantry agent claim --provider-key-file provider.json
    """
    finish(_claim(settings, keys, StepOutput(as_json)), as_json=as_json)


async def _claim(settings: AgentSettings, keys: signing.SigningOptions, tell: StepOutput) -> None:
    key = key_of(settings)
    config = configs.load(settings.state)
    async with open_chain(settings) as port:
        view = await read_provider_host(port, key.address, settings.state)
        wanted = [one for one in view.due if one.payable]
        if not wanted:
            tell.text(_nothing(view.due))
            tell.result({"host": key.address, "claimed": 0, "owed": view.owed})
            return
        provider = view.record.provider if view.record is not None else None
        authority = keys.authority(provider or (None if config is None else config.provider))
        chain = GantryChain(port)
        refused: list[str] = []
        for call, part in payouts(wanted):
            about = f"{len(part)} leases are to be paid out: {format_amount(sum(one.payable for one in part))}."

            async def paid(part: Sequence[LeaseEarnings] = part) -> bool:
                now = await chain.leases([one.lease for one in part])
                before = {lease.id: lease.record.escrow.paid for lease in view.leases}
                return all(
                    one.lease not in now or now[one.lease].record.escrow.paid > before[one.lease] for one in part
                )

            try:
                if authority.signer is None:
                    await signing.SigningSession(port, authority, tell, settings.url).agreed(call, about, paid)
                else:
                    # Anybody may make these calls: a proxy signs them in its own name.
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
                tell.text(f"Lease {lease}: {format_amount(amount)}")
        for reason in refused:
            tell.text(f"Not paid: {reason}")
        total = sum(claimed.values())
        tell.text(f"{format_amount(total)} paid to {provider}; {format_amount(left)} to come.")
        tell.result(
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


def payouts(wanted: Sequence[LeaseEarnings]) -> Iterator[tuple[Call, tuple[LeaseEarnings, ...]]]:
    """The calls that pay these out, and which of them each pays. Pure."""
    settled: dict[int, list[LeaseEarnings]] = {}
    for one in wanted:
        if one.call == "Tasks.settle":
            settled.setdefault(one.task, []).append(one)
    tasks = sorted(settled)
    for start in range(0, len(tasks), BATCH):
        part = tasks[start : start + BATCH]
        call = calls.tasks_settle(task=part[0]) if len(part) == 1 else calls.tasks_settle_batch(tasks=part)
        yield call, tuple(one for task in part for one in settled[task])
    running = [one for one in wanted if one.call == "Leases.settle"]
    for start in range(0, len(running), BATCH):
        leases = running[start : start + BATCH]
        each = [calls.leases_settle(lease=one.lease) for one in leases]
        if len(each) == 1:
            yield each[0], tuple(leases)
        else:
            inner = [{call.pallet: {call.function: dict(call.args)}} for call in each]
            yield Call("Utility", "force_batch", {"calls": inner}), tuple(leases)


def _nothing(due: Sequence[LeaseEarnings]) -> str:
    owed = sum(one.owed for one in due)
    if not owed:
        return "Nothing is owed to the provider now."
    reasons = sorted({one.why_not for one in due if one.why_not})
    return f"{format_amount(owed)} is owed, and nothing of it is payable yet: {'; '.join(reasons)}."
