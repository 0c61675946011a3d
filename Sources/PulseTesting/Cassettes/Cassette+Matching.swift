// SPDX-License-Identifier: MIT

extension Cassette {
    /// The parts that a request must share with a recorded one, besides its method and path.
    public struct Matching: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: Int

        /// A set of those bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Scheme, host and port.
        public static let host = Matching(rawValue: 1)
        /// The same query items, in any order.
        public static let query = Matching(rawValue: 2)
        /// The same body: texts are compared as they are, JSON by its value. If a body was not kept, its size is
        /// compared, if known.
        public static let body = Matching(rawValue: 4)

        /// Host, query and body.
        public static let all: Matching = [.host, .query, .body]
    }

    /// The rule that selects the recorded request to play.
    public enum Order: Sendable, Hashable {
        /// The first matching request that was not played yet; after all matching ones, the last of them again.
        case byMatch
        /// The next request, which has to match.
        case asRecorded
    }
}
