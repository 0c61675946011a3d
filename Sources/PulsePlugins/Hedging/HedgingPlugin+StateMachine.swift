// SPDX-License-Identifier: MIT

extension HedgingPlugin {
    /// What an outcome is worth to the caller, in rising order.
    enum Quality: Int, Sendable, Comparable {
        /// It says nothing of the server.
        case cancelled
        /// Nothing was sent: a breaker or a limit further in refused it, or there was no connection.
        case unsent
        case failed
        /// An answer that a retry would follow, which may say when.
        case badResponse
        case good

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// One request and its copies, of which the first good answer wins. A pure value: its owner starts, cancels and
    /// resumes.
    struct Race: Sendable {
        private(set) var running = 0
        private(set) var started = 0
        private(set) var isOver = false
        private var isCancelled = false
        /// The best outcome so far, of equal ones the first.
        private var best: (number: Int, quality: Quality)?
        private let limit: Int

        /// - Parameter limit: requests in all, the first included.
        init(limit: Int) {
            self.limit = max(1, limit)
        }

        var mayStart: Bool { !isDecided && started < limit }

        /// The number of another request, which then runs; nil if none may start.
        mutating func start() -> Int? {
            guard mayStart else { return nil }
            started += 1
            running += 1
            return started
        }

        /// The number of the request whose outcome ends the race: it is good, or no other request is under way that
        /// could do better. Waiting for a copy that has not begun would be a retry, which is not decided here. Nil if
        /// the race goes on, or was over.
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

        /// Nobody waits any more: nothing starts from now on.
        mutating func cancel() {
            isCancelled = true
        }

        /// Whether what runs should end.
        var isDecided: Bool { isOver || isCancelled }
    }
}
