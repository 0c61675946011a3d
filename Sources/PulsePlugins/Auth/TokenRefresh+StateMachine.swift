// SPDX-License-Identifier: MIT

import PulseCore

extension TokenRefresh {
    /// Decides whether to refresh, who waits for it, and what its end means for later calls.
    ///
    /// Time is the clock's uptime. Only the provider knows the current token: a call that asks for a refresh says which
    /// token failed, and which ``version`` it saw before it asked the provider for it.
    struct StateMachine<Waiter: Sendable>: Sendable {
        /// What to do for a call that wants a new token.
        enum Decision {
            /// No refresh is under way: ask the provider, and set the timer, under that number. The caller waits.
            case begin(run: Int)
            /// The provider is still busy with a refresh that was given up, and is asked once at a time: that result
            /// will do. Set a timer under that number. The caller waits.
            case takeOver(run: Int)
            /// A refresh is under way; the caller waits for it.
            case wait
            /// A refresh has ended meanwhile: the provider may have another token by now.
            case recheck
            case refuse(PulseError)
            /// Tokens are refused as fast as they come.
            case refuseLoop(isFirst: Bool)
        }

        /// What to do with the provider's answer.
        enum Finish {
            case ended(Ending)
            /// It was cancelled before somebody took it over: ask the provider again, under that number.
            case again(providerCall: Int)
            /// Nobody waited any more.
            case late(endsSession: Bool)
            /// It counts nowhere.
            case ignored
        }

        /// What the end of a refresh means.
        struct Ending {
            /// Whose timer is of no use any more.
            let run: Int
            let waiters: [Waiter]
            /// For the waiters.
            let outcome: Outcome
            /// Waiters that wanted to replace another token, perhaps another user's: they ask again.
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
            /// Good still, and to be refreshed now.
            case ending
            case ended
        }

        fileprivate struct Run {
            let number: Int
            /// The token that the provider was asked to replace.
            var token: String
            /// The number under which it was asked.
            var providerCall: Int
            /// Set if the provider was asked for another run, which was given up: the token that this run wants to
            /// replace.
            var wanted: String?
            var waiters: [Int: (value: Waiter, token: String)] = [:]
        }

        /// A question to the provider whose run was given up, and which it has not answered yet.
        private struct Straggler {
            let providerCall: Int
            let token: String
            /// Whether a shutdown gave it up: what it brings counts nowhere.
            let isAbandoned: Bool
        }

        /// How many refreshes have brought a token or ended the session: after each the provider may have another
        /// token.
        private(set) var version = 0
        private var run: Run?
        private var straggler: Straggler?
        private var runCount = 0
        /// The token whose session has ended: another token is needed, not another try.
        private var endedToken: String?
        /// The last refresh's error, the token that it was to replace, and until when no other is tried for it.
        private var failure: (error: PulseError, token: String, until: TimeInterval)?
        private var cooldown: TimeInterval = 0
        /// When the refreshes of the last half minute began.
        private var starts: [TimeInterval] = []
        private var hasTrippedGuard = false
        /// The token of the last refresh, and how long before its end it is refreshed ahead; nil for never.
        private var latest: (token: String, margin: TimeInterval?)?

        var isRefreshing: Bool { run != nil }

        /// Nobody is logged in any more, as far as this has been told.
        var isEnded: Bool { endedToken != nil }

        /// Whether that token's session has ended. Another token that was asked for since shows that a new one has
        /// begun.
        mutating func hasEnded(_ token: String, seenAt version: Int) -> Bool {
            guard let endedToken else { return false }
            guard token != endedToken else { return true }
            if version == self.version { self.endedToken = nil }
            return false
        }

        /// - Parameter waiter: nil for a refresh ahead, which nobody waits for.
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
                // Told once, and to a call that waits: a refresh ahead that does not happen is no news.
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

        /// A waiter leaves; the refresh goes on even without one, since the server may have replaced the token already.
        mutating func leave(_ id: Int) -> Waiter? {
            run?.waiters.removeValue(forKey: id)?.value
        }

        /// The provider has answered.
        ///
        /// - Parameter asking: the number under which it was asked.
        /// - Parameter current: the provider's token now, if the refresh has failed.
        /// - Parameter lifetime: seconds that the new token has left, if that is known.
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

        /// The refresh of that number has taken too long. Nil if it is not the current one.
        mutating func expire(_ number: Int, _ error: PulseError, now: TimeInterval) -> (Ending, providerCall: Int)? {
            guard var run, run.number == number else { return nil }
            self.run = nil
            straggler = Straggler(providerCall: run.providerCall, token: run.token, isAbandoned: false)
            // Without an answer the run that has taken it over has none either.
            run.token = run.wanted ?? run.token
            return (fail(run, error, now: now), run.providerCall)
        }

        /// Gives up the current refresh unless somebody waits for it; gives the numbers of one that goes on.
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
                // Its failure was told when it was given up.
                return .ignored
            }
        }

        private mutating func succeed(_ token: String, _ lifetime: TimeInterval?) {
            version += 1
            failure = nil
            cooldown = 0
            latest = (token, Self.margin(ofTokenWith: lifetime))
        }

        /// Whether a session has ended with that token: not if the provider shows another one, of a session that has
        /// begun meanwhile.
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

        /// A token that lives for less than two margins would be refreshed all the time. A new one that has expired
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
    /// A refresh that was cancelled from within has failed for the calls that wait: nobody cancelled them.
    fileprivate var asFailureOfRefresh: PulseError {
        kind == .cancelled ? .custom(RefreshCancelled()) : self
    }

    /// Whether, as the failure of a refresh, it says that no further refresh can succeed.
    fileprivate var endsSession: Bool {
        switch self {
        case .unauthorized, .sessionExpired: true
        case .http(let response): response.statusCode == 400 || response.statusCode == 401
        case .retryExhausted(let last, _): last.endsSession
        default: false
        }
    }
}

/// The failure of a refresh that was cancelled, and not by the plugin.
struct RefreshCancelled: Error, CustomStringConvertible {
    var description: String { "the token provider's refresh was cancelled" }
}
