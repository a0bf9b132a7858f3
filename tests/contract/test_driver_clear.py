"""Removal of everything that an engine holds for a host, with the host's address only."""

import os

import driver_cases as case
import pytest
from driver_fixtures import docker_driver

from node_agent.drivers.docker.clear import clear_engine

pytestmark = pytest.mark.docker


def held(api):
    wanted = {"label": [f"gantry.host={case.HOST}"]}
    volumes = api.volumes(filters=wanted).get("Volumes") or []
    return len(api.containers(all=True, filters=wanted)), len(api.networks(filters=wanted)), len(volumes)


@pytest.mark.parametrize("data", [False, True])
async def test_everything_of_a_host_is_removed_and_data_only_on_request(docker_api, shell_image, tmp_path, data):
    url = os.environ["GANTRY_DOCKER_HOST"]
    async with docker_driver(tmp_path) as driver:
        spec = case.pod(case.SLEEP, shell_image, volumes=case.DATA)
        await case.up(driver, spec)
        if data:
            await driver.snapshot(spec.lease, "before", 1000)
        assert held(docker_api) == (1, 1, 1)
        clear_engine(url, "5SomebodyElse", data=True)
        assert held(docker_api) == (1, 1, 1)
        clear_engine(url, case.HOST, data=data)
        assert held(docker_api) == (0, 0, 0 if data else 1)
        assert docker_api.images(filters={"label": [f"gantry.host={case.HOST}"]}) == []
        clear_engine(url, case.HOST, data=data)
