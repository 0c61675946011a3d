// SPDX-License-Identifier: MIT

public import PulseCore

extension SocketOptions {
    /// How a socket reconnects.
    ///
    /// It waits between 0.5 seconds and `min(cap, 2ⁿ)` seconds, evenly distributed, before the n-th attempt since the
    /// socket was open for long enough; or the `Retry-After` of the server, if that is longer. A network that comes
    /// back ends the wait.
    public struct Reconnect: Sendable {
        /// The limit of the wait in seconds. 30 by default.
        public var cap: TimeInterval
        /// The longest wait in seconds that a server may ask for, by `Retry-After`. 3,600 by default.
        public var maximumServerDelay: TimeInterval
        /// The number of attempts since the socket was open for long enough, after which it is closed. Nil, the
        /// default, is without limit.
        public var maxAttempts: Int?
        /// Seconds for which the socket must be open to start again with short waits. 10 by default.
        public var resetsAfter: TimeInterval
        /// The close codes after which the socket does not reconnect: by default those that a new connection does not
        /// change (RFC 6455, section 7.4.1).
        public var fatalCodes: Set<Int>

        /// Creates settings; each has the default that its property names.
        public init(
            cap: TimeInterval = 30, maximumServerDelay: TimeInterval = 3600, maxAttempts: Int? = nil,
            resetsAfter: TimeInterval = 10, fatalCodes: Set<Int> = [1000, 1002, 1003, 1007, 1008, 1009, 1010]
        ) {
            self.cap = cap
            self.maximumServerDelay = maximumServerDelay
            self.maxAttempts = maxAttempts
            self.resetsAfter = resetsAfter
            self.fatalCodes = fatalCodes
        }

        /// No reconnection: the socket has one connection.
        public static let never = Reconnect(maxAttempts: 0)

        /// The wait before an attempt, in seconds.
        ///
        /// - Parameter attempt: from 1.
        /// - Parameter unit: a random number in 0..<1.
        func delay(attempt: Int, retryAfter: TimeInterval?, unit: Double) -> TimeInterval {
            let longest = min(cap, pow(2, Double(min(attempt, 64))))
            let shortest = min(Self.shortestWait, longest)
            let asked = retryAfter.flatMap { $0 < .infinity ? $0 : nil } ?? 0
            return max(shortest + unit * (longest - shortest), min(asked, maximumServerDelay))
        }

        private static let shortestWait: TimeInterval = 0.5
    }
}
