// SPDX-License-Identifier: MIT

public import PulseCore

extension CachedResponse {
    /// A stored response without its body.
    public struct Head: Sendable, Hashable {
        /// A request field that the response's `Vary` names, with the value of the request (RFC 9111, section 4.1).
        public struct SelectingField: Sendable, Hashable {
            /// The field's name, in lower case.
            public let name: String
            /// The field's value; its fingerprint if it is secret. Nil if the request had no such field: then only
            /// requests without it match.
            public let value: String?

            /// Creates a field. The name must be in lower case.
            public init(name: String, value: String?) {
                self.name = name
                self.value = value
            }
        }

        /// The status of the response.
        public var statusCode: Int
        /// The headers as received, without connection-specific fields.
        public var headers: HTTPHeaders
        /// When the request was sent, by the wall clock.
        public var requestTime: Date
        /// When the response was received, by the wall clock.
        public var responseTime: Date
        /// The selecting fields, sorted by name. A response replaces another one of its key with equal fields.
        public var selectingFields: [SelectingField]
        /// The app's tags of the response, for invalidation.
        public var tags: Set<String>
        /// The ranges of a partial body; nil for a whole response.
        public var parts: Parts?

        /// Creates a head; by default of a whole response without selecting fields and tags.
        public init(
            statusCode: Int, headers: HTTPHeaders, requestTime: Date, responseTime: Date,
            selectingFields: [SelectingField] = [], tags: Set<String> = [], parts: Parts? = nil
        ) {
            self.statusCode = statusCode
            self.headers = headers
            self.requestTime = requestTime
            self.responseTime = responseTime
            self.selectingFields = selectingFields
            self.tags = tags
            self.parts = parts
        }
    }
}
