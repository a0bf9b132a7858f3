"""A Docker engine for tests: the one GANTRY_DOCKER_HOST names."""

import os

import docker
import driver_cases
import pytest


@pytest.fixture(scope="session")
def docker_api():
    url = os.environ.get("GANTRY_DOCKER_HOST")
    if url is None:
        pytest.skip("GANTRY_DOCKER_HOST names no engine (scripts/test starts one)")
    api = docker.APIClient(base_url=url, version="auto", timeout=60)
    yield api
    api.close()


@pytest.fixture(scope="session")
def shell_image(docker_api):
    image = driver_cases.build_image(docker_api)
    yield image
    docker_api.remove_image(image.digest, force=True)
