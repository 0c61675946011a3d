// SPDX-License-Identifier: MIT

import PulseCore

/// A stream of bytes that reports by callbacks, as `NWConnection` does. The callbacks may run on any thread.
protocol CallbackChannel: AnyObject, Sendable {
    /// Starts connecting. Called once, before all other methods except ``cancel()``.
    func start(_ report: @escaping @Sendable (CallbackChannelEvent) -> Void)

    /// Receives at least one byte and at most `limit`. Calls `completion` once, even after a failure or ``cancel()``.
    /// Bytes that arrive together with the end of the peer's direction, or with a failure, precede it.
    func receive(
        upTo limit: Int, _ completion: @escaping @Sendable (_ bytes: Data?, _ isEnd: Bool, CallbackFailure?) -> Void)

    /// Sends bytes after those of earlier calls. Calls `completion` once, when the system has accepted them all.
    func send(_ bytes: Data, _ completion: @escaping @Sendable (CallbackFailure?) -> Void)

    /// Ends this side's direction after the bytes that were sent.
    func finish()

    /// Closes both directions. May be called at any time, and again.
    func cancel()
}

enum CallbackChannelEvent: Sendable {
    /// The channel is connected; over TLS, its server is trusted.
    case ready(remoteAddress: String?)
    /// The channel cannot connect now, and would wait for a change of the network.
    case waiting(CallbackFailure)
    case failed(CallbackFailure)
    /// The server's certificates were refused, with an error of the transport.
    case refused(any Error)

    /// The event for a failure, or for the refusal that caused it.
    static func failure(
        _ failure: CallbackFailure, isWaiting: Bool, refusal: (any Error)?
    ) -> CallbackChannelEvent {
        if let refusal { return .refused(refusal) }
        return isWaiting ? .waiting(failure) : .failed(failure)
    }
}

/// The address, the security and the route of a channel.
struct ChannelSettings {
    let address: ServerAddress
    let isSecure: Bool
    /// The request that the connection is for.
    let urlRequest: URLRequest
    /// The session's configuration, as far as it applies to a channel.
    let configuration: URLSessionConfiguration
    let minimumVersion: TLSSettings.Version
    let proxy: ProxySettings
    /// In DER; they replace the system's, unless there are none.
    let authorities: [Data]
    let identity: URLCredential?
    /// Throws for a verified chain, in DER, that the request does not accept.
    let check: @Sendable (_ chain: [Data]) throws -> Void
    /// Whether the channel must evaluate the server's certificates and check their chain. If not, it leaves them to the
    /// system.
    let evaluatesTrust: Bool
}
