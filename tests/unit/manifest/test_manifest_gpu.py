"""Shares of a GPU: whole percents of one device, for one pod."""

import pytest
from manifest_builders import Change, devices, gantry, gpu, helper, parse, refused, together

from offchain.cli.tenant.manifest import manifest_lines, plain_manifest
from offchain.schema.manifest.task_spec import to_task_spec

ONE_MORE = helper(
    deploy={
        "resources": {
            "limits": {"cpus": "0.5", "memory": "64M"},
            "reservations": {"devices": [{"count": 1, "capabilities": ["gpu"]}]},
        }
    }
)


def share(of: object) -> Change:
    return gantry(gpu={"share": of})


@pytest.mark.parametrize(("written", "milli"), [("25%", 250), ("1%", 10), ("99 %", 990), ("05%", 50)])
def test_a_share_is_in_percents_of_one_device(written: str, milli: int) -> None:
    found = parse(together(gpu(), share(written)))
    assert (found.gpus.count, found.gpus.milli) == (1, milli)
    assert to_task_spec(found, bytes(32)).resources.gpus.milli == milli


def test_the_default_is_the_whole_device() -> None:
    assert parse(gpu()).gpus.milli == 1000


@pytest.mark.parametrize("written", ["100%", "0%", "00%", "25", "0.25", "2.5%", "-5%", "a quarter", 25])
def test_a_wrong_share_is_refused_with_a_hint(written: object) -> None:
    path, message, hint = refused(together(gpu(), share(written)))
    assert (path, message) == ("x-gantry.gpu.share", f'"{written}" is not a share of a GPU')
    assert "from 1% to 99%" in hint


def test_gpu_without_a_share_is_refused() -> None:
    assert refused(together(gpu(), gantry(gpu={})))[1] == "share is missing"


def test_a_share_needs_one_gpu_in_the_whole_pod() -> None:
    assert refused(share("25%"))[1] == "a share without a GPU"
    two = devices({"count": 2, "capabilities": ["gpu"]})
    for change in (two, together(gpu(), ONE_MORE)):
        assert refused(together(change, share("25%")))[1] == "a share is of one GPU, and the pod asks for 2"


def test_a_service_cannot_follow_the_use_of_a_gpu_that_it_shares() -> None:
    follows = gantry(kind="service", pods={"min": 1, "max": 2}, scaling={"metric": "gpu", "target": "70%"})
    parse(together(gpu(), follows))
    assert refused(together(gpu(), follows, share("50%")))[0] == "x-gantry.scaling.metric"


def test_the_share_is_shown() -> None:
    found = parse(together(gpu(), share("25%")))
    assert dict(manifest_lines(found))["each pod"] == "1.5 cores, 512 MiB memory, 1 GiB disk, 25 % of a GPU"
    assert plain_manifest(found)["gpu_milli"] == 250
