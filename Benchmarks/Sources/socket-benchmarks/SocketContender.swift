// SPDX-License-Identifier: MIT

import Contending
import PulseKit

/// PulseKit's socket with its default options.
struct SocketContender: Contender {
    private struct Echo: SocketEndpoint {
        let path = "/"
    }

    private let socket: PulseSocket

    init(server: URL) {
        socket = PulseSocket(
            endpoint: Echo(), client: PulseClient(configuration: PulseConfiguration(baseURL: server)))
    }

    func echoes(_ url: URL, size: Int, window: Int, until end: Double) async throws -> Int {
        try await echoes(size: size, window: window) { _ in ResourceUse.uptime >= end }
    }

    /// - Parameter isOver: whether nothing is sent any more, by the number of messages that came back.
    func echoes(size: Int, window: Int, _ isOver: (Int) -> Bool) async throws -> Int {
        try await socket.connect()
        let message = SocketMessage.binary(Data(repeating: 0x61, count: size))
        for _ in 0..<window { try await socket.send(message) }
        var (count, pending) = (0, window)
        while pending > 0 {
            guard case .binary(let data) = try await socket.receive(), data.count == size else { throw WrongResponse() }
            count += 1
            if isOver(count) { pending -= 1 } else { try await socket.send(message) }
        }
        return count
    }

    func close() async {
        await socket.close()
    }
}
