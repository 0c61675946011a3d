// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.addresses), .throttled)
struct TLSContextsTests {
    private func request(pinned number: UInt8 = 0) throws -> TransportRequest {
        var request = TransportRequest(urlRequest: URLRequest(url: try #require(URL(string: "https://a.test/"))))
        let hash = Data(repeating: number, count: 32).base64EncodedString()
        request.pins = SSLPinningPolicy.PinSet(publicKeyHashes: ["sha256/" + hash])
        return request
    }

    @Test func requestsWithEqualSettingsShareOne() throws {
        let contexts = TLSContexts(.system)
        let first = try contexts.context(for: request(), offersHTTP2: true)
        #expect(try contexts.context(for: request(), offersHTTP2: true) === first)
        #expect(try contexts.context(for: request(), offersHTTP2: false) !== first)
        #expect(try contexts.context(for: request(pinned: 1), offersHTTP2: true) !== first)
    }

    /// Those that are dropped are freed, though not while the others wait.
    @Test func onlyAFewAreKept() throws {
        let contexts = TLSContexts(.system)
        weak var first: TLSContext?
        let second: TLSContext
        do {
            let made = try contexts.context(for: request(pinned: 0), offersHTTP2: true)
            first = made
            second = try contexts.context(for: request(pinned: 1), offersHTTP2: true)
        }
        for number in 2..<32 as Range<UInt8> {
            _ = try contexts.context(for: request(pinned: number), offersHTTP2: true)
        }
        #expect(first != nil)
        let last = try contexts.context(for: request(pinned: 32), offersHTTP2: true)
        #expect(first == nil)
        #expect(try contexts.context(for: request(pinned: 32), offersHTTP2: true) === last)
        #expect(try contexts.context(for: request(pinned: 1), offersHTTP2: true) !== second)
    }
}
#endif
