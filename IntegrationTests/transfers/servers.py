# SPDX-License-Identifier: MIT
"""Starts nginx, Apache and Python's http.server over one directory of files, runs a command and stops them again, whatever
the outcome.

Usage: servers.py COMMAND...
Addresses and ports are as in `../wire/serve.py`. The files are in `files` of the directory.
"""
import functools
import gzip
import http.server
import os
import random
import socket
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from local_servers import listener, main, pair, start_nginx, tell


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def start_apache(directory):
    """Apache opens its own socket: its port was free a moment ago."""
    modules = next(path for path in ("/usr/lib/apache2/modules", "/usr/lib64/httpd/modules") if os.path.isdir(path))
    for _ in range(5):
        reserved = listener(socket.AF_INET, "127.0.0.1", is_listening=False)
        port = reserved.getsockname()[1]
        reserved.close()
        text = (HERE / "apache.conf").read_text()
        for name, value in {"DIRECTORY": directory, "APACHE": port, "MODULES": modules}.items():
            text = text.replace(f"@{name}@", str(value))
        (directory / "apache.conf").write_text(text)
        command = ["apache2", "-f", directory / "apache.conf", "-D", "FOREGROUND"]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return port
            except OSError:
                if server.poll() is not None:
                    break
                try:
                    server.wait(0.05)
                except subprocess.TimeoutExpired:
                    pass
    sys.exit("Apache does not start")


def run(directory, command):
    for name in ("files", "coded", "up"):
        (directory / name).mkdir()
    content = random.Random(26).randbytes(16 << 20)
    (directory / "files" / "film").write_bytes(content)
    (directory / "files" / "text").write_bytes(b"plain text\n" * 200_000)
    (directory / "coded" / "text").write_bytes(gzip.compress(b"plain text\n" * 200_000))
    for path in directory.rglob("*"):
        # An hour ago, so that its date identifies it.
        os.utime(path, (path.stat().st_mtime - 3600,) * 2)
    handler = functools.partial(Quiet, directory=str(directory / "files"))
    python = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=python.serve_forever, daemon=True).start()
    ports = {name: pair() for name in ("plain", "tls")}
    places = {name: sockets[0].getsockname()[1] for name, sockets in ports.items()}
    places |= {"python": python.server_address[1], "apache": start_apache(directory)}
    start_nginx(directory, [HERE / "nginx.conf"], ports, {})
    return tell(directory, command, ports=places)


if __name__ == "__main__":
    sys.exit(main(run))
