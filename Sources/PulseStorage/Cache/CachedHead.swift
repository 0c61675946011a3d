// SPDX-License-Identifier: MIT

public import PulseCore

/// A stored answer without its body.
public struct CachedHead: Sendable, Hashable {
    /// A request field that the answer's `Vary` names, as the request had it (RFC 9111, section 4.1).
    public struct SelectingField: Sendable, Hashable {
        /// The field's name, in lower case.
        public let name: String
        /// The field's value; a fingerprint of it if it is secret. Nil if the request had none: only another request
        /// without it matches.
        public let value: String?

        /// Makes a field; the name has to be in lower case.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// The status of the answer.
    public var statusCode: Int
    /// The headers as received, without those that belong to the connection.
    public var headers: HTTPHeaders
    /// When the request left, by the wall clock.
    public var requestTime: Date
    /// When the answer came, by the wall clock.
    public var responseTime: Date
    /// The selecting fields, sorted by name. Answers of one key whose fields are equal take each other's place.
    public var selectingFields: [SelectingField]
    /// The tags that the app gave the answer, for invalidation.
    public var tags: Set<String>
    /// The ranges that the body consists of, if it is not the whole representation; nil for a whole response.
    public var parts: CachedParts?

    /// Makes a head; by default of a whole response without selecting fields and tags.
    public init(
        statusCode: Int, headers: HTTPHeaders, requestTime: Date, responseTime: Date,
        selectingFields: [SelectingField] = [], tags: Set<String> = [], parts: CachedParts? = nil
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

/// A stored answer.
public struct CachedResponse: Sendable {
    /// Its status, headers, times and tags.
    public var head: CachedHead
    /// Its body.
    public var body: CachedBody

    /// Makes an answer of a head and a body.
    public init(head: CachedHead, body: CachedBody) {
        self.head = head
        self.body = body
    }
}
