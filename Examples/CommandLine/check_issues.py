# SPDX-License-Identifier: MIT
"""Runs the tool against an API like GitHub's on loopback.

Usage: check_issues.py PATH-OF-THE-TOOL
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

TOOL = sys.argv[1]
TOKEN = "ghp_s3cretOfTheCheck"
ISSUES = [{"number": n, "title": f"Oil gear {n}", "state": "open"} for n in range(1, 6)]
requests = []
arrived, left = threading.Event(), threading.Event()


class API(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        requests.append((self.path, dict(self.headers)))
        url = urlsplit(self.path)
        if self.headers.get("Authorization") not in (None, f"Bearer {TOKEN}"):
            return self.reply(401, {"message": "Bad credentials"})
        if url.path == "/repos/ada/limited/issues":
            return self.reply(429, {}, {"Retry-After": "3600"})
        if url.path == "/repos/ada/broken/issues":
            return self.reply(200, {"not": "a list"})
        if url.path == "/repos/ada/stalled/issues":
            arrived.set()
            if self.rfile.read(1) == b"":
                left.set()
            return None
        if url.path != "/repos/ada/engine/issues":
            return self.reply(404, {"message": "Not Found"})
        page = int(parse_qs(url.query).get("page", ["1"])[0])
        headers = {"Cache-Control": "private, max-age=600", "ETag": f'"{page}"', "Vary": "Accept, Authorization"}
        if page < 3:
            base = f"http://{self.headers['Host']}{url.path}"
            headers["Link"] = f'<{base}?page={page + 1}>; rel="next", <{base}?page=3>; rel="last"'
        return self.reply(200, ISSUES[2 * page - 2:2 * page], headers)

    def reply(self, status, value, headers=None):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def check(what, condition, shown=""):
    if not condition:
        raise SystemExit(f"CommandLine: FAILED: {what}\n{shown}")


def command(folder, *arguments):
    return [TOOL, "--url", url, "--cache", str(folder / "cache"), *arguments]


def run(folder, *arguments, token=TOKEN):
    environment = {**os.environ, "no_proxy": "*"}
    environment.pop("GITHUB_TOKEN", None)
    if token:
        environment["GITHUB_TOKEN"] = token
    requests.clear()
    return subprocess.run(command(folder, *arguments), capture_output=True, text=True, env=environment, timeout=60)


def lines(count):
    return "".join(f"#{issue['number']}\topen\t{issue['title']}\n" for issue in ISSUES[:count])


def check_listing(folder):
    report = folder / "report.html"
    ran = run(folder, "ada/engine", "--verbose", "--report", str(report))
    check("it lists the issues of all pages", (ran.returncode, ran.stdout) == (0, lines(5)), ran)
    check("three pages, from the second on as linked", [urlsplit(path).query for path, _ in requests]
          == ["per_page=100&state=open", "page=2", "page=3"], requests)
    for _, headers in requests:
        check("each request has the token and the media type", headers.get("Authorization") == f"Bearer {TOKEN}"
              and headers.get("Accept") == "application/vnd.github+json", headers)
    html = report.read_text()
    check("the report has the requests", html.startswith("<!DOCTYPE html>") and "/repos/ada/engine/issues" in html, html[:300])
    check("the log has the requests", "/repos/ada/engine/issues" in ran.stderr and "page=3" in ran.stderr, ran.stderr)
    check("the token is neither in the log nor in the report", TOKEN not in ran.stderr + html)


def check_cache(folder):
    again = run(folder, "ada/engine")
    check("a second run reads the cache", (again.stdout, requests) == (lines(5), []), (again, requests))
    offline = run(folder, "ada/engine", "--offline")
    check("and so does an offline run", (offline.returncode, offline.stdout, requests) == (0, lines(5), []), offline)
    missing = run(folder, "ada/other", "--offline")
    check("what is not in the cache is a failure without a request", (missing.returncode, requests) == (66, []), missing)
    stranger = run(folder, "ada/engine", "--offline", token=None)
    check("another user does not see it", (stranger.returncode, stranger.stdout) == (66, ""), stranger)
    with tempfile.TemporaryDirectory() as other:
        few = run(Path(other), "ada/engine", "--limit", "3")
        check("a limit ends the walk", (few.stdout, len(requests)) == (lines(3), 2), (few, requests))


def check_exit_codes(folder):
    wrong = {"ada/missing": 66, "ada/limited": 75, "ada/broken": 76, "ada": 64}
    for repository, code in wrong.items():
        ran = run(folder, repository)
        check(f"the exit code for {repository} is {code}", ran.returncode == code and ran.stderr and not ran.stdout, ran)
    ran = run(folder, "ada/missing", token="wrong")
    check("a wrong token is 77, and not shown", ran.returncode == 77 and "wrong" not in ran.stderr, ran)
    ran = run(folder, "ada/engine", "--report", str(folder / "missing" / "report.html"))
    check("a report that cannot be written is 73", ran.returncode == 73, ran)


def check_interruption(folder):
    report = folder / "interrupted.html"
    tool = subprocess.Popen(command(folder, "ada/stalled", "--report", str(report)), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, "no_proxy": "*"})
    try:
        check("the request arrives", arrived.wait(30))
        tool.send_signal(signal.SIGINT)
        printed = tool.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        raise SystemExit("CommandLine: FAILED: Ctrl-C does not end it")
    finally:
        tool.kill()
    check("Ctrl-C is 130", tool.returncode == 130, (tool.returncode, printed))
    check("it ends the request", left.wait(30))
    check("the report is written all the same", "/repos/ada/stalled/issues" in report.read_text())


def check_without_server(folder):
    ran = run(folder, "ada/engine", "--offline")
    check("offline needs no server", (ran.returncode, ran.stdout) == (0, lines(5)), ran)
    ran = run(folder, "ada/unseen")
    check("without a server it is 69", ran.returncode == 69, ran)


server = ThreadingHTTPServer(("127.0.0.1", 0), API)
server.daemon_threads = True
url = f"http://127.0.0.1:{server.server_port}"
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as name:
    directory = Path(name)
    check_listing(directory)
    check_cache(directory)
    check_exit_codes(directory)
    check_interruption(directory)
    server.shutdown()
    server.server_close()
    check_without_server(directory)
print("CommandLine: pages, cache, exit codes and Ctrl-C are as its README says")
