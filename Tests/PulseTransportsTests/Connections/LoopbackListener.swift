// SPDX-License-Identifier: MIT

#if os(Linux)
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

/// A listener at a unix-domain socket whose queue is full, so that the system refuses attempts for now.
final class FullUnixListener: Sendable {
    let path: String
    let address: SocketAddress
    private let listener: Int32
    private let queued: [Int32]

    init() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).sock").path
        self.path = path
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Data(path.utf8)) }
        let isListening = withUnsafePointer(to: &name) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(listener, 0) == 0
            }
        }
        try #require(isListening)
        let address = try #require(SocketAddress(path: path))
        self.address = address
        queued = (0..<8).compactMap { _ in try? address.startConnecting() }
        try #require(0 < queued.count && queued.count < 8)
    }

    deinit {
        for socket in queued { close(socket) }
        close(listener)
        unlink(path)
    }

    /// Takes a connection out of the queue.
    func accept() throws -> Int32 {
        let connection = pulse_socket_accept(listener)
        try #require(connection >= 0)
        return connection
    }
}

/// Passes the bytes of one connection to another server and back, one at a time.
final class SlowRelay: Sendable {
    private let listener: LoopbackListener

    init(to port: UInt16) throws {
        let listener = try LoopbackListener()
        self.listener = listener
        let server = try #require(SocketAddress("127.0.0.1", port: port))
        Thread.detachNewThread {
            guard let near = try? listener.accept(), let far = try? server.startConnecting() else { return }
            var ends = [pollfd(fd: near, events: Int16(POLLIN), revents: 0), pollfd(fd: far, events: 0, revents: 0)]
            // The far end first has to connect.
            var isFarOpen = pollfd(fd: far, events: Int16(POLLOUT), revents: 0)
            poll(&isFarOpen, 1, -1)
            ends[1].events = Int16(POLLIN)
            var isOpen = true
            while isOpen {
                poll(&ends, 2, -1)
                for index in 0..<2 where ends[index].revents != 0 {
                    var byte: UInt8 = 0
                    isOpen = isOpen && recv(ends[index].fd, &byte, 1, 0) == 1
                    isOpen = isOpen && send(ends[1 - index].fd, &byte, 1, Int32(MSG_NOSIGNAL)) == 1
                }
            }
            close(near)
            close(far)
        }
    }

    var port: UInt16 { listener.port }
}

extension SocketLoop {
    /// The connections that are not released.
    var connections: [SocketConnection] { core.state.withLock { $0.connections.compactMap(\.connection) } }
}
#endif
