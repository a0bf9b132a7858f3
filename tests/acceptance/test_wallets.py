"""Who may rent, and from which wallet: every coin counted, on a real chain. What docs/wallets.md says is shown here."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
import pytest_asyncio
from wallets import (
    ANYONE,
    HARDWARE,
    MANIFEST,
    MINUTE_MS,
    PATCH,
    RATE,
    RENTAL,
    ByProxy,
    Multisig,
    Plain,
    Purse,
    Refused,
    Wallet,
    assert_coins_are_conserved,
    fees,
    price,
    purse,
    register,
    treasury_share,
)

from offchain.adapters.keys.signer import from_uri
from offchain.devnet.paths import ROOT
from offchain.devnet.release import binaries, release_dir
from offchain.errors import CallFailed
from offchain.ports import Call
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types._generated_chain import calls
from offchain.schema.chain_types.ids import lease_id, task_key
from offchain.schema.durations import HOUR_MS
from tests.support.chain_records import ANY_RATE, ask
from tests.support.development_node import endow
from tests.support.local_network import run
from tests.support.real_chain import GTY, Chain, chain_of, plain

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="module")]

PRINCIPAL = from_uri("//Principal")
SIGNATORIES = tuple(from_uri(f"//{name}") for name in ("First", "Second", "Third"))
TENANTS_PROXY, PROVIDERS_PROXY, CAREFUL_PROXY, STRANGER = (
    from_uri(f"//{name}") for name in ("TenantsProxy", "ProvidersProxy", "CarefulProxy", "Stranger")
)
PROXIES = {"Tenant": TENANTS_PROXY, "Provider": PROVIDERS_PROXY, "NonTransfer": CAREFUL_PROXY}
"""The principal's proxies, by type."""
OFFERS = {
    kind: (from_uri(uri), from_uri(f"//host//{kind}", "ed25519"))
    for kind, uri in (("plain", "//Bob"), ("multisig", "//Dave"), ("proxy", "//Eve"))
}
"""Whose host each wallet rents from: provider and host."""
OWN_HOST = from_uri("//own", "ed25519")
"""A host of the principal, retired: its bond may be withdrawn."""
LONGER_MS = 7 * MINUTE_MS
FEE_PPM = 20_000
"""The protocol's fee of the development preset."""
FILTERED = "System.CallFiltered"


@dataclass(frozen=True)
class Network:
    chain: Chain
    issuance: int
    """Base units that there are."""
    treasury: str
    wallets: dict[str, Wallet]

    @property
    def multisig(self) -> Multisig:
        wallet = self.wallets["multisig"]
        assert isinstance(wallet, Multisig)
        return wallet

    def proxy(self, kind: str) -> ByProxy:
        return ByProxy(self.chain, PRINCIPAL.address, PROXIES[kind])

    async def purse(self, account: str) -> Purse:
        return await purse(self.chain, account)

    async def next_task(self) -> int:
        return int(await self.chain.link.query("Tasks", "NextTaskId") or 0)

    async def task(self, number: int) -> gen.TaskRecord | None:
        record = await self.chain.link.query("Tasks", "Tasks", [task_key(number)])
        return None if record is None else gen.TaskRecord.decode(record)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def net(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Network]:
    people = [*SIGNATORIES, PRINCIPAL, *PROXIES.values(), STRANGER]
    shared = Multisig.account_of(SIGNATORIES, 2)
    patch = PATCH | endow(binaries(), dict.fromkeys([shared, *(one.address for one in people)], 1_000 * GTY))
    async with chain_of(tmp_path_factory.mktemp("wallets"), patch) as chain:
        issuance = int(await chain.link.query("Balances", "TotalIssuance") or 0)
        treasury = await chain.link.constant("Billing", "TreasuryAccount")
        wallets: dict[str, Wallet] = {
            "plain": Plain(chain, from_uri("//Charlie")),
            "multisig": Multisig(chain, SIGNATORIES),
            "proxy": ByProxy(chain, PRINCIPAL.address, TENANTS_PROXY),
        }
        named = [
            Call("Proxy", "add_proxy", {"delegate": {"Id": one.address}, "proxy_type": kind, "delay": 0})
            for kind, one in PROXIES.items()
        ]
        own = [await register(chain, PRINCIPAL, OWN_HOST), calls.hosts_retire(host=OWN_HOST.address)]
        await asyncio.gather(
            chain.do(PRINCIPAL, *named, *own, calls.tasks_bond_scheduler()),
            *[chain.do(provider, await register(chain, provider, host)) for provider, host in OFFERS.values()],
        )
        await asyncio.gather(*[chain.do(host, calls.hosts_heartbeat()) for _, host in OFFERS.values()])
        yield Network(chain, issuance, treasury, wallets)


def submit() -> Call:
    return calls.tasks_submit(spec=RENTAL, manifest=MANIFEST)


async def deposits(net: Network) -> tuple[int, int]:
    """What is held for the manifest until the task is final, and for the task until it is pruned."""
    params = gen.TasksParams.decode(await net.chain.link.query("Tasks", "Params"))
    of_task = params.deposit_per_task + params.deposit_per_pod
    return params.deposit_base + params.deposit_per_byte * len(MANIFEST), of_task


async def rent(net: Network, kind: str) -> int:
    """A rental from submission until nothing is left of it, each coin checked; gives what the treasury gets."""
    wallet, chain, (manifest, of_task) = net.wallets[kind], net.chain, await deposits(net)
    provider, host = OFFERS[kind]
    before = {who: await net.purse(who) for who in (wallet.account, provider.address)}
    others = before[wallet.account].held
    assert not {"Tasks.Deposit", "Billing.Escrow"} & set(others)

    async def assert_held(**ours: int) -> None:
        names = {"deposit": "Tasks.Deposit", "escrow": "Billing.Escrow"}
        held = (await net.purse(wallet.account)).held
        assert held == {**others, **{names[why]: amount for why, amount in ours.items()}}

    events = await wallet.act(submit())
    (task,) = [event.fields["first"] for event in events if (event.pallet, event.name) == ("Tasks", "Submitted")]
    lease = lease_id(task, 0, 0)
    await assert_held(deposit=manifest + of_task)
    events += await wallet.act(calls.tasks_assign(task=task, pods=[gen.PodPlacement(0, host.address, b"", ANY_RATE)]))
    first = price(RENTAL.max_duration_ms)
    await assert_held(deposit=manifest + of_task, escrow=first)
    await chain.do(host, calls.tasks_report_started(lease=lease))
    events += await wallet.act(calls.leases_extend(lease=lease, ms=LONGER_MS))
    deposit = first + price(LONGER_MS)
    await assert_held(deposit=manifest + of_task, escrow=deposit)
    events += await wallet.act(
        calls.tasks_end(task=task), calls.tasks_accept_result(task=task), calls.leases_release_data(lease=lease)
    )
    await assert_held(deposit=manifest + of_task, escrow=deposit)

    receipt = gen.ReportPurged(receipt=bytes(32))
    settlement, _ = await asyncio.gather(
        chain.do(provider, calls.tasks_settle(task=task)),
        chain.do(host, calls.tasks_report(lease=lease, report=receipt)),
    )
    record = await net.task(task)
    assert record is not None
    (rented,) = record.leases
    assert rented.started_at is not None
    assert rented.ended_at is not None
    paid = RATE * (rented.ended_at - rented.started_at) // HOUR_MS
    fee = paid * FEE_PPM // 1_000_000
    (bills,) = [event.fields["bills"] for event in settlement if (event.pallet, event.name) == ("Tasks", "Settled")]
    # Its tenant placed the rental and its provider settles it: neither has a share of the fee.
    shares = {"scheduler_fee": 0, "settler_fee": 0}
    assert bills == [{"lease": lease, "paid": paid, "fee": fee, **shares, "refunded": deposit - paid}]
    assert 0 < paid < deposit
    await assert_held(deposit=of_task)

    settlement += await chain.do(provider, calls.tasks_prune(tasks=[task]))
    assert await net.task(task) is None
    after = {who: await net.purse(who) for who in before}
    spent = {who: before[who].total - after[who].total for who in before}
    assert spent == {
        wallet.account: paid + fees(events, wallet.account),
        provider.address: fee - paid + fees(settlement, provider.address),
    }
    assert after[wallet.account].held == others, "nothing more is held than before"
    assert (fees(events, wallet.account) > 0) is (kind == "plain"), "who signs pays for the extrinsics"
    return fee + treasury_share(events + settlement)


async def test_a_rental_costs_the_same_by_a_key_a_multisig_or_a_proxy(net: Network) -> None:
    before = await net.purse(net.treasury)
    paid = await asyncio.gather(*[rent(net, kind) for kind in net.wallets])
    assert (await net.purse(net.treasury)).total - before.total == sum(paid)
    await assert_coins_are_conserved(net.chain, net.issuance)


async def test_one_signatory_alone_changes_nothing_and_any_other_may_finish(net: Network) -> None:
    multisig, first = net.multisig, SIGNATORIES[0].address
    task, shared = await net.next_task(), await net.purse(multisig.account)
    await multisig.sign(0, submit())
    with pytest.raises(CallFailed) as refused:
        await multisig.sign(0, submit())
    assert (refused.value.pallet, refused.value.name) == ("Multisig", "AlreadyApproved")
    assert (await net.next_task(), await net.purse(multisig.account)) == (task, shared)
    assert (await net.purse(first)).held == {"reserved": multisig.deposit()}

    await multisig.sign(2, submit())
    queued = await net.task(task)
    assert queued is not None
    assert (queued.tenant, queued.state.tag) == (multisig.account, "Queued")
    kept = shared.held.get("Tasks.Deposit", 0) + sum(await deposits(net))
    assert await net.purse(multisig.account) == Purse(shared.total, {**shared.held, "Tasks.Deposit": kept})
    assert [(await net.purse(one.address)).held for one in SIGNATORIES] == [{}, {}, {}]


async def test_a_signatory_takes_back_what_nobody_else_signs(net: Network) -> None:
    multisig, second = net.multisig, SIGNATORIES[1]
    task, shared, own = (await net.next_task(), await net.purse(multisig.account), await net.purse(second.address))
    events = await multisig.sign(1, submit())
    asked = await multisig.asked()
    assert asked is not None
    events += await net.chain.do(second, multisig.cancel(second, asked, submit()))
    assert await multisig.asked() is None
    assert await net.purse(second.address) == Purse(own.total - fees(events, second.address), {})
    assert (await net.next_task(), await net.purse(multisig.account)) == (task, shared)


async def test_what_two_agreed_on_and_the_chain_refuses_has_the_right_error(net: Network) -> None:
    before = await net.purse(net.multisig.account)
    with pytest.raises(Refused) as refused:
        await net.multisig.act(calls.tasks_cancel(task=NO_TASK))
    assert str(refused.value) == "Tasks.NoSuchTask"
    assert await net.purse(net.multisig.account) == before
    assert [(await net.purse(one.address)).held for one in SIGNATORIES] == [{}, {}, {}]


async def test_a_tenants_proxy_submits_and_cancels_with_the_coins_of_its_principal(net: Network) -> None:
    wallet, task, kept = net.proxy("Tenant"), await net.next_task(), sum(await deposits(net))
    before, own = await net.purse(PRINCIPAL.address), await net.purse(TENANTS_PROXY.address)
    events = await wallet.act(submit())
    queued = await net.task(task)
    assert queued is not None
    assert (queued.tenant, queued.state.tag) == (PRINCIPAL.address, "Queued")
    assert await net.purse(PRINCIPAL.address) == Purse(before.total, {**before.held, "Tasks.Deposit": kept})
    events += await wallet.act(calls.tasks_cancel(task=task))
    await net.chain.do(ANYONE, calls.tasks_prune(tasks=[task]))
    assert await net.purse(PRINCIPAL.address) == before
    spent = own.total - (await net.purse(TENANTS_PROXY.address)).total
    assert spent == fees(events, TENANTS_PROXY.address) > 0
    await assert_coins_are_conserved(net.chain, net.issuance)


TO_THE_PROXY = {"dest": {"Id": TENANTS_PROXY.address}}
TRANSFER = Call("Balances", "transfer_allow_death", {**TO_THE_PROXY, "value": GTY})
WIDER = {"delegate": {"Id": TENANTS_PROXY.address}, "proxy_type": "Any", "delay": 0}
COIN_CALLS = [
    TRANSFER,
    Call("Balances", "transfer_keep_alive", {**TO_THE_PROXY, "value": GTY}),
    Call("Utility", "batch", {"calls": [plain(TRANSFER)]}),
    calls.hosts_withdraw_bond(host=OWN_HOST.address),
    calls.tasks_unbond_scheduler(),
    Call("Proxy", "add_proxy", WIDER),
]
"""What takes coins or bonds out of the principal's account, or gives a way to. All of it is good where it signs."""
EMPTY = Call("Balances", "transfer_all", {**TO_THE_PROXY, "keep_alive": True})


async def test_a_tenants_proxy_may_not_move_coins_or_bonds_though_its_principal_may(net: Network) -> None:
    before = await net.purse(PRINCIPAL.address)
    assert {"Hosts.Bond", "Tasks.SchedulerBond", "reserved"} <= set(before.held)
    tried = [*COIN_CALLS, EMPTY]
    assert await net.proxy("Tenant").refusals(*tried) == [FILTERED] * len(tried)
    assert await net.purse(PRINCIPAL.address) == before
    events = await net.chain.do(PRINCIPAL, *COIN_CALLS, Call("Proxy", "remove_proxy", WIDER))
    after = await net.purse(PRINCIPAL.address)
    assert before.total - after.total == 3 * GTY + fees(events, PRINCIPAL.address)
    # The bond of a scheduler that leaves stays held for a while.
    assert after.held == {why: held for why, held in before.held.items() if why != "Hosts.Bond"}
    await assert_coins_are_conserved(net.chain, net.issuance)


NO_TASK = 999_999
UNSIGNED = {"hardware": HARDWARE, "host_signature": bytes(64)}
NO_LEASE = lease_id(NO_TASK, 0, 0)
MAY = {
    "Tenant": [
        calls.tasks_assign(task=NO_TASK, pods=[]),
        calls.tasks_cancel(task=NO_TASK),
        calls.tasks_accept_result(task=NO_TASK),
        calls.tasks_scale(task=NO_TASK, pods=1),
        calls.tasks_end(task=NO_TASK),
        calls.tasks_rate(lease=NO_LEASE, stars=5),
        calls.tasks_name_standby(lease=NO_LEASE, host=PRINCIPAL.address, devices=b"", rate_per_hour=0),
        calls.tasks_move_pod(lease=NO_LEASE, host=PRINCIPAL.address, devices=b"", rate_per_hour=0),
        calls.verification_appeal(task=NO_TASK),
        calls.leases_extend(lease=NO_LEASE, ms=1),
        calls.leases_top_up(lease=NO_LEASE, amount=1),
        calls.leases_suspend(lease=NO_LEASE),
        calls.leases_resume(lease=NO_LEASE),
        calls.leases_keep(lease=NO_LEASE, ms=1, max_rate_per_hour=1),
        calls.leases_release_data(lease=NO_LEASE),
    ],
    "Provider": [
        *[make(host=PRINCIPAL.address) for make in (calls.hosts_drain, calls.hosts_undrain, calls.hosts_retire)],
        calls.hosts_top_up_bond(host=PRINCIPAL.address, amount=1),
        calls.hosts_set_ask(host=PRINCIPAL.address, ask=ask()),
        calls.hosts_register(host=PRINCIPAL.address, endpoint=b"", region=b"", ask=ask(), **UNSIGNED),
        calls.hosts_change_hardware(host=PRINCIPAL.address, **UNSIGNED),
        calls.leases_reclaim(lease=NO_LEASE),
    ],
    "NonTransfer": [
        Call("Utility", "batch_all", {"calls": [plain(calls.tasks_cancel(task=NO_TASK))]}),
        calls.leases_suspend(lease=NO_LEASE),
        calls.hosts_withdraw_bond(host=PRINCIPAL.address),
        calls.verification_add_evidence(task=NO_TASK, digest=bytes(32)),
    ],
}
"""What each type may call, about a task and a host that are not there: the pallet refuses it, and not the filter."""
BATCHED = Call("Utility", "batch_all", {"calls": [plain(TRANSFER)]})
MAY_NOT = {
    "Tenant": [Call("System", "remark", {"remark": b"here"})],
    "Provider": [submit(), TRANSFER, calls.hosts_withdraw_bond(host=PRINCIPAL.address)],
    "NonTransfer": [
        TRANSFER,
        BATCHED,
        Call("Proxy", "add_proxy", WIDER),
        calls.tasks_assign(task=NO_TASK, pods=[]),
        calls.leases_extend(lease=NO_LEASE, ms=1),
        calls.verification_appeal(task=NO_TASK),
    ],
}


async def test_a_proxy_may_call_what_its_type_names_and_nothing_else(net: Network) -> None:
    task, before = await net.next_task(), await net.purse(PRINCIPAL.address)
    ended = await asyncio.gather(*[net.proxy(kind).refusals(*MAY[kind], *MAY_NOT[kind]) for kind in PROXIES])
    for kind, errors in zip(PROXIES, ended, strict=True):
        may = len(MAY[kind])
        assert not {FILTERED, None} & set(errors[:may]), kind
        assert errors[may:] == [FILTERED] * len(MAY_NOT[kind]), kind
    assert (await net.next_task(), await net.purse(PRINCIPAL.address)) == (task, before)
    many = calls.tasks_submit_array(spec=replace(RENTAL, kind=gen.TaskKind.JOB), manifest=MANIFEST, count=2)
    await net.proxy("Tenant").act(many)
    assert await net.next_task() == task + 2


async def test_who_is_no_proxy_or_claims_a_wider_type_is_refused(net: Network) -> None:
    stranger = ByProxy(net.chain, PRINCIPAL.address, STRANGER).wrap(submit())
    wider = Call("Proxy", "proxy", {**stranger.args, "force_proxy_type": "Any"})
    ended = await asyncio.gather(
        net.chain.do(STRANGER, stranger), net.chain.do(TENANTS_PROXY, wider), return_exceptions=True
    )
    assert [(one.pallet, one.name) for one in ended if isinstance(one, CallFailed)] == [("Proxy", "NotProxy")] * 2


async def test_a_proxy_that_was_removed_is_refused_and_its_deposit_is_back(net: Network) -> None:
    held = (await net.purse(PRINCIPAL.address)).held
    assert held["reserved"] == GTY // 10 + (8 + 33 * len(PROXIES)) * GTY // 10_000
    await net.chain.do(PRINCIPAL, Call("Proxy", "remove_proxies", {}))
    held.pop("reserved")
    assert (await net.purse(PRINCIPAL.address)).held == held
    with pytest.raises(CallFailed) as refused:
        await net.proxy("Tenant").act(submit())
    assert (refused.value.pallet, refused.value.name) == ("Proxy", "NotProxy")


NO_HASH, OTHER_HASH = "", "07" * 32


async def test_a_hardware_wallet_signs_over_the_hash_of_the_metadata_by_which_it_shows_a_call(net: Network) -> None:
    released = json.loads((release_dir() / "MANIFEST.json").read_text(encoding="utf-8"))["runtime"]["metadata_hash"]
    node = os.environ.get("GANTRY_TEST_NODE") or shutil.which("node")
    assert node, "GANTRY_TEST_NODE is not set: scripts/test prepares Node.js with the packages of examples/package.json"
    script = str(ROOT / "examples" / "sign_with_metadata_hash.mjs")
    ended = []
    for metadata_hash in (NO_HASH, released, OTHER_HASH):
        done = await run(node, script, net.chain.url, metadata_hash, env={})
        ended.append(done.out.strip() or done.err)
    assert ended[:2] == ["included"] * 2
    assert "bad signature" in ended[2]
