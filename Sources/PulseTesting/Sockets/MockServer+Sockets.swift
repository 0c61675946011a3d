// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseSockets

extension MockServer {
    /// Opens a WebSocket for each handshake at a path (RFC 6455). An invalid handshake gets a 400 or 426.
    ///
    /// ```swift
    /// server.onSocket("/ws/{room}", subprotocols: ["chat.v2"]) { socket in
    ///     try await socket.send(.text("welcome to \(socket.request.parameters["room"] ?? "")"))
    ///     while let message = try await socket.receive() { try await socket.send(message) }
    /// }
    /// ```
    ///
    /// The closure runs in a task that is cancelled when the client disconnects or the server shuts down; earlier
    /// messages can still be received. Records of the sockets are in ``Activity/sockets``.
    ///
    /// - Parameters:
    ///   - subprotocols: the server's. The first of them that the client offers is selected.
    ///   - compresses: whether to accept permessage-deflate if the client offers it (RFC 7692). Needs the system's
    ///     zlib, which can be loaded on Linux only.
    ///   - refusing: returns the response that rejects a valid handshake, such as a 401; nil accepts it.
    public func onSocket(
        _ pathTemplate: String, subprotocols: [String] = [], compresses: Bool = false,
        refusing: @escaping @Sendable (RecordedRequest) async throws -> Response? = { _ in nil },
        _ body: @escaping @Sendable (ServerSocket) async throws -> Void
    ) {
        on(.get, pathTemplate) { request in
            let response = try Response.socket(
                accepting: request, subprotocols: subprotocols, compresses: compresses, body)
            guard response.status == 101, let refusal = try await refusing(request) else { return response }
            return refusal
        }
    }
}

extension MockServer.Response {
    /// A WebSocket on the connection of `request`, or the response that rejects an invalid handshake.
    ///
    /// For handshakes with faults:
    ///
    /// ```swift
    /// server.on(.get, "/ws") { request in
    ///     try .socket(accepting: request, changing: { $0["Sec-WebSocket-Accept"] = "wrong" }) { _ in }
    /// }
    /// ```
    ///
    /// Throws ``PulseError/unsupported(_:)`` if the system has no SHA-1.
    ///
    /// - Parameters:
    ///   - subprotocols: the server's. The first of them that the client offers is selected.
    ///   - compresses: whether to accept permessage-deflate if the client offers it.
    ///   - status: the status of the response; 101 by default.
    ///   - change: modifies only the header fields of the response.
    public static func socket(
        accepting request: RecordedRequest, subprotocols: [String] = [], compresses: Bool = false, status: Int = 101,
        changing change: (inout HTTPHeaders) -> Void = { _ in },
        _ body: @escaping @Sendable (ServerSocket) async throws -> Void
    ) throws -> MockServer.Response {
        try socket(
            accepting: request, subprotocols: subprotocols, compressing: compresses ? DeflateParameters() : nil,
            status: status, changing: change, body)
    }

    /// The same, with the server's parameters for compression.
    package static func socket(
        accepting request: RecordedRequest, subprotocols: [String] = [], compressing limits: DeflateParameters?,
        status: Int = 101, changing change: (inout HTTPHeaders) -> Void = { _ in },
        _ body: @escaping @Sendable (ServerSocket) async throws -> Void
    ) throws -> MockServer.Response {
        do {
            let acceptance = try SocketAcceptance(of: request, subprotocols: subprotocols, compressing: limits)
            var headers = acceptance.headers
            change(&headers)
            return upgrade(status: status, headers: headers) { conversation in
                let log = conversation.loop.core.log
                let record = ServerSocket.Record(request, acceptance)
                let index = log.opened(record)
                let socket = ServerSocket(request, record, acceptance.deflate, over: conversation) { record in
                    log.changed(record, at: index)
                }
                await socket.serve(body)
            }
        } catch let refusal as SocketAcceptance.Refusal {
            return refusal.response
        }
    }
}

extension MockServer.Conversation: ServerWire {
    func whilePeerStays(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await socket.whilePeerStays(body)
    }
}
