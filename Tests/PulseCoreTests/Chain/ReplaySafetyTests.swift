// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct ReplaySafetyTests {
    private func request(_ method: String, key: String? = nil) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com/")))
        request.httpMethod = method
        request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
        return request
    }

    @Test func aGetThatWasSentAsAPostIsNotRepeated() throws {
        let get = try request("GET")
        #expect(ReplaySafety(of: get, in: .mock()).allowsRepeat())
        #expect(!ReplaySafety(of: get, sent: try request("POST"), in: .mock()).allowsRepeat())
        #expect(ReplaySafety(of: get, sent: try request("POST", key: "k"), in: .mock()).allowsRepeat())
    }
}
