// SPDX-License-Identifier: MIT

extension PulseError {
    /// The failure of a call: the kind of error and a redacted text, without the request or the response.
    public struct Summary: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kind of the error.
        public let kind: PulseError.Kind
        /// The status of the failure, if a server sent one.
        public let statusCode: Int?
        /// The failure in one line, without queries, secrets or text from a server.
        public let message: String

        /// Creates a summary. The message is shown unchanged, so it must not hold a secret.
        public init(kind: PulseError.Kind, statusCode: Int? = nil, message: String) {
            self.kind = kind
            self.statusCode = statusCode
            self.message = message
        }

        package init(_ error: PulseError) {
            // The error's own text contains the URL, whose query an event must not hold.
            self.init(kind: error.kind, statusCode: error.statusCode, message: error.summary)
        }

        public var description: String { message }
    }
}
