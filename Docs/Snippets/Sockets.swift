// SPDX-License-Identifier: MIT
//! WebSockets: values, a login on each connection, what may be lost, and tests with and without a wire.

import PulseKit
import PulseTesting

// snippet.endpoint
struct Chat: SocketEndpoint {
    let room: String
    var path: PathText { "/rooms/\(room)" }
}
// snippet.end

struct Price: Codable, Sendable {
    let product: String
    let cents: Int
}

// snippet.settings
struct Prices: SocketEndpoint {
    let path = "/prices"
    let subprotocols = ["prices.v2", "prices.v1"]
    let pingInterval = 20
    let socketOptions = SocketOptions(reconnect: .init(maxDelay: 10, maxAttempts: 20), whileDown: .fails)
}
// snippet.end

let server = try await MockServer.start()

// snippet.server
server.onSocket("/rooms/{room}") { socket in
    try await socket.send(.text("welcome to \(socket.request.parameters["room"] ?? "")"))
    while let message = try await socket.receive() {
        try await socket.send(message)
    }
}
// snippet.end

// It closes with 1000 when its closure returns, which ends the client's socket.
server.onSocket("/prices", subprotocols: ["prices.v1"]) { socket in
    _ = try await socket.receive()
    try await socket.send(.text("subscribed"))
    for cents in [250, 240] {
        try await socket.send(.text(#"{"product": "tea", "cents": \#(cents)}"#))
    }
}

let client = PulseClient(baseURL: server.baseURL)

// snippet.first
let chat = PulseSocket(endpoint: Chat(room: "tea"), client: client)
try await chat.connect()
print(try await chat.receive())  // text("welcome to tea")
try await chat.send(.text("one pot, please"))
print(try await chat.receive())
// snippet.end

// snippet.states
let watching = Task {
    for await state in chat.states {
        switch state {
        case .open: print("online")
        case .reconnecting(let error, _, let delay, let unconfirmed):
            print("\(error): again in \(delay) s, \(unconfirmed) messages may be lost")
        case .closed(let error?): print("ended: \(error)")
        default: break
        }
    }
}
// snippet.end

// snippet.disconnections
let ends = Task {
    let events = PulseEventBus.shared.subscribe(matching: .kinds(.socketDisconnected))
    for await case .socketDisconnected(let call, let end) in events {
        print(call.endpointPath, end.code, end.messagesReceived, end.unconfirmed)
    }
}
// snippet.end

// snippet.send
do {
    try await chat.send(.text("another pot"))
    let seconds = try await chat.ping()  // the server has read all messages that were sent before
    print(seconds, chat.statistics.unconfirmed)  // 0 are unconfirmed
} catch let error as PulseError {
    print(error)
}
// snippet.end

// snippet.close
await chat.close(code: 4000, reason: "logged out")
// snippet.end
await watching.value

// snippet.typed
let prices = TypedSocket<Price>(endpoint: Prices(), client: client) { greeting in
    try await greeting.send(.text(#"{"subscribe": ["tea"]}"#))
    guard try await greeting.receive() == .text("subscribed") else { throw PulseError.sessionExpired }
}
try await prices.connect()
for await price in prices.messages {
    print(price.product, price.cents)
}
// snippet.end

// snippet.mock
let transport = MockTransport(stubs: []) { socket in
    try await socket.send(.text("welcome"))
    while let message = try await socket.receive() {
        if message == .text("cut") { return try await socket.run(.reset) }
        try await socket.send(message)
    }
}
let tested = PulseClient(
    configuration: PulseConfiguration(baseURL: URL(string: "https://api.example.com")!)
        .with(\.clock, value: TestClock(autoAdvances: true)),
    transport: transport)

let socket = PulseSocket(endpoint: Chat(room: "tea"), client: tested)
try await socket.connect()
print(try await socket.receive())  // text("welcome")
try await socket.send(.text("cut"))
print(try await socket.receive())  // text("welcome"), from the second connection
print(socket.statistics.connections, transport.sockets.count)  // 2 2
// snippet.end

ends.cancel()
await tested.shutdown()
await client.shutdown()
await server.shutdown()
