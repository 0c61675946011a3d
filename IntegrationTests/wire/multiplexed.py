# SPDX-License-Identifier: MIT
"""An HTTP/2 server that ends requests and connections as a test requires; it also supports HTTP/1.1, where every request
gets a response.

A path is `/ACTIONS/NAME?times=N`. The first N requests (1 by default) to a name get the actions, which are separated by
commas; later ones get a 200:

answer, head     the whole response, or only its header fields
pause            a wait for the acknowledgement of a PING, before which the client has read earlier frames
failed           RST_STREAM with INTERNAL_ERROR
refused          RST_STREAM with REFUSED_STREAM
downgrade        RST_STREAM with HTTP_1_1_REQUIRED
malformed        a PING of five bytes, then nothing more
away             GOAWAY with a last stream before this one; the connection stays open
close            the end of the connection, after a closure alert
cut, reset       the end of the connection without one, by FIN or by RST
"""
import socket
import struct
from urllib.parse import parse_qs, urlsplit

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

CODES = {
    "failed": h2.errors.ErrorCodes.INTERNAL_ERROR,
    "refused": h2.errors.ErrorCodes.REFUSED_STREAM,
    "downgrade": h2.errors.ErrorCodes.HTTP_1_1_REQUIRED,
}


class Multiplexed:
    def __init__(self):
        # The received requests, in order: method, name, connection and protocol of each request.
        self.arrivals = []
        self.connections = 0

    async def handle(self, reader, writer):
        self.connections += 1
        number = self.connections
        if writer.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            return await self.handle_http1(reader, writer, number)
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        requests = {}
        while data := await reader.read(65536):
            try:
                events = connection.receive_data(data)
            except h2.exceptions.ProtocolError:
                return
            for event in events:
                if isinstance(event, h2.events.RequestReceived):
                    requests[event.stream_id] = dict(event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    fields = requests.pop(event.stream_id)
                    if not await self.answer(connection, reader, writer, event.stream_id, fields, number):
                        return
            writer.write(connection.data_to_send())
            await writer.drain()

    def note(self, method, target, number, protocol):
        url = urlsplit(target)
        actions, name = url.path[1:].split("/", 1)
        before = sum(arrival["name"] == name for arrival in self.arrivals)
        self.arrivals.append({"method": method, "name": name, "connection": number, "protocol": protocol})
        times = int(parse_qs(url.query).get("times", ["1"])[0])
        return actions.split(",") if before < times else ["answer"]

    async def pause(self, connection, reader, writer):
        connection.ping(b"are read")
        writer.write(connection.data_to_send())
        # The client sends no other request meanwhile.
        while data := await reader.read(65536):
            if any(isinstance(event, h2.events.PingAckReceived) for event in connection.receive_data(data)):
                return

    async def answer(self, connection, reader, writer, stream, fields, number):
        """Performs the actions; false if the connection has ended with them."""
        for action in self.note(fields[":method"], fields[":path"], number, "h2"):
            if action in CODES:
                connection.reset_stream(stream, CODES[action])
            elif action == "away":
                connection.close_connection(last_stream_id=max(0, stream - 2))
            elif action == "malformed":
                writer.write(connection.data_to_send() + b"\0\0\5\6\0\0\0\0\0pings")
            elif action == "pause":
                await self.pause(connection, reader, writer)
            elif action in ("head", "answer"):
                body = b"response"
                connection.send_headers(stream, [(":status", "200"), ("content-length", str(len(body)))])
                if action == "answer":
                    connection.send_data(stream, body, end_stream=True)
            else:
                writer.write(connection.data_to_send())
                return self.end(writer, action)
        return True

    def end(self, writer, action):
        if action == "close":
            writer.close()
        else:
            if action == "reset":
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        return False

    async def handle_http1(self, reader, writer, number):
        while head := await reader.readuntil(b"\r\n\r\n"):
            method, target, _ = head.decode("latin-1").split("\r\n")[0].split(" ")
            for line in head.decode("latin-1").lower().split("\r\n"):
                if line.startswith("content-length:"):
                    await reader.readexactly(int(line.partition(":")[2]))
            actions = self.note(method, target, number, "http/1.1")
            for action in actions:
                if action in ("close", "cut", "reset"):
                    return self.end(writer, action)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nresponse")
