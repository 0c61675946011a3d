// SPDX-License-Identifier: MIT

import Contending
import PulseKit

/// A transport without the client above it, and without decoding.
struct TransportContender: Contender {
    let transport: any Transport

    func user(at url: URL) async throws -> User {
        let request = TransportRequest(urlRequest: URLRequest(url: url))
        let response = try await transport.send(request)
        guard response.statusCode == 200, response.data.count == 47 else { throw WrongResponse() }
        return User(id: 42, name: "", isActive: true)
    }

    func stream(_ url: URL) async throws -> Int {
        let request = TransportRequest(urlRequest: URLRequest(url: url), delivery: .streamed)
        guard let bytes = try await transport.send(request).bytes else { throw WrongResponse() }
        var count = 0
        for try await chunk in bytes { count += chunk.count }
        return count
    }
}
