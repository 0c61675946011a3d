// SPDX-License-Identifier: MIT

/// A stored response.
public struct CachedResponse: Sendable {
    /// The response's status, headers, times and tags.
    public var head: Head
    /// The response's body.
    public var body: Body

    /// Creates a response from a head and a body.
    public init(head: Head, body: Body) {
        self.head = head
        self.body = body
    }
}
