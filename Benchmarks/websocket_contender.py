# SPDX-License-Identifier: MIT
"""Python's `websockets`, with its C extension, as a contender of `sockets`: assignments on standard input, figures on
standard output."""
import asyncio
import json
import sys
import time

import websockets
import websockets.speedups  # fails here without the extension


async def echoes(socket, size, window, seconds):
    """As `echoes` in Contender.swift."""
    message = b"a" * size
    end = time.monotonic() + seconds
    for _ in range(window):
        await socket.send(message)
    count, pending = 0, window
    while pending:
        if len(await socket.recv()) != size:
            sys.exit("a message of another size")
        count += 1
        if time.monotonic() < end:
            await socket.send(message)
        else:
            pending -= 1
    return count


async def main():
    socket = None
    while line := sys.stdin.readline():
        assignment = json.loads(line)["echoes"]
        url = assignment.pop("_0").replace("http", "ws", 1)
        if socket is None:
            socket = await websockets.connect(url, compression=None, max_size=None, ping_interval=None)
        start, processor = time.monotonic(), time.process_time()
        count = await echoes(socket, **assignment)
        figure = {
            "count": count, "seconds": time.monotonic() - start, "processorSeconds": time.process_time() - processor,
            "memoryBefore": 0, "memoryPeak": 0,
        }
        print(json.dumps(figure), flush=True)
    await socket.close()


asyncio.run(main())
