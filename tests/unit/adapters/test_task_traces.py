"""Trace ids of tasks, in log lines and exported spans."""

from __future__ import annotations

import asyncio
import io
import logging
import sys

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from offchain.adapters.span_export import begin_tracing
from offchain.adapters.task_traces import TRACES
from offchain.errors import OurError
from offchain.schema.chain_types.ids import lease_id
from offchain.schema.trace_ids import is_trace_id, task_of_trace, trace_id
from offchain.services import log

GENESIS, OTHER = b"\x01" * 32, b"\x02" * 32


@given(st.integers(0, 2**64 - 1))
def test_a_trace_id_names_its_task_on_its_chain_only(task):
    found = trace_id(GENESIS, task)
    assert is_trace_id(found)
    assert task_of_trace(GENESIS, found) == task
    with pytest.raises(ValueError, match="not of this chain"):
        task_of_trace(OTHER, found)


@pytest.mark.parametrize("text", ["", "7", "0" * 31, "G" * 32, "A" * 32])
def test_other_text_is_no_trace_id(text):
    with pytest.raises(ValueError, match="32 hex digits"):
        task_of_trace(GENESIS, text)


@pytest.fixture
def lines(monkeypatch):
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    root, stream = logging.getLogger("gantry"), io.StringIO()
    before = root.handlers[:], root.level, root.propagate
    log.set_up(stream)
    yield lambda: stream.getvalue().splitlines()
    TRACES._genesis = TRACES._export = None
    root.handlers[:], (root.level, root.propagate) = before[0], before[1:]


def test_lines_about_a_task_or_lease_end_with_its_trace_once_the_chain_is_known(lines):
    out, agent = log.EventLog("scheduler"), logging.getLogger("gantry.agent")
    out.info("assign", task=7)
    begin_tracing(GENESIS, "test")
    out.info("assign", task=7, hosts="a")
    out.warning("at_risk", lease=lease_id(7, 1, 0))
    agent.info("lease %d: %s runs (task %d, start %d)", lease_id(7, 0, 2), "main", 7, 1)
    agent.info("task %d, pod %d: a checkpoint is deleted", 7, 0)
    out.info("started", pid=7)
    agent.info("the chain is heard again after %d s", 7)
    wanted = f" trace={trace_id(GENESIS, 7)}"
    assert [line.endswith(wanted) for line in lines()] == [False, True, True, True, True, False, False]
    assert lines()[0].endswith("gantry.scheduler assign task=7")


def test_text_of_others_gives_a_line_no_trace(lines):
    begin_tracing(GENESIS, "test")
    log.EventLog("worker").info("waiting", reason="task=8 lease 9: gone")
    logging.getLogger("gantry.agent").warning("%s", "a registry says: task 8")
    assert not any("trace=" in line for line in lines())


def test_a_number_that_no_task_can_have_gives_no_trace(lines):
    begin_tracing(GENESIS, "test")
    logging.getLogger("gantry.agent").info("task %d, pod 0: odd", 2**64)
    assert lines()[0].endswith("task 18446744073709551616, pod 0: odd")


@pytest.mark.usefixtures("lines")
async def test_a_line_is_exported_as_a_span_of_its_task(monkeypatch):
    received: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    async def take(request: web.Request) -> web.Response:
        received.put_nowait((request.path, await request.read()))
        return web.Response(body=b"", content_type="application/x-protobuf")

    app = web.Application()
    app.router.add_post("/v1/traces", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    try:
        begin_tracing(GENESIS, "gantry-scheduler")
        log.EventLog("scheduler").info("assigned", task=7, generation=2)
        path, body = await asyncio.wait_for(received.get(), 30)
    finally:
        await runner.cleanup()
    found = ExportTraceServiceRequest.FromString(body).resource_spans[0]
    (span,) = found.scope_spans[0].spans
    assert path == "/v1/traces"
    assert span.trace_id.hex() == trace_id(GENESIS, 7)
    assert span.name == "assigned"
    assert {one.key: one.value.string_value for one in span.attributes}["log.message"] == "assigned task=7 generation=2"
    assert "gantry-scheduler" in str(found.resource)


@pytest.mark.usefixtures("lines")
def test_a_collector_without_the_packages_is_an_error_that_names_the_extra(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(OurError, match="OTEL_EXPORTER_OTLP_ENDPOINT") as refused:
        begin_tracing(GENESIS, "test")
    assert "gantry[tracing]" in refused.value.hint
