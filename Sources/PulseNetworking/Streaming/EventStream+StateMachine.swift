// SPDX-License-Identifier: MIT

import PulseCore

extension EventStream {
    /// Decides when an event stream connects, how long it waits, and when it ends. Without time and input of its own.
    struct StateMachine {
        enum Action {
            /// `attempt` counts the connections since the last event, from 1.
            case connect(attempt: Int)
            case read
            /// Seconds, and the failure of the connection before; nil if it ended cleanly.
            case wait(TimeInterval, after: PulseError?)
            case finish(PulseError?)
        }

        private let reconnection: Options.Reconnection
        private let hasSentinel: Bool

        /// The base of the wait: the `retry` of the server, or else the options'.
        private var delay: TimeInterval
        /// The `retry` of the server, as the shortest wait.
        private var shortestWait: TimeInterval = 0
        /// The wait that the server has asked for, if that is too long.
        private(set) var refusedWait: TimeInterval?
        /// When the current connection opened.
        private var openedAt: TimeInterval?
        private var hasBeenOpen = false
        private var hasEventOnConnection = false
        private var attempts = 0
        private var reconnects = 0
        private var failures = 0

        init(_ reconnection: Options.Reconnection, hasSentinel: Bool) {
            self.reconnection = reconnection
            self.hasSentinel = hasSentinel
            delay = reconnection.delay
        }

        /// The reader asks for the first event.
        mutating func start() -> Action {
            attempts = 1
            return .connect(attempt: attempts)
        }

        /// The head of a response has come: the stream is open.
        mutating func opened(at time: TimeInterval) -> Action {
            openedAt = time
            hasBeenOpen = true
            hasEventOnConnection = false
            return .read
        }

        /// An event has come.
        mutating func receivedEvent() {
            hasEventOnConnection = true
            attempts = 0
            reconnects = 0
        }

        /// A `retry` field has come.
        mutating func received(retry milliseconds: Int) {
            shortestWait = TimeInterval(milliseconds) / 1000
            delay = Swift.min(shortestWait, reconnection.maximumServerDelay)
        }

        /// The wait is over, or was cut short.
        mutating func waited() -> Action {
            attempts += 1
            reconnects += 1
            return .connect(attempt: attempts)
        }

        /// The connection has ended, or could not be opened.
        ///
        /// - Parameter error: nil for a clean end.
        /// - Parameter retryAfter: the seconds that the response asks for.
        /// - Parameter unit: a random number in 0..<1.
        mutating func ended(
            _ error: PulseError?, at time: TimeInterval, retryAfter: TimeInterval? = nil, unit: Double
        ) -> Action {
            let openFor = openedAt.map { time - $0 }
            openedAt = nil
            if let error, !isPassing(error) { return .finish(error) }
            guard reconnects < reconnection.maximumAttempts ?? .max else { return .finish(error ?? missingEnd) }
            let hasEndedWell = error == nil && hasEventOnConnection
            if hasEndedWell || openFor ?? 0 >= Self.steadyTime { failures = 0 }
            let computed = hasEndedWell ? waitAfterCleanEnd(unit) : waitAfterFailure(unit)
            if !hasEndedWell { failures += 1 }
            let asked = Swift.max(shortestWait, retryAfter.map { $0 < .infinity ? $0 : 0 } ?? 0)
            let limit = reconnection.maximumServerDelay
            refusedWait = asked > limit ? asked : nil
            return .wait(Swift.max(computed, Swift.min(asked, limit), Self.minimumWait), after: error)
        }

        /// The reconnection time itself (WHATWG HTML, 9.2.3), a little spread.
        private func waitAfterCleanEnd(_ unit: Double) -> TimeInterval {
            Swift.min(reconnection.maximumDelay, delay) * (1 + unit / 5)
        }

        private func waitAfterFailure(_ unit: Double) -> TimeInterval {
            // A server may ask for one connection at once, but not for a backoff that does not grow.
            let base = failures == 0 ? delay : Swift.max(delay, Self.smallestBase)
            return Swift.min(reconnection.maximumDelay, base * pow(2, Double(failures) + 1)) * (0.5 + unit / 2)
        }

        /// A connection that was open for this long has shown that the server is well.
        private static let steadyTime: TimeInterval = 60
        private static let minimumWait: TimeInterval = 0.1
        /// The least base of the backoff after several failures.
        private static let smallestBase: TimeInterval = 0.5

        /// A response without its sentinel was cut.
        private var missingEnd: PulseError? {
            guard hasSentinel else { return nil }
            let failure = TransportFailure(
                code: .networkConnectionLost, phase: .responseStarted, underlying: MissingSentinel())
            return PulseError(wrapping: failure)
        }

        /// Whether a later connection may succeed although this one failed.
        private func isPassing(_ error: PulseError) -> Bool {
            switch error {
            case .retryExhausted(let last, _): isPassing(last)
            case .circuitOpen: true
            case .deadlineExceeded: hasBeenOpen
            // Of a body that was cut, as when a coded one ends without its end, or of a lack of descriptors.
            case .transport(.cannotDecodeContentData, _), .transport(.badServerResponse, _),
                .transport(.resourceUnavailable, _):
                hasBeenOpen
            case .http, .unauthorized, .rateLimited, .proxyRefused:
                hasBeenOpen && error.statusCode.map(reconnection.statuses.contains) ?? false
            default: RetryPolicy.default.counts(error)
            }
        }
    }
}

/// The response ended before its sentinel.
private struct MissingSentinel: Error, CustomStringConvertible {
    var description: String { "the stream ended before its sentinel" }
}
