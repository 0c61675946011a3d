// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseNetworking
import PulseTesting

extension TransportConformance {
    /// The conformance of `SocketTransport` over HTTP/2, without the cases whose subject is HTTP/1.1.
    package static let socketTransportOverHTTP2 = TransportConformance(
        overHTTP2: "SocketTransport over HTTP/2", exclusions: ofHTTP2, timeLimit: 600
    ) { maxConnectionsPerHost in
        SocketTransport(maxConnectionsPerHost: maxConnectionsPerHost)
    }

    private static let isSyntax = "its subject is the syntax of HTTP/1.1; HTTP/2 has frames in its place"
    private static let isConnection =
        "its subject are connections of HTTP/1.1, which carry one request at a time; `HTTP2WireTests` has the ends of streams "
        + "and of their connections"
    private static let isBehindTheFront =
        "each stream has a connection of its own behind the test's HTTP/2 server, which closes a moment after the stream; "
        + "`HTTP2WireTests` counts streams"
    private static let hasOwnServers = "against TLS servers of the case's own, which speak HTTP/1.1"

    private static let ofHTTP2: [String: String] = {
        var reasons = [
            "no host gets more connections than its limit": isBehindTheFront,
            "a thousand concurrent requests share the permitted connections": isBehindTheFront,
            "a header line that takes longer than the idle timeout arrives if bytes keep coming":
                "the test's HTTP/2 server has no header field before it has all",
        ]
        for name in syntaxes { reasons[name] = isSyntax }
        for name in connectionNames { reasons[name] = isConnection }
        for promise in tls { reasons[promise.name] = hasOwnServers }
        return reasons
    }()

    private static let syntaxes = [
        "a response in chunks with extensions, and sizes in any case, is read whole",
        "bytes beyond the Content-Length are not part of a response",
        "a Content-Length delimits the body",
        "chunked framing delimits the body, and ambiguous framing closes the connection",
        "without a length or chunked framing the body ends with the connection",
        "undefined framing or a malformed header line is an error",
        "a response with a status line without a reason is read whole",
        "a response with a status line with an empty reason is read whole",
        "a response of HTTP/1.0 is read whole",
        "a response with a field without a space after its colon is read whole",
        "a response with a field with spaces around its value is read whole",
        "a response with the same Content-Length twice is read whole",
        "a lone CR in a header value is read as a space, and one at its end is removed",
        "a folded header value is one value",
        "a chunk size that is not a number is an error",
        "a chunk size of more than 64 bits is an error",
        "garbage in place of a status line is an error",
        "another protocol in place of HTTP is an error",
        "a status that is not a number is an error",
        "a response truncated within a header line is an error",
        "a header block without its blank line is an error",
        "a response truncated after its status line is an error",
        "an endless status line is an error",
        "endless header fields are an error",
        "an endless header field is an error",
    ]

    private static let connectionNames = [
        "GET on a kept-alive connection that is closed is sent once and fails as stale",
        "GET on a kept-alive connection that is reset is sent once and fails as stale",
        "a POST with an idempotency key on a kept-alive connection that is closed is sent once and fails as stale",
        "a POST with an idempotency key on a kept-alive connection that is reset is sent once and fails as stale",
        "a request that needs a new connection gets one",
        "an idle connection near its timeout carries no request that must not be resent",
        "consecutive requests share a connection",
        "a connection that the server closed is not reused",
        "unsolicited bytes from a server are no response to a request",
        "Connection: close is respected",
    ]
}
#endif
