// SPDX-License-Identifier: MIT

import PulseKit

/// Runs `body` with a transport, which is shut down whatever the outcome.
public func withTransport<Value>(
    _ transport: any Transport = StandardTransport(), _ body: (any Transport) async throws -> Value
) async throws -> Value {
    do {
        let value = try await body(transport)
        await transport.shutdown()
        return value
    } catch {
        await transport.shutdown()
        throw error
    }
}

extension PulseResponse {
    /// The body as UTF-8.
    public var text: String { String(decoding: data, as: UTF8.self) }
}
