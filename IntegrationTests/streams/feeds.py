# SPDX-License-Identifier: MIT
"""What the servers of the streams send: sse-starlette with CRLF, and aiohttp, byte by byte."""
import asyncio
import collections

import uvicorn
from aiohttp import web
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

# By the name that a test has chosen.
gates = collections.defaultdict(lambda: asyncio.Semaphore(0))
sent = collections.Counter()
open_streams = collections.Counter()


def counts_open(function):
    """Counts the streams that are open."""
    async def counted(request, *arguments):
        name = request.path_params["name"]
        open_streams[name] += 1
        try:
            async for piece in function(request, *arguments):
                yield piece
        finally:
            open_streams[name] -= 1
    return counted


def event(number):
    # Two lines, so that sse-starlette writes two fields.
    value = {"id": str(number), "data": f"event {number}\nwith a \N{GRINNING FACE}", "retry": 100}
    return value | {"event": "even"} if number % 2 == 0 else value


@counts_open
async def numbered(request, first, last):
    for number in range(first, last):
        yield event(number)


async def numbers(request):
    """The events up to `count`, a few per connection: the client comes again with the last one's identifier."""
    first, count = int(request.headers.get("last-event-id", "-1")) + 1, int(request.query_params["count"])
    if first >= count:
        return Response(status_code=204)
    return EventSourceResponse(numbered(request, first, min(first + 7, count)))


@counts_open
async def gated_events(request, gate):
    for number in range(5):
        yield event(number)
        await gate.acquire()


async def gated(request):
    """The next event is sent when the client has the one before."""
    return EventSourceResponse(gated_events(request, gates[request.path_params["name"]]))


async def advance(request):
    gates[request.path_params["name"]].release()
    return Response(status_code=204)


@counts_open
async def gigabyte_pieces(request):
    piece = (b"data: " + b"x" * 1000 + b"\r\n\r\n") * 16
    for _ in range((1 << 30) // len(piece)):
        yield piece
        sent[request.path_params["name"]] += len(piece)


async def gigabyte(request):
    return StreamingResponse(gigabyte_pieces(request), media_type="text/event-stream")


async def forever(request):
    """Sends nothing but a comment from time to time, which is how the server notices that the client left."""
    @counts_open
    async def pieces(request):
        yield event(0)
        while True:
            await asyncio.sleep(0.01)
            yield {"comment": "still here"}
    return EventSourceResponse(pieces(request))


async def count(request):
    name = request.path_params["name"]
    return JSONResponse({"sent": sent[name], "open": open_streams[name]})


async def chat(request):
    words = (await request.json())["prompt"].split()

    async def reply():
        for word in words:
            yield {"data": word}
        yield {"data": "[DONE]"}
    return EventSourceResponse(reply())


starlette = Starlette(routes=[
    Route("/numbers/{name}", numbers),
    Route("/gated/{name}", gated),
    Route("/advance/{name}", advance, methods=["POST"]),
    Route("/gigabyte/{name}", gigabyte),
    Route("/forever/{name}", forever),
    Route("/count/{name}", count),
    Route("/chat", chat, methods=["POST"]),
])


async def write_bytes(request, data, media_type):
    response = web.StreamResponse(headers={"Content-Type": media_type})
    await response.prepare(request)
    for byte in data:
        await response.write(bytes([byte]))
    return response


async def mixed(request):
    """All line ends, a BOM, comments, characters of several bytes, and an unfinished event."""
    body = "\ufeff: hello\r\n\r\nid: 1\rdata: a\rdata: \u00e9\r\r"
    body += "event: b\ndata\ndata:  \N{GRINNING FACE}\n\nid: 3\r\ndata:c\r\n\ndata: never"
    return await write_bytes(request, body.encode(), "Text/Event-Stream; charset=utf-8")


async def broken(request):
    """Three events and a part of the fourth; then the connection is reset."""
    first, count = int(request.headers.get("last-event-id", "-1")) + 1, int(request.query["count"])
    if first >= count:
        return web.Response(status=204)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    last = min(first + 3, count)
    body = "".join(f"id: {number}\nretry: 100\ndata: event {number}\n\n" for number in range(first, last))
    for byte in (body + f"id: {last}\ndata: eve").encode():
        await response.write(bytes([byte]))
    request.transport.abort()
    return response


async def lines(request):
    return await write_bytes(request, "one\r\n\u2028two\n\nthr\u00e9e".encode(), "text/plain")


async def json_lines(request):
    body = "".join(f'{{"number": {number}}}\r\n' for number in range(100))
    return await write_bytes(request, body.encode(), "application/jsonl")


async def serve(starlette_socket, aiohttp_socket):
    application = web.Application()
    for name, handler in {"mixed": mixed, "broken": broken, "lines": lines, "json-lines": json_lines}.items():
        application.router.add_get(f"/{name}", handler)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.SockSite(runner, aiohttp_socket).start()
    await uvicorn.Server(uvicorn.Config(starlette, log_level="warning")).serve([starlette_socket])
