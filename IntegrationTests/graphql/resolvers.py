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
        self.changes = asyncio.Condition()
        self.ended = collections.Counter()
        # The connections that a topic's subscriptions had.
        self.connections = collections.defaultdict(list)

    async def publish(self, topic, value):
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
        await self.tell()
        try:
            yield queue
        finally:
            # Without a suspension: this runs in a task that is cancelled.
            self.queues[topic].remove(queue)
            self.ended[topic] += 1
            asyncio.get_running_loop().create_task(self.tell())

    def connection_count(self, topics):
        return len({id(connection) for topic in topics for connection in self.connections[topic]})

    async def tell(self):
        async with self.changes:
            self.changes.notify_all()

    async def wait(self, topic, subscribers, ended):
        """Returns when the topic has so many subscriptions, and so many have ended."""
        async with self.changes:
            await self.changes.wait_for(
                lambda: len(self.queues[topic]) == subscribers and self.ended[topic] >= ended)
        return True


async def count(to):
    for value in range(to):
        yield value
