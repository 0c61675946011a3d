// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// An answer as far as it has come: a pure value that takes the lines of the head and the bytes of a buffered body.
struct CurlResponseParser {
    /// What a line means for the transfer.
    enum Step {
        case proceed
        /// The final head is complete.
        case head
        /// The answer cannot be read, or its head is too large.
        case bad
    }

    /// What the request has to do with how its answer is read.
    struct Question {
        /// Whether it was HEAD, whose answer has no body.
        var isHead = false
        /// Whether it asked for another protocol, so that 101 may be the answer.
        var asksForUpgrade = false
    }

    /// The most bytes in all heads of an answer, interim ones included.
    private static let headLimit = 1 << 20

    /// The bytes of the latest head.
    private(set) var head: [UInt8] = []
    /// For how many seconds the server keeps the connection while it is idle; nil if it does not say.
    var idleLimit: TimeInterval? { framing.idleLimit }
    /// What the latest head says; libcurl goes by its own reading of it, which is the same for all that is accepted.
    private(set) var framing = ResponseFraming()
    private(set) var bodyLength = ResponseFraming.BodyLength.none
    /// The content codings to undo, the one applied last first.
    private(set) var codings: [ContentCoding] = []
    private(set) var hasBegun = false
    /// Whether the final head is there, so that `status` is its status.
    private(set) var isFinal = false
    private(set) var status = 0
    private var body: BufferedBody?
    private var headByteCount = 0
    private var isHeadComplete = false
    private var isVersion1 = false

    /// Whether the end of the connection is that of the body.
    var endsWithConnection: Bool { isVersion1 && bodyLength == .rest }
    var isTruncated: Bool { body?.isTruncated ?? false }
    /// The decoded bytes of a buffered body.
    var byteCount: Int64 { body?.decodedCount ?? 0 }

    /// Begins with another answer, in the memory of this one's head.
    mutating func startOver() {
        var head = head
        self = CurlResponseParser()
        // The memory of a very large head is not kept.
        head.removeAll(keepingCapacity: head.capacity <= 16 << 10)
        self.head = head
    }

    /// Takes a line of the head, with its end.
    ///
    /// - Parameter statusOfHead: asked for when a head is complete.
    mutating func receive(
        _ line: UnsafeRawBufferPointer, answering question: Question = Question(), statusOfHead: () -> Int
    ) -> Step {
        hasBegun = true
        headByteCount += line.count
        guard headByteCount <= Self.headLimit else { return .bad }
        if isHeadComplete {
            // After an interim head comes the next one; after a body come trailers, which nobody asked for.
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
                guard text.place(of: 0) == nil else { return .bad }
                try framing.readField(text)
                return .proceed
            }
            isHeadComplete = true
            return try endHead(statusOfHead(), question)
        } catch {
            return .bad
        }
    }

    private mutating func endHead(_ status: Int, _ question: Question) throws -> Step {
        framing.note(status: status)
        if framing.isInterim { return .proceed }
        isFinal = true
        self.status = status
        guard status != 101 || question.asksForUpgrade else { return .bad }
        bodyLength = try framing.bodyLength(isHead: question.isHead)
        codings = framing.contentCodings(isHead: question.isHead)
        return .head
    }

    /// Begins a buffered body. Throws ``PulseError/responseTooLarge(limit:)``.
    ///
    /// - Parameter cuts: whether a body beyond the limit is cut there instead.
    mutating func beginBody(limit: Int, cuts: Bool) throws {
        guard bodyLength != .none else { return }
        var body = BufferedBody(limit: limit, cuts: cuts)
        let length: Int64? = if case .bytes(let length) = bodyLength { length } else { nil }
        try body.begin(codings: codings, length: length)
        self.body = body
    }

    /// Takes bytes of the buffered body, as ``BufferedBody/take(_:)`` does.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws {
        guard body != nil else { throw TransportFailure(code: .badServerResponse, phase: .responseStarted) }
        try body?.take(bytes)
    }

    /// Throws ``TransportFailure`` if the buffered body is not whole.
    mutating func finishBody() throws {
        try body?.finish()
    }

    /// Takes the buffered body out.
    mutating func takeBody() -> Data {
        body?.takeData() ?? Data()
    }
}
#endif
