"""What a manifest may mount into a service: volumes, scratch folders, secrets and inputs."""

from typing import Any

import pytest
from manifest_builders import Change, gantry, helper, manifest, parse, problems, refused, service, together, top, train

from offchain.schema.manifest import types

DATA = top(volumes={"data": None, "cache": {}})
TOKEN = top(secrets={"token": {"external": True}})
HEX = "0123456789abcdef" * 4


def test_volumes_are_mounted_in_both_of_composes_ways() -> None:
    mounts = [
        "data:/data",
        "cache:/cache/:ro",
        {"type": "volume", "source": "data", "target": "/again", "read_only": True},
        {"type": "tmpfs", "target": "/scratch", "tmpfs": {"size": "64M", "mode": 1777}},
    ]
    found = parse(together(DATA, service(volumes=mounts)))
    assert found.volumes == ("data", "cache")
    assert found.main.volumes == (
        types.VolumeMount("data", "/data", read_only=False),
        types.VolumeMount("cache", "/cache", read_only=True),
        types.VolumeMount("data", "/again", read_only=True),
    )
    assert found.main.tmpfs == (types.TmpfsMount("/scratch", "size=67108864,mode=1777"),)


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ("/srv/data:/data", '"/srv/data" is a path of your machine'),
        ("./data:/data", '"./data" is a path of your machine'),
        ("~/data:/data", '"~/data" is a path of your machine'),
        ("..:/data", '".." is a path of your machine'),
        ("/data", "a volume without a name"),
        ("data", "is not a mount"),
        ("dta:/data", 'there is no volume "dta"'),
        ("data:data", "is not an absolute path"),
        ("data:/a/../b", "is not an absolute path"),
        ("data:/", "cannot be mounted over"),
        ("data:/.//", "cannot be mounted over"),
        ("data:/proc/sys", "belongs to the kernel"),
        ("data:/dev", "belongs to the kernel"),
        ("data:/.gantry-gate", "is a program of the host's agent"),
        ("data:/run/gantry", "is where the host writes the notice of a preemption"),
        ("data:/run/gantry/x", "is where the host writes the notice of a preemption"),
        ("data:/data:z", '"z" is not supported'),
        ("data:/data:ro,nocopy", '"nocopy" is not supported'),
        ({"type": "bind", "source": "/srv", "target": "/data"}, '"bind" is not supported'),
        ({"type": "volume", "target": "/data"}, "source is missing"),
        ({"type": "volume", "source": "data"}, "target is missing"),
        ({"source": "data", "target": "/data"}, "type is missing"),
        ({"type": "volume", "source": "nix", "target": "/data"}, 'there is no volume "nix"'),
        ({"type": "volume", "source": "data", "target": "/d", "volume": {"nocopy": True}}, 'support "volume"'),
        ({"type": "volume", "source": "data", "target": "/d", "tmpfs": {}}, "no options of a tmpfs"),
        ({"type": "tmpfs", "source": "data", "target": "/d"}, "a tmpfs has no source"),
        ({"type": "tmpfs", "target": "/d", "tmpfs": {"size": "big"}}, "is not a size"),
        ({"type": "volume", "source": "data", "target": "/d", "raed_only": 1}, 'unknown key "raed_only"'),
        (True, "expected text"),
    ],
)
def test_a_wrong_mount_is_refused(mount: Any, message: str) -> None:
    path, said, _ = refused(together(DATA, service(volumes=[mount])))
    assert path.startswith("services.train.volumes[0]")
    assert message in said


@pytest.mark.parametrize(
    ("volumes", "path", "message"),
    [
        ({"data": {"driver": "nfs"}}, "volumes.data.driver", '"driver"'),
        ({"data": {"external": True}}, "volumes.data.external", '"external"'),
        ({"data": {"name": "x"}}, "volumes.data.name", '"name"'),
        ({"da/ta": None}, "volumes.da/ta", "is not the name of a volume"),
        ({f"v{n}": None for n in range(17)}, "volumes.v16", "17 volumes are too many"),
        (["data"], "volumes", "expected a mapping"),
    ],
)
def test_volumes_have_a_name_and_nothing_else(volumes: Any, path: str, message: str) -> None:
    refused(top(volumes=volumes), path, message)


def test_mounts_do_not_overlap() -> None:
    both = together(DATA, service(volumes=["data:/data/", "cache:/cache"], tmpfs="/data"))
    assert refused(both)[1] == "/data is mounted twice"
    inputs = [{"name": "in", "path": "/data", "sha256": HEX}]
    inside = together(DATA, service(volumes=["data:/data/deep"]), gantry(inputs=inputs))
    assert "cannot both be there" in refused(inside)[1]
    within = together(DATA, service(volumes=["data:/data"]), gantry(inputs=[{**inputs[0], "path": "/data/in"}]))
    assert train(within).files == (types.DeliveredFile("in", "/data/in", bytes.fromhex(HEX)),)


def test_secrets_are_mounted_where_compose_puts_them() -> None:
    uses = ["token", {"source": "token", "target": "other"}, {"source": "token", "target": "/etc/token"}]
    assert train(TOKEN, service(secrets=uses)).files == (
        types.DeliveredFile("token", "/run/secrets/token", None),
        types.DeliveredFile("token", "/run/secrets/other", None),
        types.DeliveredFile("token", "/etc/token", None),
    )


@pytest.mark.parametrize("key", ["file", "environment", "content"])
def test_the_value_of_a_secret_is_refused(key: str) -> None:
    path, _, hint = refused(top(secrets={"token": {key: "hush"}}))
    assert path == f"secrets.token.{key}"
    assert "gantry deliver" in hint


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        (top(secrets={"token": {}}), "secrets.token", "not external"),
        (top(secrets={"token": {"external": False}}), "secrets.token", "not external"),
        (top(secrets={"token": None}), "secrets.token", "expected a mapping"),
        (together(TOKEN, service(secrets=["tokn"])), "services.train.secrets[0]", 'no secret "tokn"'),
        (
            together(TOKEN, service(secrets=[{"source": "token", "mode": 400}])),
            "services.train.secrets[0].mode",
            '"mode"',
        ),
        (together(TOKEN, service(secrets=[{"target": "x"}])), "services.train.secrets[0]", "source is missing"),
        (
            together(TOKEN, service(secrets=[{"source": "token", "target": "../x"}])),
            "services.train.secrets[0].target",
            "not an absolute path",
        ),
    ],
)
def test_a_wrong_secret_is_refused(change: Change, path: str, message: str) -> None:
    refused(change, path, message)


def test_inputs_go_to_the_service_they_name_else_to_the_first() -> None:
    inputs = [
        {"name": "data.tar", "path": "/in/data.tar", "sha256": HEX},
        {"name": "seed.sql", "path": "/seed.sql", "sha256": HEX, "service": "db"},
        {"name": "data.tar", "path": "/data.tar", "sha256": HEX, "service": "db"},
    ]
    first, second = parse(together(helper(), gantry(inputs=inputs))).services
    digest = bytes.fromhex(HEX)
    assert first.files == (types.DeliveredFile("data.tar", "/in/data.tar", digest),)
    assert second.files == (
        types.DeliveredFile("seed.sql", "/seed.sql", digest),
        types.DeliveredFile("data.tar", "/data.tar", digest),
    )


@pytest.mark.parametrize(
    ("entries", "path", "message"),
    [
        ({"sha256": "abc"}, "x-gantry.inputs[0].sha256", "64 lower-case hex digits"),
        ({"sha256": HEX.upper()}, "x-gantry.inputs[0].sha256", "64 lower-case hex digits"),
        ({"path": "in"}, "x-gantry.inputs[0].path", "not an absolute path"),
        ({"path": "/"}, "x-gantry.inputs[0].path", "cannot be mounted over"),
        ({"name": "a/b"}, "x-gantry.inputs[0].name", "not the name of an input"),
        ({"name": "token"}, "x-gantry.inputs[0].name", "the name of a secret"),
        ({"service": "db"}, "x-gantry.inputs[0].service", 'no service "db"'),
        ({"url": "x"}, "x-gantry.inputs[0].url", 'unknown key "url"'),
    ],
)
def test_a_wrong_input_is_refused(entries: dict[str, str], path: str, message: str) -> None:
    good = {"name": "in.bin", "path": "/in.bin", "sha256": HEX}
    refused(together(TOKEN, gantry(inputs=[good | entries])), path, message)


def test_inputs_are_complete_and_bounded() -> None:
    found = problems(manifest(gantry(inputs=[{}])))
    assert [said for _, said, _ in found] == ["name is missing", "path is missing", "sha256 is missing"]
    many = [{"name": f"in{n}", "path": f"/in{n}", "sha256": HEX} for n in range(33)]
    assert "33 inputs are too many" in refused(gantry(inputs=many))[1]
    two = [{"name": "in", "path": f"/in{n}", "sha256": str(n) * 64} for n in range(2)]
    assert "two digests" in refused(gantry(inputs=two))[1]
