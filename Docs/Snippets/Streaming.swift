// SPDX-License-Identifier: MIT
//! Bodies that are read while they arrive: bytes, lines, JSON Lines, server-sent events.

import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.on(.get, "/log") { _ in .text("started\nstopped\n") }
server.on(.get, "/orders") { _ in .data(Data("{\"id\":1}\n{\"id\":2}\n".utf8), contentType: "application/x-ndjson") }
let client = PulseClient(baseURL: server.baseURL)

// snippet.lines
for try await line in client.lines("/log") {
    print(line)
}
// snippet.end

// snippet.bytes
let (bytes, response) = try await client.bytes("/log")
var size = 0
for try await chunk in bytes {
    size += chunk.count
}
print("\(response.statusCode), \(size) bytes")
// snippet.end

// snippet.json
struct Order: Decodable, Sendable {
    let id: Int
}

for try await order in client.jsonLines("/orders", of: Order.self).skippingFailures() {
    print(order.id)
}
// snippet.end

// snippet.server
server.onEvents("/feed") { request, feed in
    let last = request.headers["Last-Event-ID"].flatMap(Int.init) ?? 0
    guard last < 4 else { return try await feed.refuse(204) }  // no more: the stream ends
    for id in last + 1...last + 2 {
        try await feed.send(ServerSentEvent(data: "order \(id)", id: "\(id)"))
    }
}
// snippet.end

// snippet.feed
let fast = ReconnectPolicy.eventStream.with(\.delay, value: 0.05)
let feed = client.serverSentEvents("/feed", stream: EventStream.Options().with(\.reconnect, value: fast))
for try await event in feed {
    print(event.id, event.data)
}
// snippet.end

server.on(.post, "/chat") { _ in
    .events([ServerSentEvent(data: #"{"id": 1}"#), ServerSentEvent(data: "[DONE]")])
}

// snippet.chat
let question = Request<EmptyResponse>(.post, "/chat").body(.text("Which tea?"))
let options = EventStream.Options().with(\.sentinel, value: "[DONE]")
for try await part in client.serverSentEvents(question, stream: options).decoded(as: Order.self) {
    print(part.id)
}
// snippet.end

// snippet.named
struct Delta: Decodable {
    let text: String
}

server.on(.post, "/answer") { _ in
    .events([
        ServerSentEvent(type: "delta", data: #"{"text": "Green, "}"#),
        ServerSentEvent(type: "delta", data: #"{"text": "in the morning."}"#),
        ServerSentEvent(type: "done", data: "{}"),
    ])
}
let parts = client.serverSentEvents(Request<EmptyResponse>(.post, "/answer")).decoded { event -> String? in
    switch event.type {
    case "delta": return try event.decode(Delta.self).text
    case "error": throw EventStream.ErrorEvent(event)
    default: return nil
    }
}
for try await part in parts {
    print(part)
}
// snippet.end

await client.shutdown()
await server.shutdown()
