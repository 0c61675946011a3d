// SPDX-License-Identifier: MIT

public import PulseCore

/// A request in the ``OfflineQueue``, as the journal keeps it: without tokens, signatures and what else plugins add.
public struct QueuedRequest: Sendable, Identifiable {
    /// What ``PulseError/queuedOffline(id:)`` told.
    public let id: UUID
    public let method: HTTPMethod
    public var url: URL
    public var headers: [String: String]
    /// Nil if there is none, or ``hasLargeBody``.
    public var body: Data?
    /// The body is in a file of its own, and stays there unless ``body`` is set.
    public let hasLargeBody: Bool
    /// The `Idempotency-Key` that every attempt carries.
    public let idempotencyKey: String?
    /// Entries of one tag are sent in their order.
    public let tag: String?
    public let route: String?
    /// Who was logged in, if the client's auth plugin knows accounts.
    public let account: String?
    public let enqueuedAt: Date
    /// Nil for never.
    public let expiresAt: Date?
    /// Verdicts of the server so far.
    public let attempts: Int

    init?(_ id: UUID, _ stored: StoredRequest, tag: String?, expiry: Int64, attempts: Int) {
        guard let url = URL(string: stored.url), let method = HTTPMethod(rawValue: stored.method) else { return nil }
        self.id = id
        self.method = method
        self.url = url
        headers = stored.headers
        body = stored.body
        hasLargeBody = stored.file != nil
        idempotencyKey = stored.key
        self.tag = tag
        route = stored.route
        account = stored.account
        enqueuedAt = Date(milliseconds: stored.enqueuedAt)
        expiresAt = expiry == 0 ? nil : Date(milliseconds: expiry)
        self.attempts = attempts
    }
}

extension QueuedRequest: CustomStringConvertible, CustomReflectable {
    /// Method, path and id: no query, header or body.
    public var description: String { "\(method) \(url.path.onOneLine), \(id)" }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A request that will not be sent any more, unless ``OfflineQueue/retryDeadLetter(id:)`` says so.
public struct DeadLetter: Sendable, Identifiable {
    public let request: QueuedRequest
    /// What the server or the client said last.
    public let reason: ErrorSummary
    public let diedAt: Date

    public var id: UUID { request.id }
}
