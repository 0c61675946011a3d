// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    /// No transport resends a request that was lost with its connection, whatever its method: the client decides about
    /// that, visibly to plugins and events.
    static let staleConnections: [Self] =
        [
            arrival(of: .get, "GET", ends: .closed), arrival(of: .get, "GET", ends: .reset),
            arrival(of: .post, "a POST with an idempotency key", ends: .closed),
            arrival(of: .post, "a POST with an idempotency key", ends: .reset),
            .wire("a request that needs a new connection gets one") { request in
                .text("\(request.connection)")
            } verify: { stage in
                let first = try await stage.get()
                try Check.equal(try await stage.get().text, first.text, "the connection of the second request")
                var request = try stage.request()
                request.needsNewConnection = true
                let third = try await stage.send(request)
                try Check.that(third.text != first.text, "the third request used the first one's connection")
            },
            .wire("an idle connection near its timeout carries no request that must not be resent") { _ in
                .text("answer", headers: ["Keep-Alive": "timeout=1, max=100"])
            } verify: { stage in
                _ = try await stage.get()
                _ = try await stage.send(stage.request(.post))
                try Check.equal(Set(stage.requests.map(\.connection)).count, 2, "the number of connections")
            },
        ]

    private enum End {
        case closed, reset
    }

    /// The request arrives on a reused connection, which then ends.
    private static func arrival(of method: HTTPMethod, _ what: String, ends end: End) -> Self {
        let name = "\(what) on a kept-alive connection that is \(end) is sent once and fails as stale"
        return .wire(name) { request in
            guard request.path == "/once" else { return .text("warm") }
            return end == .closed ? .disconnect : .raw([.reset])
        } verify: { stage in
            _ = try await stage.get("/warm")
            let request = try stage.request(
                method, "/once", headers: method == .post ? ["Idempotency-Key": "key"] : [:],
                body: method == .post ? .bytes(.everyByte) : .none)
            var expected = ExpectedFailure.transport(.networkConnectionLost, .maybeSent)
            expected.isStale = true
            try await stage.expect(expected, of: request)
            // A resent request would have arrived before this one.
            _ = try await stage.get("/warm")
            let arrived = stage.requests.filter { $0.path == "/once" }
            try Check.equal(arrived.count, 1, "the number of times that it arrived")
            try Check.that(arrived[0].indexOnConnection > 0, "it used a separate connection")
        }
    }
}
