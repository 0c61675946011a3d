// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

extension HTTP2Session {
    /// The session's state of a stream that is not closed.
    final class Stream {
        /// A complete field block.
        enum Fields {
            case interim
            case head(ResponseHead, ResponseFraming)
            case trailers(HTTPHeaders)
        }

        /// The overhead of each field besides its bytes (RFC 9113, section 6.5.2).
        private static let fieldOverhead = 32

        /// Whether the final head was received.
        private(set) var hasHead = false
        /// Whether the HEADERS are framed.
        var isBegun = false
        /// Why this side has reset the stream.
        var resetCode: ErrorCode?
        /// The body to send.
        var body = Body()

        /// The incomplete head, or the trailers as the fields of one.
        private var head: ResponseHead?
        private var framing = ResponseFraming()
        /// The size of all fields, those of interim responses included.
        private var fieldByteCount = 0
        private var line: [UInt8] = []

        /// Reads a field that nghttp2 has checked. Returns false if it is malformed, or if the fields are too large.
        func readField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
            fieldByteCount += name.count + value.count + Self.fieldOverhead
            guard fieldByteCount <= HTTP1ResponseParser.headLimit else { return false }
            // The only pseudo-field of a response; nghttp2 lets no other through, and none in trailers.
            if name.first == UInt8(ascii: ":") { return readStatus(value) }
            if head == nil {
                guard hasHead else { return false }
                head = Self.head(of: "200".utf8)
            }
            line.removeAll(keepingCapacity: true)
            line.append(contentsOf: name)
            line.append(UInt8(ascii: ":"))
            line.append(contentsOf: value)
            return line.withUnsafeBytes { line in
                guard (try? framing.readField(line)) != nil else { return false }
                head?.add(line)
                return true
            }
        }

        private func readStatus(_ value: UnsafeRawBufferPointer) -> Bool {
            guard !hasHead, let head = Self.head(of: value), head.statusCode >= 100 else { return false }
            self.head = head
            framing = ResponseFraming(status: head.statusCode)
            return true
        }

        private static func head(of status: some Sequence<UInt8>) -> ResponseHead? {
            (Array("HTTP/2 ".utf8) + status).withUnsafeBytes { ResponseHead(statusLine: $0) }
        }

        /// Ends a field block. Returns nil if it is malformed.
        func takeFields() -> Fields? {
            guard !hasHead else {
                defer { head = nil }
                return .trailers(head?.headers ?? HTTPHeaders())
            }
            guard let head else { return nil }
            self.head = nil
            if framing.isInterim { return .interim }
            // RFC 9113, section 8.6.
            guard framing.status != 101 else { return nil }
            hasHead = true
            return .head(head, framing)
        }
    }

    /// The bytes of a request's body that are not framed yet.
    struct Body {
        private var chunks: [Data] = []
        /// The index of the first chunk that is not read, and how many bytes of it are.
        private var next = 0
        private var offset = 0
        private(set) var count = 0
        private var isComplete = false

        mutating func append(_ bytes: Data, isLast: Bool) {
            guard !isComplete else { return }
            isComplete = isLast
            guard !bytes.isEmpty else { return }
            chunks.append(bytes)
            count += bytes.count
        }

        /// Moves out the bytes that fit. Nil if there are none yet.
        mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isEnd: Bool)? {
            guard count > 0 || isComplete else { return nil }
            var filled = 0
            while next < chunks.count, filled < buffer.count {
                let chunk = chunks[next].dropFirst(offset).prefix(buffer.count - filled)
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyBytes(from: chunk)
                filled += chunk.count
                offset += chunk.count
                if offset == chunks[next].count {
                    // Frees the memory: the rest may wait for a long time.
                    chunks[next] = Data()
                    (next, offset) = (next + 1, 0)
                }
            }
            if next == chunks.count { (chunks, next) = ([], 0) }
            count -= filled
            return (filled, isComplete && count == 0)
        }
    }
}
#endif
