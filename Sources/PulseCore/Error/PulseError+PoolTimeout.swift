// SPDX-License-Identifier: MIT

extension PulseError {
    /// The request waited too long for a connection slot of its host: all were taken by other requests of this client.
    /// Nothing of it was sent.
    ///
    /// It is the `underlying` error of a ``TransportFailure`` with the code `timedOut`. It says nothing about the
    /// server, so no circuit breaker counts it. A ``RetryPolicy`` does not retry it by itself, since another attempt
    /// would wait for the same slots. Its ``RetryPolicy/Decider`` may, whatever the method.
    public struct PoolTimeout: Error, Sendable, Hashable {
        /// The host whose slots were taken.
        public let host: String
        /// The limit of the wait in seconds, see ``PulseConfiguration/poolTimeout``.
        public let limit: TimeInterval
        /// The number of the host's slots, see ``PulseConfiguration/maxConnectionsPerHost``.
        public let connections: Int

        /// Creates the error for a host with that many slots. `limit` is in seconds.
        public init(host: String, limit: TimeInterval, connections: Int) {
            (self.host, self.limit, self.connections) = (host, limit, connections)
        }

        /// The failure of the request.
        package var failure: TransportFailure {
            TransportFailure(code: .timedOut, phase: .beforeSend, underlying: self)
        }
    }
}

extension PulseError.PoolTimeout: CustomStringConvertible {
    /// The limit, the host and the settings, on one line.
    public var description: String {
        "waited \(limit) s (poolTimeout) for one of the \(connections) connections (maxConnectionsPerHost)"
            + " to \(host)"
    }
}

extension PulseError {
    /// Whether the request waited too long for a connection slot.
    package var isPoolTimeout: Bool {
        switch self {
        case .transport(_, let failure as TransportFailure): failure.underlying is PoolTimeout
        case .retryExhausted(let last, _): last.isPoolTimeout
        default: false
        }
    }
}
