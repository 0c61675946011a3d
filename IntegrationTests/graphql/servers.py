# SPDX-License-Identifier: MIT
"""Starts strawberry, ariadne and a server of persisted queries under uvicorn, nginx before them, runs a command and stops them
again, whatever the outcome.

Usage: servers.py COMMAND...
Addresses and ports are as in `../wire/serve.py`. The directory has a file of 1 GiB, `big`, and its CRC-32, `big.crc32`.
"""
import asyncio
import logging
import socket
import sys
import threading
import zlib
from pathlib import Path

import uvicorn

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import ariadne_app
import persisted_app
import resolvers
import strawberry_app
from local_servers import listener, main, pair, start_nginx, tell


class Guard:
    """Wants the valid token on the paths below `/guarded`. A POST of `/cut` ends the connections of all sockets."""

    def __init__(self, application):
        self.application = application
        self.sockets = set()

    async def __call__(self, scope, receive, send):
        if scope["type"] not in ("http", "websocket"):
            return
        authorization = dict(scope["headers"]).get(b"authorization", b"").decode()
        if scope["path"] == "/cut":
            for connection in self.sockets:
                connection.abort()
            return await self.respond(send, 204)
        if scope["path"].startswith("/guarded") and authorization != f"Bearer {resolvers.TOKEN}":
            if scope["type"] == "http":
                # uvicorn resets a connection whose request it has not read, so that the response may be lost.
                while (await receive()).get("more_body"):
                    pass
                return await self.respond(send, 401)
            # Of the WebSocket Denial Response extension.
            await send({"type": "websocket.http.response.start", "status": 401, "headers": []})
            return await send({"type": "websocket.http.response.body", "body": b""})
        if scope["type"] == "http":
            return await self.application(scope, receive, send)
        connection = send.__self__.transport
        self.sockets.add(connection)
        try:
            await self.application(scope, receive, send)
        finally:
            self.sockets.remove(connection)

    @staticmethod
    async def respond(send, status):
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def serve(sockets):
    applications = {
        "strawberry": Guard(strawberry_app.application(resolvers.Topics())),
        "ariadne": Guard(ariadne_app.application(resolvers.Topics())),
        "persisted": persisted_app.application,
    }
    await asyncio.gather(*(
        uvicorn.Server(uvicorn.Config(application, log_level="critical", lifespan="off")).serve([sockets[name]])
        for name, application in applications.items()))


def write_big(directory):
    """A sparse file that has its index in each MiB, so that no part can take the place of another."""
    checksum, zeros = 0, bytes((1 << 20) - 8)
    with open(directory / "big", "wb") as file:
        file.truncate(1 << 30)
        for index in range(1 << 10):
            mark = index.to_bytes(8, "big")
            file.seek(index << 20)
            file.write(mark)
            checksum = zlib.crc32(zeros, zlib.crc32(mark, checksum))
    (directory / "big.crc32").write_text(str(checksum))


def run(directory, command):
    # The libraries log each error of a resolver with its stack.
    logging.disable()
    write_big(directory)
    sockets = {name: listener(socket.AF_INET, "127.0.0.1") for name in ("strawberry", "ariadne", "persisted")}
    places = {name: listening.getsockname()[1] for name, listening in sockets.items()}
    ports = {"tls": pair()}
    places["tls"] = ports["tls"][0].getsockname()[1]
    start_nginx(directory, [HERE / "nginx.conf"], ports, {name.upper(): port for name, port in places.items()})
    threading.Thread(target=lambda: asyncio.run(serve(sockets)), daemon=True).start()
    return tell(directory, command, ports=places)


if __name__ == "__main__":
    sys.exit(main(run))
