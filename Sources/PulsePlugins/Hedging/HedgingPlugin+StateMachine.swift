// SPDX-License-Identifier: MIT

extension HedgingPlugin {
    /// The value of an outcome for the caller, in ascending order.
    enum Quality: Int, Sendable, Comparable {
        /// Says nothing about the server.
        case cancelled
        /// Nothing was sent: an inner breaker or limit rejected it, or there was no connection.
        case unsent
        case failed
        /// A response that would be retried, perhaps with a `Retry-After`.
        case badResponse
        case good

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// One request and its copies; the first good response wins. A pure value: its owner starts, cancels and resumes.
    struct Race: Sendable {
        private(set) var running = 0
        private(set) var started = 0
        private(set) var isOver = false
        private var isCancelled = false
        /// The best outcome so far; the first of equal ones.
        private var best: (number: Int, quality: Quality)?
        private let limit: Int

        /// - Parameter limit: the maximum number of requests, including the first.
        init(limit: Int) {
            self.limit = max(1, limit)
        }

        var mayStart: Bool { !isDecided && started < limit }

        /// Starts another request. Returns its number, or nil if none may start.
        mutating func start() -> Int? {
            guard mayStart else { return nil }
            started += 1
            running += 1
            return started
        }

        /// Records an outcome. Returns the number of the best request if the race ends: the outcome is good, or no
        /// other request is in flight. Waiting for a copy that has not started would be a retry, which is not decided
        /// here. Nil if the race continues, or was already over.
        mutating func finish(_ number: Int, _ quality: Quality) -> Int? {
            running -= 1
            guard !isOver else { return nil }
            if best.map({ $0.quality < quality }) ?? true { best = (number, quality) }
            guard quality == .good || running == 0 else { return nil }
            isOver = true
            return best?.number
        }

        /// The number of the request with the best outcome so far.
        var bestNumber: Int? { best?.number }

        /// Records that the caller was cancelled: no more requests start.
        mutating func cancel() {
            isCancelled = true
        }

        /// Whether the running requests should end.
        var isDecided: Bool { isOver || isCancelled }
    }
}
