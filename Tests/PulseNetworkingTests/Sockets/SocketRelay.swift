// SPDX-License-Identifier: MIT

#if canImport(Glibc)
import Foundation
import Glibc
import PulseCore
import Testing

/// Forwards the bytes of connections to a server, up to a cut. On a thread of its own.
final class SocketRelay: Sendable {
    enum Direction: Sendable, CaseIterable {
        case toServer, toClient
    }

    private struct State: Sendable {
        var cut: (direction: Direction, count: Int)?
        /// The bytes of the latest connection.
        var toServer = 0
        var toClient = 0
    }

    let port: Int
    private let listener: Int32
    private let state = Locked(State())

    init(to server: Int) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = Self.address(port: 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, size) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, pointer, &size) == 0
            }
        }
        try #require(isListening)
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [state] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else {
                    // Here, so that no other thread gets the number while this one accepts.
                    close(listener)
                    return
                }
                Self.forward(client, server, state)
            }
        }
    }

    /// Cuts each connection from now on.
    func cut(_ direction: Direction, after count: Int) {
        state.withLock { $0.cut = (direction, count) }
    }

    /// The bytes of the latest connection.
    func count(_ direction: Direction) -> Int {
        state.withLock { direction == .toServer ? $0.toServer : $0.toClient }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    private static func forward(_ client: Int32, _ port: Int, _ state: Locked<State>) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer {
            close(client)
            close(server)
        }
        var address = address(port: port)
        let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                connect(server, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return }
        let cut = state.withLock { state in
            (state.toServer, state.toClient) = (0, 0)
            return state.cut
        }
        var isCut = cut?.count == 0
        if isCut { end(client, server) }
        var open: Set<Int32> = [client, server]
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while !open.isEmpty {
            var events = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&events, nfds_t(events.count), -1) > 0 else { return }
            for event in events where event.revents != 0 {
                let direction = event.fd == client ? Direction.toServer : .toClient
                let target = event.fd == client ? server : client
                let count = recv(event.fd, &buffer, buffer.count, 0)
                guard count > 0 else {
                    open.remove(event.fd)
                    shutdown(target, Int32(SHUT_WR))
                    continue
                }
                // After the cut the bytes are read and dropped: a close with unread bytes would reset the connection.
                guard !isCut else { continue }
                let passed = state.withLock { state in
                    let before = direction == .toServer ? state.toServer : state.toClient
                    let limit = cut?.direction == direction ? cut?.count ?? .max : .max
                    let passed = min(count, limit - before)
                    if direction == .toServer { state.toServer += passed } else { state.toClient += passed }
                    isCut = before + passed == limit
                    return passed
                }
                send(target, buffer, passed, Int32(MSG_NOSIGNAL))
                if isCut { end(client, server) }
            }
        }
    }

    private static func end(_ sockets: Int32...) {
        for socket in sockets { shutdown(socket, Int32(SHUT_WR)) }
    }
}
#endif
