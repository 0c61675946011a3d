# SPDX-License-Identifier: MIT
"""The proxies and the recording server of the tests.

All of them listen on loopback and connect to loopback alone, whatever the requested name. `control` reports their input as
JSON: `GET /proxied` returns the header fields that proxies received, `GET /received` the bytes that `recorder` received over
TLS, after earlier connections have ended. It also controls proxies: `GET /hold` makes open tunnels hold back their bytes, and
`GET /pass` makes them forward these; `GET /held` responds when bytes of a client are held.
`GET /arrivals` returns the requests that `multiplexed` received.
`GET /surplus` makes `chatty`, which is in the file system, send an unsolicited response.
"""
import asyncio
import base64
import json
import socket
import ssl
import struct

import multiplexed

# Bytes with a meaning in a URL.
CREDENTIALS = ("us%41er", "pass:wo%2Frd%")

# linux/tcp_states.h
TCP_CLOSE = 7


async def head_of(reader):
    return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")


async def copy(reader, writer, gate=None):
    try:
        while data := await reader.read(65536):
            if gate is not None:
                await gate.pass_through()
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except (OSError, NotImplementedError, RuntimeError):
        pass


async def answer(writer, status, body=b"", *fields):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *fields]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
    await writer.drain()


async def reset(writer):
    """Resets the connection once the client's system has all written bytes, so that the reset cannot overtake them."""
    writer.transport.set_write_buffer_limits(0)
    await writer.drain()
    connection = writer.get_extra_info("socket")
    while connection.fileno() >= 0 and is_delivering(connection):
        await asyncio.sleep(0)
    if connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


def is_delivering(connection):
    """Whether the client's system has not acknowledged everything yet."""
    # Sends what the system holds back to join it with later bytes.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # tcp_info of linux/tcp.h: tcpi_state and tcpi_unacked.
    state, unacknowledged = struct.unpack("B23xI", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 28))
    return state != TCP_CLOSE and unacknowledged > 0


def port_of(authority):
    return int(authority.rpartition(":")[2]) if ":" in authority.rpartition("]")[2] else 80


class Gate:
    """The filter of a tunnel's bytes."""

    def __init__(self):
        self.opened = asyncio.Event()
        self.opened.set()
        self.arrived = asyncio.Event()

    async def pass_through(self):
        if not self.opened.is_set():
            self.arrived.set()
        await self.opened.wait()

    def close(self):
        self.arrived.clear()
        self.opened.clear()


class Peers:
    def __init__(self, context, multiplexed_context):
        self.context = context
        self.multiplexed_context = multiplexed_context
        self.multiplexed = multiplexed.Multiplexed()
        self.gates = set()
        self.chatting = set()
        self.proxied = []
        self.received = []
        self.recording = []

    def handlers(self):
        return {
            "control": (self.control, None),
            "proxy": (self.proxy, None),
            "locked_proxy": (self.locked_proxy, None),
            "socks": (self.socks, None),
            "locked_socks": (self.locked_socks, None),
            "hanging_proxy": (self.hanging_proxy, None),
            "recorder": (self.recorder, self.context),
            "refuser": (self.refuser, self.context),
            "plain_refuser": (self.refuser, None),
            "chatty": (self.chatty, None),
            "multiplexed": (self.multiplexed.handle, self.multiplexed_context),
        }

    async def control(self, reader, writer):
        target = (await head_of(reader)).split(" ")[1]
        value = self.proxied if target == "/proxied" else self.received
        if target == "/received":
            await asyncio.gather(*list(self.recording))
        elif target == "/arrivals":
            value = self.multiplexed.arrivals
        elif target == "/hold":
            value = [gate.close() for gate in self.gates]
        elif target == "/pass":
            value = [gate.opened.set() for gate in self.gates]
        elif target == "/surplus":
            value = [chat.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n") for chat in self.chatting]
        elif target == "/held":
            held = [asyncio.ensure_future(gate.arrived.wait()) for gate in self.gates if not gate.opened.is_set()]
            await asyncio.wait(held, return_when=asyncio.FIRST_COMPLETED)
            value = [waiting.cancel() for waiting in held]
        await answer(writer, "200 OK", json.dumps(value).encode(), "Content-Type: application/json")

    async def proxy(self, reader, writer, name="proxy"):
        head = await head_of(reader)
        self.proxied.append({"proxy": name, "head": head})
        method, target, _ = head.split("\r\n")[0].split(" ")
        if name == "locked_proxy" and f"Basic {base64.b64encode(':'.join(CREDENTIALS).encode()).decode()}" not in head:
            return await answer(
                writer, "407 Proxy Authentication Required", b"who are you?", 'Proxy-Authenticate: Basic realm="proxy"')
        if method == "CONNECT":
            port, first = port_of(target), b""
        else:
            authority, _, path = target.removeprefix("http://").partition("/")
            fields = [line for line in head.split("\r\n")[1:] if not line.lower().startswith(("proxy-", "connection:"))]
            port, first = port_of(authority), "\r\n".join([f"{method} /{path} HTTP/1.1", "Connection: close", *fields]).encode()
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return await answer(writer, "502 Bad Gateway", b"no way")
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\nX-Tunnel: open\r\nContent-Encoding: x-tunnel\r\n\r\n")
        upstream_writer.write(first)
        gate = Gate()
        self.gates.add(gate)
        try:
            await asyncio.gather(copy(reader, upstream_writer, gate), copy(upstream_reader, writer))
        finally:
            self.gates.remove(gate)
            upstream_writer.close()

    async def locked_proxy(self, reader, writer):
        await self.proxy(reader, writer, "locked_proxy")

    async def hanging_proxy(self, reader, writer):
        await reader.read()

    async def socks(self, reader, writer, name="socks"):
        """RFC 1928, and RFC 1929 for credentials."""
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        method = 2 if name == "locked_socks" else 0
        writer.write(bytes([5, method if method in methods else 0xFF]))
        if method not in methods:
            return await writer.drain()
        if method == 2:
            _, length = await reader.readexactly(2)
            user = await reader.readexactly(length)
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_known = (user.decode(), password.decode()) == CREDENTIALS
            writer.write(bytes([1, 0 if is_known else 1]))
            if not is_known:
                return await writer.drain()
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = (await reader.readexactly(4 if kind == 1 else 16)).hex()
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.proxied.append({"proxy": name, "head": f"{kind} {host}:{port}"})
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.write(bytes([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]))
            return await writer.drain()
        writer.write(bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        await asyncio.gather(copy(reader, upstream_writer), copy(upstream_reader, writer))
        upstream_writer.close()

    async def locked_socks(self, reader, writer):
        await self.socks(reader, writer, "locked_socks")

    async def chatty(self, reader, writer):
        self.chatting.add(writer)
        try:
            while await head_of(reader):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nasked")
        finally:
            self.chatting.remove(writer)

    async def refuser(self, reader, writer):
        """Responds to a POST with the status in its path, such as `/413`, and resets the connection, the body unread."""
        while True:
            method, target, _ = (await head_of(reader)).split("\r\n")[0].split(" ")
            if method == "POST":
                break
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwarm")
        field = "Connection: close\r\n" if target.endswith("/close") else ""
        status = target.split("/")[1]
        writer.write(f"HTTP/1.1 {status} Refused\r\n{field}Content-Length: 7\r\n\r\nrefused".encode())
        await reset(writer)

    async def recorder(self, reader, writer):
        ended = asyncio.get_running_loop().create_future()
        self.recording.append(ended)
        try:
            received = b""
            while data := await reader.read(65536):
                received += data
                if b"\r\n\r\n" in received:
                    break
            self.received.append(received.decode("latin-1"))
            if received:
                await answer(writer, "200 OK", b"recorded")
        finally:
            ended.set_result(None)
            self.recording.remove(ended)


async def serve(peers, sockets):
    """Runs the servers of those names on the listening sockets until cancelled."""

    def isolated(handler):
        async def handle(reader, writer):
            try:
                await handler(reader, writer)
            except (OSError, EOFError, ssl.SSLError):
                pass  # the other side has left, which many tests require
            finally:
                writer.close()

        return handle

    servers = []
    for name, listening in sockets.items():
        handler, context = peers.handlers()[name]
        servers.append(await asyncio.start_server(isolated(handler), sock=listening, ssl=context))
    await asyncio.gather(*(server.serve_forever() for server in servers))


def tls(directory, *protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{directory}/server-chain.pem", f"{directory}/server.key")
    if protocols:
        context.set_alpn_protocols(protocols)
    return context
