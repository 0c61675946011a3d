// SPDX-License-Identifier: MIT

import PulseCore

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)  // newer: Duration
extension PulseClient {
    /// Shuts down like ``shutdown(grace:)-(TimeInterval)``, with the grace period as a `Duration`:
    /// `await client.shutdown(grace: .seconds(20))`.
    public func shutdown(grace: Duration) async {
        await shutdown(grace: TimeInterval(grace))
    }
}

@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)  // newer: Duration
extension PulseClient.Builder {
    /// The idle timeout: `.timeout(.seconds(20))`.
    public func timeout(_ duration: Duration) -> PulseClient.Builder { timeout(TimeInterval(duration)) }

    /// The connect timeout: `.connectTimeout(.seconds(5))`.
    public func connectTimeout(_ duration: Duration) -> PulseClient.Builder { connectTimeout(TimeInterval(duration)) }

    /// The pool timeout: `.poolTimeout(.seconds(30))`.
    public func poolTimeout(_ duration: Duration) -> PulseClient.Builder { poolTimeout(TimeInterval(duration)) }

    /// The deadline for a whole call: `.deadline(.seconds(60))`.
    public func deadline(_ duration: Duration) -> PulseClient.Builder { deadline(TimeInterval(duration)) }
}
