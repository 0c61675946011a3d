// SPDX-License-Identifier: MIT

/// The errors of a call, named by what the caller can do about them.
///
/// A client, its offline queue and ``PluginChain`` throw this type and no other. Its texts are redacted: printing an
/// error shows no credential, no secret query value and no body.
public indirect enum PulseError: Error, Sendable {
    // MARK: Before anything is sent

    /// The URL cannot be built: a bad base URL, a relative path without one, a `#` or a dot segment in a path.
    case invalidURL(String)
    /// The request cannot be sent as it is: for example, a header has a control character, or a template has no value.
    case invalidRequest(reason: String)
    /// The body could not be encoded.
    case encodingFailed(underlying: any Error)
    /// The transport, or this platform, cannot do what the request or the configuration asks for.
    case unsupported(String)

    // MARK: In transit

    /// There is no path to the network; nothing was sent.
    case noConnection
    /// Nothing was sent or received for the idle timeout.
    case timeout(URLRequest)
    /// The connection failed; see ``phase`` for how far the request got.
    case transport(URLError.Code, underlying: any Error)
    /// The server's verified certificate chain contains none of the pinned keys.
    case sslPinningFailed(host: String)
    /// The proxy refuses to connect the request to its host: it requires other credentials (407), or it cannot or must
    /// not reach the host. Nothing was sent.
    case proxyRefused(ProxyRefusal)
    /// The caller's task was cancelled, or the client was cancelled or shut down.
    case cancelled
    /// The call's deadline expired; `last` is the failure of the previous attempt, if there was one.
    case deadlineExceeded(last: PulseError?)

    // MARK: The server's status

    /// Status 401, with the response if there was one.
    case unauthorized(PulseResponse? = nil)
    /// The session cannot be refreshed any more: the user must log in.
    case sessionExpired
    /// Status 429; `retryAfter` in seconds, if the server said so.
    case rateLimited(retryAfter: TimeInterval?)
    /// Any other status that the call does not accept.
    case http(PulseResponse)

    // MARK: The body

    /// The body does not decode to the Swift type of that name.
    case decodingFailed(type: String, underlying: any Error)
    /// A body was required but is empty.
    case emptyBody
    /// The body is larger than the configuration's limit, in bytes.
    case responseTooLarge(limit: Int)

    // MARK: Plugins, queue, GraphQL, sockets

    /// A circuit breaker refuses calls to `name`; it allows a probe in `retryAfter` seconds at the earliest, which is
    /// infinity if it was isolated manually.
    case circuitOpen(name: String, retryAfter: TimeInterval)
    /// All attempts failed; thrown only by a policy that sets ``RetryPolicy/reportsExhaustion``.
    case retryExhausted(last: PulseError, attempts: Int)
    /// The call asked for the cache only, and the cache has no response.
    case cacheMiss
    /// There was no connection; the request is in the offline queue under this id and will be sent later.
    case queuedOffline(id: UUID)
    /// There was no connection, and the offline queue is full.
    case offlineQueueFull
    /// A GraphQL response with errors and no data.
    case graphQL([GraphQLError])
    /// The socket was closed with that code and reason (RFC 6455, section 7.4).
    case socketClosed(code: Int, reason: String)
    /// An error from code outside PulseKit: a plugin, a decoder, a transport.
    case custom(any Error)

    /// How far a request had got when it failed.
    public enum Phase: Sendable {
        /// No byte of the request was sent, or the server has said that it did not process it: safe to repeat, whatever
        /// the method.
        case beforeSend
        /// The server may have received and processed the request.
        case maybeSent
        /// A part of the response had arrived.
        case responseStarted
    }
}
