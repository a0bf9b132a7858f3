"""Which folder of a pod is saved, and how often: what a manifest may say of it."""

import pytest
from manifest_builders import Change, gantry, parse, refused, service, together, top

from offchain.schema.manifest.types import CheckpointSpec

SAID = {"path": "/ckpt", "every": "10m"}
DATA = together(top(volumes={"data": None}), service(volumes=["data:/data"], read_only=True))


@pytest.mark.parametrize("kind", ["job", "service"])
def test_jobs_and_services_have_checkpoints(kind: str) -> None:
    assert parse(gantry(kind=kind, checkpoint=SAID)).checkpoint == CheckpointSpec("/ckpt", 600_000)
    assert parse(gantry(kind=kind)).checkpoint is None


def test_paths_are_normalised() -> None:
    found = parse(gantry(checkpoint={"path": "/keep//state/", "every": "24h"})).checkpoint
    assert found == CheckpointSpec("/keep/state", 86_400_000)


def test_a_folder_of_a_volume_is_saved_also_where_the_container_is_read_only() -> None:
    assert parse(together(DATA, gantry(checkpoint={"path": "/data/state", "every": "1m"}))).checkpoint is not None


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (gantry(checkpoint={"path": "ckpt", "every": "10m"}), "checkpoint.path", "not an absolute path"),
        (gantry(checkpoint={"path": "/ckpt/../etc", "every": "10m"}), "checkpoint.path", "not an absolute path"),
        (gantry(checkpoint={"path": "/", "every": "10m"}), "checkpoint.path", "/ cannot be mounted over"),
        (gantry(checkpoint={"path": "/proc/1", "every": "10m"}), "checkpoint.path", "belongs to the kernel"),
        (gantry(checkpoint={"path": "/ckpt", "every": "59s"}), "checkpoint.every", "59s is out of range"),
        (gantry(checkpoint={"path": "/ckpt", "every": "25h"}), "checkpoint.every", "90000s is out of range"),
        (gantry(checkpoint={"path": "/ckpt", "every": "often"}), "checkpoint.every", "not a duration"),
        (gantry(checkpoint={"path": "/ckpt"}), "checkpoint", "every is missing"),
        (gantry(checkpoint={"every": "1m"}), "checkpoint", "path is missing"),
        (gantry(checkpoint={**SAID, "keep": 3}), "checkpoint.keep", 'unknown key "keep"'),
        (gantry(kind="rental", checkpoint=SAID), "checkpoint", "stays on its host"),
        (gantry(verification={"replicas": 2}, checkpoint=SAID), "checkpoint", "compared has no checkpoints"),
        (
            together(DATA, gantry(checkpoint={"path": "/data", "every": "1m"})),
            "checkpoint.path",
            "/data is the whole volume of a read_only container",
        ),
        (together(DATA, gantry(checkpoint=SAID)), "checkpoint.path", "nothing can be written to /ckpt"),
        (
            together(service(tmpfs=["/ckpt/fast:size=1M"]), gantry(checkpoint=SAID)),
            "checkpoint.path",
            "/ckpt/fast is a tmpfs",
        ),
        (
            together(
                top(secrets={"key": {"external": True}}),
                service(secrets=["key"]),
                gantry(checkpoint={"path": "/run", "every": "1m"}),
            ),
            "checkpoint.path",
            "/run/secrets/key is a delivered file",
        ),
    ],
)
def test_a_wrong_checkpoint_is_refused(change: Change, path: str, message: str) -> None:
    refused(change, f"x-gantry.{path}", message)
