"""What scripts/upgrade-chain refuses before it sends anything, and what it sends."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_world import producing

from offchain.adapters.keys import signer as keys
from offchain.cli.kit.failures import CliError
from offchain.cli.kit.network import NodeEndpoint
from offchain.cli.operator import upgrade_chain
from offchain.cli.operator.upgrade_chain import RuntimeUpgrade, read_runtime, upgrade
from offchain.ports import Call
from tests.support.fake_chain import FakeChain

CODE = bytes.fromhex("52bc537646db8e05") + b"a new runtime"
HASH = hashlib.blake2b(CODE, digest_size=32).digest()
SUDO = keys.from_uri("//Alice")
SOMEONE = keys.from_uri("//Bob")
NETWORK = NodeEndpoint("ws://127.0.0.1:9", None, "a test")


class Upgradable(FakeChain):
    """A chain that takes the authorized runtime, and is then in migration for `blocks` blocks."""

    def __init__(self, blocks: int = 2) -> None:
        super().__init__()
        self.blocks = blocks
        self.storage["System", "LastRuntimeUpgrade"][()] = {"spec_version": 1, "spec_name": "gantry"}
        self.storage["Sudo", "Key"][()] = SUDO.address
        self.effects = self._effect
        self.takes_it = True

    def authorize(self) -> None:
        self.storage["System", "AuthorizedUpgrade"][()] = {"code_hash": HASH, "check_version": True}

    def _effect(self, call: Call, _account: str) -> Sequence[tuple[str, str, dict[str, Any]]]:
        if call.function == "sudo":
            self.authorize()
            return ()
        self.storage["System", "AuthorizedUpgrade"].clear()
        if not self.takes_it:
            return (("System", "RejectedInvalidAuthorizedUpgrade", {"code_hash": HASH, "error": "Other"}),)
        self.storage["System", "LastRuntimeUpgrade"][()] = {"spec_version": 2, "spec_name": "gantry"}
        self.storage["MultiBlockMigrations", "Cursor"][()] = {"Active": {}}
        return (("System", "CodeUpdated", {}),)

    async def produce(self, *args: Any, **kwargs: Any) -> Any:
        if self.storage["MultiBlockMigrations", "Cursor"].get(()) == {"Active": {}}:
            self.blocks -= 1
            if self.blocks < 0:
                self.storage["MultiBlockMigrations", "Cursor"].clear()
        return await super().produce(*args, **kwargs)


def run(chain: FakeChain, signer: Any = SUDO) -> RuntimeUpgrade:
    async def work() -> RuntimeUpgrade:
        async with producing(chain):
            return await upgrade(NETWORK, signer, CODE, lambda _: chain)

    return asyncio.run(work())


def test_sudo_authorizes_and_applies_and_the_end_of_the_migration_is_awaited() -> None:
    chain = Upgradable()
    done = run(chain)
    assert [call.function for call, _, _ in chain.executed] == ["sudo", "apply_authorized_upgrade"]
    assert (done.from_version, done.to_version, done.code_hash) == (1, 2, HASH)
    assert done.authorized_in is not None
    assert done.authorized_in < done.applied_in < done.migrated_in


def test_anyone_applies_what_is_authorized() -> None:
    chain = Upgradable()
    chain.authorize()
    done = run(chain, SOMEONE)
    assert [(call.function, account) for call, account, _ in chain.executed] == [
        ("apply_authorized_upgrade", SOMEONE.address)
    ]
    assert done.authorized_in is None


def test_without_sudo_the_call_for_governance_is_printed() -> None:
    chain = Upgradable()
    with pytest.raises(CliError) as refused:
        run(chain, SOMEONE)
    assert refused.value.code == "not_authorized"
    assert f"System.authorize_upgrade(0x{HASH.hex()})" in refused.value.hint
    assert chain.executed == []


def test_a_refused_runtime_is_reported_as_a_failure() -> None:
    chain = Upgradable()
    chain.takes_it = False
    with pytest.raises(CliError) as refused:
        run(chain)
    assert refused.value.code == "refused"


def test_a_stuck_migration_is_reported() -> None:
    chain = Upgradable(blocks=10**6)
    chain.effects = lambda call, account: _stuck(chain, call, account)
    with pytest.raises(CliError) as told:
        run(chain)
    assert told.value.code == "stuck"


def _stuck(chain: Upgradable, call: Call, account: str) -> Sequence[tuple[str, str, dict[str, Any]]]:
    events = Upgradable._effect(chain, call, account)
    if call.function != "sudo":
        chain.storage["MultiBlockMigrations", "Cursor"][()] = "Stuck"
    return events


@pytest.mark.parametrize("content", [None, b"", b"#!/bin/sh\n"])
def test_a_file_that_is_not_a_runtime_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "runtime.wasm"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CliError):
        read_runtime(path)


def test_the_released_runtime_is_the_default() -> None:
    assert read_runtime(upgrade_chain.RELEASED)
