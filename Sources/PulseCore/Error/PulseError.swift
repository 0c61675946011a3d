// SPDX-License-Identifier: MIT

/// Everything a call can fail with, named by what the caller can do about it.
///
/// All public functions of PulseKit throw this type and no other. Its texts are redacted: printing an error shows no
/// credential, no secret query value and no body.
public indirect enum PulseError: Error, Sendable {
    // MARK: Before anything is sent

    /// The URL cannot be built: a bad base URL, a relative path without one, a `#` or a dot segment in a path.
    case invalidURL(String)
    /// The request cannot be sent as it is: a header with a line break, a template without its value, and the like.
    case invalidRequest(reason: String)
    /// The body could not be encoded.
    case encodingFailed(underlying: any Error)
    /// The transport, or this platform, cannot do what the request or the configuration asks for.
    case unsupported(String)

    // MARK: On the way

    /// There is no way to the network; nothing was sent.
    case noConnection
    /// Nothing was sent or received for the idle timeout.
    case timeout(URLRequest)
    /// The wire failed; ``phase`` tells how far the request had got.
    case transport(URLError.Code, underlying: any Error)
    /// The server's verified certificate chain holds none of the pinned keys.
    case sslPinningFailed(host: String)
    /// The proxy refuses to connect the request to its host: it wants other credentials (407), or it cannot or must not
    /// reach the host. Nothing was sent.
    case proxyRefused(ProxyRefusal)
    /// The caller's task was cancelled, or the client was told to cancel or shut down.
    case cancelled
    /// The call's deadline passed; `last` is the failure of the attempt before, if there was one.
    case deadlineExceeded(last: PulseError?)

    // MARK: The server's verdict

    /// Status 401, with the answer if there was one.
    case unauthorized(PulseResponse? = nil)
    /// The session cannot be refreshed any more: the user has to log in.
    case sessionExpired
    /// Status 429; `retryAfter` in seconds, if the server said so.
    case rateLimited(retryAfter: TimeInterval?)
    /// Any other status that the call does not accept.
    case http(PulseResponse)

    // MARK: The body

    /// The body does not decode to the Swift type of that name.
    case decodingFailed(type: String, underlying: any Error)
    /// A body was needed and none came.
    case emptyBody
    /// The body is larger than the configuration's limit, in bytes.
    case responseTooLarge(limit: Int)

    // MARK: Plugins, queue, GraphQL, sockets

    /// A circuit breaker refuses calls to `name`; it lets one through in `retryAfter` seconds at the earliest, which
    /// are infinitely many where it was isolated by hand.
    case circuitOpen(name: String, retryAfter: TimeInterval)
    /// All attempts failed; thrown only by a policy that sets ``RetryPolicy/reportsExhaustion``.
    case retryExhausted(last: PulseError, attempts: Int)
    /// The call asked for the cache only, and the cache has no answer.
    case cacheMiss
    /// There was no connection; the request is in the offline queue under this id and is going to be sent.
    case queuedOffline(id: UUID)
    /// There was no connection, and the offline queue is full.
    case offlineQueueFull
    /// A GraphQL answer with errors and no data.
    case graphQL([GraphQLError])
    /// The socket was closed with that code and reason (RFC 6455, section 7.4).
    case socketClosed(code: Int, reason: String)
    /// An error from code outside PulseKit: a plugin, a decoder, a transport.
    case custom(any Error)

    /// How far a request had got when it failed.
    public enum Phase: Sendable {
        /// No byte of the request left, or the server has said that it did not process it: safe to repeat, whatever the
        /// method.
        case beforeSend
        /// The server may have received and processed the request.
        case maybeSent
        /// An answer had begun to arrive.
        case responseStarted
    }
}
