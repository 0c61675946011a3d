# SPDX-License-Identifier: MIT
"""Starts the servers of the streams and nginx before them, runs a command and stops them again, whatever the outcome.

Usage: servers.py COMMAND...
Files, addresses and ports are as in `../wire/serve.py`.
"""
import asyncio
import socket
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import feeds
from local_servers import listener, main, pair, start_nginx, tell


def run(directory, command):
    origins = {name: listener(socket.AF_INET, "127.0.0.1") for name in ("starlette", "aiohttp")}
    places = {name: listening.getsockname()[1] for name, listening in origins.items()}
    ports = {name: pair() for name in ("plain", "tls", "tls_http1")}
    places |= {name: sockets[0].getsockname()[1] for name, sockets in ports.items()}
    start_nginx(directory, [HERE / "nginx.conf"], ports, {name.upper(): port for name, port in places.items()})
    threading.Thread(target=lambda: asyncio.run(feeds.serve(*origins.values())), daemon=True).start()
    return tell(directory, command, ports=places)


if __name__ == "__main__":
    sys.exit(main(run))
