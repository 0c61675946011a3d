// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct SocketExchangeTests {
    /// The connection may be open by then, or have been idle.
    @Test(arguments: [false, true])
    func aCancelledRequestIsNotSent(isReused: Bool) async throws {
        let url = try #require(URL(string: "http://a.test/"))
        let origin = try #require(Origin(url))
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = "POST"
        let request = TransportRequest(urlRequest: urlRequest, body: .bytes(Data("body".utf8)), proxy: .direct)
        let pool = ConnectionPool(limit: 4)
        let exchange = try SocketExchange(
            request, url, origin, nil, Connector(environment: { _ in nil }), pool, offersHTTP2: false, startedAt: 0)
        let slot = try await ConnectionSlots(limit: 1).slot(origin, for: request)
        let pooled = PooledConnection(connection: FakeConnection(), key: exchange.key)
        let call = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await exchange.send(over: pooled, isReused ? nil : PulseResponse.Timings(), holding: slot)
        }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(pool.sizes.idle == 0)
    }
}
#endif
