// SPDX-License-Identifier: MIT

extension RequestOptions {
    /// The statuses that a call treats as success; every other status becomes a ``PulseError``.
    public struct AcceptedStatuses: Sendable, Hashable {
        package let ranges: [ClosedRange<Int>]

        package init(ranges: [ClosedRange<Int>]) {
            self.ranges = ranges
        }

        /// 200 to 299: the default.
        public static let successful = AcceptedStatuses(ranges: [200...299])

        /// Every status: the call never fails because of its status.
        public static let any = AcceptedStatuses(ranges: [Int.min...Int.max])

        /// 200 to 299 and the given statuses: `.successful(and: 304, 404)`.
        public static func successful(and statuses: Int...) -> AcceptedStatuses {
            successful(and: statuses)
        }

        /// 200 to 299 and the statuses of a sequence.
        public static func successful(and statuses: some Sequence<Int>) -> AcceptedStatuses {
            AcceptedStatuses(ranges: [200...299] + statuses.map { $0...$0 })
        }

        /// Exactly the given statuses.
        public static func only(_ statuses: Int...) -> AcceptedStatuses {
            only(statuses)
        }

        /// Exactly the statuses of a sequence.
        public static func only(_ statuses: some Sequence<Int>) -> AcceptedStatuses {
            AcceptedStatuses(ranges: statuses.map { $0...$0 })
        }

        /// Exactly the statuses in the range.
        public static func range(_ statuses: ClosedRange<Int>) -> AcceptedStatuses {
            AcceptedStatuses(ranges: [statuses])
        }

        /// The same statuses without one.
        package func without(_ status: Int) -> AcceptedStatuses {
            AcceptedStatuses(
                ranges: ranges.flatMap { range -> [ClosedRange<Int>] in
                    guard range.contains(status) else { return [range] }
                    let lower = range.lowerBound < status ? [range.lowerBound...status - 1] : []
                    let upper = range.upperBound > status ? [status + 1...range.upperBound] : []
                    return lower + upper
                })
        }

        /// Whether `status` is a success for a call with these statuses.
        public func contains(_ status: Int) -> Bool {
            ranges.contains { $0.contains(status) }
        }
    }
}
