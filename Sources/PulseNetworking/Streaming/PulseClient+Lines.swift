// SPDX-License-Identifier: MIT

import PulseCore

extension PulseClient {
    /// The lines of a response body, while it arrives.
    ///
    /// Cold: each iterator sends a request of its own, when its first line is asked for. A line ends by LF or CRLF
    /// alone; blank lines count, as does a last line without an ending. Bytes that are no UTF-8 become U+FFFD, and a
    /// byte order mark at the start is skipped. What the server sends is read no faster than the lines are.
    ///
    /// Leaving the loop, dropping the iterator or cancelling its task ends the call and closes the connection. Lines
    /// that came whole before a failure are given before it. After a failure an iterator returns nil.
    public struct Lines: AsyncSequence, Sendable {
        public typealias Element = String

        private let open: @Sendable () async throws -> StreamedResponse
        private var maximumLength = LineSplitter.standardLimit

        init(_ open: @escaping @Sendable () async throws -> StreamedResponse) {
            self.open = open
        }

        /// The same lines with another limit for their length, in bytes; 1 MiB by default. A longer line throws
        /// ``PulseError/responseTooLarge(limit:)``, and a limit below 1 ``PulseError/invalidRequest(reason:)``.
        public func limited(toLineLength bytes: Int) -> Lines {
            var copy = self
            copy.maximumLength = bytes
            return copy
        }

        public func makeAsyncIterator() -> Iterator {
            Iterator(
                reader: ElementReader { [open, maximumLength] in
                    try LineSplitter.check(maximumLength)
                    return (try await open(), LineSplitter(maximumLength: maximumLength, skipsByteOrderMark: true))
                })
        }

        /// The reader of one response.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var reader: ElementReader<LineSplitter>

            /// Returns the next line without its ending, or nil after the last. Throws ``PulseError``.
            public mutating func next() async throws -> String? {
                // As in an event stream: without a call that may suspend, for the row of lines in Docs/Benchmarks.md.
                if let line = try reader.wholeElement() { return line }
                return try await reader.next()
            }
        }
    }
}

extension LineSplitter {
    static let standardLimit = 1 << 20

    static func check(_ maximumLength: Int) throws {
        guard maximumLength > 0 else {
            throw PulseError.invalidRequest(
                reason: "the limit of a line's length is \(maximumLength), and no positive number of bytes")
        }
    }
}
