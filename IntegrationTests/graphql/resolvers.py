# SPDX-License-Identifier: MIT
"""What the schemas of both libraries resolve to. All of it runs on one event loop."""
import asyncio
import collections
import contextlib
import zlib

HEROES = {
    "2000": {"name": "C-3PO", "friends": ["Luke", "Han"]},
    # The second friend is an error.
    "2001": {"name": "R2-D2", "friends": ["Luke", None, "Leia"]},
}
TOKEN = "new"

# By names that tests have chosen.
sums = collections.Counter()


def add(name, count):
    sums[name] += count
    return sums[name]


def friend(name):
    if name is None:
        raise ValueError("this friend is secret")
    return name


async def described(file):
    """The name, type, size and checksum of an uploaded file."""
    size = checksum = 0
    while chunk := await file.read(1 << 20):
        size += len(chunk)
        checksum = zlib.crc32(chunk, checksum)
    return {"filename": file.filename, "mimeType": file.content_type, "size": size, "checksum": checksum}


class Topics:
    """Subscriptions that get their events from mutations."""

    def __init__(self):
        self.queues = collections.defaultdict(list)
        # Set with the next change.
        self.change = asyncio.Event()
        self.ended = collections.Counter()
        # The connections that a topic's subscriptions had.
        self.connections = collections.defaultdict(list)

    def publish(self, topic, value):
        """Returns the number of subscriptions that get the value."""
        for queue in self.queues[topic]:
            queue.put_nowait(value)
        return len(self.queues[topic])

    @contextlib.asynccontextmanager
    async def subscription(self, topic, connection):
        queue = asyncio.Queue()
        self.queues[topic].append(queue)
        # Kept, so that no other one gets its identity.
        self.connections[topic].append(connection)
        self.tell()
        try:
            yield queue
        finally:
            self.queues[topic].remove(queue)
            self.ended[topic] += 1
            self.tell()

    def connection_count(self, topics):
        return len({id(connection) for topic in topics for connection in self.connections[topic]})

    def tell(self):
        self.change.set()
        self.change = asyncio.Event()

    async def wait(self, topic, subscribers, ended):
        """Returns when the topic has so many subscriptions, and so many have ended."""
        while len(self.queues[topic]) != subscribers or self.ended[topic] < ended:
            await self.change.wait()
        return True


async def count(to):
    for value in range(to):
        yield value
