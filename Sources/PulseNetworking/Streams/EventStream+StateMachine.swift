// SPDX-License-Identifier: MIT

import PulseCore

extension EventStream {
    /// Decides when an event stream connects, how long it waits, and when it ends. Callers pass in time and input.
    struct StateMachine {
        enum Action {
            /// `attempt` counts the connections since the last event, from 1.
            case connect(attempt: Int)
            case read
            /// Seconds, and the failure of the last connection; nil if it ended cleanly.
            case wait(TimeInterval, after: PulseError?)
            case finish(PulseError?)
        }

        private let policy: ReconnectPolicy
        private let statuses: RequestOptions.AcceptedStatuses
        private let hasSentinel: Bool

        /// The base of the wait: the `retry` of the server, or else the options'.
        private var delay: TimeInterval
        /// The `retry` of the server, as the shortest wait.
        private var shortestWait: TimeInterval = 0
        /// The wait that the server requests, if it exceeds the limit.
        private(set) var refusedWait: TimeInterval?
        /// When the current connection opened.
        private var openedAt: TimeInterval?
        private var hasBeenOpen = false
        private var hasEventOnConnection = false
        private var attempts = 0
        private var reconnects = 0
        private var failures = 0

        init(_ policy: ReconnectPolicy, _ options: Options) {
            self.policy = policy
            statuses = options.reconnectStatuses
            hasSentinel = options.sentinel != nil
            delay = policy.delay
        }

        /// Starts the stream, when the reader requests the first event.
        mutating func start() -> Action {
            attempts = 1
            return .connect(attempt: attempts)
        }

        /// Opens the stream, when a response has begun.
        mutating func opened(at time: TimeInterval) -> Action {
            openedAt = time
            hasBeenOpen = true
            hasEventOnConnection = false
            return .read
        }

        /// Records that an event was received.
        mutating func receivedEvent() {
            hasEventOnConnection = true
            attempts = 0
            reconnects = 0
        }

        /// Records the `retry` field of the server.
        mutating func received(retry milliseconds: Int) {
            shortestWait = TimeInterval(milliseconds) / 1000
            delay = Swift.min(shortestWait, policy.maxServerDelay)
        }

        /// Continues after a wait, which may have been cut short.
        mutating func waited() -> Action {
            attempts += 1
            reconnects += 1
            return .connect(attempt: attempts)
        }

        /// Decides what follows a connection that has ended or could not be opened.
        ///
        /// - Parameter error: nil for a clean end.
        /// - Parameter retryAfter: the delay in seconds that the response requests.
        /// - Parameter unit: a random number in 0..<1.
        mutating func ended(
            _ error: PulseError?, at time: TimeInterval, retryAfter: TimeInterval? = nil, unit: Double
        ) -> Action {
            let openFor = openedAt.map { time - $0 }
            openedAt = nil
            if let error, !isPassing(error) { return .finish(error) }
            guard reconnects < policy.maxAttempts ?? .max else { return .finish(error ?? missingEnd) }
            let hasEndedWell = error == nil && hasEventOnConnection
            if hasEndedWell || openFor.map({ $0 >= policy.resetsAfter }) ?? false { failures = 0 }
            let asked = Swift.max(shortestWait, retryAfter.map { $0 < .infinity ? $0 : 0 } ?? 0)
            refusedWait = policy.refusedWait(asked)
            if hasEndedWell {
                // The reconnection time itself (WHATWG HTML, 9.2.3), with a little jitter.
                let computed = Swift.min(policy.maxDelay, delay) * (1 + unit / 5)
                return .wait(policy.wait(computed, atLeast: asked), after: nil)
            }
            failures += 1
            return .wait(
                policy.wait(beforeAttempt: failures, delay: delay, atLeast: asked, unit: unit), after: error)
        }

        /// The error for a response without its sentinel, which was cut off.
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
            // The body was cut off, for example within its content coding, or there are no file descriptors left.
            case .transport(.cannotDecodeContentData, _), .transport(.badServerResponse, _),
                .transport(.resourceUnavailable, _):
                hasBeenOpen
            case .http, .unauthorized, .rateLimited, .proxyRefused:
                hasBeenOpen && error.statusCode.map(statuses.contains) ?? false
            default: RetryPolicy.default.counts(error)
            }
        }
    }
}

/// The response ended before its sentinel.
private struct MissingSentinel: Error, CustomStringConvertible {
    var description: String { "the stream ended before its sentinel" }
}
