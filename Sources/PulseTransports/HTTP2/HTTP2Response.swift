// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// The response of one stream, as far as its exchange has read it: a pure value.
struct HTTP2Response {
    private let isHeadRequest: Bool
    private let isStreamed: Bool
    private(set) var head: ResponseHead?
    /// The content codings removed from the body, or left for its reader to remove; the last applied first.
    private(set) var codings: [ContentCoding] = []
    /// Whether the body is taken piece by piece.
    private(set) var isStreaming = false
    private(set) var isMisdirected = false
    private(set) var body: BufferedBody

    /// - Parameter isHeadRequest: whether the method is HEAD, whose response has no body.
    init(to delivery: TransportRequest.Delivery, isHeadRequest: Bool) {
        self.isHeadRequest = isHeadRequest
        if case .buffered(let limit) = delivery {
            isStreamed = false
            body = BufferedBody(limit: limit)
        } else {
            isStreamed = true
            body = BufferedBody(limit: PulseResponse.errorBodyLimit, cuts: true)
        }
    }

    /// Whether the status says that the server does not want the rest of the request's body.
    var refusesBody: Bool { head.map { $0.statusCode >= 300 } ?? false }

    /// Throws ``HTTP1ResponseParser/Malformed``, and the errors of ``BufferedBody``.
    mutating func begin(_ received: HTTP2Connection.Head) throws {
        let length = try received.framing.bodyLength(isHead: isHeadRequest)
        head = received.head
        isMisdirected = received.framing.isMisdirected
        codings = received.framing.contentCodings(isHead: isHeadRequest)
        isStreaming = isStreamed && (200..<300).contains(received.head.statusCode)
        guard !isStreaming else { return }
        if case .bytes(let length) = length {
            try body.begin(codings: codings, length: length)
        } else {
            try body.begin(codings: codings, length: nil)
        }
    }

    /// Consumes bytes of a body that is not streamed. Truncation at the limit is not an error.
    mutating func take(_ bytes: Data) throws {
        do {
            try bytes.withUnsafeBytes { try body.take($0) }
        } catch  where body.isTruncated {}
    }

    /// Throws if the coded body is incomplete.
    mutating func finish() throws {
        try body.finish()
    }
}
#endif
