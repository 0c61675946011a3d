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
        /// The same body: texts are compared as they are, JSON by its value. Of a body that was not kept the size is
        /// compared, if it is known.
        public static let body = Matching(rawValue: 4)

        /// Host, query and body.
        public static let all: Matching = [.host, .query, .body]
    }

    /// The rule by which a recorded request is chosen to answer.
    public enum Order: Sendable, Hashable {
        /// The first one that matches and was not played yet; when all that match were, the last of them again.
        case byMatch
        /// The next one, which has to match.
        case asRecorded
    }
}
