# SPDX-License-Identifier: MIT
"""The server of the programs, on loopback: notes, a room of WebSockets, and backups with resumable uploads (tus 1.0.0)."""
import base64
import hashlib
import json
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

TOKEN = "s3cretOfTheCheck"
LIMIT = 30


class World:
    """What the server has, what was asked of it, and the faults of its next responses."""

    def __init__(self):
        self.lock = threading.Lock()
        self.requests = []  # (method, path, headers)
        self.notes = {}
        self.messages, self.posts, self.joins = [], [], []
        self.cuts = {}  # the number of a post: whether it is taken before its connection is lost
        self.files, self.uploads = {}, []  # name: (modified, bytes); [name, modified, length, bytes]
        self.stalls = {}  # method: the bytes after which its next body stands still
        self.arrived, self.release = threading.Event(), threading.Event()

    def forget(self):
        self.requests.clear()
        self.arrived.clear()
        self.release.clear()

    def stall(self, method):
        """The bytes after which this body stands still; nil for none."""
        with self.lock:
            return self.stalls.pop(method, None)

    def hold(self):
        self.arrived.set()
        self.release.wait(LIMIT)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_request(self):
        world = self.server.world
        with world.lock:
            world.requests.append((self.command, self.path, dict(self.headers)))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.reply(401)
        kind, *names = [unquote(part) for part in self.path.split("/")[1:]]
        return getattr(self, f"{kind}_{self.command}", self.missing)(world, *names)

    do_GET = do_PUT = do_POST = do_HEAD = do_PATCH = do_OPTIONS = handle_request

    def missing(self, *_):
        self.reply(404)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {**({} if status == 204 else {"Content_Length": len(body)}), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reply_json(self, value):
        self.reply(200, json.dumps(value).encode(), Content_Type="application/json")

    def leave(self):
        self.close_connection = True

    def log_message(self, *_):
        pass

    # Notes

    def notes_GET(self, world):
        self.reply_json(list(world.notes.values()))

    def notes_PUT(self, world, name):
        note = json.loads(self.body())
        if not note["text"]:
            return self.reply(422)
        with world.lock:
            world.notes[name] = note
        if world.stall("PUT") is not None:
            world.hold()
            return self.leave()
        return self.reply(204)

    # A room

    def rooms_GET(self, world, _):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.leave()
        while (message := self.receive()) is not None:
            if "after" in message:
                world.joins.append(message["after"])
                news = world.messages[message["after"]:]
            else:
                world.posts.append(message["post"])
                cut = world.cuts.get(len(world.posts))
                is_new = cut is not False and all(m.get("post") != message["post"] for m in world.messages)
                news = [self.say(world, "Ada", message["text"], message["post"])] if is_new else []
                if cut is not None:
                    return
            for one in news:
                self.send(1, json.dumps(one).encode())

    @staticmethod
    def say(world, name, text, post=None):
        message = {"id": len(world.messages) + 1, "from": name, "text": text, **({"post": post} if post else {})}
        world.messages.append(message)
        return message

    def receive(self):
        """The next message; None after a close frame, which is returned, or a loss. Each message has one frame."""
        while len(start := self.rfile.read(2)) == 2:
            opcode, length = start[0] & 15, start[1] & 127
            if length == 126:
                length = struct.unpack(">H", self.rfile.read(2))[0]
            mask, masked = self.rfile.read(4), self.rfile.read(length)
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(masked))
            if opcode == 1:
                return json.loads(payload)
            if opcode == 8:
                self.send(8, payload)
                return None
            if opcode == 9:
                self.send(10, payload)
        return None

    def send(self, opcode, payload):
        length = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + struct.pack(">H", len(payload))
        self.wfile.write(bytes([0x80 | opcode]) + length + payload)

    # Backups

    def backups_GET(self, world, _, name=None):
        if name is None:
            return self.reply_json([{"name": name, "size": len(data), "modified": modified}
                                    for name, (modified, data) in world.files.items()])
        data = world.files[name][1]
        digest = hashlib.sha256(data).digest()
        headers = {"Accept_Ranges": "bytes", "ETag": f'"{digest.hex()}"',
                   "Repr_Digest": f"sha-256=:{base64.b64encode(digest).decode()}:"}
        start = 0
        if self.headers.get("If-Range") == headers["ETag"]:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            headers["Content_Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        stall = world.stall("GET") if len(data) > 1 << 20 else None
        if stall is None:
            return self.reply(206 if start else 200, data[start:], **headers)
        self.reply(200, data[:stall], **{**headers, "Content_Length": len(data)})
        world.hold()
        return self.leave()

    def backups_OPTIONS(self, *_):
        self.reply(204, Tus_Resumable="1.0.0", Tus_Version="1.0.0", Tus_Extension="creation")

    def backups_POST(self, world, _):
        metadata = dict(pair.split(" ") for pair in self.headers["Upload-Metadata"].split(","))
        name, modified = (base64.b64decode(metadata[key]).decode() for key in ("name", "modified"))
        world.uploads.append([name, int(modified), int(self.headers["Upload-Length"]), b""])
        self.store(world, world.uploads[-1])
        self.reply(201, Tus_Resumable="1.0.0", Location=f"/uploads/{len(world.uploads) - 1}")

    def uploads_HEAD(self, world, number):
        _, _, length, data = world.uploads[int(number)]
        self.reply(200, Tus_Resumable="1.0.0", Upload_Offset=len(data), Upload_Length=length, Cache_Control="no-store")

    def uploads_PATCH(self, world, number):
        upload, length = world.uploads[int(number)], int(self.headers["Content-Length"])
        if int(self.headers["Upload-Offset"]) != len(upload[3]):
            return self.reply(409, Tus_Resumable="1.0.0")
        stall = world.stall("PATCH") if upload[2] > 1 << 20 else None
        upload[3] += self.rfile.read(length if stall is None else stall)
        if stall is not None:
            world.hold()
            return self.leave()
        self.store(world, upload)
        return self.reply(204, Tus_Resumable="1.0.0", Upload_Offset=len(upload[3]))

    @staticmethod
    def store(world, upload):
        name, modified, length, data = upload
        if len(data) == length:
            world.files[name] = (modified, data)


def start(world, port=0):
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    server.world = world
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def stop(server):
    server.shutdown()
    server.server_close()
