// SPDX-License-Identifier: MIT

import PulseCore

/// A stream of bytes that reports by callbacks, as `NWConnection` does. The callbacks may come on any thread.
protocol CallbackChannel: AnyObject, Sendable {
    /// Begins to connect. Called once, before all other methods but ``cancel()``.
    func start(_ report: @escaping @Sendable (CallbackChannelEvent) -> Void)

    /// Asks for at least one byte and at most `limit`. Calls `completion` once, after a failure and ``cancel()``, too.
    /// Bytes that come together with the end of the peer's direction, or with a failure, precede it.
    func receive(
        upTo limit: Int, _ completion: @escaping @Sendable (_ bytes: Data?, _ isEnd: Bool, CallbackFailure?) -> Void)

    /// Sends bytes after those of earlier calls. Calls `completion` once, when the system has taken them all.
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
}
