"""Shares of the network's one GPU: two tasks of one account are on it at once, another account's waits for it."""

from offchain.core.feasibility import Misfit
from offchain.devnet.paths import ROOT
from tests.support.local_network import STRANGER, TENANT, Net, Pods

SHARE = ROOT / "examples" / "share.yaml"
LONG_S = 500


async def share(net: Net, account: str, seconds: int) -> int:
    """Submit the example, which takes half of a GPU for so long."""
    env = {**net.variables, "SECONDS_LONG": str(seconds)}
    done = await net.check("submit", SHARE, "--account", account, "--json", env=env)
    return int(done.json["task"])


async def test_two_tasks_of_one_account_have_one_gpu_at_once_and_another_accounts_waits(net: Net, pods: Pods):
    # Longer than the test takes: both are cancelled.
    one, two = await share(net, TENANT, LONG_S), await share(net, TENANT, LONG_S)
    for task in (one, two):
        await net.until(task, {"Running"})
    # Hosts of other tests are retired.
    ((name, host),) = ((name, one) for name, one in (await net.typed.hosts()).items() if one.status.tag == "Online")
    (device,) = host.devices
    assert (device.milli_free, device.shared_by) == (0, (await net.task(one)).record.tenant)
    assert [tuple(lease.devices) for task in (one, two) for lease in await net.leases(task)] == [(0,), (0,)]
    assert [len(pods.of(task)) for task in (one, two)] == [1, 1]

    # Half of it is free, but not for another account.
    await net.gantry("task", "cancel", str(two), "--account", TENANT)
    other = await share(net, STRANGER, 1)
    why = await net.gantry("task", "why", str(other), "--json")
    excluded = why.json["excluded_now"]
    assert excluded.pop(str(Misfit.DEVICE_SHARED)) == 1, why.said
    assert not excluded.keys() - {str(Misfit.NOT_ONLINE)}, why.said
    assert (await net.task(other)).record.state.tag == "Queued"

    await net.gantry("task", "cancel", str(one), "--account", TENANT)
    await net.until(other, {"Reported", "Verified", "Settled"})
    leases = await net.leases(other)
    assert [lease.host for lease in leases] == [name]
    log = await net.gantry("logs", str(other), "--account", STRANGER)
    assert "my share of the GPU is 0.5" in log.out, log.said
    host_after = await net.typed.host(name)
    assert host_after is not None
    assert host_after.devices[0].shared_by is None
