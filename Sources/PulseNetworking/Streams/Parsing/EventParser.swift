// SPDX-License-Identifier: MIT

import PulseCore

/// Parses a `text/event-stream` body (WHATWG HTML, section 9.2.6), fed in chunks.
///
/// An event that is unfinished at the end of the body is dropped, so there is no call for the end. After an error the
/// parser must not be used.
struct EventParser: Sendable {
    enum Output: Sendable, Hashable {
        case event(ServerSentEvent)
        case retry(milliseconds: Int)
    }

    /// The current last event ID: that of the last event, or of the last block that set it without an event.
    private(set) var lastEventID: String

    private static let smallSize = 64 << 10

    private let maxEventSize: Int
    private var buffer: LineBuffer
    private var type = ""
    private var data: String?
    /// Whether capacity for a large event is reserved.
    private var isReserved = false
    private var id: String
    /// The bytes of the lines of the current event, without comments.
    private var eventSize = 0
    private var isInComment = false

    /// - Parameter maxEventSize: the limit of an event's lines, and of its data, in bytes. Comments have no limit,
    ///   and are not buffered.
    /// - Parameter lastEventID: the last event ID at the start.
    init(maxEventSize: Int, lastEventID: String = "") {
        self.maxEventSize = maxEventSize
        self.lastEventID = lastEventID
        buffer = LineBuffer(skipsByteOrderMark: true, maxLength: maxEventSize)
        id = lastEventID
    }

    mutating func append(_ chunk: Data) {
        buffer.append(chunk)
    }

    /// Returns the next event or reconnection time; nil if more bytes are needed. Throws
    /// ``PulseError/responseTooLarge(limit:)``.
    mutating func next() throws -> Output? {
        while let line = buffer.nextEventLine() {
            guard !isInComment else {
                isInComment = false
                continue
            }
            let field = buffer.withBytes(in: line, Field.init)
            if case .comment = field { continue }
            eventSize += line.count
            try checkSize()
            switch field {
            case .blank: if let event = dispatch() { return .event(event) }
            case .data(let line): append(line)
            case .type(let name): type = name
            case .id(let text): id = text
            case .retry(let milliseconds): return .retry(milliseconds: milliseconds)
            case .comment, .other: break
            }
        }
        if isInComment || buffer.first == UInt8(ascii: ":") {
            isInComment = true
            buffer.dropRest()
        }
        try checkSize(unfinished: buffer.restLength)
        return nil
    }

    private mutating func append(_ line: String) {
        guard let count = data?.utf8.count else {
            data = line
            return
        }
        // Once, since growing by copies would hold the old and the new buffer at the same time.
        if count > Self.smallSize, count + line.utf8.count <= maxEventSize, !isReserved {
            data?.reserveCapacity(min(maxEventSize, LineBuffer.largestReserve))
            isReserved = true
        }
        data?.append("\n")
        data?.append(line)
    }

    private func checkSize(unfinished: Int = 0) throws {
        // Invalid UTF-8 is replaced, and the replacement may be longer than the bytes on the wire.
        guard eventSize + unfinished <= maxEventSize, data?.utf8.count ?? 0 <= maxEventSize else {
            throw PulseError.responseTooLarge(limit: maxEventSize)
        }
    }

    /// Ends an event at a blank line. Without data there is no event, but the last event ID is updated.
    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = id
        defer { (type, data, eventSize, isReserved) = ("", nil, 0, false) }
        return data.map { ServerSentEvent(type: type.isEmpty ? "message" : type, data: $0, id: id) }
    }
}

extension EventParser {
    /// One line.
    private enum Field {
        case blank
        case comment
        case data(String)
        case type(String)
        case id(String)
        case retry(Int)
        /// An unknown field, or a value that is ignored.
        case other

        init(_ line: UnsafeRawBufferPointer) {
            guard let first = line.first else {
                self = .blank
                return
            }
            guard first != UInt8(ascii: ":") else {
                self = .comment
                return
            }
            // The longest known name has five letters.
            let colon = line.prefix(6).firstIndex(of: UInt8(ascii: ":")) ?? line.count
            var value = line[colon...].dropFirst()
            if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
            let name = line[..<colon]
            if name.elementsEqual("data".utf8) {
                self = .data(String(decoding: value, as: UTF8.self))
            } else if name.elementsEqual("id".utf8) {
                self = value.contains(0) ? .other : .id(String(decoding: value, as: UTF8.self))
            } else if name.elementsEqual("event".utf8) {
                self = .type(String(decoding: value, as: UTF8.self))
            } else if name.elementsEqual("retry".utf8), !value.isEmpty, value.allSatisfy(\.isASCIIDigit) {
                // A number that overflows is ignored: it would stop the stream for good.
                self = Int(String(decoding: value, as: UTF8.self)).map { .retry($0) } ?? .other
            } else {
                self = .other
            }
        }
    }
}
