// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking

extension TransportConformance {
    /// The conformance of `URLSessionTransport` on this platform.
    package static let urlSessionTransport = TransportConformance(
        "URLSessionTransport", exclusions: ofURLSession.merging(ofFoundation) { $1 }, timeLimit: 60
    ) { maximumConnectionsPerHost in
        URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
    }

    #if canImport(FoundationNetworking)
    /// The transport as on other platforms, with streams, to test the logic they have in common: here nothing holds a
    /// server back.
    package static let streamingURLSessionTransport = TransportConformance(
        "URLSessionTransport, streaming", exclusions: urlSessionTransport.exclusions.merging(ofSuspending) { $1 },
        timeLimit: 60
    ) { maximumConnectionsPerHost in
        URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost, holdsServersBack: true)
    }

    private static let ofSuspending: [String: String] = [:]
    #endif

    private static let ofURLSession = [
        "GET carries a body of bytes": "`URLSession` refuses it; told as `.unsupported`, before anything is sent",
        "a connection that hangs cannot be made, and nothing was sent":
            "connecting falls under the idle timeout, and nothing tells whether it was over: `.timeout`",
    ]

    #if canImport(FoundationNetworking)
    private static let collectsHeaders = "Foundation collects what belongs to a head without a limit, in memory"
    private static let sendsAgain =
        "libcurl sends it again by itself, up to five times, and Foundation has no way to stop it: unseen by the client"
    private static let undoesCodings =
        "Foundation leaves codings to libcurl, which takes one gzip member and no padding, and refuses what it does not know"
    private static let cutsPass = "libcurl takes the end of the body for that of its coding"
    private static let ownHeads =
        "libcurl and Foundation's parser each read the head in their own way, and refuse little of what is doubtful"
    private static let endsTheProcess = "**ends the process** (NativeProtocol.swift:240, no response)"

    /// Measured with Swift 6.3.1 over libcurl 7.88.
    private static let ofFoundation = [
        "header lines that repeat in another case come in their order":
            "Foundation collects fields by their spelling, and the order between spellings is lost",
        "a status from 301 to 308 without a Location keeps its body":
            "Foundation keeps the bodies of these statuses back, and drops them where there is no Location",
        "an answer in chunks with trailers is read whole": endsTheProcess,
        "an answer with a status line without a reason is read whole":
            "Foundation's parser wants the space before the reason: `badServerResponse`",
        "an answer with a field without a space after its colon is read whole":
            "Foundation's parser wants a space there: `badServerResponse`",
        "an answer with a header value that is Latin-1 and no UTF-8 is read whole":
            "Foundation's parser wants UTF-8: `badServerResponse`",
        "a head that tells a length is read by it": "Foundation's parser wants a space there: `badServerResponse`",
        "a head that tells of chunks is read by them, and a doubtful one ends its connection": ownHeads,
        "a head that leaves open where its body ends, or has a line that is no field, is an error": ownHeads,
        "a CR alone in a header value is read as a space, and one at its end is none of it": ownHeads,
        "an answer that switches protocols unasked is an error at once": ownHeads,
        "gzip of several members is decoded, and the headers that told about it are gone": undoesCodings,
        "gzip with padding behind it is decoded, and the headers that told about it are gone": undoesCodings,
        "a coded stream or download comes decoded": undoesCodings,
        "a coding that nobody knows leaves status, header and body as they are": undoesCodings,
        "a part of a coded body comes as it is": undoesCodings,
        "a coded body that ends before its coding does is an error, wherever it is cut": cutsPass,
        "a coded stream that is cut is an error, after what could be decoded": cutsPass,
        "a coded body that decodes to nothing without end is cut at the limit": undoesCodings,
        "bytes beyond the Content-Length belong to no answer":
            "libcurl leaves them in the connection, where the next answer is looked for: `badServerResponse`",
        "what a server sends unasked answers no request":
            "libcurl does not look at a connection that it takes up again: the next request gets it as its answer",
        "GET whose kept-alive connection is closed arrives once, and fails as stale": sendsAgain,
        "GET whose kept-alive connection is reset arrives once, and fails as stale": sendsAgain,
        "a POST with an idempotency key whose kept-alive connection is closed arrives once, and fails as stale":
            sendsAgain,
        "a POST with an idempotency key whose kept-alive connection is reset arrives once, and fails as stale":
            sendsAgain,
        "an endless body with the greatest length of 64 bits is cut at the limit":
            "**ends the process**: Foundation has the length as a Double, which is then too large for an Int64",
        "a server that sends without end holds up nobody else":
            "all sessions share the queue that reads; while data is there Foundation does nothing else, and its timers pile up",
        "an endless body of a redirect is cut at the limit":
            "Foundation keeps it back until it ends, in memory; a deadline is the only bound",
        "a thousand requests at once share the connections that there may be":
            "Foundation closes connections late: for a moment some more than allowed are open",
        "a line of a head that takes longer than the idle timeout comes, as long as it goes on":
            "Foundation counts the lines of a head, not their bytes",
        "a status line without end is an error": collectsHeaders,
        "header fields without end are an error": collectsHeaders,
        "a header field without end is an error": collectsHeaders,
        "interim answers without end are an error": collectsHeaders,
        "a head that is cut within a line is an error": endsTheProcess,
        "a head that is cut after its status line is an error": endsTheProcess,
    ]
    #else
    private static let ofFoundation: [String: String] = [:]
    #endif
}
