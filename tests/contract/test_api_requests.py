"""Random requests by the OpenAPI document: the API answers each as the document says."""

import asyncio
import logging
import threading

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from offchain.gateway.api import openapi
from tests.support.api_rig import node_api

EXAMPLES = 12
"""Requests of each of some forty operations."""
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
_STREAMS = "/v1/events/stream"
_LONGEST_URL = 8_000

schema = schemathesis.openapi.from_dict(openapi.document()).exclude(path=_STREAMS)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A server in a loop of its own: the requests of schemathesis wait for their answers."""
    loop = asyncio.new_event_loop()
    started, ends = threading.Event(), asyncio.Event()
    found = []

    async def serve():
        with pytest.MonkeyPatch.context() as patch:
            folder = tmp_path_factory.mktemp("api")
            async with node_api(folder, patch, domain="gateway.example.org", requests_per_s=100_000) as client:
                found.append(client.url)
                started.set()
                await ends.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert started.wait(60)
    logging.getLogger("aiohttp.server").setLevel(logging.ERROR)
    yield found[0]
    loop.call_soon_threadsafe(ends.set)
    thread.join(30)
    loop.close()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_one_of_the_document(case, url):
    answer = case.call(base_url=url, timeout=20)
    if answer.status_code == 400 and len(answer.request.url) > _LONGEST_URL:
        return  # the HTTP parser refuses it before the API sees it
    case.validate_response(answer, checks=list(CHECKS))
