// SPDX-License-Identifier: MIT

import Contending
import PulseKit

/// ``PulseContender``'s request, with the time in our own layer recorded: building the request, the client's own steps
/// before and after the transport, and decoding.
final class LayerContender: Contender {
    private let client: PulseClient
    private let clock = SystemClock()
    // Unchecked: accessed only under the lock.
    nonisolated(unsafe) private var times: [Double] = []
    private let lock = NSLock()

    init(_ transport: any Transport, server: URL) {
        client = PulseClient(configuration: PulseConfiguration(baseURL: server), transport: transport)
        times.reserveCapacity(1 << 16)
    }

    func user(at url: URL) async throws -> User {
        let start = clock.uptime
        let response: PulseResponse = try await client.rawRequest(GetUser())
        let user = try response.decode(User.self)
        let time = clock.uptime - start - response.latency
        lock.withLock { times.append(time) }
        return user
    }

    func takeLayerTimes() -> [Double] {
        lock.withLock {
            defer { times.removeAll(keepingCapacity: true) }
            return times
        }
    }
}
