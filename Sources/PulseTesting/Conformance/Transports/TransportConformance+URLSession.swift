// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting

extension TransportConformance {
    /// The conformance of `URLSessionTransport` on this platform.
    package static let urlSessionTransport = TransportConformance(
        "URLSessionTransport", exclusions: ofURLSession.merging(ofFoundation) { $1 }.merging(ofTLS) { $1 },
        timeLimit: 600
    ) { maxConnectionsPerHost in
        URLSessionTransport(maxConnectionsPerHost: maxConnectionsPerHost)
    }

    #if canImport(FoundationNetworking)
    /// The transport with streams, as on other platforms, to test the shared logic. On Linux it has no backpressure.
    package static let streamingURLSessionTransport = TransportConformance(
        "URLSessionTransport, streaming", exclusions: urlSessionTransport.exclusions.merging(ofSuspending) { $1 },
        timeLimit: 600
    ) { maxConnectionsPerHost in
        URLSessionTransport(maxConnectionsPerHost: maxConnectionsPerHost, appliesBackpressure: true)
    }

    private static let ofSuspending: [String: String] = [:]
    #endif

    private static let ofURLSession = [
        "GET sends a body of bytes": "`URLSession` refuses it: `.unsupported`, before anything is sent",
        "a connection that hangs is an error before anything is sent":
            "connecting counts as idle time, and its end is unknown: `.timeout`",
    ]

    #if canImport(FoundationNetworking)
    private static let collectsHeaderFields =
        "Foundation collects status line and header fields in memory without a limit"
    private static let resends =
        "libcurl resends it by itself, up to five times, invisible to the client; Foundation cannot stop it"
    private static let limitsCodings =
        "Foundation leaves codings to libcurl, which supports one gzip member without padding and refuses unknown codings"
    private static let acceptsTruncation = "libcurl treats the end of the body as the end of its coding"
    private static let parsesLeniently =
        "libcurl and Foundation's parser parse these fields differently and refuse few ambiguous ones"
    private static let closesWatchedSockets =
        "libcurl closes the socket under Foundation's dispatch source: the socket that gets its number next may get no events"
    private static let endsTheProcess = "**ends the process** (NativeProtocol.swift:240, no response)"

    /// Measured with Swift 6.3.1 over libcurl 7.88.
    private static let ofFoundation = [
        "repeated header lines of different case keep their order":
            "Foundation groups fields by their spelling and loses the order between spellings",
        "a status from 301 to 308 without a Location keeps its body":
            "Foundation holds back the bodies of these statuses and drops them without a Location",
        "a response in chunks with trailers is read whole": endsTheProcess,
        "a response with a status line without a reason is read whole":
            "Foundation's parser requires the space before the reason: `badServerResponse`",
        "a response with a field without a space after its colon is read whole":
            "Foundation's parser requires a space there: `badServerResponse`",
        "a response with a header value that is Latin-1 and not UTF-8 is read whole":
            "Foundation's parser requires UTF-8: `badServerResponse`",
        "a Content-Length delimits the body": "Foundation's parser requires a space there: `badServerResponse`",
        "chunked framing delimits the body, and ambiguous framing closes the connection": parsesLeniently,
        "undefined framing or a malformed header line is an error": parsesLeniently,
        "a lone CR in a header value is read as a space, and one at its end is removed": parsesLeniently,
        "an unrequested protocol switch is an error at once": parsesLeniently,
        "gzip of several members is decoded, and its header fields are removed": limitsCodings,
        "gzip with padding behind it is decoded, and its header fields are removed": limitsCodings,
        "a coded stream or download is decoded": limitsCodings,
        "an unknown coding leaves status, header fields and body unchanged": limitsCodings,
        "a part of a coded body is returned undecoded": limitsCodings,
        "a truncated coded body is an error at every length": acceptsTruncation,
        "a truncated coded stream is an error after the decoded bytes": acceptsTruncation,
        "an endless coded body that decodes to nothing is stopped at the limit": limitsCodings,
        "bytes beyond the Content-Length are not part of a response":
            "libcurl leaves them in the connection and reads them as the next response: `badServerResponse`",
        "unsolicited bytes from a server are no response to a request":
            "libcurl does not check a reused connection: the next request gets the bytes as its response",
        "GET on a kept-alive connection that is closed is sent once and fails as stale": resends,
        "GET on a kept-alive connection that is reset is sent once and fails as stale": resends,
        "a POST with an idempotency key on a kept-alive connection that is closed is sent once and fails as stale":
            resends,
        "a POST with an idempotency key on a kept-alive connection that is reset is sent once and fails as stale":
            resends,
        "an endless body with the greatest length of 64 bits is stopped at the limit":
            "**ends the process**: Foundation stores the length as a Double, which is then too large for an Int64",
        "a server that sends without end blocks no other request":
            "all sessions share one read queue; while data arrives Foundation does nothing else, and its timers are delayed",
        "an endless body of a redirect is stopped at the limit":
            "Foundation collects it in memory until it ends; a deadline is the only bound",
        "a thousand concurrent requests share the permitted connections":
            "Foundation closes connections late: for a moment more than allowed are open",
        "a header line that takes longer than the idle timeout arrives if bytes keep coming":
            "Foundation counts header lines, not their bytes",
        "a connection that hangs ends with a timeout": closesWatchedSockets,
        "a cancellation while connecting ends the wait": closesWatchedSockets,
        "an endless status line is an error": collectsHeaderFields,
        "endless header fields are an error": collectsHeaderFields,
        "an endless header field is an error": collectsHeaderFields,
        "endless interim responses are an error": collectsHeaderFields,
        "a response truncated within a header line is an error": endsTheProcess,
        "a response truncated after its status line is an error": endsTheProcess,
    ]

    private static let ofTLS = Dictionary(
        uniqueKeysWithValues: tls.map {
            (
                $0.name,
                "Foundation on Linux verifies by its own rules alone: the client refuses the settings as `.unsupported`"
            )
        })
    #else
    private static let ofFoundation: [String: String] = [:]
    private static let ofTLS: [String: String] = [:]
    #endif
}
