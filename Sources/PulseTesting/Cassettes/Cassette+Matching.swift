// SPDX-License-Identifier: MIT

extension Cassette {
    /// The parts of a request that must match the recorded one, besides method and path.
    public struct Matching: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Scheme, host and port.
        public static let host = Matching(rawValue: 1)
        /// The same query items, in any order.
        public static let query = Matching(rawValue: 2)
        /// The same body: text is compared verbatim, JSON by value. If the recorded body was not kept, its size is
        /// compared, if known.
        public static let body = Matching(rawValue: 4)

        /// Host, query and body.
        public static let all: Matching = [.host, .query, .body]
    }

    /// The rule that selects the recorded request to play.
    public enum Order: Sendable, Hashable {
        /// The first matching request that was not played yet; once all have been played, the last one again.
        case byMatch
        /// The next request in recorded order, which must match.
        case asRecorded
    }
}
