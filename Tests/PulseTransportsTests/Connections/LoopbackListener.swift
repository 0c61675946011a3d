// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import Foundation
import Testing

@testable import PulseTransports

/// A listener on this machine whose connections a test accepts.
final class LoopbackListener: Sendable {
    let address: SocketAddress
    let port: UInt16
    private let listener: Int32

    init(backlog: Int32 = 100) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) == 0 && listen(listener, backlog) == 0
                    && getsockname(listener, pointer, &size) == 0
            }
        }
        try #require(isListening)
        port = UInt16(bigEndian: address.sin_port)
        self.address = try #require(SocketAddress("127.0.0.1", port: port))
    }

    deinit {
        close(listener)
    }

    /// Accepts a connection that has come, and sends these bytes.
    func accept(saying bytes: [UInt8] = []) throws -> Int32 {
        let connection = pulse_socket_accept(listener)
        try #require(connection >= 0)
        #expect(send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
        return connection
    }
}

/// A listener whose queue is full, so that the system drops attempts to connect to it.
final class SilentListener: Sendable {
    private let listener: LoopbackListener
    private let queued: [Int32]

    init() throws {
        let listener = try LoopbackListener(backlog: 0)
        self.listener = listener
        queued = try (0..<4).map { _ in try listener.address.startConnecting() }
    }

    deinit {
        for socket in queued { close(socket) }
    }

    var address: SocketAddress { listener.address }
    var port: UInt16 { listener.port }
}

extension SocketLoop {
    /// The connections that are not released.
    var connections: [SocketConnection] { core.state.withLock { $0.connections.compactMap(\.connection) } }
}
#endif
