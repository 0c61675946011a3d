// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// The libraries of the servers, which `behaviors.py` drives.
enum Library: String, Sendable, CaseIterable {
    case websockets, wsproto, aiohttp
}

/// A way to the servers.
enum Route: String, Sendable, CaseIterable {
    /// Without nginx.
    case direct
    /// Through nginx, in cleartext and over TLS.
    case plain, tls12, tls13

    static let secure = [Route.tls12, .tls13]
    var isSecure: Bool { self == .tls12 || self == .tls13 }
}

/// A socket at a behavior of a server.
struct Conversation: SocketEndpoint {
    var path: String
    var subprotocols: [String] = []
    /// What the connection's record is found by.
    var name: String?
    var socketOptions = SocketOptions(reconnect: .never)
    let pingInterval: TimeInterval = 0

    var queryParameters: [String: String] { name.map { ["name": $0] } ?? [:] }
}

/// What a server has recorded of a connection.
struct Record: Decodable {
    struct Frame: Decodable {
        /// The opcode and the bits before it.
        let first: UInt8
        /// The mask in hexadecimal digits; empty without.
        let mask: String
        let size: Int
    }

    /// Of the client's close frame; nil without.
    let code: Int?
    let reason: String?
    /// The server's exception.
    let fault: String?
    /// Of wsproto.
    let frames: [Frame]?
    let pongs: [String]?
    /// Of a guarded connection.
    let token: String?
    /// A token that was refused instead.
    let refused: String?
}

enum SocketServers {
    /// Runs `body` with a client of a server, which retries nothing.
    static func withClient<Value>(
        of library: Library, by route: Route = .direct, host: String = "localhost", plugins: [any PulsePlugin] = [],
        adjust: (inout PulseConfiguration) throws -> Void = { _ in }, _ body: (PulseClient) async throws -> Value
    ) async throws -> Value {
        let isDirect = route == .direct
        return try await LocalServers.withClient(
            of: isDirect ? library.rawValue : route.rawValue, isSecure: route.isSecure, host: host,
            isDirect ? "" : "/\(library.rawValue)", plugins: plugins,
            adjust: { configuration in
                configuration.retryPolicy = .none
                try adjust(&configuration)
            },
            body)
    }

    /// The response of the server of aiohttp.
    static func get<Value: Decodable & Sendable>(_ path: String) async throws -> Value {
        try await withClient(of: .aiohttp) { try await $0.get(path) }
    }

    /// The record of the next connection of that name, once it has ended.
    static func record(_ name: String) async throws -> Record { try await get("/record/\(name)") }

    /// A name for a connection that no other test has.
    static func newName() -> String { UUID().uuidString.lowercased() }
}

extension PulseSocket {
    /// Runs `body` with an open socket, which is closed whatever the outcome.
    static func with<Value>(
        _ endpoint: Conversation, _ client: PulseClient,
        onOpen: (@Sendable (PulseSocket.Greeting) async throws -> Void)? = nil,
        _ body: (PulseSocket) async throws -> Value
    ) async throws -> Value {
        let socket = PulseSocket(endpoint: endpoint, client: client, onOpen: onOpen)
        try await socket.connect()
        do {
            let value = try await body(socket)
            await socket.close()
            return value
        } catch {
            await socket.close()
            throw error
        }
    }

    /// Sends a message and expects it back, while it is sent.
    func expectEcho(_ message: SocketMessage, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        async let sent: Void = send(message)
        let received = try await receive()
        try await sent
        // Not by `#expect`, which would describe 16 MiB.
        if received != message {
            Issue.record("\(message.size) bytes came back as \(received.size)", sourceLocation: sourceLocation)
        }
    }
}

extension SocketMessage {
    /// The sizes at which the header of a frame, the fragments of this library or its limit change.
    static let sizes = [0, 1, 125, 126, 65_535, 65_536, 1 << 20, 16 << 20]

    /// A message of that many bytes, which compression makes little smaller.
    static func sample(_ size: Int, isText: Bool) -> SocketMessage {
        var state: UInt64 = 27
        func random(_ count: UInt64) -> UInt32 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt32(truncatingIfNeeded: (state >> 33) % count)
        }
        var block = Data()
        // More than the window of a compressor.
        while block.count < min(size, 40_000) {
            guard isText else {
                block.append(UInt8(random(256)))
                continue
            }
            // Characters of one to four bytes.
            for code in [97 + random(26), 0x400 + random(256), 0x4E00 + random(4096), 0x1F300 + random(256)] {
                if let scalar = UnicodeScalar(code) { block.append(contentsOf: String(scalar).utf8) }
            }
        }
        var bytes = Data(capacity: size + block.count)
        while bytes.count < size { bytes.append(block) }
        guard isText else { return .binary(bytes.prefix(size)) }
        // Of ten bytes together.
        bytes = bytes.prefix(size - size % 10) + Data(repeating: 120, count: size % 10)
        return .text(String(decoding: bytes, as: UTF8.self))
    }

    var size: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }
}
