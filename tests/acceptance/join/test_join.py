"""As a new provider: a fresh machine joins, works, is paid, is updated, leaves. A real chain and real containers."""

import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import join_fixtures
from fresh_machine import Machine
from join_fixtures import provider_with

from node_agent.install.bundle import build, sha256_of
from offchain.adapters.chain import extrinsic as xt
from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.devnet.paths import ROOT
from offchain.ports import Call, Signer
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.chain_types.values import compact
from offchain.schema.manifest.variables import resolve
from tests.support.chain_records import ANY_RATE
from tests.support.development_node import DevelopmentNode
from tests.support.jobs import end_job
from tests.support.real_chain import GTY, PATIENCE, Chain

REMARK = Call("System", "remark", {"remark": b""})
TENANT = from_uri("//Charlie")
CALL_AND_KEY_BYTES = 2 + 32
"""The encoded `Hosts.register` starts with the index of the call and the public key of the host."""
UNTIL_SIGNAL = ROOT / "tests/integration/manifests/until_signal.yaml"

pytestmark = join_fixtures.NEEDS_NAMESPACES
node, chain, fresh = join_fixtures.node, join_fixtures.chain, join_fixtures.fresh


async def sign_elsewhere(chain: Chain, who: Signer, call: bytes) -> None:
    """What a wallet does with call data: it signs and sends exactly these bytes."""
    runtime = chain.runtime()
    birth = await chain.link.finalized_head()
    nonce = await chain.link.next_nonce(who.address)
    terms = xt.SigningTerms(await chain.link.genesis_hash(), birth, 64, nonce)
    extra = xt.era_bytes(birth.number, 64) + compact(nonce)
    signature = runtime.encode(
        runtime.metadata.signature, {"Sr25519": who.sign(xt.payload(runtime, call, terms))}, "signature"
    )
    (signed,) = [xt.sign(runtime, REMARK, who, terms)]
    # The extensions of every call are the same: what stands between signature and call.
    empty = runtime.encode_call(REMARK)
    head = runtime.encode(runtime.metadata.address, who.address, "signer")
    between = signed.data[signed.data.index(head) + len(head) + len(signature) : -len(empty)]
    assert between.startswith(extra)
    body = b"\x84" + head + signature + between + call
    await chain.link.broadcast(replace(signed, data=compact(len(body)) + body))


def said_step(process: subprocess.Popen[str], name: str) -> dict[str, Any]:
    """Read the output of a command up to the step of this name, and return the step."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("{"):
            step: dict[str, Any] = json.loads(line)
            if step.get("step") == name:
                return step
    raise AssertionError("".join(said))


def asked_to_sign(process: subprocess.Popen[str]) -> bytes:
    """The call that a command asks to have signed elsewhere."""
    return bytes.fromhex(said_step(process, "sign")["call"][2:])


def end_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a command says last; it has to succeed."""
    out, _ = process.communicate(timeout=PATIENCE * 2)
    assert process.returncode == 0, out
    found: dict[str, Any] = json.loads([line for line in out.splitlines() if line.startswith("{")][-1])
    return found


async def run_job(chain: Chain, host: str, image: str) -> int:
    """Submit a job that runs until `end_only_job`, place it on this host, and return its lease once it runs."""
    manifest = resolve(UNTIL_SIGNAL.read_text(), {"GANTRY_DEMO_IMAGE": image}).encode()
    first = await chain.submit(TENANT, manifest)
    placement = gen.PodPlacement(pod=0, host=host, devices=b"\x00", rate_per_hour=ANY_RATE)
    await chain.do(TENANT, gen.calls.tasks_assign(task=first, pods=(placement,)))
    lease = lease_id(first, 0, 0)
    await until_task(chain, lease, "Running")
    return lease


async def state_of(chain: Chain, lease: int) -> str:
    found = await GantryChain(chain.link).lease(lease)
    assert found is not None
    return found.task.record.state.tag


async def until_task(chain: Chain, lease: int, *states: str) -> str:
    async with contextlib.aclosing(chain.link.best()) as heads:
        async for _ in heads:
            found = await state_of(chain, lease)
            if found in states:
                return found
            assert found not in ("Failed", "Cancelled", "Expired"), found
    raise AssertionError


def demo_image(here: Machine) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "offchain.devnet.demo_image"], env=here.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def end_only_job(here: Machine) -> None:
    """Have the only job on this machine end by itself."""
    client = docker.DockerClient(base_url=here.engine_url, timeout=30)
    try:
        (container,) = client.containers.list(filters={"label": "gantry.lease"})
        end_job(container)
    finally:
        client.close()


def containers(here: Machine) -> list[str]:
    client = docker.DockerClient(base_url=here.engine_url, timeout=30)
    try:
        return sorted(
            str(one.id) for one in client.containers.list(filters={"label": "gantry.lease"}, ignore_removed=True)
        )
    finally:
        client.close()


def changed(bundle: Path, target: Path, name: str, change: Any) -> str:
    """A release with one file otherwise; gives its digest."""
    with tarfile.open(bundle) as old, tarfile.open(target, "w:gz") as new:
        for member in old:
            source = old.extractfile(member)
            assert source is not None
            data = source.read()
            if member.name == name:
                data = change(data)
                member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return sha256_of(target)


async def test_a_new_provider_signs_by_hand_works_is_paid_and_leaves(  # noqa: PLR0915  (one story)
    chain: Chain, node: DevelopmentNode, fresh: Machine, tmp_path: Path
) -> None:
    provider = await provider_with(chain, "NewProvider", 10_000 * GTY)
    url = f"ws://{fresh.outside}:{node.port}"
    join = ("join", "--url", url, "--by-hand", provider.address, "--region", "lab", "--simulate", "rtx4090", "--json")

    # A look changes nothing, and says what is good and bad.
    look = fresh.agent("join", "--check", "--url", url, "--simulate", "rtx4090", "--json")
    assert look.code == 0, look.out + look.err
    assert {check["check"] for check in look.last["checks"]} >= {"Docker", "GPUs", "disk", "UDP", "node", "clock"}
    assert not fresh.state.exists()

    # Interrupted while it waits for the signature, it asks to register the same host key again. The rest of the call
    # is measured anew: the free disk may have changed.
    process = fresh.start_agent(*join)
    first_call = asked_to_sign(process)
    process.send_signal(signal.SIGINT)
    process.communicate()
    process = fresh.start_agent(*join)
    call = asked_to_sign(process)
    assert call[:CALL_AND_KEY_BYTES] == first_call[:CALL_AND_KEY_BYTES]
    await sign_elsewhere(chain, provider, call)
    joined = end_of(process)
    assert (joined["status"], joined["provider"], joined["service"]) == ("Online", provider.address, "own supervisor")
    host = joined["host"]
    for name in ("host.key", "agent.json", "running.json", "agent.db"):
        assert stat.S_IMODE((fresh.state / name).stat().st_mode) & 0o077 == 0, name

    # Again, it finds everything done, and disturbs nothing.
    before = fresh.until(lambda found: found["agent"] and found["agent"]["ready"], "the agent to be ready")
    again = fresh.agent("join", "--json")
    assert again.code == 0, again.out + again.err
    assert again.last["host"] == host
    assert fresh.status()["agent"]["pid"] == before["agent"]["pid"]

    # Killed, it is back by itself.
    os.kill(before["agent"]["pid"], signal.SIGKILL)
    fresh.until(
        lambda found: found["agent"] and found["agent"]["ready"] and found["agent"]["pid"] != before["agent"]["pid"],
        "the agent to be started again",
    )

    # A job runs while the agent is replaced by another release; it is paid once it is accepted.
    image = demo_image(fresh)
    lease = await run_job(chain, host, image)
    running = containers(fresh)
    assert len(running) == 1
    bundle = tmp_path / "agent.tar.gz"
    build(bundle)
    good = changed(
        bundle, tmp_path / "good.tar.gz", "app/offchain/cli/provider/status.py", lambda data: data + b"\n# newer\n"
    )
    updated = fresh.agent("update", "--digest", good, str(tmp_path / "good.tar.gz"), "--json")
    assert updated.code == 0, updated.out + updated.err
    assert fresh.status()["release"] == good
    broken = changed(
        bundle,
        tmp_path / "broken.tar.gz",
        "app/offchain/cli/provider/agent_process.py",
        lambda data: data.replace(
            b"    run_command(run_agent", b"    raise SystemExit('broken')\n    run_command(run_agent"
        ),
    )
    undone = fresh.agent("update", "--digest", broken, str(tmp_path / "broken.tar.gz"), "--json")
    assert undone.code == 1
    assert "the previous one runs again" in undone.last["error"]["message"]
    assert fresh.status()["release"] == good
    assert containers(fresh) == running
    end_only_job(fresh)
    await until_task(chain, lease, "Reported")
    due = fresh.until(lambda found: found["due"], "the job to be owed")["due"]
    assert due[0]["lease"] == lease
    assert due[0]["payable"] == 0
    task = lease >> 24
    await chain.do(TENANT, gen.calls.tasks_accept_result(task=task))
    coins = (await GantryChain(chain.link).balance(provider.address)).free
    secret = {"PROVIDER": "//NewProvider"}
    claimed = fresh.agent("claim", "--provider-uri-env", "PROVIDER", "--json", env=secret)
    assert claimed.code == 0, claimed.out + claimed.err
    assert claimed.last["claimed"] > 0
    assert claimed.last["leases"] == {str(lease): claimed.last["claimed"]}
    paid = (await GantryChain(chain.link).balance(provider.address)).free - coins
    assert claimed.last["claimed"] - GTY // 10 < paid <= claimed.last["claimed"]
    assert await state_of(chain, lease) == "Settled"

    # Prices, draining and back.
    asked = fresh.agent("set-ask", "--gpu-price", "0.7", "--provider-uri-env", "PROVIDER", "--json", env=secret)
    assert asked.last["ask"]["gpu_per_hour"] == 7 * GTY // 10
    assert fresh.agent("drain", "--provider-uri-env", "PROVIDER", "--json", env=secret).last["status"] == "Draining"
    assert fresh.agent("undrain", "--provider-uri-env", "PROVIDER", "--json", env=secret).last["status"] == "Online"

    # A GPU is taken out, and memory kept: what is different is shown, registered, and the agent offers what is here.
    other = ("--simulate", "a100x2", "--reserve-memory-mib", "1024")
    seen = fresh.agent("change-hardware", "--check", *other, "--json")
    assert (seen.code, seen.last["done"]) == (0, False), seen.out + seen.err
    change = fresh.agent("change-hardware", *other, "--provider-uri-env", "PROVIDER", "--json", env=secret)
    assert change.code == 0, change.out + change.err
    assert [line for line in change.last["changed"] if "GPU" in line or "memory" in line] == [
        line for line in seen.last["changed"] if "GPU" in line or "memory" in line
    ]
    assert (change.last["done"], change.last["generation"]) == (True, 1)
    fresh.until(lambda found: found["status"] == "Online", "the host to be online with its other GPU")
    again = fresh.agent("change-hardware", "--check", "--json")
    assert not [line for line in again.last["changed"] if "disk" not in line]

    # It leaves once its last job has ended, and the bond comes back.
    lease = await run_job(chain, host, image)
    leaving = fresh.start_agent("leave", "--provider-uri-env", "PROVIDER", "--json", env=secret)
    assert said_step(leaving, "waiting")["live_leases"] == 1
    end_only_job(fresh)
    assert end_of(leaving)["status"] == "Retiring"
    assert await state_of(chain, lease) in ("Reported", "Verified", "Settled")
    bond = (await GantryChain(chain.link).balance(provider.address)).held
    assert bond > 0
    back = fresh.agent("withdraw", "--provider-uri-env", "PROVIDER", "--json", env=secret)
    assert (back.last["status"], back.last["withdrawn"]) == ("Retired", bond)
    assert (await GantryChain(chain.link).balance(provider.address)).held == 0
    assert fresh.status()["service"] is None
    assert "used once" in fresh.agent("join", "--json").last["error"]["message"]
    # Nothing of it is left in the way of whatever the machine does next.
    assert "GANTRY" not in fresh.said_by("iptables-save")
    assert "gtr" not in fresh.said_by("ip", "link")


async def test_a_new_provider_by_proxy(chain: Chain, node: DevelopmentNode, fresh: Machine) -> None:
    provider = await provider_with(chain, "FarAway", 10_000 * GTY)
    proxy = await provider_with(chain, "Manager", 10 * GTY)
    add = {"delegate": {"Id": proxy.address}, "proxy_type": "Provider", "delay": 0}
    url = f"ws://{fresh.outside}:{node.port}"
    key = ("--provider-uri-env", "MANAGER", "--proxy-for", provider.address)
    secret = {"MANAGER": "//Manager"}
    join = ("join", "--url", url, "--simulate", "rtx4090", "--json", *key)
    refused = fresh.agent(*join, env=secret)
    assert refused.code == 1
    assert "Proxy.NotProxy" in refused.last["error"]["message"]
    await chain.do(provider, Call("Proxy", "add_proxy", add))
    joined = fresh.agent(*join, env=secret)
    assert joined.code == 0, joined.out + joined.err
    assert (joined.last["status"], joined.last["provider"]) == ("Online", provider.address)
    drained = fresh.agent("drain", "--json", *key, env=secret)
    assert drained.last["status"] == "Draining", drained.out + drained.err
    left = fresh.agent("leave", "--json", *key, env=secret)
    assert left.last["status"] == "Retiring", left.out + left.err
    kept = fresh.agent("withdraw", "--json", *key, env=secret)
    assert kept.code == 1
    assert "CallFiltered" in kept.last["error"]["message"]
