"""What a user can get wrong: one message, what to do, a status, no traceback, nothing left running."""

import shutil
from pathlib import Path

import pytest

from offchain.devnet.paths import ROOT
from tests.support.local_network import STEPS, TENANT, Done, Net, run


def assert_one_message(done: Done, *parts: str) -> None:
    assert done.code in (1, 2), done.said
    assert "Traceback" not in done.err + done.out, done.said
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.said
    for part in parts:
        assert part in done.err, f"{part!r} is not in: {done.said}"


def changed(tmp_path: Path, old: str, new: str) -> tuple[Path, int]:
    """steps.yaml with one thing changed; gives the file and the line of the change."""
    text = STEPS.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / "task.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path, text[: text.index(old)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("    read_only: true", "    read_onyl: true", "read_onyl"),
        ("    read_only: true", "    privileged: true", "privileged"),
        ("count: 1", "count: -1", "-1"),
        ("image: ${GANTRY_DEMO_IMAGE:?scripts/demo-image builds the image and prints its name}", "image: a:1", "a:1"),
        ("kind: job", "kind: lease", "lease"),
    ],
)
async def test_a_bad_manifest_is_refused_by_name_and_line(net: Net, tmp_path: Path, old, new, named):
    path, line = changed(tmp_path, old, new)
    assert_one_message(await net.gantry("submit", path, "--account", TENANT), named, f"task.yaml:{line}:")


async def test_a_price_limit_below_every_ask_is_refused(net: Net):
    done = await net.gantry("submit", STEPS, "--account", TENANT, env={"STEPS": "1", "MAX_PER_HOUR": "0.000001 GTY"})
    assert_one_message(done, "0.000001")


async def test_an_account_without_coins_is_refused(net: Net):
    done = await net.gantry("submit", STEPS, "--account", "//Nobody//without//coins")
    assert_one_message(done)


@pytest.mark.parametrize("url", ["ws://127.0.0.1:1", "http://127.0.0.1:9944", "not a url", "ws://127.0.0.1:99999"])
async def test_a_wrong_address_is_named(net: Net, url: str):
    assert_one_message(await net.gantry("host", "list", "--url", url), url)


async def test_a_chain_of_another_genesis_is_refused(net: Net, tmp_path: Path):
    other = "0x" + "11" * 32
    env = {"GANTRY_STATE": str(tmp_path), "GANTRY_URL": net.url, "GANTRY_GENESIS": other}
    done = await net.gantry(
        "submit", STEPS, "--account", TENANT, env=env | {"GANTRY_DEMO_IMAGE": "a@sha256:" + "0" * 64}
    )
    assert_one_message(done, other, net.genesis.hex())


async def test_a_worker_refuses_a_chain_of_another_genesis(net: Net, tmp_path: Path):
    other = "0x" + "11" * 32
    env = {"GANTRY_STATE": str(tmp_path), "GANTRY_URL": net.url, "GANTRY_GENESIS": other}
    assert_one_message(await net.gantry("worker", "all", env=env), other, net.genesis.hex())


async def test_a_missing_manifest_is_named(net: Net):
    assert_one_message(await net.gantry("submit", "no-such-file.yaml", "--account", TENANT), "no-such-file.yaml")


async def test_a_task_that_does_not_exist_is_named(net: Net):
    assert_one_message(await net.gantry("task", "show", "999999999"), "999999999")


async def test_a_port_in_use_is_named(net: Net, tmp_path: Path):
    port = net.url.rsplit(":", 1)[1]
    done = await run("scripts/up", "--once", "--rpc-port", port, env={"GANTRY_STATE": str(tmp_path / "state")})
    assert_one_message(done, port)


async def test_a_stopped_docker_is_named(tmp_path: Path):
    nowhere = f"unix://{tmp_path}/docker.sock"
    env = {"GANTRY_STATE": str(tmp_path / "state"), "DOCKER_HOST": nowhere}
    done = await run("scripts/up", "--once", "--rpc-port", "19944", env=env)
    assert_one_message(done, nowhere)
    assert not list((tmp_path / "state").glob("run/*.json"))


async def test_a_corrupted_release_is_refused(tmp_path: Path):
    clone = tmp_path / "clone"
    clone.mkdir()
    for part in ("offchain", "node_agent", "scripts", "examples"):
        shutil.copytree(ROOT / part, clone / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "chain" / "release", clone / "chain" / "release")
    for lock in ROOT.glob("requirements*.lock"):
        shutil.copy(lock, clone)
    (runtime,) = [path for path in (clone / "chain" / "release").iterdir() if "runtime" in path.name]
    data = bytearray(runtime.read_bytes())
    data[len(data) // 2] ^= 1
    runtime.write_bytes(data)
    env = {"GANTRY_STATE": str(tmp_path / "state"), "PYTHONPATH": ""}
    done = await run(clone / "scripts" / "up", "--once", "--rpc-port", "19945", env=env)
    assert_one_message(done, runtime.name)
    assert not list((tmp_path / "state").glob("run/*.json"))
