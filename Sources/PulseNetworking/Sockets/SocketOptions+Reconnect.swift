// SPDX-License-Identifier: MIT

public import PulseCore

extension SocketOptions {
    /// How a socket reconnects.
    ///
    /// Before attempt n, the socket waits a random time, evenly distributed between 0.5 and `min(maxDelay, 2ⁿ)`
    /// seconds, or the `Retry-After` of the server if that is longer. Attempts start over once the socket was open for
    /// ``resetsAfter``. The wait ends early when the network comes back.
    public struct Reconnect: Sendable {
        /// Maximum wait in seconds. 30 by default.
        public var maxDelay: TimeInterval
        /// Maximum wait in seconds that a server may request with `Retry-After`. 3,600 by default.
        public var maxServerDelay: TimeInterval
        /// Maximum number of attempts before the socket is closed, counted since it was open for ``resetsAfter``. Nil,
        /// the default, means no limit.
        public var maxAttempts: Int?
        /// Seconds that the socket must stay open for attempts and waits to start over. 10 by default.
        public var resetsAfter: TimeInterval
        /// Close codes after which the socket does not reconnect. By default those that a new connection would not
        /// change (RFC 6455, section 7.4.1).
        public var fatalCodes: Set<Int>

        /// Creates settings with the defaults documented on each property.
        public init(
            maxDelay: TimeInterval = 30, maxServerDelay: TimeInterval = 3600, maxAttempts: Int? = nil,
            resetsAfter: TimeInterval = 10, fatalCodes: Set<Int> = [1000, 1002, 1003, 1007, 1008, 1009, 1010]
        ) {
            self.maxDelay = maxDelay
            self.maxServerDelay = maxServerDelay
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
            let longest = min(maxDelay, pow(2, Double(min(attempt, 64))))
            let shortest = min(Self.shortestWait, longest)
            let asked = retryAfter.flatMap { $0 < .infinity ? $0 : nil } ?? 0
            return max(shortest + unit * (longest - shortest), min(asked, maxServerDelay))
        }

        private static let shortestWait: TimeInterval = 0.5
    }
}
