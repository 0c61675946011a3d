# SPDX-License-Identifier: MIT
"""Starts the servers of the sockets, nginx and the proxies before them, runs a command and stops them again, whatever the
outcome.

Usage: servers.py COMMAND...
Files, addresses and ports are as in `../wire/serve.py`.
"""
import asyncio
import socket
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "wire")]
import behaviors
import key_updates
import peers
from local_servers import listener, main, pair, start_nginx, tell


async def serve(directory, sockets):
    servers = peers.Peers(peers.tls(directory), peers.tls(directory))
    proxies = {name: listening for name, listening in sockets.items() if name in servers.handlers()}
    port = sockets["websockets"].getsockname()[1]
    terminators = {
        "updating": key_updates.Terminator(directory, port, is_requesting=False),
        "requesting": key_updates.Terminator(directory, port, is_requesting=True)}
    await asyncio.gather(
        behaviors.serve(sockets["websockets"], sockets["wsproto"], sockets["aiohttp"], terminators),
        *(asyncio.start_server(terminator.handle, sock=sockets[name]) for name, terminator in terminators.items()),
        peers.serve(servers, proxies))


def run(directory, command):
    names = ["websockets", "wsproto", "aiohttp", "updating", "requesting"]
    names += ["control", "proxy", "locked_proxy", "socks", "locked_socks", "recorder"]
    sockets = {name: listener(socket.AF_INET, "127.0.0.1") for name in names}
    places = {name: listening.getsockname()[1] for name, listening in sockets.items()}
    ports = {name: pair() for name in ("plain", "tls12", "tls13")}
    places |= {name: listeners[0].getsockname()[1] for name, listeners in ports.items()}
    files = [HERE / "nginx.conf", HERE / "locations.conf"]
    start_nginx(directory, files, ports, {name.upper(): port for name, port in places.items()})
    threading.Thread(target=lambda: asyncio.run(serve(directory, sockets)), daemon=True).start()
    return tell(directory, command, ports=places)


if __name__ == "__main__":
    sys.exit(main(run))
