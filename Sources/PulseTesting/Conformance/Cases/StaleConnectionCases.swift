// SPDX-License-Identifier: MIT

import PulseCore

extension TransportConformance.Case {
    /// Whether a request that was lost with its connection goes out again is the client's decision, which plugins and
    /// events see. So nothing below sends it again, whatever its method.
    static let staleConnections: [Self] =
        [
            arrival(of: .get, "GET", ends: .closed), arrival(of: .get, "GET", ends: .reset),
            arrival(of: .post, "a POST with an idempotency key", ends: .closed),
            arrival(of: .post, "a POST with an idempotency key", ends: .reset),
            .wire("a request that needs a new connection gets one") { request in
                .text("\(request.connection)")
            } play: { stage in
                let first = try await stage.get()
                try Check.equal(try await stage.get().text, first.text, "the connection of the second request")
                var request = try stage.request()
                request.needsNewConnection = true
                let third = try await stage.send(request)
                try Check.that(third.text != first.text, "the third request came over the first one's connection")
            },
            .wire("an idle connection near the end of its time carries no request that must not be repeated") { _ in
                .text("answer", headers: ["Keep-Alive": "timeout=1, max=100"])
            } play: { stage in
                _ = try await stage.get()
                _ = try await stage.send(stage.request(.post))
                try Check.equal(Set(stage.requests.map(\.connection)).count, 2, "the number of connections")
            },
        ]

    private enum End {
        case closed, reset
    }

    /// The request comes over a connection that has carried one before, and ends there.
    private static func arrival(of method: HTTPMethod, _ what: String, ends end: End) -> Self {
        let name = "\(what) whose kept-alive connection is \(end) arrives once, and fails as stale"
        return .wire(name) { request in
            guard request.path == "/once" else { return .text("warm") }
            return end == .closed ? .unanswered : .raw([.reset])
        } play: { stage in
            _ = try await stage.get("/warm")
            let request = try stage.request(
                method, "/once", headers: method == .post ? ["Idempotency-Key": "key"] : [:],
                body: method == .post ? .bytes(.everyByte) : .none)
            var expected = ExpectedFailure.transport(.networkConnectionLost, .maybeSent)
            expected.isStale = true
            try await stage.expect(expected, of: request)
            // A request sent again would have come before this one.
            _ = try await stage.get("/warm")
            let arrived = stage.requests.filter { $0.path == "/once" }
            try Check.equal(arrived.count, 1, "the number of times that it arrived")
            try Check.that(arrived[0].indexOnConnection > 0, "it came over a connection of its own")
        }
    }
}
