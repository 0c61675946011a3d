# SPDX-License-Identifier: MIT
"""Receives the exports of a process over HTTP, and reads them with Prometheus' parser and OpenTelemetry's definitions.

Usage: check_exports.py COMMAND...
Starts a collector on a free loopback port, runs the command with its address in PULSEKIT_COLLECTOR, and checks the exports:
OTLP at /v1/metrics and /v1/traces, a page of Prometheus at /prometheus, and at /facts the expected values of the process.
"""
import base64
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from prometheus_client.parser import text_string_to_metric_families

received = {}


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        received[self.path] = (self.headers, self.rfile.read(int(self.headers["Content-Length"])))
        answer = b'{"partialSuccess":{}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def check(what, condition):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


# Prometheus


def check_prometheus(text, facts):
    families = {family.name: family for family in text_string_to_metric_families(text)}
    check("every family has help and a type", all(f.documentation and f.type != "unknown" for f in families.values()))
    ends = {}
    for sample in families["pulse_requests"].samples:
        ends[(sample.labels["route"], sample.labels["outcome"])] = sample.value
    check("ends by route and outcome", ends == {(e["route"], e["outcome"]): e["count"] for e in facts["ends"]})
    routes = {sample.labels["route"] for sample in families["pulse_attempts"].samples}
    check("hostile names come back as they were", facts["hostileRoute"] in routes)
    check("no family that nobody knows", all(name.startswith("pulse_") for name in families))

    histogram = families["pulse_request_duration_seconds"]
    check("a histogram", histogram.type == "histogram")
    for route in routes:
        own = [s for s in histogram.samples if s.labels["route"] == route]
        buckets = [(float(s.labels["le"]), s.value) for s in own if s.name.endswith("_bucket")]
        check("buckets in order", buckets == sorted(buckets))
        check("buckets are cumulative", all(a[1] <= b[1] for a, b in zip(buckets, buckets[1:])))
        check("the last bucket is all", buckets[-1][0] == float("inf"))
        counts = [s.value for s in own if s.name.endswith("_count")]
        check("the last bucket is the count", counts == [buckets[-1][1]])
    check("a summary of phases", families["pulse_phase_duration_seconds"].type == "summary")
    check("a counter of bytes", families["pulse_received_bytes"].type == "counter")
    return len(families)


# OpenTelemetry


def attributes(list_of_them):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in list_of_them}


def check_metrics(text, facts):
    request = json_format.Parse(text, ExportMetricsServiceRequest())
    (resource,) = request.resource_metrics
    check("the resource", attributes(resource.resource.attributes)["service.name"] == "probe")
    metrics = {m.name: m for m in resource.scope_metrics[0].metrics}
    ends = {}
    for point in metrics["pulse.requests"].sum.data_points:
        labels = attributes(point.attributes)
        ends[(labels["url.template"], labels["pulse.outcome"])] = point.as_int
        check("a span of time", 0 < point.start_time_unix_nano <= point.time_unix_nano)
    check("ends by route and outcome", ends == {(e["route"], e["outcome"]): e["count"] for e in facts["ends"]})
    check("sums are monotonic", metrics["pulse.requests"].sum.is_monotonic)
    check(
        "sums are cumulative",
        metrics["pulse.requests"].sum.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE,
    )
    check("a unit", metrics["pulse.request.duration"].unit == "s")
    for point in metrics["pulse.request.duration"].histogram.data_points:
        check("one bucket more than bounds", len(point.bucket_counts) == len(point.explicit_bounds) + 1)
        check("buckets add up", sum(point.bucket_counts) == point.count)
        check("bounds ascend", list(point.explicit_bounds) == sorted(set(point.explicit_bounds)))
        if point.count:
            check("the mean is within", point.min <= point.sum / point.count <= point.max)
    check("a gauge", metrics["pulse.requests.in_flight"].WhichOneof("data") == "gauge")
    return len(metrics)


def with_bytes_as_proto3(value):
    """OTLP has ids in hexadecimal where proto3's mapping has base64; everything else follows that mapping."""
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode()
            if key in ("traceId", "spanId", "parentSpanId")
            else with_bytes_as_proto3(item)
            for key, item in value.items()
        }
    return [with_bytes_as_proto3(item) for item in value] if isinstance(value, list) else value


def check_traces(text, facts):
    value = json.loads(text)
    request = json_format.ParseDict(with_bytes_as_proto3(value), ExportTraceServiceRequest())
    spans = list(request.resource_spans[0].scope_spans[0].spans)
    check("ids have their lengths", all(len(s.trace_id) == 16 and len(s.span_id) == 8 for s in spans))
    check("ids are unique", len({s.span_id for s in spans}) == len(spans))
    check("no span ends before it began", all(0 < s.start_time_unix_nano <= s.end_time_unix_nano for s in spans))
    calls = {s.span_id: s for s in spans if s.kind == Span.SPAN_KIND_INTERNAL}
    attempts = [s for s in spans if s.kind == Span.SPAN_KIND_CLIENT]
    check("each span is one of the two", len(calls) + len(attempts) == len(spans))
    check("a span for each call", len(calls) == sum(e["count"] for e in facts["ends"]))
    for span in attempts:
        call = calls[span.parent_span_id]
        check("one trace a call", call.trace_id == span.trace_id)
        check("an attempt is within its call", call.start_time_unix_nano <= span.start_time_unix_nano)
        check("and ends in it", span.end_time_unix_nano <= call.end_time_unix_nano)
    sent = {f"00-{s.trace_id.hex()}-{s.span_id.hex()}-01" for s in attempts}
    check("the spans are those that the server was told of", set(facts["traceparents"]) == sent)
    check("a failed call has the status", any(s.status.code == Status.STATUS_CODE_ERROR for s in calls.values()))
    retried = [e.name for s in calls.values() for e in s.events]
    check("a retry is an event of its call", "requestRetrying" in retried)
    codes = {attributes(s.attributes).get("http.response.status_code") for s in attempts}
    check("statuses of attempts", {200, 503, 404} <= codes)
    return len(spans)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    subprocess.run(sys.argv[1:], env=os.environ | {"PULSEKIT_COLLECTOR": address}, check=True, timeout=120)
    facts = json.loads(received["/facts"][1])
    for path in ("/v1/metrics", "/v1/traces", "/prometheus"):
        headers, body = received[path]
        text = body.decode("utf-8")
        check(f"no secret in {path}", facts["secret"] not in text)
        check(f"no secret in {path}, encoded", base64.b64encode(facts["secret"].encode()).decode()[:-2] not in text)
    check("JSON's type", received["/v1/traces"][0]["Content-Type"] == "application/json")
    check("Prometheus' type", received["/prometheus"][0]["Content-Type"].startswith("text/plain; version=0.0.4"))
    families = check_prometheus(received["/prometheus"][1].decode("utf-8"), facts)
    metrics = check_metrics(received["/v1/metrics"][1].decode("utf-8"), facts)
    spans = check_traces(received["/v1/traces"][1].decode("utf-8"), facts)
    print(f"exports: {families} families of Prometheus, {metrics} metrics and {spans} spans of OpenTelemetry read")


if __name__ == "__main__":
    main()
