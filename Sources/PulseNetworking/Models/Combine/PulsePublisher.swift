// SPDX-License-Identifier: MIT

#if canImport(Combine)
public import Combine
public import PulseCalls
public import PulseCore

/// A publisher of one call: emits its value and finishes, or fails with a ``PulseError``.
///
/// Each subscription makes its own call. The call starts with the subscriber's first demand, and is cancelled with the
/// subscription. The value arrives on any thread: add `.receive(on: DispatchQueue.main)` before code that needs the
/// main thread. `assign(to:on:)` needs a publisher that cannot fail: add `.replaceError(with:)` before it.
public struct PulsePublisher<Value: Sendable>: Publisher {
    public typealias Output = Value
    public typealias Failure = PulseError

    private let call: @Sendable () async -> Result<Value, PulseError>

    init(_ call: @escaping @Sendable () async -> Result<Value, PulseError>) {
        self.call = call
    }

    /// Subscribes. Sends nothing before the subscriber's first demand.
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Value, S.Failure == PulseError {
        subscriber.receive(subscription: CallSubscription(subscriber, call))
    }
}

extension PulseClient {
    /// A publisher that sends the endpoint once for each subscription.
    ///
    /// - Parameter options: the options of each call. An option that is set overrides that of the endpoint.
    public func publisher<E: Endpoint>(
        for endpoint: E, options: RequestOptions = RequestOptions()
    ) -> PulsePublisher<E.Response> {
        PulsePublisher { await self.result(of: endpoint, options: options) }
    }
}
#endif
