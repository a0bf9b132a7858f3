"""An agent saves the folders of its pods, tells the chain, and starts pods from what was saved."""

import hashlib
from dataclasses import replace

import pytest
from agent_builders import MANIFEST
from agent_world import World

from node_agent.checkpoints.store import FolderTooLarge, NoDiskSpace
from node_agent.core.states import Phase
from node_agent.drivers.port import EngineBusy, FolderRefused
from offchain.adapters.transport.tar_files import BadArchive
from offchain.schema.chain_types._generated_chain import EndReasonHostLost, PodCheckpoint
from offchain.schema.chain_types.ids import lease_id, lease_parts
from tests.support.chain_records import lease, tasks_params
from tests.support.fake_driver import packed
from tests.support.fake_engine import FakeProgram

SAVED = MANIFEST.replace(b"duration", b"checkpoint: {path: /ckpt, every: 1m}\n  duration")
ARCHIVE = packed({"/ckpt/step": b"73"}, "/ckpt")
DIGEST = hashlib.sha256(ARCHIVE).digest()


class Saving(World):
    """The chain takes reports of checkpoints, and tells of them."""

    def __init__(self, folder):
        self.program = FakeProgram(runs=True, files={"/ckpt/step": b"73", "/else": b"x"})
        super().__init__(folder, lambda _spec, _container: self.program)
        self.table("Tasks", "Params")[()] = tasks_params()
        self.told = []

    def _effects(self, call, account):
        if call.function != "report" or "Checkpoint" not in call.args["report"]:
            return super()._effects(call, account)
        report = call.args["report"]["Checkpoint"]
        number, digest, size = call.args["lease"], report["digest"], report["bytes"]
        task, pod, _ = lease_parts(number)
        self.told.append((number, digest))
        self.tasks.change(task, checkpoints=(PodCheckpoint(pod, digest, size, account, self.now_ms),))
        return [("Tasks", "Checkpointed", {"lease": number, "digest": digest, "bytes": size})]

    def files(self, number):
        return self.engine.main(self.host, number).files

    def goes_on(self, number):
        """The lease by which the task runs on this host again when the first has ended; its program writes nothing."""
        self.program = replace(self.program, files={})
        self.end_lease(number, EndReasonHostLost())
        task, ended = lease_parts(number)[0], self.tasks.lease(number)
        self.tasks.change(task, leases=(ended, lease(self.host, generation=1, created_at=self.now_ms)))
        return lease_id(task, 0, 1)


@pytest.fixture
def world(tmp_path):
    return Saving(tmp_path / "agent")


async def test_a_folder_is_saved_and_each_content_is_reported_once(world):
    async with world.agent() as agent:
        number = world.open_lease(SAVED)
        await world.until(lambda: world.told)
        assert world.told == [(number, DIGEST)]
        for _ in range(25):
            await world.chain.produce()
        assert world.told == [(number, DIGEST)]
        world.files(number)["/ckpt/step"] = b"74"
        await world.until(lambda: len(world.told) == 2)
        assert [one.digest for one in agent._dir.checkpoints.all() if one.digest == world.told[1][1]]


async def test_a_pod_whose_manifest_names_no_folder_is_not_saved(world):
    async with world.agent() as agent:
        number = world.open_lease()
        await world.until(lambda: agent.state.phase(number) is Phase.RUNNING)
        for _ in range(25):
            await world.chain.produce()
        assert (world.told, agent._dir.checkpoints.all()) == ([], ())


async def test_the_next_pod_of_the_task_starts_from_what_was_saved_also_after_a_restart(world):
    async with world.agent() as agent:
        number = world.open_lease(SAVED)
        await world.until(lambda: world.told)
    following = world.goes_on(number)
    async with world.agent() as agent:
        await world.until(lambda: agent.state.phase(following) is Phase.RUNNING)
        assert world.files(following) == {"/ckpt/step": b"73"}
        assert b"it continues from the checkpoint " + DIGEST.hex().encode() in await log_of(world, agent, following)


async def test_a_folder_that_cannot_be_unpacked_costs_the_work_and_not_the_pod(world):
    async with world.agent() as agent:
        number = world.open_lease(SAVED)
        await world.until(lambda: world.told)
    following = world.goes_on(number)
    programs = iter([replace(world.program, fails_to_start=FolderRefused("no room")), world.program])
    world.engine.programs = lambda _spec, _container: next(programs)
    async with world.agent() as agent:
        await world.until(lambda: agent.state.phase(following) is Phase.RUNNING)
        assert world.files(following) == {}
        assert b"it starts from nothing: no room" in await log_of(world, agent, following)


async def test_the_tenant_is_told_once_why_nothing_is_saved_and_when_it_is_again(world):
    world.program = replace(world.program, files={"/else": b"x"})
    async with world.agent() as agent:
        number = world.open_lease(SAVED)
        await world.until(lambda: number in agent._checkpoints._attempts)
        for _ in range(40):
            await world.chain.produce()
        world.files(number)["/ckpt/step"] = b"73"
        await world.until(lambda: world.told)
        first, again = notes_of(await log_of(world, agent, number))
        assert first.startswith(
            "/ckpt is not saved: there is no such folder; have the program make it, or name another"
        )
        assert again == f"/ckpt is saved again, {len(ARCHIVE)} bytes"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            FolderTooLarge(1 << 30),
            (
                "it has more than the 1073741824 bytes of the task's disk; "
                "keep less there, or ask for more in x-gantry.disk"
            ),
        ),
        (NoDiskSpace("there is room for 3 bytes"), "this host's own disk is too full for it"),
        (
            BadArchive("the archive holds a device", "Try again."),
            "the archive holds a device; only files, folders and links that stay inside can be saved",
        ),
        (OSError(5, "Input/output error", "/of/the/host"), "this host could not read it (Input/output error)"),
        (EngineBusy("the engine is busy"), "this host could not read it (the engine is busy)"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Exception) else "",
)
async def test_each_save_error_is_noted_with_what_to_do(world, monkeypatch, error, told):
    async def fails(*_, **__):
        raise error

    async with world.agent() as agent:
        monkeypatch.setattr(agent._checkpoints._store, "save", fails)
        number = world.open_lease(SAVED)
        await world.until(lambda: number in agent._checkpoints._attempts)
        assert notes_of(await log_of(world, agent, number)) == [f"/ckpt is not saved: {told}; it is tried again"]


def notes_of(log):
    """What the agent says in a log."""
    said = (line.decode().partition(" ")[2] for line in log.splitlines())
    return [one[1:-1] for one in said if one.startswith("[")]


async def log_of(world, agent, number):
    async with world.asking(agent) as client:
        return b"".join([piece async for piece in client.logs(number)])
