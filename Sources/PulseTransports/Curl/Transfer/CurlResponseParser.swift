// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// A partial response: a pure value that consumes the lines of the head and the bytes of a buffered body.
struct CurlResponseParser {
    /// The effect of a line on the transfer.
    enum Step {
        case proceed
        /// The final head is complete.
        case head
        /// The response is malformed, or its head is too large.
        case bad
    }

    /// The properties of the request that affect how its response is read.
    struct RequestTraits {
        /// Whether the method is HEAD, whose response has no body.
        var isHead = false
        /// Whether it requests another protocol, so that 101 may be the response.
        var asksForUpgrade = false
    }

    /// The maximum size of all heads of a response, in bytes, including interim ones.
    private static let headLimit = 1 << 20

    /// The bytes of the latest head.
    private(set) var head: [UInt8] = []
    /// For how many seconds the server keeps an idle connection; nil if it does not say.
    var idleLimit: TimeInterval? { framing.idleLimit }
    /// The framing of the latest head. libcurl uses its own parser, which agrees on everything that is accepted.
    private(set) var framing = ResponseFraming()
    private(set) var bodyLength = ResponseFraming.BodyLength.none
    /// The content codings to decode, the one applied last first.
    private(set) var codings: [ContentCoding] = []
    private(set) var hasBegun = false
    /// Whether the final head is complete, so that `status` is the final status.
    private(set) var isFinal = false
    private(set) var status = 0
    private var body: BufferedBody?
    private var headByteCount = 0
    private var isHeadComplete = false
    private var isVersion1 = false

    /// Whether the body ends with the connection.
    var endsWithConnection: Bool { isVersion1 && bodyLength == .rest }
    var isTruncated: Bool { body?.isTruncated ?? false }
    /// The decoded byte count of a buffered body.
    var byteCount: Int64 { body?.decodedCount ?? 0 }

    /// Resets for the next response and reuses the head's memory.
    mutating func reset() {
        var head = head
        self = CurlResponseParser()
        // Frees the memory of a very large head.
        head.removeAll(keepingCapacity: head.capacity <= 16 << 10)
        self.head = head
    }

    /// Consumes a line of the head, including its line end.
    ///
    /// - Parameter statusOfHead: evaluated when a head is complete.
    mutating func receive(
        _ line: UnsafeRawBufferPointer, for traits: RequestTraits = RequestTraits(), statusOfHead: () -> Int
    ) -> Step {
        hasBegun = true
        headByteCount += line.count
        guard headByteCount <= Self.headLimit else { return .bad }
        if isHeadComplete {
            // An interim head precedes another head. Trailers after the body are ignored.
            guard !isFinal, line.starts(with: "HTTP/".utf8) else { return .proceed }
            head.removeAll(keepingCapacity: true)
            isHeadComplete = false
        }
        let isStatusLine = head.isEmpty
        head.append(contentsOf: line)
        do {
            let text = line.last == UInt8(ascii: "\n") ? line.line(endingAt: line.count - 1) : line
            if isStatusLine {
                framing = ResponseFraming(isVersion10: text.hasPrefix("HTTP/1.0"))
                isVersion1 = text.hasPrefix("HTTP/1.")
                return .proceed
            }
            guard text.isEmpty else {
                guard text.offset(of: 0) == nil else { return .bad }
                try framing.readField(text)
                return .proceed
            }
            isHeadComplete = true
            return try endHead(statusOfHead(), traits)
        } catch {
            return .bad
        }
    }

    private mutating func endHead(_ status: Int, _ traits: RequestTraits) throws -> Step {
        framing.note(status: status)
        if framing.isInterim { return .proceed }
        guard status != 101 || traits.asksForUpgrade else { return .bad }
        bodyLength = try framing.bodyLength(isHead: traits.isHead)
        // Not before: a response with an ambiguous end is discarded, its status too (RFC 9112, section 6.3).
        isFinal = true
        self.status = status
        codings = framing.contentCodings(isHead: traits.isHead)
        return .head
    }

    /// Begins a buffered body. Throws ``PulseError/responseTooLarge(limit:)``.
    ///
    /// - Parameter cuts: whether to truncate a body at the limit instead.
    mutating func beginBody(limit: Int, cuts: Bool) throws {
        guard bodyLength != .none else { return }
        var body = BufferedBody(limit: limit, cuts: cuts)
        let length: Int64? = if case .bytes(let length) = bodyLength { length } else { nil }
        try body.begin(codings: codings, length: length)
        self.body = body
    }

    /// Consumes bytes of the buffered body, as ``BufferedBody/take(_:)`` does.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws {
        guard body != nil else { throw TransportFailure(code: .badServerResponse, phase: .responseStarted) }
        try body?.take(bytes)
    }

    /// Throws ``TransportFailure`` if the buffered body is incomplete.
    mutating func finishBody() throws {
        try body?.finish()
    }

    /// Moves the buffered body out.
    mutating func takeBody() -> Data {
        body?.takeData() ?? Data()
    }
}
#endif
