"""A tenant acts on a task of its own: the calls are sent, all or none of them, and it is told what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from offchain.cli.kit import accounts
from offchain.cli.kit.event_text import event_text
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.output import emit, say
from offchain.cli.kit.session import Included, connected, run, send
from offchain.cli.kit.views import TaskView, read_task
from offchain.ports import Call, ChainPort

Wanted = Callable[[ChainPort, TaskView], Awaitable[list[Call]]]
"""The calls, from the task as it is; CliError where it cannot be done."""


def act(
    number: int, account: str | None, password_file: str | None, url: str | None, wanted: Wanted
) -> tuple[TaskView, Included]:
    """Send the calls; gives the task after them. CliError where it is another tenant's."""
    signer = accounts.open_account(account, password_file)

    async def work() -> tuple[TaskView, Included]:
        async with connected(url) as chain:
            view = await read_task(chain, number)
            if view.tenant != signer.address:
                raise CliError(
                    f"task {number} belongs to {view.tenant}, not to {signer.address}.",
                    "Give --account of the tenant that submitted it.",
                    code="not_yours",
                )
            included = await send(chain, _together(await wanted(chain, view)), signer)
            return await read_task(chain, number, included.block.hash), included

    return run(work())


def told(view: TaskView, included: Included, *, as_json: bool) -> None:
    """Tell what the calls brought about."""
    if as_json:
        emit(view.plain())
        return
    for event in included.events:
        if event.pallet in ("Tasks", "Leases"):
            say(event_text(event))
    say(f"Task {view.id} is {view.state}.")


def _together(several: list[Call]) -> Call:
    if len(several) == 1:
        return several[0]
    plain = [{call.pallet: {call.function: dict(call.args)}} for call in several]
    return Call("Utility", "batch_all", {"calls": plain})
