// SPDX-License-Identifier: MIT

public import PulseCore

extension OfflineQueue {
    /// A request in the ``OfflineQueue``, as stored in the journal: without tokens, signatures and other additions of
    /// plugins.
    public struct Entry: Sendable, Identifiable {
        /// The id from the caller's ``PulseError/queuedOffline(id:)``.
        public let id: UUID
        /// The HTTP method.
        public let method: HTTPMethod
        /// The absolute URL, without the configuration's ``PulseConfiguration/defaultQueryItems``, which the replay
        /// adds.
        public var url: URL
        /// The headers of the endpoint and of the configuration, without the secret ones that the policy does not list.
        public var headers: [String: String]
        /// The body; nil if there is none, or if it is in a file: see ``hasLargeBody``.
        public var body: Data?
        /// Whether the body is in a separate file: over 64 KiB, or at any size if the call's body was a file or a
        /// stream; never for a queue in memory. The body stays there unless ``body`` is set.
        public let hasLargeBody: Bool
        /// The `Idempotency-Key` that every attempt carries.
        public let idempotencyKey: String?
        /// The tag of the entry. Entries of one tag are sent in order. Entries without a tag form one tag.
        public let tag: String?
        /// The route of the call's options, under which metrics count it; nil if there is none.
        public let route: String?
        /// The account that was logged in, if the client's auth plugin knows accounts.
        public let account: String?
        /// When the request was queued, by the wall clock.
        public let enqueuedAt: Date
        /// When the entry expires, by the wall clock as it was when the entry was read; nil for never, which is a
        /// policy's `requestExpiry` of `.infinity`.
        public let expiresAt: Date?
        /// The number of attempts so far: refusals by the server, and attempts that could not be sent because of the
        /// client's state or the request itself. Time without a connection does not count.
        public let attempts: Int

        init?(_ id: UUID, _ stored: StoredRequest, _ entry: QueueStore.StateMachine.Entry, expiresAt: Date?) {
            guard let url = URL(string: stored.url), let method = HTTPMethod(rawValue: stored.method) else {
                return nil
            }
            self.id = id
            self.method = method
            self.url = url
            headers = stored.headers
            body = stored.body
            hasLargeBody = stored.file != nil
            idempotencyKey = stored.key
            tag = entry.tag
            route = stored.route
            account = stored.account
            enqueuedAt = Date(milliseconds: stored.enqueuedAt)
            self.expiresAt = expiresAt
            attempts = entry.attempts
        }
    }
}

extension OfflineQueue.Entry: CustomStringConvertible, CustomReflectable {
    /// Method, redacted path and id: no query, header or body.
    public var description: String { "\(method) \(Redaction.standard.url(url.path).onOneLine), \(id)" }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
