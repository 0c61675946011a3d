// SPDX-License-Identifier: MIT

import PulseCore

/// A connection that carries the body of one request over HTTP/1.1.
struct HTTP1UploadChannel: UploadChannel {
    private let connection: any ReusableConnection
    private let isChunked: Bool
    private let idleTimeout: TimeInterval

    init(_ connection: any ReusableConnection, for feed: BodyFeed, idleTimeout: TimeInterval) {
        (self.connection, self.idleTimeout) = (connection, idleTimeout)
        isChunked = feed.length == nil
    }

    var hasHead: Bool { connection.sent.count > 0 }

    func finishHead() async throws { try await connection.finishSending() }

    func send(_ chunk: Data, isLast: Bool) async throws {
        guard isChunked else {
            if !chunk.isEmpty { try await connection.write(chunk) }
            return
        }
        // An empty chunk is the last one (RFC 9112, section 7.1).
        var framed = Data("\(String(chunk.count, radix: 16))\r\n".utf8)
        framed.append(chunk)
        framed.append(contentsOf: "\r\n".utf8)
        try await connection.write(framed)
    }

    func finish() async throws {}

    func setWaitsForSource(_ waits: Bool) { connection.limitIdleTime(to: waits ? .infinity : idleTimeout) }

    func endReading() { connection.endReading() }

    func abort() { connection.close() }
}
