// SPDX-License-Identifier: MIT

import PulseCore

/// A listener that accepts nothing and whose backlog is full: connecting to it neither succeeds nor fails.
package enum FullBacklog {
    package static func with(_ body: (_ address: String) async throws -> Void) async throws {
        let (listener, port) = try SocketDescriptor.listening(on: .ipv4, backlog: 0)
        // A backlog of 0 holds one connection on Linux and some more elsewhere; further ones wait.
        let fillers = try (0..<8).map { _ in try SocketDescriptor.connecting(toLoopbackPort: port) }
        defer { (fillers + [listener]).forEach { $0.dispose() } }
        try await body("http://127.0.0.1:\(port)/")
    }
}
