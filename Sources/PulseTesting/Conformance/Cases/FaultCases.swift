// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    private static let lostWithin = ExpectedFailure.transport(.networkConnectionLost, .responseStarted)
    private static let lostBefore = ExpectedFailure.transport(.networkConnectionLost, .maybeSent)
    /// The failure of truncated header fields. Whether they count as the beginning of a response is not specified.
    private static let lostInHead = ExpectedFailure.transport(.networkConnectionLost, .maybeSent, .responseStarted)

    static let brokenBodies: [Self] = [
        .wire(
            "a body truncated by the end of the connection is an error",
            response: .data(.megabyte).truncated(after: 1000),
            fails: lostWithin),
        .wire(
            "a chunked body truncated within a chunk is an error",
            response: .data(.everyByte).framed(.chunked(sizes: [100])).truncated(after: 150), fails: lostWithin),
        .wire(
            "a chunked body truncated between chunks is an error",
            response: .data(.everyByte).framed(.chunked(sizes: [100])).truncated(after: 200), fails: lostWithin),
        .wire(
            "a connection reset within the body is an error",
            response: .data(.everyByte).fault(.reset, at: .body(100)), fails: lostWithin),
        .wire(
            "a connection reset within a chunked body is an error",
            response: .data(.everyByte).framed(.chunked(sizes: [100])).fault(.reset, at: .body(150)), fails: lostWithin),
        .wire(
            "two different Content-Lengths are an error",
            response: .data(.everyByte).framed(.conflictingLengths(100, 256)), fails: .badResponse),
        raw("a Content-Length that is not a number", "HTTP/1.1 200 OK\r\nContent-Length: 12x\r\n\r\n0123456789ab"),
        raw("a Content-Length below 0", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n01234"),
        raw(
            "a chunk size that is not a number",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n0\r\n\r\n"),
        raw(
            "a chunk size of more than 64 bits",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
    ]

    static let brokenHeads: [Self] = [
        raw("garbage in place of a status line", "\u{1}\u{2}garbage\u{3}\r\nmore of it\r\n\r\n"),
        raw("another protocol in place of HTTP", "220 mail.test ESMTP ready\r\n"),
        raw("a status that is not a number", "HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\nok"),
        .wire(
            "an unrequested protocol switch is an error at once",
            response: .raw([
                .text("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), .stall,
            ]), fails: .badResponse),
        .wire(
            "a response truncated within a header line is an error",
            response: .raw([.text("HTTP/1.1 200 OK\r\nContent-Le"), .close]), fails: lostInHead),
        .wire(
            "a header block without its blank line is an error",
            response: .raw([.text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"), .close]), fails: lostInHead),
        .wire(
            "a response truncated after its status line is an error",
            response: .raw([.text("HTTP/1.1 200 OK\r\n"), .close]), fails: lostInHead),
    ]

    static let lostConnections: [Self] =
        [.get, .post].flatMap { (method: HTTPMethod) -> [Self] in
            [
                .wire(
                    "a connection reset before the response to \(method) is an error",
                    response: .raw([.reset]), method: method, fails: lostBefore),
                .wire(
                    "a connection closed before the response to \(method) is an error",
                    response: .disconnect, method: method, fails: lostBefore),
            ]
        } + [
            .wire("a connection closed after another address refused may have delivered the request") { _ in
                .disconnect
            } verify: { stage in
                // With IPv6, ::1 is tried first, and it has no listener.
                let address = stage.baseURL.absoluteString.replacingOccurrences(of: "127.0.0.1", with: "localhost")
                let request = try stage.request(.post, at: address, body: .bytes(.everyByte))
                try await stage.expect(lostBefore, of: request)
            },
            .wire("a server that closes the connection after reading a POST gets it once") { request in
                request.path == "/warm" ? .text("warm") : .disconnect
            } verify: { stage in
                try await stage.expectOneArrival(ofPOSTTo: "/once")
            },
            .wire("a server that resets the connection after reading a POST gets it once") { request in
                request.path == "/warm" ? .text("warm") : .raw([.reset])
            } verify: { stage in
                try await stage.expectOneArrival(ofPOSTTo: "/once")
            },
        ]

    static let timeouts: [Self] = [
        .wire(
            "a server that never responds causes a timeout", response: .raw([.stall]), idleTimeout: 0.3,
            fails: .kind(.timeout)),
        .wire(
            "a server that stalls within the header fields causes a timeout",
            response: .data(.everyByte).fault(.stall, at: .head(20)), idleTimeout: 0.3, fails: .kind(.timeout)),
        .wire(
            "a server that stalls within the body causes a timeout",
            response: .data(.everyByte).fault(.stall, at: .body(100)), idleTimeout: 0.3, fails: .kind(.timeout)),
        .wire("a timeout closes the connection") { _ in
            .raw([.stall])
        } verify: { stage in
            // The first timeout may expire before there is a connection.
            for seconds in [0.3, 2, 8] as [TimeInterval] where stage.requests.isEmpty {
                try await stage.expect(.kind(.timeout), of: stage.request(.post, idleTimeout: seconds))
            }
            try await stage.requestsSent(atLeast: 1)
        },
        .wire("a server that reads a body and never responds causes a timeout in time") { _ in
            .raw([.stall])
        } verify: { stage in
            for body in [Data.everyByte, .megabyte] {
                try await stage.expectTimeoutInTime(of: .bytes(body))
            }
        },
        .wire("a response that takes longer than the idle timeout arrives if bytes keep coming") { request in
            [.body(1), .body(2), .body(3), .body(4), .head(20)].reduce(.text("12345")) {
                $0.fault(.delay(request.gap), at: $1)
            }
        } verify: { stage in
            try await stage.expectSlowly("12345")
        },
    ]

    private static func raw(_ name: String, _ response: String) -> Self {
        .wire("\(name) is an error", response: .raw([.text(response), .close]), fails: .badResponse)
    }
}

extension RecordedRequest {
    /// The seconds between two bytes that ``ConformanceStage/expectSlowly(_:)`` requests from the server.
    var gap: TimeInterval { TimeInterval(path.dropFirst()) ?? 0 }
}

extension ConformanceStage {
    /// Expects a response that pauses five times, with a timeout that is longer than each pause and shorter than their
    /// sum. A transport that limits the total fails for every length; on a busy machine the longer pauses pass.
    func expectSlowly(_ text: String) async throws {
        for gap in [0.25, 1, 2] as [TimeInterval] {
            do {
                let request = try request(.get, "/\(gap)", idleTimeout: 4 * gap)
                try await expect(status: 200, body: Data(text.utf8), of: request)
                return
            } catch {
                guard gap < 2 else { throw error }
            }
        }
    }

    /// Expects a POST without a response to wait less than twice its timeout. A transport that waits longer fails for
    /// every timeout; on a busy machine the longer timeouts pass.
    fileprivate func expectTimeoutInTime(of body: TransportRequest.Body) async throws {
        for seconds in [0.3, 2, 8] as [TimeInterval] {
            let start = SystemClock().uptime
            try await expect(.kind(.timeout), of: request(.post, body: body, idleTimeout: seconds))
            let elapsed = SystemClock().uptime - start
            if elapsed < 2 * seconds { return }
            try Check.that(seconds < 8, "a timeout of \(seconds) s took \(elapsed) s")
        }
    }

    /// Expects a failed POST to arrive once on a reused connection, where HTTP engines resend on their own.
    fileprivate func expectOneArrival(ofPOSTTo target: String) async throws {
        for _ in 0..<3 { _ = try await get("/warm") }
        let request = try request(.post, target, body: .bytes(.everyByte))
        try await expect(.transport(.networkConnectionLost, .maybeSent), of: request)
        // A resent request would have arrived before this one.
        _ = try await get("/warm")
        let arrived = requests.filter { $0.path == target }
        try Check.equal(arrived.count, 1, "the number of times that the POST arrived")
        try Check.equal(arrived[0].body, .everyByte, "its body")
    }
}
