"""Export of traced log lines as spans of OpenTelemetry, by OTLP over HTTP.

It is off unless the environment names a collector. Each line is a span without a duration, in the trace of its task.
All variables of the OpenTelemetry SDK apply, such as OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from typing import Final

from offchain.adapters.task_traces import TRACES, SpanExport
from offchain.errors import OurError

VARIABLES: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_TIMEOUT_S: Final = 3.0
"""How long an export may take. At the end of a process the last spans wait for it."""
_LONGEST: Final = 1_000
"""Characters of a message that are exported."""


def begin_tracing(genesis: bytes, service: str) -> None:
    """Add trace ids to the log lines of this process from now on, and export them if a collector is configured.

    Raises OurError if one is configured and the packages of OpenTelemetry are not installed.
    """
    TRACES.begin(genesis, _export(service) if _is_wanted() else None)


def _is_wanted() -> bool:
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not disabled and any(os.environ.get(name) for name in VARIABLES)


def _export(service: str) -> SpanExport:
    try:
        # 10 MiB that processes without a collector do not need.
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise OurError(
            f"{' or '.join(VARIABLES)} is set, and the packages of OpenTelemetry are not installed: {error}.",
            "Install gantry[tracing], or unset the variable.",
            code="tracing",
        ) from None
    resource = Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME") or service})
    provider = TracerProvider(resource=resource)
    # Its queue is bounded: a collector that is away costs the oldest spans, and delays nobody.
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=_TIMEOUT_S)))
    tracer = provider.get_tracer("gantry")

    def export(trace_hex: str, record: logging.LogRecord) -> None:
        # All spans of a task are children of one span that nobody exports, so that they are one tree everywhere.
        root = int.from_bytes(hashlib.sha256(bytes.fromhex(trace_hex)).digest()[:8], "big") | 1
        parent = trace.SpanContext(int(trace_hex, 16), root, is_remote=True, trace_flags=trace.TraceFlags(1))
        message = record.getMessage()
        at_ns = time.time_ns()
        span = tracer.start_span(
            message.partition(" ")[0] if hasattr(record, "gantry_task") else record.name,
            context=trace.set_span_in_context(trace.NonRecordingSpan(parent)),
            start_time=at_ns,
            attributes={"log.message": message[:_LONGEST], "log.level": record.levelname, "log.logger": record.name},
        )
        span.end(at_ns)

    return export
