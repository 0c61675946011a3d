// SPDX-License-Identifier: MIT

public import PulseCore

/// All that is kept of an answer but its body.
public struct CachedHead: Sendable, Hashable {
    /// A request field that the answer's `Vary` names, as the request had it (RFC 9111, section 4.1).
    public struct SelectingField: Sendable, Hashable {
        /// In lower case.
        public let name: String
        /// Nil if the request had none, which only another request without it matches. A fingerprint of a secret one.
        public let value: String?

        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    public var statusCode: Int
    /// As received, without what belongs to the connection.
    public var headers: HTTPHeaders
    /// When the request left, by the wall clock.
    public var requestTime: Date
    /// When the answer came, by the wall clock.
    public var responseTime: Date
    /// Sorted by name. Answers of one key whose fields are equal take each other's place.
    public var selectingFields: [SelectingField]
    /// What the app called it, for invalidation.
    public var tags: Set<String>

    public init(
        statusCode: Int, headers: HTTPHeaders, requestTime: Date, responseTime: Date,
        selectingFields: [SelectingField] = [], tags: Set<String> = []
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.selectingFields = selectingFields
        self.tags = tags
    }
}

/// A stored answer.
public struct CachedResponse: Sendable {
    public var head: CachedHead
    public var body: CachedBody

    public init(head: CachedHead, body: CachedBody) {
        self.head = head
        self.body = body
    }
}
