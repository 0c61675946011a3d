# SPDX-License-Identifier: MIT
"""The servers of the sockets: the same behaviors on `websockets`, `wsproto` and `aiohttp`.

The first part of a path is the behavior, what follows it its arguments. A query item `name` keeps a record of the connection,
which `GET /record/NAME` of the server of aiohttp returns once the connection has ended, each one once.
"""
import asyncio
import collections
import contextlib
import urllib.parse

import websockets
from aiohttp import WSMsgType, web
from websockets.asyncio.server import serve as serve_websockets
from wsproto import ConnectionType, WSConnection, events
from wsproto.extensions import PerMessageDeflate
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

SUBPROTOCOLS = ["chat.v2", "chat.v1"]
ENDS = (OSError, EOFError, websockets.ConnectionClosed, LocalProtocolError, RemoteProtocolError)

# By the name that a test has chosen.
records = collections.defaultdict(asyncio.Queue)
# The token that is valid, and the number of the last one.
valid_tokens = {}
token_counts = collections.Counter()


class WebSockets:
    """A connection of the library `websockets`."""

    def __init__(self, connection):
        self.connection = connection

    async def receive(self):
        try:
            return await self.connection.recv()
        except websockets.ConnectionClosed:
            return None

    async def send(self, message):
        await self.connection.send(message)

    async def send_fragments(self, message, size):
        """Cuts within characters, too."""
        data = message.encode() if isinstance(message, str) else message
        await self.connection.send(pieces(data, size), text=isinstance(message, str))

    async def close(self, code, reason):
        await self.connection.close(code, reason)

    @property
    def transport(self):
        return self.connection.transport

    def record(self):
        received = self.connection.protocol.close_rcvd
        return {"code": received and received.code, "reason": received and received.reason}


class AIOHTTP:
    """A connection of `aiohttp`, which sends no fragments."""

    def __init__(self, socket, transport):
        self.socket = socket
        self.transport = transport
        self.reason = None

    async def receive(self):
        message = await self.socket.receive()
        if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
            return message.data
        if message.type == WSMsgType.CLOSE:
            self.reason = message.extra
        return None

    async def send(self, message):
        await (self.socket.send_str if isinstance(message, str) else self.socket.send_bytes)(message)

    async def close(self, code, reason):
        await self.socket.close(code=code, message=reason.encode())

    def record(self):
        return {"code": self.socket.close_code, "reason": self.reason}


class Frames:
    """The headers of the frames in bytes that come in any pieces: the first byte, the mask, and the size of the payload."""

    def __init__(self):
        self.headers = []
        self.input = b""
        self.remaining = 0

    def take(self, data):
        skipped = min(self.remaining, len(data))
        self.remaining -= skipped
        self.input += data[skipped:]
        while len(self.input) >= 2:
            first, length = self.input[0], self.input[1] & 0x7F
            size = 2 + {126: 2, 127: 8}.get(length, 0)
            end = size + (4 if self.input[1] & 0x80 else 0)
            if len(self.input) < end:
                return
            if size > 2:
                length = int.from_bytes(self.input[2:size], "big")
            self.headers.append({"first": first, "mask": self.input[size:end].hex(), "size": length})
            self.remaining = max(0, end + length - len(self.input))
            self.input = self.input[end + length:]


class WSProto:
    """A connection of `wsproto`, whose bytes this class reads and writes."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.socket = WSConnection(ConnectionType.SERVER)
        self.frames = None
        self.by_byte = False
        self.pending = []
        self.pongs = []
        self.closed = None

    async def accept(self):
        """Returns the target of the handshake; None without a handshake."""
        request = await self.event()
        if not isinstance(request, events.Request):
            return None
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.target).query)
        parameters = {key: int(value[0]) for key, value in query.items() if key.startswith(("client_", "server_"))}
        await self.write(events.AcceptConnection(
            subprotocol=chosen(request.subprotocols), extensions=[PerMessageDeflate(**parameters)]))
        self.frames = Frames()
        return request.target

    async def event(self):
        while not self.pending:
            data = await self.reader.read(65536)
            if self.frames is not None:
                self.frames.take(data)
            self.socket.receive_data(data or None)
            self.pending = list(self.socket.events())
            if not data and not self.pending:
                return None
        return self.pending.pop(0)

    async def write(self, event):
        await self.write_bytes(self.socket.send(event))

    async def write_bytes(self, data):
        for piece in pieces(data, 1) if self.by_byte else [data]:
            self.writer.write(piece)
            await self.writer.drain()

    async def receive(self):
        parts = []
        while event := await self.event():
            if isinstance(event, events.Message):
                parts.append(event.data)
                if event.message_finished:
                    return type(event.data)().join(parts)
            elif isinstance(event, events.Ping):
                await self.write(event.response())
            elif isinstance(event, events.Pong):
                self.pongs.append(event.payload.decode())
            elif isinstance(event, events.CloseConnection):
                # A connection that ends without a close frame is reported as one with code 1006.
                if event.code != 1006:
                    self.closed = event
                    with contextlib.suppress(LocalProtocolError):
                        await self.write(event.response())
                return None
        return None

    async def send(self, message):
        await self.write(events.TextMessage(message) if isinstance(message, str) else events.BytesMessage(message))

    async def send_fragments(self, message, size):
        """With a ping behind each fragment, which has its number."""
        kind = events.TextMessage if isinstance(message, str) else events.BytesMessage
        for number, piece in enumerate(pieces(message, size)):
            await self.write(kind(piece, message_finished=False))
            await self.write(events.Ping(str(number).encode()))
        await self.write(kind(type(message)(), message_finished=True))

    async def close(self, code, reason):
        # Code 0 stands for none.
        if code == 0:
            await self.write_bytes(b"\x88\x00")
        else:
            await self.write(events.CloseConnection(code, reason))
        while await self.receive() is not None:
            pass

    @property
    def transport(self):
        return self.writer.transport

    def record(self):
        closed = self.closed
        return {
            "code": closed and int(closed.code), "reason": closed and (closed.reason or ""),
            "frames": self.frames.headers, "pongs": self.pongs}


def chosen(offered):
    return next((name for name in SUBPROTOCOLS if name in offered), None)


def pieces(data, size):
    """At least one, which is empty if the data are."""
    return [data[index:index + size] for index in range(0, len(data), size)] or [data]


# MARK: Behaviors


async def echo(socket):
    while (message := await socket.receive()) is not None:
        await socket.send(message)


async def fragments(socket, size):
    """Echoes in fragments."""
    while (message := await socket.receive()) is not None:
        await socket.send_fragments(message, int(size))


async def single(socket):
    """Echoes by single bytes."""
    socket.by_byte = True
    await echo(socket)


async def listen(socket):
    while await socket.receive() is not None:
        pass


async def close(socket, code, reason=""):
    """Sends messages and closes, without waiting for the client."""
    for number in range(10):
        await socket.send(str(number))
    await socket.close(int(code), urllib.parse.unquote(reason))


async def abort(socket):
    """Sends messages and ends the connection without a close frame, by a reset."""
    await deliver(socket)
    socket.transport.abort()


async def end(socket):
    """The same by the end of the bytes."""
    await deliver(socket)
    socket.transport.close()


async def deliver(socket):
    for number in range(10):
        await socket.send(str(number))
    # A reset may discard what the client has not read.
    await socket.receive()


async def until_cut(socket):
    """Echoes until it is told to cut the connection."""
    while (message := await socket.receive()) is not None:
        if message == "cut":
            return socket.transport.abort()
        await socket.send(message)


BEHAVIORS = {
    "echo": echo, "fragments": fragments, "single": single, "listen": listen, "close": close, "abort": abort, "end": end,
    "until-cut": until_cut}


async def behave(socket, target, **more):
    url = urllib.parse.urlsplit(target)
    name, *arguments = url.path.strip("/").split("/")
    fault = None
    try:
        await BEHAVIORS[name](socket, *arguments)
    except ENDS as error:
        fault = repr(error)
    recorded = urllib.parse.parse_qs(url.query).get("name")
    if recorded:
        records[recorded[0]].put_nowait(socket.record() | {"fault": fault} | more)


# MARK: Servers


async def handle_websockets(connection):
    await behave(WebSockets(connection), connection.request.path)
    if connection.transport.is_closing():
        # The library would close it again.
        await connection.wait_closed()


async def handle_wsproto(reader, writer):
    socket = WSProto(reader, writer)
    try:
        target = await socket.accept()
        if target is not None:
            await behave(socket, target)
    except ENDS:
        pass
    finally:
        writer.close()


async def upgrade(request, target, **more):
    socket = web.WebSocketResponse(protocols=SUBPROTOCOLS, max_msg_size=0)
    await socket.prepare(request)
    await behave(AIOHTTP(socket, request.transport), target, **more)
    return socket


async def open_(request):
    return await upgrade(request, request.path_qs)


async def guarded(request):
    """Opens for the valid token, which the end of the connection makes invalid."""
    name = request.query["name"]
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if token != valid_tokens.get(name):
        records[name].put_nowait({"refused": token})
        return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"})
    try:
        return await upgrade(request, request.path_qs.removeprefix("/guarded"), token=token)
    finally:
        valid_tokens.pop(name, None)


async def new_token(request):
    name = request.match_info["name"]
    token_counts[name] += 1
    valid_tokens[name] = f"{name}-{token_counts[name]}"
    return web.Response(text=valid_tokens[name])


async def record(request):
    return web.json_response(await records[request.match_info["name"]].get())


async def serve(websockets_socket, wsproto_socket, aiohttp_socket, terminators):
    async def updates(request):
        terminator = terminators[request.match_info["name"]]
        return web.json_response({"sent": terminator.sent, "received": terminator.received})

    application = web.Application()
    for path, handler in {
        "/record/{name}": record, "/token/{name}": new_token, "/updates/{name}": updates, "/guarded/{rest:.*}": guarded,
        "/{rest:.*}": open_,
    }.items():
        application.router.add_get(path, handler)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.SockSite(runner, aiohttp_socket).start()
    await asyncio.start_server(handle_wsproto, sock=wsproto_socket)
    # It refuses a client without a subprotocol, unless a function chooses.
    async with serve_websockets(
            handle_websockets, sock=websockets_socket, max_size=None, ping_interval=None, subprotocols=SUBPROTOCOLS,
            select_subprotocol=lambda _, offered: chosen(offered)) as server:
        await server.serve_forever()
