// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// A stored answer on its way to a caller.
struct CacheAnswer: Sendable {
    /// Bytes of an error's body in a stream, as transports cut it.
    private static let errorBodyLimit = 64 << 10

    private let stored: CachedResponse
    private let origin: PulseResponse.Origin
    private let age: Int?

    /// - Parameter age: in seconds; nil for an answer that the server has just confirmed, which has none (RFC 9111,
    ///   section 5.1).
    init(_ stored: CachedResponse, _ origin: PulseResponse.Origin, age: Int?) {
        self.stored = stored
        self.origin = origin
        self.age = age
    }

    /// The answer in the form that the call wants, with the call's own request; nil if the body is damaged. Throws
    /// ``PulseError/responseTooLarge(limit:)`` as a transport would.
    func response(to exchange: CacheExchange) async throws -> PulseResponse? {
        var headers = stored.head.headers
        if let age { headers["Age"] = String(age) }
        var response = PulseResponse(
            statusCode: stored.head.statusCode, headers: headers, request: exchange.request, origin: origin)
        guard exchange.rules.method != .head else { return response }
        if case .buffered(let limit) = exchange.context.delivery, stored.body.count > limit {
            throw PulseError.responseTooLarge(limit: limit)
        }
        if let data = stored.body.inMemory, !exchange.isStreamed {
            response.data = data
            return response
        }
        do {
            try await fill(&response, isStreamed: exchange.isStreamed)
        } catch {
            return nil
        }
        return response
    }

    private func fill(_ response: inout PulseResponse, isStreamed: Bool) async throws {
        guard isStreamed else {
            response.data = try await stored.body.data()
            return
        }
        if (200..<300).contains(response.statusCode) {
            response.bytes = try await stored.body.stream()
            return
        }
        let data = try await stored.body.data()
        response.data = Data(data.prefix(Self.errorBodyLimit))
        response.isTruncated = data.count > Self.errorBodyLimit
    }
}
