// SPDX-License-Identifier: MIT

import PulseCore

extension TokenRefresh {
    /// Whether to refresh, who waits for it, and what its end means for calls to come.
    ///
    /// Time is the clock's uptime. What the current token is, only the provider knows: who asks for a refresh says which
    /// token failed, and which ``version`` it saw before it asked the provider for it.
    struct StateMachine<Waiter: Sendable>: Sendable {
        /// What becomes of a wish for a new token.
        enum Answer {
            /// Nobody refreshes: ask the provider, and set the timer, under that number. Who asked waits.
            case begin(run: Int)
            /// A refresh that was given up before is still at the provider's, which is asked once at a time: its result will
            /// do. Set a timer under that number. Who asked waits.
            case takeOver(run: Int)
            /// A refresh is under way; who asked waits for it.
            case wait
            /// A refresh has ended meanwhile: the provider may have another token by now.
            case askAgain
            case refuse(PulseError)
            /// Tokens are refused as fast as they come.
            case refuseLoop(isFirst: Bool)
        }

        /// What becomes of the provider's answer.
        enum Finish {
            case ended(Ending)
            /// It was told to give up before somebody took it over: ask the provider again, under that number.
            case again(asking: Int)
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
            /// They wanted a new token in place of another one, perhaps of another user: they ask again.
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
            /// In whose place the provider was asked for a new one.
            var token: String
            /// The number under which it was asked.
            var asking: Int
            /// That was done for another run, which was given up; this one would have asked in place of that token.
            var wanted: String?
            var waiters: [Int: (value: Waiter, token: String)] = [:]
        }

        /// A question to the provider whose run was given up, and which it has not answered yet.
        private struct Straggler {
            let asking: Int
            let token: String
            /// By a shutdown: what it brings counts nowhere.
            let isAbandoned: Bool
        }

        /// How many refreshes have brought a token or ended the session: after each the provider may have another token.
        private(set) var version = 0
        private var run: Run?
        private var straggler: Straggler?
        private var runCount = 0
        /// The token whose session has ended: it needs another one, not another try.
        private var endedToken: String?
        /// What the last refresh failed with, in place of which token, and until when none is tried for that.
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

        /// Whether that token's session has ended. Another token that was asked for since shows that a new one has begun.
        mutating func hasEnded(_ token: String, seenAt version: Int) -> Bool {
            guard let endedToken else { return false }
            guard token != endedToken else { return true }
            if version == self.version { self.endedToken = nil }
            return false
        }

        /// - Parameter waiter: nil for a refresh ahead, which nobody waits for.
        mutating func request(
            _ token: String, seenAt version: Int, now: TimeInterval, waiter: (id: Int, value: Waiter)?
        ) -> Answer {
            guard version == self.version else { return .askAgain }
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
                // Told to who waits, once; a refresh ahead that does not come is no news.
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
                number: runCount, token: straggler?.token ?? token, asking: straggler?.asking ?? runCount,
                wanted: straggler.map { _ in token })
            if let waiter { run?.waiters[waiter.id] = (waiter.value, token) }
        }

        /// A waiter goes; the refresh goes on, even for nobody: the server may have replaced the token already.
        mutating func leave(_ id: Int) -> Waiter? {
            run?.waiters.removeValue(forKey: id)?.value
        }

        /// The provider has answered.
        ///
        /// - Parameter asking: the number under which it was asked.
        /// - Parameter current: the provider's token now, if the refresh has failed.
        /// - Parameter lifetime: seconds that the new token has left, if that is known.
        mutating func finish(
            _ asking: Int, _ result: Result<String, PulseError>, current: String? = nil, lifetime: TimeInterval? = nil,
            now: TimeInterval
        ) -> Finish {
            guard let run, run.asking == asking else { return finishLate(asking, result, current, lifetime) }
            if let wanted = run.wanted, case .failure(.cancelled) = result {
                runCount += 1
                self.run?.asking = runCount
                self.run?.token = wanted
                self.run?.wanted = nil
                starts.append(now)
                return .again(asking: runCount)
            }
            self.run = nil
            switch result {
            case .success(let token):
                succeed(token, lifetime)
                return .ended(Ending(run, .token(token)))
            case .failure(let error) where error.endsSession:
                let endsSession = end(run.token, current)
                return .ended(
                    Ending(run, endsSession ? .failure(.sessionExpired) : .askAgain, endsSession: endsSession))
            case .failure(let error):
                return .ended(fail(run, error.asFailureOfRefresh, now: now))
            }
        }

        /// The refresh of that number has taken too long. Nil if it is not the one of the moment.
        mutating func expire(_ number: Int, _ error: PulseError, now: TimeInterval) -> (Ending, asking: Int)? {
            guard var run, run.number == number else { return nil }
            self.run = nil
            straggler = Straggler(asking: run.asking, token: run.token, isAbandoned: false)
            // No answer is none for whoever has taken it over, either.
            run.token = run.wanted ?? run.token
            return (fail(run, error, now: now), run.asking)
        }

        /// Gives up the refresh of the moment, if there is one; gives who waits for it.
        mutating func abandon() -> [Waiter] {
            guard let run else { return [] }
            self.run = nil
            straggler = Straggler(asking: run.asking, token: run.token, isAbandoned: true)
            return run.waiters.values.map(\.value)
        }

        private mutating func finishLate(
            _ asking: Int, _ result: Result<String, PulseError>, _ current: String?, _ lifetime: TimeInterval?
        ) -> Finish {
            guard let straggler, straggler.asking == asking else { return .ignored }
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

        /// Whether a session has ended with that token: not if the provider shows another one, of a session that has begun
        /// meanwhile.
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

        /// A token that lives for less than two margins would be refreshed without a pause. One that came with its time
        /// over says that this device's clock is wrong: the server decides.
        private static func margin(ofTokenWith lifetime: TimeInterval?) -> TimeInterval? {
            guard let lifetime else { return RefreshLimits.margin }
            return lifetime > 0 ? min(RefreshLimits.margin, lifetime / 2) : nil
        }
    }
}

/// In seconds, where they are times.
enum RefreshLimits {
    static let timeout: TimeInterval = 30
    static let margin: TimeInterval = 60
    static let firstCooldown: TimeInterval = 1
    static let longestCooldown: TimeInterval = 30
    static let loopCount = 5
    static let loopWindow: TimeInterval = 30
}

extension PulseError {
    /// What has cancelled the refresh has cancelled none of the calls that wait for it: to them it has failed.
    fileprivate var asFailureOfRefresh: PulseError {
        kind == .cancelled ? .custom(RefreshCancelled()) : self
    }

    /// As the failure of a refresh: the server says that no further one will do.
    fileprivate var endsSession: Bool {
        switch self {
        case .unauthorized, .sessionExpired: true
        case .http(let response): response.statusCode == 400 || response.statusCode == 401
        case .retryExhausted(let last, _): last.endsSession
        default: false
        }
    }
}

/// What a refresh fails with that was cancelled, and not by the plugin.
struct RefreshCancelled: Error, CustomStringConvertible {
    var description: String { "the token provider's refresh was cancelled" }
}
