# SPDX-License-Identifier: MIT
"""Starts nginx, Apache and Python's http.server over one directory of files, and tussi under uvicorn for resumable uploads,
runs a command and stops them again, whatever the outcome. A uvicorn that is killed is started again; `tus.pid` has its process.

Usage: servers.py COMMAND...
Addresses and ports are as in `../wire/serve.py`. The files are in `files` of the directory.
"""
import contextlib
import functools
import gzip
import http.server
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from local_servers import listener, main, pair, start_apache, start_nginx, tell


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve_tus(directory, listening, ended):
    """The socket outlives each server: requests wait in its backlog."""
    environment = os.environ | {"PULSE_TUS": str(directory / "tus")}
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(HERE), "--fd", str(listening.fileno()),
               "--log-level", "critical", "tus:app"]
    while not ended.is_set():
        server = subprocess.Popen(command, env=environment, pass_fds=[listening.fileno()], stdin=subprocess.DEVNULL)
        (directory / "tus.pid-new").write_text(str(server.pid))
        (directory / "tus.pid-new").rename(directory / "tus.pid")
        server.wait()


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
    places |= start_apache(directory, HERE / "apache.conf", ["apache"], {}) | {"python": python.server_address[1]}
    listening = listener(socket.AF_INET, "127.0.0.1")
    places["tus"] = listening.getsockname()[1]
    ended = threading.Event()
    start_nginx(directory, [HERE / "nginx.conf"], ports, {})
    supervisor = threading.Thread(target=serve_tus, args=(directory, listening, ended))
    supervisor.start()
    try:
        return tell(directory, command, ports=places)
    finally:
        ended.set()
        while supervisor.is_alive():
            # `stop_all` does not see the children of another thread.
            if (directory / "tus.pid").exists():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int((directory / "tus.pid").read_text()), signal.SIGKILL)
            supervisor.join(0.1)


if __name__ == "__main__":
    sys.exit(main(run))
