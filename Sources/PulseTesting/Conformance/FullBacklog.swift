// SPDX-License-Identifier: MIT

import PulseCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A listener without an acceptor and with a full backlog: connecting to it neither succeeds nor fails.
enum FullBacklog {
    static func with(_ body: (_ address: String) async throws -> Void) async throws {
        let (listener, port) = try SocketDescriptor.listening(on: .ipv4, backlog: 0)
        // A backlog of 0 holds one connection on Linux and some more elsewhere; further ones wait.
        let fillers = try (0..<8).map { _ in try SocketDescriptor.connecting(toLoopbackPort: port) }
        defer { (fillers + [listener]).forEach { $0.dispose() } }
        try await body("http://127.0.0.1:\(port)/")
    }
}

extension SocketDescriptor {
    /// A socket that has started to connect.
    fileprivate static func connecting(toLoopbackPort port: Int) throws -> SocketDescriptor {
        let descriptor = try SocketDescriptor.stream(AF_INET)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }
}
