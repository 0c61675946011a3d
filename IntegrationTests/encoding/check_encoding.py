# SPDX-License-Identifier: MIT
"""Responds to every request with the results of two independent parsers, as JSON.

Usage: check_encoding.py COMMAND...
Starts the server on a free loopback port, runs the command with its address in PULSEKIT_ENCODING_SERVER, and exits with
the command's status.
"""
import base64
import email
import email.policy
import io
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from werkzeug.wrappers import Request


def with_standard_library(target, content_type, body):
    parts = urlsplit(target)
    understood = {
        "segments": [unquote(segment, errors="strict") for segment in parts.path.split("/")],
        "query": parse_qsl(parts.query, keep_blank_values=True, errors="strict"),
        "form": [],
        "parts": [],
    }
    if content_type.startswith("application/x-www-form-urlencoded"):
        understood["form"] = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict")
    if content_type.startswith("multipart/form-data"):
        head = f"Content-Type: {content_type}\r\n\r\n".encode("ascii")
        # Names are raw UTF-8 (RFC 7578, section 5.1), which the `utf8` policy reads.
        policy = email.policy.HTTP.clone(utf8=True, raise_on_defect=True)
        for part in email.message_from_bytes(head + body, policy=policy).iter_parts():
            disposition = part["content-disposition"]
            assert disposition.content_disposition == "form-data", disposition
            understood["parts"].append(
                {
                    "name": disposition.params.get("name"),
                    "filename": disposition.params.get("filename"),
                    "type": part["content-type"] and str(part["content-type"]),
                    "data": base64.b64encode(part.get_payload(decode=True)).decode("ascii"),
                }
            )
    return understood


def with_werkzeug(target, content_type, body):
    path, _, query = target.partition("?")
    request = Request(
        {
            "REQUEST_METHOD": "POST",
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote(path, encoding="latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "CONTENT_TYPE": content_type,
            "CONTENT_LENGTH": str(len(body)),
        }
    )
    request.max_form_memory_size = None
    is_multipart = content_type.startswith("multipart/form-data")
    form = list(request.form.items(multi=True))
    return {
        "segments": request.path.split("/"),
        "query": list(request.args.items(multi=True)),
        "form": [] if is_multipart else form,
        "parts": [
            {
                "name": name,
                "filename": None,
                "type": None,
                "data": base64.b64encode(value.encode("utf-8", "surrogateescape")).decode("ascii"),
            }
            for name, value in (form if is_multipart else [])
        ]
        + [
            {
                "name": name,
                "filename": file.filename,
                "type": file.content_type,
                "data": base64.b64encode(file.read()).decode("ascii"),
            }
            for name, file in request.files.items(multi=True)
        ],
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if "Content-Length" not in self.headers:
            return self.answer(411, {"error": "no Content-Length"})
        body = self.rfile.read(int(self.headers["Content-Length"]))
        content_type = self.headers.get("Content-Type", "")
        answer = {}
        try:
            for parse in (with_standard_library, with_werkzeug):
                answer[parse.__name__] = parse(self.path, content_type, body)
            self.answer(200, answer)
        except Exception as error:  # the test shows it
            self.answer(400, {"error": f"{parse.__name__}: {error!r}"})

    do_GET = do_POST

    def answer(self, status, value):
        body = json.dumps(value).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    return subprocess.run(sys.argv[1:], env=os.environ | {"PULSEKIT_ENCODING_SERVER": address}).returncode


if __name__ == "__main__":
    sys.exit(main())
