"""What an action of the API becomes: a call of the chain, checked as the command line checks it before it sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from offchain.adapters.chain.json_calls import call_from_json
from offchain.errors import CheckFailed
from offchain.gateway.api import call_parameters as ask
from offchain.gateway.api.chain_access import ChainAccess, SigningChain
from offchain.gateway.api.parameters import Parameters
from offchain.gateway.api.planner import PlacementPlanner
from offchain.ports import Call
from offchain.schema.chain_types._generated_chain import Ask, GpuPrice
from offchain.schema.manifest.values import format_amount
from offchain.schema.value_text import counted
from offchain.services import dispute_calls, provider_calls, tenant_calls
from offchain.services.record_views import TaskView


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call, what it does in a sentence, and what the chain would refuse about it now."""

    call: Call
    about: str
    refusals: tuple[CheckFailed, ...] = ()


UnsettledLeases = Callable[[str], Awaitable[Sequence[int]]]
"""Returns leases of a host that have ended and may not be paid yet, from the index."""
_OfTask = Callable[[SigningChain, TaskView, Any], Awaitable[list[Call]]]


class CallPlanner:
    """Plans calls for an account. Raises CheckFailed where no call can be made, BadValue and ManifestError."""

    def __init__(
        self, access: ChainAccess[SigningChain], placement: PlacementPlanner, unsettled: UnsettledLeases
    ) -> None:
        self._access = access
        self._placement = placement
        self._unsettled = unsettled

    async def plan(self, account: str, asked: Parameters) -> PlannedCall:
        """Return the call for what a client asks."""
        if isinstance(asked, ask.TaskSubmit):
            # The planner's own connection: who waits for the planner takes no place at the node from others.
            return await self._submit(account, asked)
        async with self._access.use() as chain:
            return await self._plan(chain, account, asked)

    async def _plan(self, chain: SigningChain, account: str, asked: Parameters) -> PlannedCall:
        if isinstance(asked, ask.ChainCall):
            runtime = await chain.runtime()
            call = call_from_json(runtime, asked.pallet, asked.name, asked.args)
            return PlannedCall(call, f"{asked.pallet}.{asked.name}")
        if isinstance(asked, ask.CoinTransfer):
            (call,) = await tenant_calls.transfer(chain, account, asked.to, asked.amount)
            return PlannedCall(call, f"Transfer {format_amount(asked.amount)} to {asked.to}.")
        about = (type(asked).__doc__ or "").partition("\n")[0]
        of_task = _OF_TASKS.get(type(asked))
        if of_task is not None:
            view = await tenant_calls.own_task(chain, asked.task, account)  # type: ignore[attr-defined]
            made = await of_task(chain, view, asked)
            return PlannedCall(tenant_calls.as_batch(made), f"{about} Task {view.id}.")
        return await self._of_provider(chain, account, asked, about)

    async def _of_provider(self, chain: SigningChain, account: str, asked: Parameters, about: str) -> PlannedCall:
        if isinstance(asked, ask.TaskReclaim):
            call = await provider_calls.reclaim(chain, asked.lease, account)
            return PlannedCall(call, f"{about} Lease {asked.lease}.")
        if isinstance(asked, (ask.HostsDrain, ask.HostsUndrain)):
            return await _of_hosts(chain, account, asked, about)
        if isinstance(asked, ask.HostClaim):
            call, paid = await provider_calls.claim(chain, asked.host, await self._unsettled(asked.host))
            total = format_amount(sum(one.payable for one in paid))
            return PlannedCall(call, f"Settle {total} of {counted(len(paid), 'lease')} of the host {asked.host}.")
        return await _of_host(chain, account, asked, about)

    async def _submit(self, account: str, asked: ask.TaskSubmit) -> PlannedCall:
        task = await self._placement.read(asked.manifest, asked.variables)
        found = await self._placement.check(task, account, forecast=False, count=asked.count)
        spec, manifest = task.spec, task.manifest
        pods = counted(spec.pods_max, "pod")
        what = "a" if asked.count == 1 else f"{asked.count} tasks, each a"
        about = (
            f"Submit {what} {manifest.kind} of {pods} with the image {manifest.main.image.reference}. At most "
            f"{format_amount(spec.max_rate_per_hour)} an hour and pod; up to {format_amount(task.deposit)} deposited."
        )
        unchecked = CheckFailed(
            "the hosts were not checked in time: whether one could run the task is not known.",
            "Build it again to check it.",
            code="not_checked",
        )
        refusals = (unchecked,) if found is None else found.refusals
        return PlannedCall(tenant_calls.submit(spec, task.text, asked.count), about, refusals)


async def _of_hosts(
    chain: SigningChain, account: str, asked: ask.HostsDrain | ask.HostsUndrain, about: str
) -> PlannedCall:
    change = provider_calls.drain if isinstance(asked, ask.HostsDrain) else provider_calls.undrain
    hosts = sorted(set(asked.hosts))
    records = await provider_calls.own_hosts(chain, hosts, account)
    made = [change(host, records[host]) for host in hosts]
    return PlannedCall(tenant_calls.as_batch(made), f"{about} Hosts: {', '.join(hosts)}.")


async def _of_host(chain: SigningChain, account: str, asked: Any, about: str) -> PlannedCall:
    host = asked.host
    record = await provider_calls.own_host(chain, host, account)
    match asked:
        case ask.HostDrain():
            call = provider_calls.drain(host, record)
        case ask.HostUndrain():
            call = provider_calls.undrain(host, record)
        case ask.HostSetAsk():
            call = provider_calls.set_ask(host, record, _changed_ask(record.ask, asked))
        case ask.HostTopUp():
            call = provider_calls.top_up_bond(host, record, asked.amount)
        case ask.HostRetire():
            call = provider_calls.retire(host, record)
        case ask.HostWithdraw():
            call = await provider_calls.withdraw_bond(chain, host, record)
        case _:
            raise AssertionError(asked)
    return PlannedCall(call, f"{about} Host {host}.")


def _changed_ask(before: Ask, asked: ask.HostSetAsk) -> Ask:
    given = asked.model_dump(exclude={"action", "host", "gpu"}, exclude_none=True)
    if asked.gpu is not None:
        given["gpu"] = tuple(GpuPrice(price.model.encode(), price.per_hour) for price in asked.gpu)
    return replace(before, **given)


async def _stop(_: SigningChain, view: TaskView, __: ask.TaskStop) -> list[Call]:
    return tenant_calls.stop(view)


async def _extend(chain: SigningChain, view: TaskView, asked: ask.TaskExtend) -> list[Call]:
    return await tenant_calls.extend(chain, view, asked.ms, asked.pod)


async def _scale(chain: SigningChain, view: TaskView, asked: ask.TaskScale) -> list[Call]:
    return await tenant_calls.scale(chain, view, asked.pods)


async def _top_up(chain: SigningChain, view: TaskView, asked: ask.TaskTopUp) -> list[Call]:
    return await tenant_calls.top_up(chain, view, asked.amount, asked.pod)


async def _suspend(_: SigningChain, view: TaskView, __: ask.TaskSuspend) -> list[Call]:
    return tenant_calls.suspend(view)


async def _resume(_: SigningChain, view: TaskView, __: ask.TaskResume) -> list[Call]:
    return tenant_calls.resume(view)


async def _keep(chain: SigningChain, view: TaskView, asked: ask.TaskKeep) -> list[Call]:
    return await tenant_calls.keep(chain, view, asked.ms, asked.max_rate_per_hour)


async def _release(_: SigningChain, view: TaskView, __: ask.TaskRelease) -> list[Call]:
    return tenant_calls.release(view)


async def _move(chain: SigningChain, view: TaskView, asked: ask.TaskMove) -> list[Call]:
    return await tenant_calls.move(chain, view, asked.host, asked.pod)


async def _accept(_: SigningChain, view: TaskView, __: ask.TaskAccept) -> list[Call]:
    return tenant_calls.accept(view)


async def _dispute(chain: SigningChain, view: TaskView, asked: ask.TaskDispute) -> list[Call]:
    evidence = bytes.fromhex(asked.evidence_sha256.removeprefix("0x"))
    return await dispute_calls.opening(chain, view, view.tenant, evidence, asked.pod)


async def _rate(_: SigningChain, view: TaskView, asked: ask.TaskRate) -> list[Call]:
    return tenant_calls.rate(view, asked.stars, asked.pod)


_OF_TASKS: Final[dict[type[Parameters], _OfTask]] = {
    ask.TaskStop: _stop,
    ask.TaskExtend: _extend,
    ask.TaskScale: _scale,
    ask.TaskTopUp: _top_up,
    ask.TaskSuspend: _suspend,
    ask.TaskResume: _resume,
    ask.TaskKeep: _keep,
    ask.TaskRelease: _release,
    ask.TaskMove: _move,
    ask.TaskAccept: _accept,
    ask.TaskDispute: _dispute,
    ask.TaskRate: _rate,
}
