// SPDX-License-Identifier: MIT

import PulseCore

extension TokenRefresh {
    /// Decides whether to refresh, which calls wait for it, and what its outcome means for later calls.
    ///
    /// Times are the clock's uptime. Only the provider knows the current token. A call that requests a refresh states
    /// which token failed, and the ``version`` it saw before it read the token.
    struct StateMachine<Waiter: Sendable>: Sendable {
        /// What to do for a call that needs a new token.
        enum Decision {
            /// No refresh is running: call the provider and start the timer, under this number. The caller waits.
            case begin(run: Int)
            /// The provider is still busy with a refresh that timed out or was abandoned, and only one may run at a
            /// time. Its result will be used. Start a timer under this number. The caller waits.
            case takeOver(run: Int)
            /// A refresh is running; the caller waits for it.
            case wait
            /// A refresh has ended meanwhile: the provider may have another token now.
            case recheck
            case refuse(PulseError)
            /// Tokens are rejected as fast as they are refreshed.
            case refuseLoop(isFirst: Bool)
        }

        /// What to do with the provider's result.
        enum Finish {
            case ended(Ending)
            /// The call was cancelled before another run took it over: call the provider again, under this number.
            case again(providerCall: Int)
            /// No call was still waiting.
            case late(endsSession: Bool)
            /// The result has no effect.
            case ignored
        }

        /// The consequences of a finished refresh.
        struct Ending {
            /// The run whose timer is obsolete.
            let run: Int
            let waiters: [Waiter]
            /// The outcome for the waiters.
            let outcome: Outcome
            /// Waiters that wanted to replace another token, perhaps of another user: they check again.
            let others: [Waiter]
            let endsSession: Bool

            fileprivate init(_ run: Run, _ outcome: Outcome, endsSession: Bool = false) {
                self.run = run.number
                waiters = run.waiters.values.filter { $0.token == run.token }.map(\.value)
                others = run.waiters.values.filter { $0.token != run.token }.map(\.value)
                self.outcome = outcome
                self.endsSession = endsSession
            }
        }

        enum Validity {
            case good
            /// Still valid, but due for a refresh.
            case ending
            case ended
        }

        fileprivate struct Run {
            let number: Int
            /// The token that the provider was asked to replace.
            var token: String
            /// The number of the call to the provider.
            var providerCall: Int
            /// The token that this run wants to replace, if it took over the provider call of an earlier run.
            var wanted: String?
            var waiters: [Int: (value: Waiter, token: String)] = [:]
        }

        /// A provider call that has not returned yet and whose run timed out or was abandoned.
        private struct Straggler {
            let providerCall: Int
            let token: String
            /// Whether a shutdown abandoned it: its result has no effect.
            let isAbandoned: Bool
        }

        /// The number of refreshes that returned a token or ended the session. After each, the provider may have
        /// another token.
        private(set) var version = 0
        private var run: Run?
        private var straggler: Straggler?
        private var runCount = 0
        /// The token whose session has ended: only another token helps, not another refresh.
        private var endedToken: String?
        /// The last refresh's error, the token that it should have replaced, and the time until which that token is not
        /// refreshed again.
        private var failure: (error: PulseError, token: String, until: TimeInterval)?
        private var cooldown: TimeInterval = 0
        /// The start times of the refreshes in the last half minute.
        private var starts: [TimeInterval] = []
        private var hasTrippedGuard = false
        /// The last refreshed token, and how long before its expiry it is refreshed ahead; nil for never.
        private var latest: (token: String, margin: TimeInterval?)?

        var isRefreshing: Bool { run != nil }

        /// Whether the session has ended, as far as is known.
        var isEnded: Bool { endedToken != nil }

        /// Whether this token's session has ended. Another token that was read since shows that a new session has
        /// begun.
        mutating func hasEnded(_ token: String, seenAt version: Int) -> Bool {
            guard let endedToken else { return false }
            guard token != endedToken else { return true }
            if version == self.version { self.endedToken = nil }
            return false
        }

        /// - Parameter waiter: nil for a refresh ahead of time, which no call waits for.
        mutating func request(
            _ token: String, seenAt version: Int, now: TimeInterval, waiter: (id: Int, value: Waiter)?
        ) -> Decision {
            guard version == self.version else { return .recheck }
            guard !hasEnded(token, seenAt: version) else { return .refuse(.sessionExpired) }
            if run != nil {
                if let waiter { run?.waiters[waiter.id] = (waiter.value, token) }
                return .wait
            }
            if let failure, failure.token == token, now < failure.until { return .refuse(failure.error) }
            if let straggler {
                self.straggler = nil
                begin(token, waiter, takingOver: straggler)
                return .takeOver(run: runCount)
            }
            starts.removeAll { now - $0 >= RefreshLimits.loopWindow }
            guard starts.count < RefreshLimits.loopCount else {
                // Reported once, and to a waiting call. A refresh ahead that does not run is not worth a report.
                defer { hasTrippedGuard = hasTrippedGuard || waiter != nil }
                return .refuseLoop(isFirst: !hasTrippedGuard)
            }
            hasTrippedGuard = false
            starts.append(now)
            begin(token, waiter)
            return .begin(run: runCount)
        }

        private mutating func begin(
            _ token: String, _ waiter: (id: Int, value: Waiter)?, takingOver straggler: Straggler? = nil
        ) {
            runCount += 1
            run = Run(
                number: runCount, token: straggler?.token ?? token, providerCall: straggler?.providerCall ?? runCount,
                wanted: straggler.map { _ in token })
            if let waiter { run?.waiters[waiter.id] = (waiter.value, token) }
        }

        /// Removes a waiter. The refresh continues even without waiters, since the server may have replaced the token
        /// already.
        mutating func leave(_ id: Int) -> Waiter? {
            run?.waiters.removeValue(forKey: id)?.value
        }

        /// Handles the provider's result.
        ///
        /// - Parameter providerCall: the number of the call to the provider.
        /// - Parameter current: the provider's token now, if the refresh has failed.
        /// - Parameter lifetime: the remaining seconds of the new token, if known.
        mutating func finish(
            _ providerCall: Int, _ result: Result<String, PulseError>, current: String? = nil,
            lifetime: TimeInterval? = nil,
            now: TimeInterval
        ) -> Finish {
            guard let run, run.providerCall == providerCall else {
                return finishLate(providerCall, result, current, lifetime)
            }
            if let wanted = run.wanted, case .failure(.cancelled) = result {
                runCount += 1
                self.run?.providerCall = runCount
                self.run?.token = wanted
                self.run?.wanted = nil
                starts.append(now)
                return .again(providerCall: runCount)
            }
            self.run = nil
            switch result {
            case .success(let token):
                succeed(token, lifetime)
                return .ended(Ending(run, .token(token)))
            case .failure(let error) where error.endsSession:
                let endsSession = end(run.token, current)
                return .ended(
                    Ending(run, endsSession ? .failure(.sessionExpired) : .recheck, endsSession: endsSession))
            case .failure(let error):
                return .ended(fail(run, error.asFailureOfRefresh, now: now))
            }
        }

        /// Times out a refresh. Nil if it is not the current one.
        mutating func expire(_ number: Int, _ error: PulseError, now: TimeInterval) -> (Ending, providerCall: Int)? {
            guard var run, run.number == number else { return nil }
            self.run = nil
            straggler = Straggler(providerCall: run.providerCall, token: run.token, isAbandoned: false)
            // The run that has taken over the provider call fails for its own token.
            run.token = run.wanted ?? run.token
            return (fail(run, error, now: now), run.providerCall)
        }

        /// Abandons the current refresh unless calls wait for it. Returns the numbers of a refresh that continues.
        mutating func abandon() -> (run: Int, providerCall: Int)? {
            guard let run else { return nil }
            guard run.waiters.isEmpty else { return (run.number, run.providerCall) }
            self.run = nil
            straggler = Straggler(providerCall: run.providerCall, token: run.token, isAbandoned: true)
            return nil
        }

        private mutating func finishLate(
            _ providerCall: Int, _ result: Result<String, PulseError>, _ current: String?, _ lifetime: TimeInterval?
        ) -> Finish {
            guard let straggler, straggler.providerCall == providerCall else { return .ignored }
            self.straggler = nil
            guard !straggler.isAbandoned else { return .ignored }
            switch result {
            case .success(let token):
                succeed(token, lifetime)
                return .late(endsSession: false)
            case .failure(let error) where error.endsSession:
                return .late(endsSession: end(straggler.token, current))
            case .failure:
                // The failure was reported when the run timed out.
                return .ignored
            }
        }

        private mutating func succeed(_ token: String, _ lifetime: TimeInterval?) {
            version += 1
            failure = nil
            cooldown = 0
            latest = (token, Self.margin(ofTokenWith: lifetime))
        }

        /// Ends the session of a token, unless the provider now has another token, of a newer session. Returns whether
        /// it ended.
        private mutating func end(_ token: String, _ current: String?) -> Bool {
            version += 1
            if let current, !current.isEmpty, current != token { return false }
            endedToken = token
            return true
        }

        private mutating func fail(_ run: Run, _ error: PulseError, now: TimeInterval) -> Ending {
            cooldown = min(max(RefreshLimits.firstCooldown, cooldown * 2), RefreshLimits.longestCooldown)
            failure = (error, run.token, now + cooldown)
            return Ending(run, .failure(error))
        }

        /// - Parameter remaining: seconds until the provider's expiry.
        func validity(of token: String, remaining: TimeInterval) -> Validity {
            let margin = latest?.token == token ? latest?.margin : RefreshLimits.margin
            guard let margin, remaining <= margin else { return .good }
            return remaining > 0 ? .ending : .ended
        }

        /// A token that lives for less than two margins would be refreshed all the time. A new token that is expired
        /// already shows that this device's clock is wrong: then the server decides.
        private static func margin(ofTokenWith lifetime: TimeInterval?) -> TimeInterval? {
            guard let lifetime else { return RefreshLimits.margin }
            return lifetime > 0 ? min(RefreshLimits.margin, lifetime / 2) : nil
        }
    }
}

/// The limits of refreshes. Times are in seconds.
enum RefreshLimits {
    static let timeout: TimeInterval = 30
    static let margin: TimeInterval = 60
    static let firstCooldown: TimeInterval = 1
    static let longestCooldown: TimeInterval = 30
    static let loopCount = 5
    static let loopWindow: TimeInterval = 30
}

extension PulseError {
    /// The error for waiting calls: a refresh that was cancelled from within has failed, but the calls were not
    /// cancelled.
    fileprivate var asFailureOfRefresh: PulseError {
        kind == .cancelled ? .custom(RefreshCancelled()) : self
    }

    /// Whether this failure of a refresh means that no further refresh can succeed.
    fileprivate var endsSession: Bool {
        switch self {
        case .unauthorized, .sessionExpired: true
        case .http(let response): response.statusCode == 400 || response.statusCode == 401
        case .retryExhausted(let last, _): last.endsSession
        default: false
        }
    }
}

/// The failure of a refresh that was cancelled, but not by the plugin.
struct RefreshCancelled: Error, CustomStringConvertible {
    var description: String { "the token provider's refresh was cancelled" }
}
