// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

extension PulseClient {
    /// The lines of a response body as it arrives.
    ///
    /// Cold: each iterator sends its own request when its first line is requested. Only LF and CRLF end a line; blank
    /// lines count, as does a last line without an ending. Invalid UTF-8 becomes U+FFFD, and a byte order mark at the
    /// start is skipped. The body is read no faster than its lines.
    ///
    /// Leaving the loop, releasing the iterator or cancelling its task ends the call and closes the connection. Lines
    /// received in full before a failure are returned before it is thrown. After a failure an iterator returns nil.
    public struct Lines: AsyncSequence, Sendable {
        public typealias Element = String

        private let open: @Sendable () async throws -> StreamedResponse
        private var maxLength = LineSplitter.standardLimit

        init(_ open: @escaping @Sendable () async throws -> StreamedResponse) {
            self.open = open
        }

        /// Returns a copy with another maximum length of a line in bytes; 1 MiB by default. A longer line throws
        /// ``PulseError/responseTooLarge(limit:)``, and a limit below 1 ``PulseError/invalidRequest(reason:)``.
        public func limited(toLineLength bytes: Int) -> Lines {
            var copy = self
            copy.maxLength = bytes
            return copy
        }

        public func makeAsyncIterator() -> Iterator {
            Iterator(
                reader: ElementReader { [open, maxLength] in
                    try LineSplitter.check(maxLength)
                    return (try await open(), LineSplitter(maxLength: maxLength, skipsByteOrderMark: true))
                })
        }

        /// The reader of one response.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var reader: ElementReader<LineSplitter>

            /// Returns the next line without its ending, or nil after the last. Throws ``PulseError``.
            public mutating func next() async throws -> String? {
                // As in an event stream: avoids a call that may suspend, for the row of lines in Docs/Benchmarks.md.
                if let line = try reader.wholeElement() { return line }
                return try await reader.next()
            }
        }
    }
}

extension LineSplitter {
    static let standardLimit = 1 << 20

    static func check(_ maxLength: Int) throws {
        guard maxLength > 0 else {
            throw PulseError.invalidRequest(
                reason: "the limit of a line's length is \(maxLength), and no positive number of bytes")
        }
    }
}
