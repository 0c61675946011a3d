# SPDX-License-Identifier: MIT
"""Runs the gateway between an upstream and clients on loopback.

Usage: check_gateway.py PATH-OF-THE-GATEWAY
"""
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client.parser import text_string_to_metric_families

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
LIMIT = 30
received, paths = [], []
arrived, left, release = threading.Event(), threading.Event(), threading.Event()


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        received.append(dict(self.headers))
        paths.append(self.path)
        name = self.path.rsplit("/", 1)[1]
        if name == "stalled":
            arrived.set()
            if self.rfile.read(1) == b"":
                left.set()
            return None
        if name == "slow":
            arrived.set()
            release.wait(LIMIT)
        if name == "flaky" and len(received) == 1:
            # At least as long as the milliseconds in the header can tell.
            time.sleep(0.01)
            return self.reply(503, b"")
        if name == "missing":
            return self.reply(404, b'{"reason":"sold out"}')
        return self.reply(200, b'{"name":"Assam"}')

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def check(what, condition, shown=""):
    if not condition:
        raise SystemExit(f"Gateway: FAILED: {what}\n{shown}")


def forget():
    received.clear()
    for event in (arrived, left, release):
        event.clear()


@contextlib.contextmanager
def upstream():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def gateway(upstream_port, **settings):
    environment = {**os.environ, "UPSTREAM_URL": f"http://127.0.0.1:{upstream_port}", "PORT": "0", "no_proxy": "*", **settings}
    process = subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        for line in process.stdout:
            if found := re.search(r"listening on port (\d+)", line):
                break
        else:
            raise SystemExit("Gateway: FAILED: it does not start")
        # Its log must not fill the pipe.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield process, int(found[1])
        process.send_signal(signal.SIGTERM)
        check("it ends at SIGTERM", process.wait(LIMIT) == 0, process.returncode)
    finally:
        process.kill()


def get(port, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, response.headers, body


def metrics(port):
    status, headers, text = get(port, "/metrics")
    check("the metrics are text for Prometheus", status == 200 and headers["Content-Type"].startswith("text/plain; version="))
    families = {family.name: family for family in text_string_to_metric_families(text)}
    check("each family has help and a type", families and all(f.documentation and f.type != "unknown" for f in families.values()))
    return families


def total(families, name, **labels):
    """The sum of a family's samples with these labels."""
    return sum(sample.value for sample in families[name].samples
               if sample.name.removesuffix("_total") == name and labels.items() <= sample.labels.items())


def eventually(what, condition):
    ends = time.monotonic() + LIMIT
    while not condition():
        check(what, time.monotonic() < ends)
        time.sleep(0.05)


def check_responses(port):
    forget()
    status, headers, body = get(port, "/products/7", traceparent=f"00-{TRACE}-00f067aa0ba902b7-01", tracestate="a=1",
                                X_Timeout_Ms="2500")
    check("a response passes", (status, body, headers["Content-Type"]) == (200, '{"name":"Assam"}', "application/json"))
    parent = received[0]["traceparent"]
    check("the trace goes on, in a span of its own", parent.startswith(f"00-{TRACE}-") and "00f067aa0ba902b7" not in parent
          and parent.endswith("-01") and received[0]["tracestate"] == "a=1", received)
    check("so does what is left of the deadline", 0 < int(received[0]["X-Timeout-Ms"]) <= 2500, received)
    forget()
    check("a retry passes", get(port, "/products/flaky")[0] == 200 and len(received) == 2, received)
    first, second = (int(headers["X-Timeout-Ms"]) for headers in received)
    check("and has less time than the attempt before", second < first <= 10_000, received)
    status, _, body = get(port, "/products/missing")
    check("a 404 passes with its body", (status, body) == (404, '{"reason":"sold out"}'))
    sent = len(received)
    status, _, body = get(port, "/products/%2E%2E")
    check("a path that cannot be built is a 400", status == 400 and len(received) == sent, (status, body))
    check("a value is decoded and encoded once", get(port, "/products/a%2Fb%20c")[0] == 200 and paths[-1] == "/products/a%2Fb%20c", paths)


def check_timeout(port):
    forget()
    status, _, body = get(port, "/products/stalled", X_Timeout_Ms="400")
    check("a stalled upstream is a 504", status == 504 and "deadline" in body, (status, body))
    check("its call ends", left.wait(LIMIT))
    eventually("and none is left", lambda: total(metrics(port), "pulse_requests_in_flight") == 0)


def check_leaving_client(port):
    forget()
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"GET /products/stalled HTTP/1.1\r\nHost: gateway\r\n\r\n")
    check("the call arrives", arrived.wait(LIMIT))
    check("it is in flight", total(metrics(port), "pulse_requests_in_flight") == 1)
    connection.close()
    check("a client that leaves ends the upstream's call", left.wait(LIMIT))
    eventually("and none is left", lambda: total(metrics(port), "pulse_requests_in_flight") == 0)


def check_observation(port):
    families = metrics(port)
    route = "GET /products/{id}"
    succeeded = total(families, "pulse_requests", route=route, outcome="succeeded")
    failed = total(families, "pulse_requests", route=route, outcome="failed")
    check("the metrics count the calls by outcome", (succeeded, failed) == (3, 3), (succeeded, failed))
    status, headers, html = get(port, "/debug/network")
    check("the report has the calls", status == 200 and headers["Content-Type"].startswith("text/html")
          and "/products/flaky" in html)


def check_shutdown(port, process):
    forget()
    responses = []
    caller = threading.Thread(target=lambda: responses.append(get(port, "/products/slow")))
    caller.start()
    check("the slow call arrives", arrived.wait(LIMIT))
    process.send_signal(signal.SIGTERM)

    def refuses():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return True
        return False

    eventually("it accepts no more connections", refuses)
    check("it waits for its call", process.poll() is None)
    release.set()
    caller.join(LIMIT)
    check("which gets its response", responses and responses[0][0] == 200, responses)
    check("and then it ends", process.wait(LIMIT) == 0)


def check_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        unused = taken.getsockname()[1]
    with gateway(unused) as (_, port):
        status, headers, body = get(port, "/products/7")
        check("without an upstream it is a 502", status == 502 and "Retry-After" not in headers, (status, body))
        statuses = [get(port, "/products/7") for _ in range(2)]
        status, headers, body = statuses[-1]
        check("the open circuit is a 503 with Retry-After", status == 503 and 1 <= int(headers["Retry-After"]) <= 5,
              (status, str(headers), body))
        check("the report is off unless asked for", get(port, "/debug/network")[0] == 404)


for setting in ({"UPSTREAM_URL": "products"}, {"UPSTREAM_URL": "http://127.0.0.1:1", "UPSTREAM_TIMEOUT": "inf"}):
    refused = subprocess.run([sys.argv[1]], capture_output=True, env={**os.environ, **setting}, timeout=LIMIT)
    check("a wrong setting is refused", refused.returncode == 64, refused)
with upstream() as upstream_port:
    with gateway(upstream_port, DEBUG_NETWORK="1") as (_, gateway_port):
        check_responses(gateway_port)
        check_timeout(gateway_port)
        check_leaving_client(gateway_port)
        check_observation(gateway_port)
    with gateway(upstream_port) as (running, gateway_port):
        check_shutdown(gateway_port, running)
check_unreachable()
print("Gateway: responses, failures, metrics and shutdown are as its README says")
